"""A step that may wait for its place: how long, what ends the wait, and what a killed process leaves of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from rebuno.errors import LeaseSuperseded, Stale, StoreError, StoreFull, StoreUnreachable, Terminated
from rebuno.journal.records import Batch, ExecutionWrite, Spend
from rebuno.journal.store import Store
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import limits
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.execution import ExecutionStatus
from rebuno.policy.compile import compile_text
from tests.embedded.support import in_loop
from tests.kernel.support import Bench, Opener, bench

WAIT = compile_text('default allow\nrule r { allow tool "act" limit 1 per 10s else wait up to 30s }')
SHORT = compile_text('default allow\nrule r { allow tool "act" limit 1 per 1h else wait up to 90m }')


def submission(n: int = 0, parent: str = "") -> Submission:
    """A call of the tool `act`."""
    return Submission("tool_call", "act", identity.canonical({"n": n}), "safe_to_retry", parent)


async def act(b: Bench, n: int = 0, parent: str = "") -> Answer:
    """The answer to it; a park is answered, not waited for."""
    return await b.kernel.submit(b.attempt, submission(n, parent), wait=False)


def window(b: Bench) -> str:
    """What the rule counts under."""
    return f'{b.attempt.execution.id}["bundle","r"]'


@asynccontextmanager
async def parked(b: Bench, n: int = 1) -> AsyncIterator["asyncio.Task[Answer]"]:
    """A submission that waits in place, its event written."""
    task = asyncio.create_task(b.kernel.submit(b.attempt, submission(n)))
    try:
        while (await b.events())[-1] != "step.rate_limited":
            pass
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOOK", 0.005)


@in_loop
async def test_a_parked_step_runs_when_there_is_room(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before; the attempt sleeps in place meanwhile, and the log says since when and until when at most."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b) as task:
            with monkeypatch.context() as patch:
                # It knows when to ask again.
                patch.setattr(b.store, "spend", None)
                b.clock.advance(9.98)
                await asyncio.sleep(0.03)
            assert not task.done()
            # The jitter is a tenth of what was left.
            b.clock.advance(1.02)
            assert (await asyncio.wait_for(task, 5)).kind is AnswerKind.PROCEED
        events = await b.store.events(b.attempt.execution.id)
        assert [event.type for event in events[-2:]] == ["step.rate_limited", "step.executing"]
        assert events[-2].payload["until"] == "2026-01-01T00:00:30.000000Z"


@in_loop
async def test_of_two_that_wait_for_one_place_the_other_waits_on(opener: Opener) -> None:
    """Each gets a place in time, never both the same one."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b, 1) as one, parked(b, 2) as two:
            b.clock.advance(11)
            await asyncio.wait({one, two}, return_when=asyncio.FIRST_COMPLETED, timeout=5)
            await asyncio.sleep(0.02)
            assert one.done() != two.done()
            b.clock.advance(11)
            assert [(await asyncio.wait_for(task, 5)).kind for task in (one, two)] == [AnswerKind.PROCEED] * 2


@in_loop
async def test_a_wait_ends_with_a_refusal(opener: Opener) -> None:
    """Where somebody else has the place each time, for longer than the rule lets it wait. A new try waits anew."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        answer = await act(b, 1)
        assert (answer.kind, answer.step_id, answer.rule_id) == (AnswerKind.PARKED, "", "r")
        for n in (2, 3):
            b.clock.advance(10)
            assert (await act(b, n)).kind is AnswerKind.PROCEED
            assert (await act(b, 1)).kind is AnswerKind.PARKED
        b.clock.advance(10)
        assert (await act(b, 4)).kind is AnswerKind.PROCEED
        assert (await act(b, 1)).kind is AnswerKind.RATE_LIMITED
        assert (await act(b, 1)).kind is AnswerKind.PARKED
        # Once for each wait, however often it asked.
        assert (await b.events()).count("step.rate_limited") == 3


@in_loop
async def test_a_park_survives_a_kill(opener: Opener) -> None:
    """The next attempt parks the same step for what is left of its wait, not for the whole wait again."""
    async with bench(opener) as b:
        await b.begin(SHORT)
        await act(b, 0)
        assert (await act(b, 1)).kind is AnswerKind.PARKED
        b.clock.advance(1800)
        await b.begin(SHORT)
        assert [(await act(b, n)).kind for n in (0, 1)] == [AnswerKind.PROCEED, AnswerKind.PARKED]
        b.clock.advance(1801)
        # Another execution was quicker; an hour from now is beyond what is left.
        await b.store.spend("another", [Spend(window(b), 1, 3600)])
        await b.begin(SHORT)
        assert [(await act(b, n)).kind for n in (0, 1)] == [AnswerKind.PROCEED, AnswerKind.RATE_LIMITED]
        # Refused is refused: what comes after it is a new wait.
        await b.begin(SHORT)
        assert [(await act(b, n)).kind for n in (0, 1)] == [AnswerKind.PROCEED, AnswerKind.PARKED]


@in_loop
async def test_a_clock_set_back_does_not_lengthen_the_wait(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by another clock too, which nobody sets."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b) as task:
            b.clock.advance(-15)
            await asyncio.sleep(0.02)
            # The place is 25 s away now, and that is within the wait.
            assert not task.done()
            # By the store's clock it has waited for less than nothing.
            late = monotonic() + 31
            monkeypatch.setattr(limits, "monotonic", lambda: late)
            assert (await asyncio.wait_for(task, 5)).kind is AnswerKind.RATE_LIMITED


@in_loop
async def test_a_step_inside_an_at_most_once_body_is_denied_where_it_would_wait(opener: Opener) -> None:
    """For good: the body must not hang between its start and its outcome. One that cannot wait is refused as ever."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        outer = await b.submit(target="outer", idempotency="at_most_once")
        inside = await b.submit(target="inside", parent=outer.step_id)
        assert (await act(b, 0, inside.step_id)).kind is AnswerKind.PROCEED
        denied = await act(b, 1, inside.step_id)
        assert (denied.kind, denied.rule_id) == (AnswerKind.DENIED, "__nested_wait")
        assert denied.reason == "a step inside the body of an at_most_once step cannot wait for its turn"


