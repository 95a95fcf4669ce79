"""`secret` in the served kernel: agents read what is clear, everybody else marks; on one replica and on two."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rebuno.errors import BundleError, KeyRingError
from rebuno.journal.records import StepRow
from rebuno.kernel.served.kernel import Serving
from rebuno.model import identity
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.policy import Source
from rebuno.sealing import KeyRing
from rebuno.types import Delta
from tests.kernel import served
from tests.kernel.sealing import new_ring, with_ring
from tests.kernel.served import Run, World

SECRETS = (
    "bundle shop\ndefault allow\n"
    'secret tool "login" at args.password, result.token\n'
    'secret tool "delegate" at result.token\n'
    "secret input.pin\n"
    'rule ask { require approval for tool "ask" because "x" }\n'
)
PASSWORD, TOKEN = "s3cret-pw", "tok-12345678-abc"

Scenario = Callable[[World], Awaitable[None]]


@pytest.fixture(params=["one replica", "two replicas"])
def serve(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    url = None if request.param == "one replica" else request.getfixturevalue("postgres")

    def play(scenario: Scenario, ring: KeyRing | None = None) -> None:
        async def whole() -> None:
            clock, key = FixedClock(), ring or new_ring()
            async with served.opened(url, clock) as stores:
                sealing = [with_ring(store, key) for store in stores]
                async with served.world(sealing, clock) as world:
                    await scenario(world)

        asyncio.run(whole())

    return play


async def login(run: Run) -> None:
    await run.act("login", {"user": "bob", "password": PASSWORD}, {"token": TOKEN})


async def rows(w: World, run: Run) -> list[StepRow]:
    return await w.serving.steps(run.id)


async def nothing_shows(w: World, run: Run, *values: str) -> None:
    execution = await w.serving.execution(run.id)
    found: list[Any] = [
        await w.serving.shown(execution),
        await rows(w, run),
        await w.serving.turns(run.id),
        await w.serving.approvals(execution_id=run.id),
        await w.serving.previous(run.id),
        *[await w.serving.documented(event) for event in await w.serving.events(run.id, limit=1000)],
    ]
    text = "\n".join(map(repr, found))
    assert [one for one in values or (PASSWORD, TOKEN) if one in text] == []
    assert (await w.serving.verify(run.id)).fault == ""


def test_steps_on_any_replica(serve: Callable[[Scenario], None]) -> None:
    """Written with marks, replayed in clear, whichever replica is asked."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin(input={"pin": "1234", "text": "x"})
        await login(run)
        other = run.on(w.replicas[-1])
        sent = await other.submit("send", {"body": f"pw={PASSWORD}"})
        assert sent.kind is AnswerKind.PROCEED
        await other.done(sent, f"sent pw={PASSWORD}")
        login_row, sent_row = await rows(w, run)
        assert identity.parse(login_row.args)["password"].keys() == {"secret"}
        assert PASSWORD not in sent_row.args + (sent_row.result or "")
        execution = await w.serving.execution(run.id)
        clear = await w.serving.in_clear(execution)
        assert identity.parse(clear.input) == {"pin": "1234", "text": "x"}
        mine = await w.replicas[-1].steps(run.id, terminal=True, clear=execution)
        assert identity.parse(mine[0].result or "") == {"token": TOKEN}
        assert identity.parse((await w.serving.step(run.id, mine[1].step_id, clear=execution)).args) == {
            "body": f"pw={PASSWORD}"
        }
        assert '"1234"' not in execution.input
        await nothing_shows(w, run)

    serve(scenario)


def test_a_request_that_is_repeated_gets_its_answer_again(serve: Callable[[Scenario], None]) -> None:
    """The same submission under one number, and another one refused."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin()
        args = {"user": "bob", "password": PASSWORD}
        first = await run.submit("login", args, number=1)
        again = await run.on(w.replicas[-1]).submit("login", args, number=1)
        assert (again.kind, again.step_id) == (first.kind, first.step_id)

    serve(scenario)


def test_a_new_attempt_replays(serve: Callable[[Scenario], None]) -> None:
    """Blocked by a question, granted, delivered again."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin()
        await login(run)
        asked = await run.submit("ask", {"q": f"send {TOKEN}?"})
        question = await w.serving.approval(asked.approval_id)
        assert "was sealed by the step `login`" in question.message
        await w.serving.resolve(question.id, granted=True, decided_by="ana", rationale=f"{TOKEN} it is")
        next_run = await w.run()
        again = await next_run.submit("login", {"user": "bob", "password": PASSWORD})
        assert (again.kind, identity.parse(again.result or "")) == (AnswerKind.REPLAY, {"token": TOKEN})
        assert (await next_run.submit("ask", {"q": f"send {TOKEN}?"})).kind is AnswerKind.PROCEED
        await nothing_shows(w, run)

    serve(scenario)


