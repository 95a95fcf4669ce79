"""Rows to records and back; the columns stand in the order of the records' fields.

What comes from a row raises a `ValueError`, `TypeError` or `OverflowError` where the file was damaged.
"""

from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.journal.records import Approval, ApprovalWrite, Event, Execution, Holder, Step, StepWrite
from rebuno.model.clock import from_rfc3339
from rebuno.model.execution import ExecutionStatus
from rebuno.model.identity import parse
from rebuno.model.step import Idempotency, Kind, StepStatus

Row = tuple[Any, ...]

_LATEST: Final = 253_402_300_800.0  # the end of the year 9999, in seconds since 1970


def execution(row: Row) -> Execution:
    """A row of `execution_rows` without its `n`."""
    _check_json(row[4], row[6])
    _check_times(*row[12:13], *row[15:17])
    owner, host, pid = row[9:12]
    holder = None if owner is None else Holder(owner, host, pid)
    fields: Row = (*row[:3], ExecutionStatus(row[3]), *row[4:9], holder, *row[12:])
    return Execution(*fields)


def event(row: Row) -> Event:
    """A row of `events` without its `n`."""
    execution_id, seq, type, text, occurred_at, hash = row
    try:
        payload = parse(text)
        from_rfc3339(occurred_at)
    except (ValidationError, ValueError) as error:
        raise ValueError(f"event {seq} of execution `{execution_id}`: {error}") from None
    if not isinstance(payload, dict):
        raise TypeError(f"event {seq} of execution `{execution_id}`: its payload is no object")
    return Event(execution_id, seq, type, payload, occurred_at, hash)


def step(row: Row) -> Step:
    """A row of `steps` without its `n`."""
    _check_json(row[5], row[16], row[17])
    _check_times(*row[22:25])
    fields: Row = (*row[:3], Kind(row[3]), *row[4:8], Idempotency(row[8]), StepStatus(row[9]), *row[10:])
    return Step(*fields)


def approval(row: Row) -> Approval:
    """A row of `approvals` without its `n`."""
    _check_times(*row[11:13])
    return Approval(*row)


def _check_json(*texts: str | None) -> None:
    for text in texts:
        if text is not None:
            try:
                parse(text)
            except ValidationError as error:
                raise ValueError(str(error)) from None


def _check_times(*times: float) -> None:
    for time in times:
        if not 0 <= time < _LATEST:
            raise ValueError(f"{time!r} is no time")


def step_values(write: StepWrite, first_seq: int, now: float) -> Row:
    """The parameters of `put-step`; `first_seq` is the number of the batch's first event, `now` its time."""
    step = write.step
    decided_seq, decided_at = _mark(write.decided, first_seq, now)
    started_seq, started_at = _mark(write.started, first_seq, now)
    outcome_seq, completed_at = _mark(write.settled, first_seq, now)
    return (
        step.step_id,
        step.execution_id,
        step.parent_id,
        step.kind,
        step.target,
        step.args,
        step.args_hash,
        step.occurrence,
        step.idempotency,
        step.status,
        step.verdict,
        step.rule_id,
        step.bundle,
        step.digest,
        step.reason,
        step.attempt,
        step.result,
        step.error,
        step.approval_id,
        decided_seq,
        started_seq,
        outcome_seq,
        decided_at,
        started_at,
        completed_at,
    )


def approval_values(write: ApprovalWrite, first_seq: int, now: float) -> Row:
    """The parameters of `put-approval`, as in `step_values`."""
    approval = write.approval
    requested_seq, created_at = _mark(write.requested, first_seq, now)
    resolved_seq, decided_at = _mark(write.resolved, first_seq, now)
    return (
        approval.id,
        approval.execution_id,
        approval.step_id,
        approval.cause,
        approval.status,
        approval.message,
        approval.rule_id,
        approval.digest,
        approval.scope,
        approval.decided_by,
        approval.rationale,
        created_at,
        decided_at,
        requested_seq,
        resolved_seq,
    )


def _mark(event: int | None, first_seq: int, now: float) -> tuple[int, float]:
    return (0, 0.0) if event is None else (first_seq + event, now)
