"""What operators keep in a served kernel: agents, their bundles, API keys; and what steps publish."""

import asyncio

import pytest

from rebuno.errors import BundleError, ConflictError, NotFoundError, ValidationError
from rebuno.kernel.served import registry
from rebuno.kernel.served.dispatcher import Settings
from rebuno.kernel.served.kernel import Serving
from rebuno.model.answer import AnswerKind
from rebuno.policy import Source, compile_text
from rebuno.types import Delta
from tests.kernel.served import Scenario, World, eventually

STRICT = 'bundle strict\ndefault deny because "nothing goes"\n'


def test_an_agent_is_registered_changed_and_described(serve: Scenario) -> None:
    """Its description outlives a change of its URL; nobody is shown its secret."""

    async def scenario(w: World) -> None:
        await w.agent()
        await w.serving.set_metadata("agent", description="ships", input_schema='{"type":"object"}', output_schema=None)
        moved = await w.serving.put_agent("agent", webhook_url="http://b.test/", secret="n3w", lease=15.0)
        assert (moved.webhook_url, moved.lease, moved.description) == ("http://b.test/", 15.0, "ships")
        assert "n3w" not in repr(moved)
        assert [agent.id for agent in await w.replicas[-1].agents()] == ["agent"]
        run = await w.begin()
        assert (run.webhook.url, run.webhook.secret, run.webhook.lease) == ("http://b.test/", "n3w", 15.0)
        with pytest.raises(ConflictError):
            await w.serving.delete_agent("agent")
        await w.serving.delete_agent("agent", force=True)
        assert (await w.row(run)).status.value == "cancelled"
        with pytest.raises(NotFoundError):
            await w.serving.agent("agent")
        with pytest.raises(NotFoundError):
            await w.serving.set_metadata("agent", description=None, input_schema=None, output_schema=None)

    serve(scenario)


@pytest.mark.parametrize(
    ("name", "secret", "lease"),
    [
        (" ", "s", 0.0),  # a blank id
        ("a" * 257, "s", 0.0),  # longer than the protocol allows
        ("a/b", "s", 0.0),  # its own routes would not lead to it
        ("..", "s", 0.0),  # nor this one
        ("agent ", "s", 0.0),  # which a header does not keep
        ("agént", "s", 0.0),  # which clients do not send in a header
        ("agent", "", 0.0),  # nothing to sign with
        ("agent", "s", 9.0),  # shorter than any heartbeat
        ("agent", "s", float("nan")),  # no time at all
    ],
)
def test_an_agent_that_cannot_be_served_is_refused(serve: Scenario, name: str, secret: str, lease: float) -> None:
    """Before it is kept."""

    async def scenario(w: World) -> None:
        with pytest.raises(ValidationError):
            await w.serving.put_agent(name, webhook_url="http://a.test/", secret=secret, lease=lease)
        assert await w.serving.agents() == []

    serve(scenario)