def test_a_subagent_gets_and_gives_what_is_clear(serve: Callable[[Scenario], None]) -> None:
    """Its record takes the seals along; what it comes to is sealed in its parent by the parent's bundle."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        await w.agent("child", policy="bundle child\ndefault allow\n")
        run = await w.begin()
        await login(run)
        body = await run.submit("delegate", {"text": PASSWORD})
        await w.create("child", {"text": PASSWORD}, spawned_by=(run.id, body.step_id))
        below = await w.run(agent="child")
        row = await w.serving.execution(below.id)
        assert PASSWORD not in row.input
        assert identity.parse((await w.serving.in_clear(row)).input) == {"text": PASSWORD}
        await below.act("send", {"body": PASSWORD}, f"sent {PASSWORD}")
        await below.complete({"token": "new-token-of-the-child", "said": PASSWORD})
        await served.eventually(lambda: _settled(w, run, body.step_id))
        step = await w.serving.step(run.id, body.step_id)
        assert "new-token" not in (step.result or "")
        clear = await w.serving.step(run.id, body.step_id, clear=await w.serving.execution(run.id))
        assert identity.parse(clear.result or "") == {"token": "new-token-of-the-child", "said": PASSWORD}
        await nothing_shows(w, run, PASSWORD, TOKEN, "new-token-of-the-child")
        await nothing_shows(w, below, PASSWORD, TOKEN)

    serve(scenario)


async def _settled(w: World, run: Run, step_id: str) -> bool:
    return (await w.serving.step(run.id, step_id)).status.terminal


def test_the_next_of_a_session_takes_them_along(serve: Callable[[Scenario], None]) -> None:
    """`previous()` gives the agent what is clear, and others marks; one that waited for its turn too."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin(session="s")
        await w.create(session="s")
        await login(run)
        state = identity.canonical({"keep": TOKEN})
        await run.complete(None, state)
        after = await w.run()
        assert identity.parse(await w.serving.previous(after.id, clear=True) or "") == {"keep": TOKEN}
        assert TOKEN not in (await w.serving.previous(after.id) or TOKEN)
        await after.act("send", {"body": TOKEN})
        await nothing_shows(w, after)
        await after.complete(None)
        third = await w.begin(session="s")
        await third.act("send", {"body": TOKEN})
        await nothing_shows(w, third)

    serve(scenario)


def test_pieces_of_a_stream(serve: Callable[[Scenario], None]) -> None:
    """A value that is told piece by piece is a mark all the same."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin()
        await login(run)
        body = await run.submit("m", {}, kind="llm_call")
        with w.replicas[-1].listen(run.id) as heard:
            pieces = ["the ", "token ", "is tok-1", "2345678", "-abc", " and ", "more"]
            for seq, piece in enumerate(pieces):
                delta = Delta(step_id=body.step_id, seq=seq, data=piece)
                await run.serving.publish(run.agent, run.id, run.dispatch, delta)
            told = ""
            async with asyncio.timeout(served.PATIENCE):
                while "more" not in told:
                    told += (await heard.get()).data
        assert TOKEN not in told
        assert told.startswith('the token is {"secret": "#')
        assert told.endswith('"} and more')

    serve(scenario)


def test_forks_and_retries(serve: Callable[[Scenario], None]) -> None:
    """They replay, and seal as their source did."""

    async def scenario(w: World) -> None:
        await w.agent(policy=SECRETS)
        run = await w.begin(input={"pin": "1234"})
        await login(run)
        await run.serving.fail(run.agent, run.id, run.dispatch, f"agent_error: {PASSWORD}")
        for make in (w.serving.retry, lambda id: w.serving.fork(id, at_seq=4)):
            made = await make(run.id)
            assert made.seal
            assert "1234" not in made.input
            copy = await w.run()
            again = await copy.submit("login", {"user": "bob", "password": PASSWORD})
            assert again.kind in (AnswerKind.REPLAY, AnswerKind.PROCEED)
            if again.kind is AnswerKind.REPLAY:
                assert identity.parse(again.result or "") == {"token": TOKEN}
            await nothing_shows(w, copy)

    serve(scenario)


def test_a_replica_without_a_ring_takes_no_such_bundle() -> None:
    """Refused with the place; as a layer the server does not open."""

    async def scenario() -> None:
        async with served.opened(None, FixedClock()) as stores, served.world(stores, FixedClock()) as w:
            await w.agent()
            with pytest.raises(BundleError) as caught:
                await w.serving.set_policy("agent", SECRETS)
            [wrong] = caught.value.diagnostics
            assert (wrong.code, wrong.span.line) == ("no-key-ring", 3)
            with pytest.raises(KeyRingError, match="key ring"):
                Serving(stores[0], layers=[Source(SECRETS, "outer.rbp")])

    asyncio.run(scenario())
