"""What is sealed in executions that are made from others, and what becomes of it without its key."""

import asyncio

import pytest

from rebuno.errors import KeyRingError, SealErased, SealKeyMissing
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.history import archive
from rebuno.kernel.history.timeline import tell
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution, fork, say
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.policy import Source, compile_policy, compile_text
from rebuno.sealing import KeyRing
from tests.kernel.sealing import (
    ALL,
    HEAD,
    PASSWORD,
    PIN,
    STORED,
    TOKEN,
    Sealed,
    act,
    login,
    marked,
    new_ring,
    nothing_shows,
    part,
    under,
    vault,
    with_ring,
)
from tests.kernel.support import Bench, Opener, bench


@pytest.fixture(params=["secrets", "secrets, all encrypted"])
def play(opener: Opener, request: pytest.FixtureRequest) -> Sealed:
    return Sealed(opener, encrypt=request.param != "secrets")


# ---------------------------------------------------------------- executions made from others


def test_a_fork_takes_the_seals_along(play: Sealed) -> None:
    """It replays wholly, and what it runs anew is searched for what its source sealed, under a bundle without `secret`
    as well."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        await vault(b)
        await execution.finish(b.attempt, failure_reason="agent_error: x")
        source = await b.store.execution(b.attempt.execution.id)
        for policy in (under(), compile_text(HEAD)):
            made = await fork.fork(b.store, source, source.head_seq - 1, key=f"fork-{policy.digest[:4]}", policy=policy)
            assert made.seal == play.ring.current
            await b.begin(policy, key=made.key or "")
            again = await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
            assert (again.kind, identity.parse(again.result or "")) == (AnswerKind.REPLAY, {"token": TOKEN})
            assert (await b.submit(target="read_vault", args={})).kind is AnswerKind.REPLAY
            sent = await b.submit(target="send", args={"body": STORED})
            assert identity.parse((await b.store.step(sent.step_id)).args) == {"body": part(b, STORED)}
            await nothing_shows(b)

    play(scenario)


def test_a_fork_of_what_was_not_sealed_is_sealed_by_the_bundle_of_today(play: Sealed) -> None:
    """Its copied steps get the ids that its handler will ask for."""

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text(HEAD))
        plain = await act(b, "login", {"password": PASSWORD}, {"token": TOKEN})
        assert PASSWORD in plain.args
        await execution.abandon(b.attempt)
        source = await b.store.execution(b.attempt.execution.id)
        made = await fork.fork(b.store, source, source.head_seq, key="fork", policy=under())
        assert made.seal
        await b.begin(under(), key="fork")
        again = await b.submit(target="login", args={"password": PASSWORD})
        assert (again.kind, identity.parse(again.result or "")) == (AnswerKind.REPLAY, {"token": TOKEN})
        await nothing_shows(b)

    play(scenario)


def test_an_execution_that_this_one_begins_takes_them_along(play: Sealed) -> None:
    """Its bundle has no `secret`; its input, its steps and what is kept of the root are searched."""

    asks = 'known asked = input\nrule z { deny tool "z" when args.z not in asked because "x" }\n'

    async def scenario(b: Bench) -> None:
        kernel = Kernel(b.store, under())
        given = identity.canonical({"pin": PIN, "request": "log in"})
        parent = await kernel.begin(agent_id="agent", input=given, key="parent")
        assert isinstance(parent, Attempt)
        b.kernel, b.attempt = kernel, parent
        await login(b)
        body = await b.submit(target="delegate", args={"text": f"use {PASSWORD}"})
        child = await Kernel(b.store, compile_text(HEAD + asks)).begin(
            agent_id="child",
            input=identity.canonical({"text": f"use {PASSWORD}"}),
            parent=parent.execution.id,
            parent_step=body.step_id,
        )
        assert isinstance(child, Attempt)
        assert child.input == {"text": f"use {PASSWORD}"}
        b.attempt, b.kernel = child, Kernel(b.store, compile_text(HEAD))
        await act(b, "send", {"body": PASSWORD})
        row = await b.store.execution(child.execution.id)
        root = await b.store.root(row.id)
        assert root is not None
        assert identity.parse(row.input) == {"text": f"use {part(b, PASSWORD)}"}
        assert identity.parse(root.input) == {"pin": marked(b, PIN), "request": "log in"}
        assert child.background.root_input == identity.parse(given)
        await nothing_shows(b)

    play(scenario)


# ---------------------------------------------------------------- keys


def test_without_the_key_nothing_runs(play: Sealed) -> None:
    """`SealKeyMissing` with the id: not resumed, forked or retried; read, told and verified all the same."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        await execution.abandon(b.attempt)
        inner = b.store.inner  # type: ignore[attr-defined]
        for ring in (None, new_ring()):
            without = with_ring(inner, ring)
            row = await without.execution(b.attempt.execution.id)
            kernel = Kernel(without, compile_text(HEAD))
            with pytest.raises(SealKeyMissing) as caught:
                await kernel.begin(agent_id="agent", input="{}", key="run-1")
            assert caught.value.key_id == play.ring.current
            with pytest.raises(SealKeyMissing):
                await fork.fork(without, row, row.head_seq)
            with pytest.raises(SealKeyMissing):
                await say.say(without, row.id, "a word")
            with pytest.raises(SealKeyMissing):
                await opened(without, row)
            assert (await check(without, row.id)).fault == ""
            assert [step.target for step in (await tell(without, row.id)).steps] == ["login"]
            await archive.record(without, row.id)

    play(scenario)


