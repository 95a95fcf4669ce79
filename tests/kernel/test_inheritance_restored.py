"""What a store that was put back from a copy takes along: all of it as it stood, but effects, about which it asks."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rebuno.journal.records import ExecutionRow
from rebuno.journal.sqlite import SQLiteStore, copies
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import execution
from rebuno.kernel.operator import Operator
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.model.decision import RESTORED
from rebuno.model.execution import ExecutionStatus
from rebuno.model.obligation import LimitScope
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.kernel.served import Run, world
from tests.kernel.support import KEY, Bench
from tests.kernel.test_inheritance import DENIES, ONCE, OPEN, SCOPES, acts, limited


@asynccontextmanager
async def store_of(path: Path, clock: FixedClock) -> AsyncIterator[SQLiteStore]:
    """The store in a file."""
    store = await SQLiteStore.open(str(path), clock=clock)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def put_back(folder: Path, before: Callable[[Bench], Awaitable[None]]) -> AsyncIterator[Bench]:
    """A bench on a copy that was put back, of the store in which `before` was played; the clock has gone on."""
    clock = FixedClock()
    async with store_of(folder / "a.db", clock) as store:
        played = Bench(store, clock)
        await before(played)
        if hasattr(played, "attempt") and not played.attempt.ended:
            await execution.abandon(played.attempt)
        copies.backup(folder / "a.db", folder / "copy.db")
    (folder / "a.db").unlink()
    copies.restore(folder / "copy.db", folder / "a.db", by="ana")
    async with store_of(folder / "a.db", clock) as store:
        yield Bench(store, clock)


@in_loop
async def test_steps_stand_as_they_are(tmp_path: Path) -> None:
    """Succeeded, failed and denied ones, with facts, verdicts, times and events; each replays."""
    rows = []

    async def before(b: Bench) -> None:
        await b.begin(DENIES)
        await b.succeed(await b.submit(target="look"))
        await b.succeed(await b.submit(target="pay", idempotency=ONCE))
        await b.fail(await b.submit(target="fetch"))
        await b.submit(target="act")
        id = b.attempt.execution.id
        rows.append((await b.store.steps(id), await b.store.events(id)))

    async with put_back(tmp_path, before) as b:
        ((steps, events),) = rows
        assert await b.store.steps(events[0].execution_id) == steps
        assert await b.store.events(events[0].execution_id) == events
        await b.begin(DENIES)
        said = [
            (await b.submit(target=target, idempotency=ONCE if target == "pay" else "safe_to_retry")).kind
            for target in ("look", "pay", "fetch", "act")
        ]
        assert said == [AnswerKind.REPLAY] * 3 + [AnswerKind.DENIED]
        assert (await check(b.store, b.attempt.execution.id)).fault == ""


@pytest.mark.parametrize("scope", SCOPES)
@in_loop
async def test_places_in_limits_stand(tmp_path: Path, scope: LimitScope) -> None:
    """For the execution, its agent and for all, also in an execution that is new."""
    rules = limited(SCOPES[scope])

    async def before(b: Bench) -> None:
        await b.begin(rules)
        assert await acts(b, range(2)) == [AnswerKind.PROCEED] * 2

    async with put_back(tmp_path, before) as b:
        await b.begin(rules)
        assert await acts(b, range(3)) == [AnswerKind.REPLAY, AnswerKind.REPLAY, AnswerKind.RATE_LIMITED]
        await b.begin(rules, key="another")
        first = AnswerKind.PROCEED if scope is LimitScope.EXECUTION else AnswerKind.RATE_LIMITED
        assert await acts(b, range(1)) == [first]


@in_loop
async def test_places_come_free_when_they_would_have(tmp_path: Path) -> None:
    """They are held since their steps began, and not since the copy was put back."""
    rules = limited("limit 2 per 60s")

    async def before(b: Bench) -> None:
        await b.begin(rules)
        await acts(b, range(2))
        b.clock.advance(50)

    async with put_back(tmp_path, before) as b:
        await b.begin(rules)
        assert await acts(b, range(2, 3)) == [AnswerKind.RATE_LIMITED]
        b.clock.advance(11)
        assert await acts(b, range(2, 5)) == [AnswerKind.PROCEED, AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]


@in_loop
async def test_used_tokens_stand(tmp_path: Path) -> None:
    """A budget that was used up is used up."""
    rules = compile_text('bundle b\nrule ask { allow llm "*" budget 100 tokens per execution }\n')

    async def before(b: Bench) -> None:
        await b.begin(rules)
        body = json.dumps({"usage": {"prompt_tokens": 90, "completion_tokens": 10}})
        answer = await b.submit(target="model", kind="llm_call", args={"n": 1})
        await b.succeed(answer, {"status": 200, "headers": {}, "body": body})

    async with put_back(tmp_path, before) as b:
        await b.begin(rules)
        assert (await b.submit(target="model", kind="llm_call", args={"n": 1})).kind is AnswerKind.REPLAY
        more = await b.submit(target="model", kind="llm_call", args={"n": 2})
        assert (more.kind, more.reason) == (AnswerKind.DENIED, "execution_token_budget_exceeded")


@pytest.mark.parametrize("pin", [False, True])
@in_loop
async def test_policy_and_pin_stand(tmp_path: Path, pin: bool) -> None:
    """A pinned run is judged by the bundle of its start, which the copy has; another by today's."""

    async def before(b: Bench) -> None:
        b.kernel = Kernel(b.store, OPEN)
        begun = await b.kernel.begin(agent_id="agent", input="{}", key=KEY, pin=pin)
        assert isinstance(begun, Attempt)
        b.attempt = begun
        await b.succeed(await b.submit(target="first"))

    async with put_back(tmp_path, before) as b:
        await b.begin(DENIES)
        assert b.attempt.execution.pinned is pin
        assert (await b.submit(target="first")).kind is AnswerKind.REPLAY
        assert (await b.submit()).kind is (AnswerKind.PROCEED if pin else AnswerKind.DENIED)


