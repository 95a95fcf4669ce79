"""An attempt that writes all the time outruns neither who answers a question nor who ends the execution, whichever of
them comes first; and a process that dies in between leaves nothing half-done."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from rebuno.errors import ConflictError, LeaseSuperseded
from rebuno.journal.records import Batch
from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.transact import PATIENCE
from rebuno.kernel.history.verify import check
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import votes
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.model.answer import Answer, AnswerKind
from rebuno.policy import compile_text
from tests.kernel.contention import ASK, MOST, Meanwhile, busy
from tests.kernel.served import LEASE, Scenario, World
from tests.kernel.support import KEY, Bench, Play, policy


class Busy:
    """An attempt with a body that goes on doing nested steps."""

    def __init__(self, b: Bench, outer: Answer) -> None:
        self._bench = b
        self.outer = outer
        self.steps = 0

    @classmethod
    async def begin(cls, b: Bench) -> "Busy":
        await b.begin(ASK)
        return cls(b, await b.submit(target="outer"))

    async def write(self) -> None:
        """One more step."""
        self.steps += 1
        await self._bench.succeed(
            await self._bench.submit(target="inner", args={"n": self.steps}, parent=self.outer.step_id)
        )

    async def writes(self, times: int) -> None:
        await self.write()


async def _votes(b: Bench, question: str) -> None:
    await b.answer(question, granted=True, by="ana")


async def _expires(b: Bench, question: str) -> None:
    b.clock.advance(61)
    assert await votes.expire(b.store, b.attempt.execution.id) == 1


DEEDS: list[tuple[str, Callable[[Bench, str], Awaitable[object]], str]] = [
    ("act", lambda b, question: b.answer(question, granted=True), "granted"),
    ("act", lambda b, question: b.answer(question, granted=False), "denied"),
    ("act", _expires, "expired"),
    ("both", _votes, "pending"),
    ("both", lambda b, question: b.answer(question, granted=False), "denied"),
]


@pytest.mark.parametrize(("target", "deed", "status"), DEEDS, ids=[f"{row[0]} {row[2]}" for row in DEEDS])
def test_an_attempt_that_writes_all_the_time_is_answered(
    play: Play, target: str, deed: Callable[[Bench, str], Awaitable[object]], status: str
) -> None:
    """After a few tries, and it keeps its lease; at its end it sees the answer."""

    async def scenario(b: Bench) -> None:
        busy = await Busy.begin(b)
        question = (await b.submit(target=target)).approval_id
        with Meanwhile(busy.writes).on(b.store) as meanwhile:
            await deed(b, question)
        assert PATIENCE < meanwhile.times <= MOST
        assert (await b.store.approval(question)).status == status
        await busy.write()
        await b.succeed(busy.outer)
        waits = await b.suspend()
        assert (waits is not None) == (status == "pending")
        assert (await b.events()).count("execution.resumed") == (status != "pending")
        assert (await check(b.store, b.attempt.execution.id)).fault == ""

    play(scenario)


@pytest.mark.parametrize("times", range(1, MOST + 1))
@pytest.mark.parametrize("granted", [True, False])
def test_an_attempt_that_blocks_while_it_is_answered_runs_again(play: Play, times: int, granted: bool) -> None:
    """It suspends itself between what the answer rests on and its write, at each of the tries; the answer then lets
    the execution run again."""

    async def scenario(b: Bench) -> None:
        busy = await Busy.begin(b)
        question = (await b.submit()).approval_id

        async def suspends(time: int) -> None:
            if time < times:
                await busy.write()
            elif time == times:
                await b.succeed(busy.outer)
                blocked = await b.suspend()
                assert blocked is not None
                assert blocked.status == "blocked"

        with Meanwhile(suspends).on(b.store) as meanwhile:
            await b.answer(question, granted=granted)
        reached = times <= PATIENCE + 1
        assert meanwhile.times == (times + 1 if reached else PATIENCE + 1)
        if not reached:
            assert await b.suspend() is None
        assert (await b.store.execution(b.attempt.execution.id)).status == "running"
        assert (await b.events()).count("execution.resumed") == 1
        await b.begin(ASK)
        assert (await b.submit()).kind is (AnswerKind.PROCEED if granted else AnswerKind.DENIED)
        assert (await check(b.store, b.attempt.execution.id)).fault == ""

    play(scenario)


def test_two_who_vote_on_a_busy_attempt_are_both_counted(play: Play) -> None:
    """Neither has seen the other's vote, and no vote is lost."""

    async def scenario(b: Bench) -> None:
        busy = await Busy.begin(b)
        question = (await b.submit(target="both")).approval_id

        async def other_votes(time: int) -> None:
            await busy.write()
            if time == PATIENCE + 1:
                await b.answer(question, granted=True, by="ben")

        with Meanwhile(other_votes).on(b.store) as meanwhile:
            await b.answer(question, granted=True, by="ana")
        assert meanwhile.times == MOST
        row = await b.store.approval(question)
        assert (row.status, [vote.decided_by for vote in row.votes]) == ("granted", ["ben", "ana"])
        assert (await check(b.store, b.attempt.execution.id)).fault == ""

    play(scenario)