def test_a_new_key_serves_new_executions(play: Sealed) -> None:
    """The old one goes on under its own."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        first = await login(b)
        other = new_ring()
        both = KeyRing((*play.ring.keys, *other.keys), other.current, play.ring.marks)
        b.store = with_ring(b.store.inner, both, encrypt=play.encrypt)  # type: ignore[attr-defined]
        await b.begin(under())
        again = await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        assert (again.kind, again.step_id) == (AnswerKind.REPLAY, first.step_id)
        mark = marked(b, PASSWORD)
        await b.begin(under(), key="run-2")
        assert (await b.store.execution(b.attempt.execution.id)).seal == other.current
        await login(b)
        assert marked(b, PASSWORD) == mark

    play(scenario)


def test_a_bundle_with_secrets_needs_a_ring(opener: Opener) -> None:
    """Nothing is recorded without one."""

    async def whole() -> None:
        async with bench(opener) as b:
            with pytest.raises(KeyRingError, match="the bundle `shop` has a `secret`"):
                await b.begin(under())
            assert await b.store.executions() == []
            await b.begin(compile_text(HEAD))
            assert b.attempt.seals is None

    asyncio.run(whole())


def test_a_secret_that_comes_later_counts_from_the_next_execution_on(play: Sealed) -> None:
    """What runs goes on as it began."""

    async def scenario(b: Bench) -> None:
        if play.encrypt:
            return
        await b.begin(compile_text(HEAD))
        step = await act(b, "login", {"password": PASSWORD})
        await b.begin(under())
        again = await b.submit(target="login", args={"password": PASSWORD})
        assert (again.kind, again.step_id) == (AnswerKind.REPLAY, step.step_id)
        assert (await b.store.execution(b.attempt.execution.id)).seal == ""
        await b.begin(under(), key="run-2")
        assert PASSWORD not in (await login(b)).args

    play(scenario)


def test_an_execution_goes_on_sealing_what_it_began_with(play: Sealed) -> None:
    """Also where today's bundle seals it no more."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        await b.begin(compile_text(HEAD))
        await b.submit(target="login", args={"user": "bob", "password": PASSWORD})
        row = await act(b, "login", {"password": "another-password"}, {"token": "another-token"})
        assert identity.parse(row.args) == {"password": marked(b, "another-password")}
        assert identity.parse(row.result or "") == {"token": marked(b, "another-token")}

    play(scenario)


def test_all_layers_seal(play: Sealed) -> None:
    """The union; a bundle beside the policy seals nothing."""
    outer = Source('bundle outer\ndefault allow\nsecret tool "a" at args.x\n', "outer.rbp")
    inner = Source('bundle inner\ndefault allow\nsecret tool "a" at args.y\n', "inner.rbp")
    beside = compile_text('bundle beside\ndefault allow\nsecret tool "a" at args.z\n')

    async def scenario(b: Bench) -> None:
        await b.begin(compile_policy([outer, inner]).with_shadows(beside.layers))
        row = await act(b, "a", {"x": 1, "y": 2, "z": 3})
        assert identity.parse(row.args) == {"x": marked(b, 1), "y": marked(b, 2), "z": 3}

    play(scenario)


def test_erased_executions_are_verified_and_not_run(play: Sealed) -> None:
    """Nothing that was sealed can be read any more; the log still holds."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        await login(b)
        await execution.finish(b.attempt, output="null")
        row = await b.store.execution(b.attempt.execution.id)
        await b.store.erase([row.id], "ana")
        with pytest.raises(SealErased):
            await fork.fork(b.store, row, row.head_seq)
        found = await check(b.store, row.id)
        assert (found.fault, found.erased > 0) == ("", True)

    play(scenario)


def test_an_export_keeps_ciphertext(play: Sealed, opener: Opener) -> None:
    """Imported with the key it goes on; without it is read, told and verified, and not resumed."""

    async def scenario(b: Bench) -> None:
        await b.begin(under())
        first = await login(b)
        await execution.abandon(b.attempt)
        lines = list(archive.lines(await archive.record(b.store, b.attempt.execution.id)))
        assert not any(one in line for one in ALL for line in lines)
        read = archive.read([line.encode() for line in lines])
        for ring in (play.ring, None):
            plain = await SQLiteStore.open(":memory:", clock=b.clock)
            store = with_ring(plain, ring)
            row = await archive.restore(store, read)
            assert (await check(store, row.id)).fault == ""
            kernel = Kernel(store, under() if ring else compile_text(HEAD))
            if ring is None:
                with pytest.raises(SealKeyMissing):
                    await kernel.begin(agent_id="agent", input="{}", key="run-1")
            else:
                again = Bench(store, b.clock)
                await again.begin(under())
                answer = await again.submit(target="login", args={"user": "bob", "password": PASSWORD})
                assert (answer.kind, answer.step_id) == (AnswerKind.REPLAY, first.step_id)
                assert identity.parse(answer.result or "") == {"token": TOKEN}
            await plain.close()

    play(scenario)