def test_a_new_bundle_judges_what_comes_next_on_every_replica(serve: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once where it was set, elsewhere within a second; one that does not compile changes nothing."""
    monkeypatch.setattr("rebuno.kernel.served.policies.FRESH", 0.05)

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        assert (await run.submit("one")).kind is AnswerKind.PROCEED
        assert (await run.on(w.replicas[-1]).submit("two")).kind is AnswerKind.PROCEED
        with pytest.raises(BundleError):
            await w.serving.set_policy("agent", "bundle broken {")
        with pytest.raises(NotFoundError):
            await w.serving.set_policy("nobody", STRICT)
        assert await w.serving.bundle("agent") is None
        await w.serving.set_policy("agent", STRICT)
        denied = await run.submit("three")
        assert (denied.kind, denied.reason) == (AnswerKind.DENIED, "nothing goes")
        other = run.on(w.replicas[-1])

        async def denies() -> bool:
            return (await other.submit("three")).kind is AnswerKind.DENIED

        await eventually(denies)
        assert await w.replicas[-1].bundle("agent") == STRICT

    serve(scenario)


def test_others_are_served_while_a_large_bundle_is_compiled(serve: Scenario) -> None:
    """A replica beats while it compiles, and then judges by the new bundle at once."""
    rules = "".join(f'rule r{n} {{\n  deny tool "t{n}"\n}}\n' for n in range(3000))

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        setting = asyncio.create_task(w.serving.set_policy("agent", f"bundle b\ndefault allow\n{rules}"))
        beats = 0
        while not setting.done():
            await asyncio.sleep(0.001)
            beats += 1
        await setting
        # Compiled in the loop's own thread there are a handful, around the writes; no pause of the machine makes fewer.
        assert beats > 10
        assert (await run.submit("t1")).kind is AnswerKind.DENIED

    serve(scenario)


def test_a_yaml_bundle_is_a_bundle(serve: Scenario) -> None:
    """It is told from our own language by its first words."""
    text = "rules:\n  - id: no-act\n    when: {target: act}\n    then: {decision: deny, reason: never}\n"

    async def scenario(w: World) -> None:
        await w.agent()
        policy = await w.serving.policy("agent", text)
        assert policy.digest != (await w.serving.policy("agent")).digest

    serve(scenario)


@pytest.mark.parametrize(
    ("permissive", "layer", "say"),
    [
        (True, None, AnswerKind.PROCEED),  # asked for aloud
        (False, None, AnswerKind.DENIED),  # an agent without a bundle may do nothing
        (True, STRICT, AnswerKind.DENIED),  # the layers count for it too
        (False, "bundle open\ndefault allow\n", AnswerKind.DENIED),  # a layer gives no leave by itself
    ],
)
def test_an_agent_without_a_bundle(serve: Scenario, permissive: bool, layer: str | None, say: AnswerKind) -> None:
    """It may do what was allowed for all, if that was asked for."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        layers = [Source(layer, "layer.rbp")] if layer is not None else []
        other = Serving(w.store, layers=layers, permissive=permissive)
        assert (await run.on(other).submit()).kind is say

    serve(scenario)


def test_a_shadow_is_tried_beside_every_policy(serve: Scenario) -> None:
    """It decides nothing; its text is kept under its digest."""
    shadow = compile_text('bundle new\ndefault allow\nrule x { deny tool "act" }\n').layers

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        other = Serving(w.store, shadows=shadow, permissive=True)
        assert (await run.on(other).submit()).kind is AnswerKind.PROCEED
        [said] = [event.payload["shadow"] for event in await w.store.events(run.id) if "shadow" in event.payload]
        assert said == [{"bundle": "new", "digest": shadow[0].digest, "rule_id": "x", "verdict": "deny"}]

    serve(scenario)


def test_a_key_is_good_until_it_is_rotated_or_revoked(serve: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store knows no token; other replicas hear of a change within a second."""
    monkeypatch.setattr(registry, "FRESH", 0.05)

    async def scenario(w: World) -> None:
        key, token = await w.serving.create_key("ci", ["executions:read"])
        other = w.replicas[-1]
        found = await other.key(token)
        assert found is not None
        assert (found.id, found.name, found.scopes) == (key.id, "ci", ("executions:read",))
        assert await other.key("rebuno_wrong") is None
        rotated, new = await w.serving.rotate_key(key.id)
        assert rotated.id == key.id
        assert (await w.serving.key(token), new != token) == (None, True)

        async def known(text: str, *, good: bool) -> bool:
            return (await other.key(text) is not None) is good

        await eventually(lambda: known(token, good=False))
        await eventually(lambda: known(new, good=True))
        await w.serving.revoke_key(key.id)
        await eventually(lambda: known(new, good=False))
        assert [one.revoked_at > 0 for one in await w.serving.keys()] == [True]
        with pytest.raises(ConflictError):
            await w.serving.rotate_key(key.id)
        with pytest.raises(NotFoundError):
            await w.serving.revoke_key("k-none")
        for name in (" ", "ana\u202e", "two\nlines", "аna"):
            with pytest.raises(ValidationError):
                await w.serving.create_key(name, [])

    serve(scenario)


def test_there_are_no_more_keys_than_may_be(serve: Scenario) -> None:
    """Also of callers at once on two replicas; a revoked key frees its place."""

    async def scenario(w: World) -> None:
        bound = [Serving(store, settings=Settings(max_keys=3)) for store in (w.stores[0], w.stores[-1])]
        first, _ = await bound[0].create_key("first", [])
        made = await asyncio.gather(
            *(bound[number % 2].create_key(f"k{number}", []) for number in range(8)), return_exceptions=True
        )
        refused = [one for one in made if isinstance(one, BaseException)]
        assert len(refused) >= 6
        assert all(isinstance(one, ConflictError) and "--max-keys" in str(one) for one in refused)
        live = [key.id for key in await w.serving.keys() if not key.revoked_at]
        assert len(live) == 1 + len(made) - len(refused)
        for number in range(3 - len(live)):
            await bound[0].create_key(f"rest{number}", [])
        before = await w.serving.keys()
        with pytest.raises(ConflictError, match="REBUNO_MAX_KEYS"):
            await bound[1].create_key("more", [])
        assert await w.serving.keys() == before
        await bound[0].rotate_key(first.id)
        await bound[0].revoke_key(first.id)
        await bound[1].create_key("again", [])

    serve(scenario)


def test_what_a_step_publishes_reaches_listeners_of_every_replica(serve: Scenario) -> None:
    """In its order, and only those of its execution."""

    async def scenario(w: World) -> None:
        await w.agent()
        run, other = await w.begin(), await w.begin()
        step, silent = await run.submit(), await other.submit()
        with w.serving.listen(run.id) as near, w.replicas[-1].listen(run.id) as far:

            async def heard() -> bool:
                await w.serving.publish("agent", run.id, run.dispatch, _piece(step.step_id, 0, "is there anybody"))
                return not near.empty() and not far.empty()

            # A replica may not have begun to listen yet.
            await eventually(heard)
            await w.serving.publish("agent", other.id, other.dispatch, _piece(silent.step_id, 0, "elsewhere"))
            for n in range(3):
                await w.serving.publish("agent", run.id, run.dispatch, _piece(step.step_id, n + 1, f"a b\n{n} ü\0"))
            for queue in (near, far):
                async with asyncio.timeout(10):
                    while (delta := await queue.get()).seq == 0:
                        assert delta.data == "is there anybody"
                    assert delta == _piece(step.step_id, 1, "a b\n0 ü\0")
                    assert [(await queue.get()).seq for _ in range(2)] == [2, 3]

    serve(scenario)


def test_a_piece_is_refused_where_it_cannot_be_handed_on(serve: Scenario) -> None:
    """Too long, or of a step that does not run."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin()
        step = await run.submit()
        for data, seq in (("x" * 7001, 0), ("ü" * 3501, 0), ("\ud800", 0), ("x", -1)):
            with pytest.raises(ValidationError):
                await w.serving.publish("agent", run.id, run.dispatch, _piece(step.step_id, seq, data))
        await w.serving.publish("agent", run.id, run.dispatch, _piece(step.step_id, 0, "x" * 7000))
        await run.done(step)
        with pytest.raises(ConflictError):
            await w.serving.publish("agent", run.id, run.dispatch, _piece(step.step_id, 1, "x"))
        with pytest.raises(NotFoundError):
            await w.serving.publish("agent", run.id, run.dispatch, _piece("s-none", 1, "x"))

    serve(scenario)


def _piece(step_id: str, seq: int, data: str) -> Delta:
    return Delta(step_id=step_id, seq=seq, data=data)


def test_an_old_replica_finds_no_scope_in_a_bound_key(serve: Scenario) -> None:
    """It does not know what it means to be bound, and must not take such a key for one that reaches everything."""

    async def scenario(w: World) -> None:
        made, token = await w.serving.create_key("ci", ["executions:read", "executions:write"], ["payer"])
        rotated, token = await w.serving.rotate_key(made.id)
        found = await w.replicas[-1].key(token)
        assert found == rotated
        assert (found.granted, found.agents) == (("executions:read", "executions:write"), ("payer",))
        # What it looks for is what stands there.
        assert not {"executions:read", "executions:write"} & {*found.scopes}

    serve(scenario)