def test_a_busy_attempt_whose_done_effect_a_person_refuses_ends(play: Play) -> None:
    """That ends the execution, and rests on all of it: so the attempt loses its lease."""

    async def scenario(b: Bench) -> None:
        await b.begin(compile_text("bundle open\ndefault allow\n"))
        await b.succeed(await b.submit())
        await b.begin(policy("deny", also='rule rest { allow tool "*er" }\n'))
        busy = Busy(b, await b.submit(target="outer"))
        question = (await b.submit()).approval_id

        async def writes(time: int) -> None:
            with suppress(LeaseSuperseded):
                await busy.write()

        with Meanwhile(writes).on(b.store) as meanwhile:
            await b.answer(question, granted=False)
        # Each time it is judged the questions are read twice.
        assert 2 * PATIENCE < meanwhile.times <= 2 * MOST
        row = await b.store.execution(b.attempt.execution.id)
        assert (row.status, row.failure_reason) == ("failed", "policy_revoked")
        assert (await check(b.store, row.id)).fault == ""

    play(scenario)


# ---------------------------------------------------------------- served


def test_a_served_execution_that_writes_all_the_time_is_answered(serve: Scenario) -> None:
    """Blocked, with a body that goes on: it is resumed, and delivered once the body has ended."""

    async def scenario(w: World) -> None:
        run, outer, write = await busy(w)
        question = (await run.submit()).approval_id
        with Meanwhile(lambda time: write()).on(w.store) as meanwhile:
            await w.serving.resolve(question, granted=True, decided_by="ana")
        assert PATIENCE < meanwhile.times <= MOST
        await run.done(outer)
        again = await w.run()
        assert (await again.submit("outer")).kind is AnswerKind.REPLAY
        assert (await again.submit()).kind is AnswerKind.PROCEED
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)


def test_of_two_answers_at_once_to_a_busy_execution_one_is_the_last(serve: Scenario) -> None:
    """Each is given while the other question is open: the execution runs again all the same."""

    async def scenario(w: World) -> None:
        run, outer, write = await busy(w)
        first = (await run.submit("act", {"n": 1})).approval_id
        second = (await run.submit("act", {"n": 2})).approval_id

        async def other(time: int) -> None:
            await write()
            if time == PATIENCE + 1:
                await w.serving.resolve(second, granted=True, decided_by="ben")

        with Meanwhile(other).on(w.store) as meanwhile:
            await w.serving.resolve(first, granted=True, decided_by="ana")
        assert meanwhile.times == MOST
        await run.done(outer)
        again = await w.run()
        assert [(await again.submit("act", {"n": n})).kind for n in (1, 2)] == [AnswerKind.PROCEED] * 2
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)


