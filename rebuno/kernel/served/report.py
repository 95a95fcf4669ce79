"""What an agent tells of its bodies and of its handler: outcomes, that it waits, that it is done."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rebuno.errors import ConflictError, NotFoundError, Stale
from rebuno.journal.records import ExecutionWrite, StepRow, StepWrite
from rebuno.kernel.core import events
from rebuno.kernel.core.heavy import read
from rebuno.kernel.lifecycle import resources
from rebuno.kernel.lifecycle.execution import end
from rebuno.kernel.lifecycle.waiting import awaited
from rebuno.kernel.served.attempt import ServedAttempt
from rebuno.kernel.served.subagents import tell_parent
from rebuno.model import usage
from rebuno.model.execution import ExecutionStatus
from rebuno.model.resource import NOTHING_CAPTURED, Captured
from rebuno.model.step import Kind, StepStatus


class ReportOutcome(StrEnum):
    """What became of a reported outcome; the values are those of the wire."""

    RECORDED = "recorded"
    REPLAY = "replay"
    EXECUTION_TERMINAL = "execution_terminal"


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """The answer to a reported outcome; `result` and `error` are canonical JSON texts and belong to `replay`. `step` is
    its row as it was written."""

    outcome: ReportOutcome
    result: str | None = None
    error: str | None = None
    step: StepRow | None = None


async def report(
    attempt: ServedAttempt,
    step_id: str,
    *,
    result: str | None = None,
    error: str | None = None,
    raised: str = "",
    nothing_done: bool = False,
    captures: Captured = NOTHING_CAPTURED,
) -> ReportAnswer:
    """Records how a body of this attempt ended: with a result, or an error, what was `raised`, canonical JSON, and
    whether it says that nothing was done; with the checkpoints that were made after it. Committed when this returns.

    Raises:
        NotFoundError: the execution has no such step.
        ConflictError: it does not execute.
        Terminated, LeaseSuperseded, StoreError
    """
    value = None if error is not None else await read(result or "null")

    async def one_try() -> ReportAnswer:
        step = await _running(attempt, step_id)
        if isinstance(step, ReportAnswer):
            return step
        return await _record(attempt, _ended(step, (result, value), error, nothing_done), value, raised, captures)

    return await attempt.transact(one_try)


async def _running(attempt: ServedAttempt, step_id: str) -> StepRow | ReportAnswer:
    step = attempt.steps.get(step_id) if step_id in attempt.bodies else None
    if step is not None:
        return step
    step = await attempt.store.step(step_id)
    if step.execution_id != attempt.execution.id:
        raise NotFoundError(f"the execution `{attempt.execution.id}` has no step `{step_id}`")
    if step.status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
        return ReportAnswer(ReportOutcome.REPLAY, step.result, step.error)
    if step.status is not StepStatus.EXECUTING or step.attempt != attempt.lease.attempt:
        raise ConflictError(f"the step `{step_id}` does not execute in this run: it is {step.status.value}")
    return step


def _ended(step: StepRow, result: tuple[str | None, Any], error: str | None, nothing_done: bool) -> StepRow:
    # `result` is its text, and what that reads as.
    if error is not None:
        failed = step.ended(StepStatus.FAILED, error=error)
        failed.nothing_done = nothing_done
        return failed
    text, value = result
    row = step.ended(StepStatus.SUCCEEDED, result=text)
    if row.kind is Kind.LLM and (used := usage.parse(value)) is not None:
        row = replace(row, input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    return row


async def _record(attempt: ServedAttempt, row: StepRow, value: Any, raised: str, captures: Captured) -> ReportAnswer:
    event = events.succeeded(row) if row.error is None else events.failed(row, raised)
    if attempt.resources or captures:
        await resources.settle(attempt, row, event, value, captures)
        if attempt.lease_over:
            await attempt.release()
        return ReportAnswer(ReportOutcome.RECORDED, step=row)
    attempt.settled(row, value)
    committed = attempt.write((event,), steps=(StepWrite(row, settled=0),), judged=False)
    head = attempt.head
    number = await committed.wait()
    attempt.bodies.discard(row.step_id)
    if number != head:
        # Others have written meanwhile; perhaps they blocked it.
        attempt.outdated()
        await attempt.current()
    if attempt.lease_over:
        await attempt.release()
    return ReportAnswer(ReportOutcome.RECORDED, step=row)


async def suspend(attempt: ServedAttempt) -> bool:
    """Blocks the execution where it waits for a subagent or a person, and lets go of its lease; False where nothing is
    waited for.

    Raises:
        Terminated, LeaseSuperseded, StoreError
    """

    async def one_try() -> bool:
        children = await awaited(attempt.served, attempt.execution.id)
        ended = [child for child in children if child.status.terminal]
        for child in ended:
            await tell_parent(attempt.served, child)
        if ended:
            raise Stale("a subagent has ended")
        if not children and not attempt.pending():
            return attempt.blocked
        await _block(attempt)
        return True

    attempt.outdated()
    return await attempt.transact(one_try)


async def _block(attempt: ServedAttempt) -> None:
    attempt.bodies.clear()
    if attempt.execution.status is ExecutionStatus.BLOCKED:
        await attempt.release()
        return
    number = attempt.lease.attempt
    event = events.execution("blocked", attempt=number, reason="awaiting_steps", replayed=attempt.replayed)
    holder = attempt.execution.holder
    write = ExecutionWrite(ExecutionStatus.BLOCKED, attempt=number, holder=holder, lease_until=0.0)
    await attempt.write((event,), execution=write, judged=True)
    attempt.execution = replace(attempt.execution, status=ExecutionStatus.BLOCKED)
    attempt.blocked = True


async def finish(
    attempt: ServedAttempt,
    *,
    output: str | None = None,
    failure_reason: str = "",
    state: str | None = None,
    raised: dict[str, Any] | None = None,
) -> None:
    """Ends the execution with an output, or with the reason of its failure. Committed when this returns.

    Raises:
        ConflictError: it is blocked.
        Terminated, LeaseSuperseded, StoreError
    """

    async def one_try() -> None:
        if attempt.blocked:
            raise ConflictError(f"the execution `{attempt.execution.id}` is blocked; it goes on when that is over")
        await end(attempt, output=output, failure_reason=failure_reason, state=state, raised=raised)
        attempt.ended = True

    await attempt.transact(one_try)
