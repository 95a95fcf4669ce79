"""One submission to a served execution: routed as every other, but what is counted is written with the answer, and a
request that is repeated gets its first answer again."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Final

from rebuno.errors import ConflictError, Stale
from rebuno.journal.records import Dispatch, ExecutionWrite, NewEvent, StepRow, StepWrite
from rebuno.kernel.core import edited, limits, resources
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core.divergence import OthersNeeded, instead_of
from rebuno.kernel.core.effects import Effects, Identified, Need, Routed
from rebuno.kernel.core.identify import identified_as, identify
from rebuno.kernel.core.submit import route, route_row
from rebuno.kernel.lifecycle.dispatch import discarded, queued
from rebuno.kernel.served.attempt import ServedAttempt, check_owner
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus

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
    request = _Request(attempt, submission, number or -random.getrandbits(62), judged)
    while True:
        answer = await attempt.transact(request.answer)
        if isinstance(answer, Answer):
            return answer
        await _others_first(attempt, answer.step)
        request.others_came = True


async def _others_first(attempt: ServedAttempt, step: Identified) -> None:
    """Lets the handler's other branches go on, whose requests may be overtaken by this one: without the lock that they
    need, and by time, for they come from another process."""
    idle = 0.0
    while idle < PATIENCE and instead_of(attempt, step) is not None:
        seen = len(attempt.recorded.visited)
        await asyncio.sleep(_LOOK)
        async with attempt.lock:
            await attempt.current()
        idle = idle + _LOOK if len(attempt.recorded.visited) == seen else 0.0


class _Request:
    """A submission that is answered on the log as it is known, as often as that has to be tried."""

    def __init__(
        self, attempt: ServedAttempt, submission: Submission, number: int, judged: Callable[[float], None]
    ) -> None:
        self._attempt = attempt
        self._submission = submission
        self._number = number
        self._judged = judged
        # Whether the handler's other branches had their turn.
        self.others_came = False
        self._looked = False

    async def answer(self) -> Answer | OthersNeeded:
        """One try, under the attempt's lock. Raises `Stale` where it has to be tried again."""
        attempt, reads = self._attempt, self._attempt.reads
        before = attempt.answered.get(self._number)
        if before is not None:
            return await self._again(before)
        if not (self._looked or attempt.resources.keys() >= set(self._submission.resources)):
            self._looked = True
            raise Stale("another replica may know the resources that it names")
        began = perf_counter()
        step = identify(self._submission, attempt.execution.id, attempt.bodies, attempt.count, attempt.seals)
        step.others_came = self.others_came
        try:
            while isinstance(routed := route(attempt, step), Need):
                if isinstance(routed, OthersNeeded):
                    return routed
                await routed.meet(attempt)
                attempt.check()
                if attempt.reads != reads:
                    raise Stale("what was counted was counted on an older log")
            self._judged(perf_counter() - began)
            await self._write(routed, step.step_id)
            return routed.answer
        finally:
            if attempt.reads == reads and not attempt.knows(step.step_id):
                attempt.uncount(step)

    async def _again(self, step_id: str) -> Answer:
        """The first answer to a request that comes again."""
        attempt = self._attempt
        known = await attempt.store.step(step_id)
        edited.attach((known,), attempt.approvals)
        self._check_same(known)
        if known.status is StepStatus.EXECUTING and known.attempt == attempt.lease.attempt:
            told = resources.told_again(attempt, self._submission.resources, known) if attempt.resources else ()
            args = known.ran_args or None
            return Answer(AnswerKind.PROCEED, step_id, rule_id=known.rule_id, resources=told, args=args)
        if known.status is StepStatus.ALLOWED:
            return Answer(AnswerKind.BLOCKED, step_id, approval_id=known.approval_id, rule_id=known.rule_id)
        step = identified_as(known)
        while isinstance(routed := route_row(attempt, step, known), Need):
            await routed.meet(attempt)
        if routed.effects is not None:
            await self._write(routed, step_id)
        return routed.answer

    def _check_same(self, known: StepRow) -> None:
        """Refuses another step under a number that has its answer: it was never judged."""
        asked = self._submission
        if (asked.kind, asked.target, asked.parent_id, (self._attempt.seals or identity).args_hash(asked.args)) != (
            known.kind.value,
            known.target,
            known.parent_id,
            known.args_hash,
        ):
            raise ConflictError(
                f"the submission number {self._number} belongs to another step, `{known.step_id}`; give each "
                "submission its own number"
            )

    async def _write(self, routed: Routed, step_id: str) -> None:
        attempt, answer = self._attempt, routed.answer
        effects = routed.effects or Effects((), ())
        steps = tuple(self._numbered(write, step_id) for write in effects.steps)
        execution, told = self._row(answer)
        events = (*effects.events, *told)
        attempt.take_in(answer, Effects((), steps))
        if events or execution is not None:
            committed = attempt.write(
                events,
                steps=steps,
                approvals=effects.approvals,
                execution=execution,
                external=effects.external,
                judged=True,
            )
            if not answer.step_id:
                committed.add_done_callback(partial(limits.remember, attempt, step_id, answer))
            # The commit goes on whatever becomes of the caller, who may ask again.
            await committed.wait()
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
        attempt.replayed += answer.kind is AnswerKind.REPLAY
        attempt.visit(step_id)

    def _numbered(self, write: StepWrite, step_id: str) -> StepWrite:
        if write.step.step_id != step_id:
            return write
        row = write.step
        # A copy as it is, made the fast way.
        step = row.ended(row.status, result=row.result, error=row.error)
        step.visited, step.submission = self._attempt.lease.attempt, self._number
        return StepWrite(step, write.decided, write.started, write.settled)

    def _row(self, answer: Answer) -> tuple[ExecutionWrite | None, tuple[NewEvent, ...]]:
        """What becomes of the execution itself: it waits for a person or a subagent, or is due again later."""
        attempt = self._attempt
        status = attempt.execution.status
        if answer.kind is AnswerKind.BLOCKED and status is ExecutionStatus.RUNNING:
            told = new_event.execution(
                "blocked", attempt=attempt.lease.attempt, reason="awaiting_steps", replayed=attempt.replayed
            )
            return self._leaving(ExecutionStatus.BLOCKED, None), (*discarded(attempt.dispatch), told)
        if answer.kind is AnswerKind.PARKED and answer.due is not None and status is ExecutionStatus.RUNNING:
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
