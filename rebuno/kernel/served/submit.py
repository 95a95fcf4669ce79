"""One submission to a served execution: as in `submit`, but what is counted is written with the answer, and a request
that is repeated gets its first answer again."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Final

from rebuno.errors import ConflictError, Stale
from rebuno.journal.records import Dispatch, ExecutionWrite, NewEvent, Step, StepWrite
from rebuno.kernel.core import events as words
from rebuno.kernel.core import limits
from rebuno.kernel.core.decide import fresh
from rebuno.kernel.core.divergence import instead_of
from rebuno.kernel.core.effects import Change, Identified
from rebuno.kernel.core.heavy import judge_again
from rebuno.kernel.core.identify import identify
from rebuno.kernel.core.settle import settle
from rebuno.kernel.lifecycle.dispatch import discarded, queued
from rebuno.kernel.served.attempt import ServedAttempt, check_owner
from rebuno.kernel.served.subagents import tell_parent
from rebuno.model import identity
from rebuno.model.answer import Answer, Say, Submission
from rebuno.model.decision import Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, StepStatus

# How long the handler's other branches are waited for before a person is asked about a step that came instead of
# theirs, and how often one looks, in seconds.
PATIENCE: Final = 0.25
_LOOK: Final = 0.025


async def submit(
    attempt: ServedAttempt, submission: Submission, number: int, judged: Callable[[float], None]
) -> Answer:
    """Answers a submission. `number` is its own in the attempt (0: it has none); `judged` is told how many seconds went
    by besides those in the store.

    Raises:
        ValidationError: it is malformed; nothing was recorded or counted.
        Terminated, LeaseSuperseded, StoreError
    """
    # Also what has no number needs one to be known again, where the store had to be asked twice.
    number = number or -random.getrandbits(62)
    await _others_first(attempt, submission)
    async with attempt.lock:
        while True:
            await attempt.current()
            attempt.check()
            with attempt.trying():
                return await _Request(attempt, submission, number, judged).answer()


async def _others_first(attempt: ServedAttempt, submission: Submission) -> None:
    """In parallel branches the order of steps is no divergence, and requests overtake each other."""
    if submission.idempotency != Idempotency.ONCE or not attempt.recorded.unvisited:
        return
    idle = 0.0
    while idle < PATIENCE:
        async with attempt.lock:
            await attempt.current()
            step = _peek(attempt, submission)
            if step is None or await attempt.known(step.step_id) or instead_of(attempt, step) is None:
                return
        seen = len(attempt.recorded.visited)
        await asyncio.sleep(_LOOK)
        idle = idle + _LOOK if len(attempt.recorded.visited) == seen else 0.0


def _peek(attempt: ServedAttempt, submission: Submission) -> Identified | None:
    if submission.parent_id and submission.parent_id not in attempt.bodies:
        return None
    return identify(submission, attempt.execution.id, attempt.bodies, lambda *key: attempt.next_number(key))


class _Request:
    """One try to answer one submission on the log as it is known."""

    def __init__(
        self, attempt: ServedAttempt, submission: Submission, number: int, judged: Callable[[float], None]
    ) -> None:
        self._attempt = attempt
        self._submission = submission
        self._number = number
        self._judged = judged
        self._reads = attempt.reads

    async def answer(self) -> Answer:
        attempt = self._attempt
        before = attempt.answered.get(self._number)
        if before is not None:
            return await self._again(before)
        began = perf_counter()
        step = identify(self._submission, attempt.execution.id, attempt.bodies, attempt.count)
        try:
            known = await attempt.known(step.step_id)
            attempt.check()
            if known is None:
                answer, change = await fresh(attempt, step, limits.Turn())
            else:
                answer, change = await self._known(known, step.idempotency)
            if attempt.reads != self._reads:
                raise Stale("what was counted was counted on an older log")
            self._judged(perf_counter() - began)
            await self._write(answer, change, step.step_id)
            return answer
        finally:
            if attempt.reads == self._reads and not attempt.knows(step.step_id):
                attempt.uncount(step.scope, step.kind, step.target, step.args_hash, step.occurrence)

    async def _again(self, step_id: str) -> Answer:
        """The first answer to a request that comes again."""
        attempt = self._attempt
        known = await attempt.store.step(step_id)
        self._check_same(known)
        if known.status is StepStatus.EXECUTING and known.attempt == attempt.lease.attempt:
            return Answer(Say.PROCEED, step_id, rule_id=known.rule_id)
        if known.status is StepStatus.ALLOWED:
            return Answer(Say.BLOCKED, step_id, approval_id=known.approval_id, rule_id=known.rule_id)
        answer, change = await self._known(known, known.idempotency)
        if change is not None:
            await self._write(answer, change, step_id)
        return answer

    def _check_same(self, known: Step) -> None:
        """Refuses another step under a number that has its answer: it was never judged."""
        asked = self._submission
        if (asked.kind, asked.target, asked.parent_id, identity.args_hash(asked.args)) != (
            known.kind.value,
            known.target,
            known.parent_id,
            known.args_hash,
        ):
            raise ConflictError(
                f"the submission number {self._number} belongs to another step, `{known.step_id}`; give each "
                "submission its own number"
            )

    async def _known(self, known: Step, idempotency: Idempotency) -> tuple[Answer, Change | None]:
        attempt = self._attempt
        # INVARIANT: under the attempt's lock nobody else here changes the step; what other replicas do is `Stale`.
        while await judge_again(attempt, known):
            attempt.check()
        if known.status is StepStatus.EXECUTING and known.attempt < attempt.lease.attempt:
            child = await attempt.served.child(known.step_id)
            if child is not None and child.status.terminal:
                await tell_parent(attempt.served, child)
                raise Stale("the subagent has ended")
            if child is not None and attempt.today(known).verdict is not Verdict.DENY:
                return Answer(Say.BLOCKED, known.step_id), None
        return settle(attempt, known, idempotency)

    async def _write(self, answer: Answer, change: Change | None, step_id: str) -> None:
        attempt = self._attempt
        events = change.events if change is not None else ()
        steps = tuple(self._numbered(write, step_id) for write in change.steps) if change is not None else ()
        execution, told = self._row(answer)
        events = (*events, *told)
        if answer.say is Say.PROCEED:
            attempt.start(steps[0].step)
        if events or execution is not None:
            approvals = change.approvals if change is not None else ()
            committed = attempt.write(events, steps=steps, approvals=approvals, execution=execution, judged=True)
            if not answer.step_id:
                committed.add_done_callback(partial(limits.remember, attempt, step_id, answer))
            # The commit goes on whatever becomes of the caller, who may ask again.
            await asyncio.shield(committed)
            if execution is not None:
                attempt.execution = replace(attempt.execution, status=execution.status)
                attempt.dispatch = execution.dispatch
                attempt.blocked = True
        elif not answer.step_id:
            # Nothing was written that would have shown whose the execution is.
            check_owner(await attempt.store.execution(attempt.execution.id), attempt.lease)
        if not answer.step_id:
            return
        if not any(write.step.step_id == step_id for write in steps) and not await attempt.served.mark(
            attempt.lease, step_id, self._number
        ):
            raise Stale("another request came to this step")
        attempt.answered[self._number] = step_id
        attempt.replayed += answer.say is Say.REPLAY
        attempt.visit(step_id)

    def _numbered(self, write: StepWrite, step_id: str) -> StepWrite:
        if write.step.step_id != step_id:
            return write
        step = replace(write.step, visited=self._attempt.lease.attempt, submission=self._number)
        return StepWrite(step, write.decided, write.started, write.settled)

    def _row(self, answer: Answer) -> tuple[ExecutionWrite | None, tuple[NewEvent, ...]]:
        """What becomes of the execution itself: it waits for a person or a subagent, or is due again later."""
        attempt = self._attempt
        status = attempt.execution.status
        if answer.say is Say.BLOCKED and status is ExecutionStatus.RUNNING:
            told = words.execution(
                "blocked", attempt=attempt.lease.attempt, reason="awaiting_steps", replayed=attempt.replayed
            )
            return self._leaving(ExecutionStatus.BLOCKED, None), (*discarded(attempt.dispatch), told)
        if answer.say is Say.PARKED and answer.due is not None and status is ExecutionStatus.RUNNING:
            waiting = attempt.dispatch if attempt.blocked else None
            if waiting is not None and waiting.due_at <= answer.due:
                return None, ()
            event, dispatch = queued(attempt.execution, due=answer.due)
            return self._leaving(ExecutionStatus.RUNNING, dispatch), (*discarded(waiting), event)
        return None, ()

    def _leaving(self, status: ExecutionStatus, dispatch: Dispatch | None) -> ExecutionWrite:
        attempt = self._attempt
        if attempt.bodies:
            # What has begun may still report.
            return ExecutionWrite(status, dispatch=dispatch)
        holder = attempt.execution.holder
        return ExecutionWrite(status, attempt=attempt.lease.attempt, holder=holder, lease_until=0.0, dispatch=dispatch)