@in_loop
async def test_a_parked_step_sees_that_the_run_waits_for_a_person(opener: Opener) -> None:
    """Then nothing new starts, and the wait is over; nothing of it is recorded."""
    async with bench(opener) as b:
        await b.begin(
            compile_text(
                'default allow\nrule r { allow tool "act" limit 1 per 1h else wait up to 2h }\n'
                'rule p { require approval for tool "pay" }'
            )
        )
        await act(b, 0)
        async with parked(b) as task:
            assert (await b.submit(target="pay")).kind is AnswerKind.BLOCKED
            assert (await asyncio.wait_for(task, 5)).kind is AnswerKind.EXECUTION_BLOCKED


@in_loop
async def test_a_parked_step_sees_what_time_it_is_and_what_has_happened(opener: Opener) -> None:
    """It is decided again whenever it looks around: a rule may have begun to deny it."""
    async with bench(opener) as b:
        await b.begin(
            compile_text(
                'default allow\nrule d { deny tool "act" when after tool "stop" }\n'
                'rule r { allow tool "act" limit 1 per 1h else wait up to 2h }'
            )
        )
        await act(b, 0)
        async with parked(b) as task:
            await b.submit(target="stop")
            assert (await asyncio.wait_for(task, 5)).kind is AnswerKind.DENIED


@in_loop
async def test_a_parked_step_sees_that_its_execution_has_ended(opener: Opener) -> None:
    """Somebody else ended it in the store."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b) as task:
            end = Batch(
                b.attempt.execution.id,
                (new_event.execution("cancelled"),),
                execution=ExecutionWrite(ExecutionStatus.CANCELLED),
            )
            b.store.write(end)
            await end.committed
            with pytest.raises(Terminated):
                await asyncio.wait_for(task, 5)


@in_loop
async def test_a_parked_step_sees_that_another_attempt_has_taken_over(opener: Opener) -> None:
    """It stops where it stands."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b) as task:
            taken = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=b.store.holder, lease_until=9e9)
            release = Batch(b.attempt.execution.id, (), execution=taken)
            b.store.write(release)
            await release.committed
            with pytest.raises(LeaseSuperseded):
                await asyncio.wait_for(task, 5)


@in_loop
async def test_a_cancelled_wait_is_forgotten(opener: Opener) -> None:
    """The caller gave up: nothing is recorded, and the next call like it is the same step in the same wait."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        async with parked(b) as task:
            task.cancel()
            await asyncio.wait({task})
        b.clock.advance(20)
        await act(b, 2)
        b.clock.advance(5)
        # It has waited 25 s of its 30 s, and the next place is 5 s away.
        assert (await act(b, 1)).kind is AnswerKind.PARKED
        b.clock.advance(5.01)
        await b.store.spend("another", [Spend(window(b), 1, 10)])
        assert (await act(b, 1)).kind is AnswerKind.RATE_LIMITED
        assert [step.occurrence for step in await b.store.steps(b.attempt.execution.id)] == [0, 0]


@pytest.mark.parametrize("error", [StoreFull("no room"), StoreUnreachable("away")], ids=["full", "away"])
@in_loop
async def test_a_park_whose_write_failed_is_not_remembered(
    opener: Opener, error: StoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing on the disk says since when the step waits, so nothing in memory does; one that was written is kept."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        parked_for_good = await act(b, 1)
        assert parked_for_good.kind is AnswerKind.PARKED
        before = dict(b.attempt.parked or {})
        assert len(before) == 1
        write = type(b.store).write

        def fails(store: Store, batch: Batch) -> None:
            if any(event.type == "step.rate_limited" for event in batch.events):
                batch.committed.set_exception(error)
            else:
                write(store, batch)

        with monkeypatch.context() as patch:
            patch.setattr(type(b.store), "write", fails)
            with pytest.raises(type(error)):
                await act(b, 2)
        # The callbacks of the commit have run by then.
        await asyncio.sleep(0)
        assert b.attempt.parked == before


@in_loop
async def test_a_park_that_is_stale_is_remembered_by_its_second_write(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log had grown: it is judged and written anew, and waits since then."""
    async with bench(opener) as b:
        await b.begin(WAIT)
        await act(b, 0)
        write, tried = type(b.store).write, list[Batch]()

        def stale_once(store: Store, batch: Batch) -> None:
            if any(event.type == "step.rate_limited" for event in batch.events):
                tried.append(batch)
                if len(tried) == 1:
                    batch.committed.set_exception(Stale("it has grown"))
                    asyncio.get_running_loop().call_soon(lambda: remembered.append(dict(b.attempt.parked or {})))
                    return
            write(store, batch)

        remembered: list[dict[str, float]] = []
        monkeypatch.setattr(type(b.store), "write", stale_once)
        assert (await act(b, 1)).kind is AnswerKind.PARKED
        await asyncio.sleep(0)
        assert (len(tried), remembered) == (2, [{}])
        assert len(b.attempt.parked or {}) == 1