@in_loop
async def test_a_deadline_stands(tmp_path: Path) -> None:
    """It is reached when it would have been."""

    async def before(b: Bench) -> None:
        b.kernel = Kernel(b.store, OPEN)
        begun = await b.kernel.begin(agent_id="agent", input="{}", key=KEY, deadline=100)
        assert isinstance(begun, Attempt)
        b.attempt = begun
        b.clock.advance(60)

    async with put_back(tmp_path, before) as b:
        assert isinstance(await b.begin(OPEN), Attempt)
        await execution.abandon(b.attempt)
        b.attempt.ended = True
        b.clock.advance(41)
        ended = await b.begin(OPEN)
        assert isinstance(ended, ExecutionRow)
        assert (ended.status, ended.failure_reason) == (ExecutionStatus.CANCELLED, "deadline_exceeded")


@in_loop
async def test_session_input_and_words_stand(tmp_path: Path) -> None:
    """What a served execution continues from, for whom it runs, what it was given, and what its user wrote since."""
    made: list[tuple[Run, str]] = []

    async def before(b: Bench) -> None:
        async with world([b.store], b.clock) as w:
            await w.agent()
            first = await w.begin(session="chat")
            await first.complete("one", '{"page":1}')
            second = await w.begin(session="chat", input={"n": 2}, on_behalf_of="eve")
            await w.serving.say(second.id, "and the other page")
            third = await w.create(session="chat", input=3)
            made.append((second, third.id))

    async with put_back(tmp_path, before) as b, world([b.store], b.clock) as w:
        ((run, waits),) = made
        row = await b.store.execution(run.id)
        assert (row.session, row.on_behalf_of, row.input) == ("chat", "eve", '{"n":2}')
        assert await w.serving.previous(run.id) == '{"page":1}'
        assert [turn.text for turn in await w.serving.turns(run.id)] == ["and the other page"]
        assert (await b.store.execution(waits)).status is ExecutionStatus.PENDING
        await run.on(w.serving).complete("two", '{"page":2}')
        following = await w.run()
        assert (following.id, await w.serving.previous(following.id)) == (waits, '{"page":2}')


ASKS = compile_text('bundle b\ndefault deny\nrule asks { require approval for tool "act" }\n')


@pytest.mark.parametrize("scope", ["once", "execution"])
@in_loop
async def test_grants_stand(tmp_path: Path, scope: str) -> None:
    """For their step, or for all of the execution; nothing is widened."""
    asked = []

    async def before(b: Bench) -> None:
        await b.begin(ASKS)
        asked.append(await b.submit(args={"n": 1}))
        await b.suspend()
        await b.answer(asked[0].approval_id, granted=True, scope=scope)

    async with put_back(tmp_path, before) as b:
        assert (await b.store.approval(asked[0].approval_id)).scope == scope
        await b.begin(ASKS)
        said = [(await b.submit(args={"n": n})).kind for n in (1, 2)]
        assert said == [AnswerKind.PROCEED, AnswerKind.PROCEED if scope == "execution" else AnswerKind.BLOCKED]


@pytest.mark.parametrize("key", [KEY, "new"])
@in_loop
async def test_each_effect_after_the_copy_asks_until_the_restore_is_accepted(tmp_path: Path, key: str) -> None:
    """Also one that a rule or an earlier answer allows, in executions of then and of now."""

    async def before(b: Bench) -> None:
        await b.begin(OPEN)
        await b.succeed(await b.submit(args={"n": 0}, idempotency=ONCE))

    async with put_back(tmp_path, before) as b:
        restored = await b.store.restored()
        assert restored is not None
        # The copy was put back by the machine's clock.
        b.clock.advance(restored.restored_at + 1 - b.clock.now())
        done = [0] if key == KEY else []
        for n in (1, 2):
            await resumed(b, key, done)
            asked = await b.submit(args={"n": n}, idempotency=ONCE)
            assert (asked.kind, asked.rule_id) == (AnswerKind.BLOCKED, RESTORED)
            await b.suspend()
            await b.answer(asked.approval_id, granted=True)
            await resumed(b, key, done)
            again = await b.submit(args={"n": n}, idempotency=ONCE)
            assert again.kind is AnswerKind.PROCEED
            await b.succeed(again)
            done.append(n)
        await Operator(b.store).accept_restore(by="ana")
        await resumed(b, key, done)
        assert (await b.submit(args={"n": 3}, idempotency=ONCE)).kind is AnswerKind.PROCEED
        assert (await check(b.store, b.attempt.execution.id)).fault == ""


async def resumed(b: Bench, key: str, done: list[int]) -> None:
    """The execution, run again to where it stood."""
    await b.begin(OPEN, key=key)
    for n in done:
        assert (await b.submit(args={"n": n}, idempotency=ONCE)).kind is AnswerKind.REPLAY