def test_a_question_that_is_asked_while_the_last_is_answered_is_not_forgotten(serve: Scenario) -> None:
    """The execution may run again before it is answered: its next attempt waits for it, and is woken."""

    async def scenario(w: World) -> None:
        run, _, write = await busy(w)
        first = (await run.submit()).approval_id

        async def asks(time: int) -> None:
            await write()
            if time == PATIENCE + 1:
                assert (await run.submit("both")).kind is AnswerKind.BLOCKED

        with Meanwhile(asks).on(w.store):
            await w.serving.resolve(first, granted=True, decided_by="ana")
        w.clock.advance(LEASE + 1)
        again = await w.run()
        (second,) = await w.serving.approvals()
        outer = await again.submit("outer")

        async def blocks(time: int) -> None:
            if time <= PATIENCE:
                await again.act("more", {"n": time})
            elif time == PATIENCE + 1:
                assert (await again.submit("both")).kind is AnswerKind.BLOCKED

        with Meanwhile(blocks).on(w.store):
            await w.serving.resolve(second.id, granted=False, decided_by="ana")
        await again.done(outer)
        last = await w.run()
        assert (await last.submit("both")).kind is AnswerKind.DENIED

    serve(scenario)


# ---------------------------------------------------------------- who dies in between


class Killed(BaseException):
    """The process that cancels is gone."""


@contextmanager
def killed_after_the_fence(store: Store) -> Iterator[None]:
    """The process that takes the lease from an attempt to cancel the execution dies before that is written."""
    write = store.write
    fenced = False

    def dies(batch: Batch) -> None:
        nonlocal fenced
        if batch.execution is not None and batch.execution.status.terminal and fenced:
            raise Killed
        fenced = fenced or (batch.execution is not None and not batch.events)
        write(batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "write", dies)
        with pytest.raises(Killed):
            yield


def _until_the_fence(write: Callable[[], Awaitable[object]]) -> Meanwhile:
    async def writes(time: int) -> None:
        if time <= PATIENCE:
            await write()

    return Meanwhile(writes)


@pytest.mark.parametrize("by", ["resumed", "cancelled"])
def test_what_was_taken_from_its_attempt_and_not_ended_is_the_next_one_s(play: Play, by: str) -> None:
    """The attempt has lost it, its steps are there, and it is resumed or cancelled as if nothing had been."""

    async def scenario(b: Bench) -> None:
        busy = await Busy.begin(b)
        lost, id = b.attempt, b.attempt.execution.id
        with _until_the_fence(busy.write).on(b.store), killed_after_the_fence(b.store):
            await cancel(b.store, id)
        row = await b.store.execution(id)
        assert (row.status, row.holder) == ("running", None)
        with pytest.raises(LeaseSuperseded):
            await busy.write()
        assert lost.lease.lost
        if by == "cancelled":
            assert (await cancel(b.store, id)).status == "cancelled"
            with pytest.raises(ConflictError):
                await cancel(b.store, id)
        else:
            assert isinstance(await Kernel(b.store, ASK).begin(agent_id="agent", input="{}", key=KEY), Attempt)
        steps = {step.target: step.status.value for step in await b.store.steps(id)}
        assert steps == {"outer": "executing" if by == "resumed" else "cancelled", "inner": "succeeded"}
        assert len(await b.store.steps(id)) == 1 + PATIENCE
        assert (await check(b.store, id)).fault == ""

    play(scenario)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("by", ["resumed", "cancelled"])
def test_a_served_execution_that_was_taken_and_not_ended_is_the_next_one_s(
    serve: Scenario, by: str, blocked: bool
) -> None:
    """Its agent has lost it; it is delivered anew when the lease would have run out, or answered, or cancelled."""

    async def scenario(w: World) -> None:
        run, _, write = await busy(w)
        question = (await run.submit()).approval_id if blocked else ""
        with _until_the_fence(write).on(w.store), killed_after_the_fence(w.store):
            await w.serving.cancel(run.id)
        assert (await w.row(run)).status == ("blocked" if blocked else "running")
        with pytest.raises(LeaseSuperseded):
            await write()
        if by == "cancelled":
            await w.serving.cancel(run.id)
            assert await w.status(run) == "cancelled"
            return
        if blocked:
            await w.serving.resolve(question, granted=True, decided_by="ana")
        else:
            w.clock.advance(LEASE + 1)
        again = await w.run()
        assert (await again.submit("outer")).kind is AnswerKind.PROCEED
        assert (await again.submit()).kind is (AnswerKind.PROCEED if blocked else AnswerKind.BLOCKED)

    serve(scenario)
