"""Rows to records and back; the columns stand in the order of the records' fields.

What comes from a row raises a `ValueError`, `TypeError` or `OverflowError` where the store was damaged.
"""

from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.journal.json_lists import names_from, names_text, votes_from, votes_text
from rebuno.journal.records import (
    AgentRow,
    ApiKeyRow,
    ApprovalRow,
    ApprovalWrite,
    Dispatch,
    DispatchState,
    EventRow,
    ExecutionRow,
    Holder,
    StepRow,
    StepWrite,
    Tombstone,
)
from rebuno.journal.served_records import AgentPolicy
from rebuno.journal.words import RootRow, TurnRow, TurnWrite
from rebuno.model.clock import from_rfc3339
from rebuno.model.execution import ExecutionStatus
from rebuno.model.identity import parse, scan
from rebuno.model.step import Idempotency, Kind, StepStatus

Row = tuple[Any, ...]

_KINDS: Final = {kind.value: kind for kind in Kind}
_IDEMPOTENCIES: Final = {idempotency.value: idempotency for idempotency in Idempotency}
_STATUSES: Final = {status.value: status for status in StepStatus}
_SUCCEEDED: Final = StepStatus.SUCCEEDED.value
# INVARIANT: an older version would run the call as it was submitted: it takes an edited grant for none, and asks anew.
_POLICY, _EDITED = "policy", "edited"
_LATEST: Final = 253_402_300_800.0  # the end of the year 9999, in seconds since 1970


def execution(row: Row) -> ExecutionRow:
    """A row of `execution_rows` without its `n`, `ended_at` and `told`."""
    _check_json(row[4], row[6], row[28])
    _check_times(*row[12:13], *row[15:18])
    owner, host, pid = row[9:12]
    holder = None if owner is None else Holder(owner, host, pid)
    pinned, served = row[18] != 0, row[21] != 0
    fields: Row = (*row[:3], ExecutionStatus(row[3]), *row[4:9], holder, *row[12:18], pinned, *row[19:21], served)
    return ExecutionRow(*fields, *row[22:])


def event(row: Row) -> EventRow:
    """A row of `events` without its `n`."""
    execution_id, seq, type, text, occurred_at, hash = row
    try:
        payload = parse(text)
        from_rfc3339(occurred_at)
    except (ValidationError, ValueError) as error:
        raise ValueError(f"event {seq} of execution `{execution_id}`: {error}") from None
    if not isinstance(payload, dict):
        raise TypeError(f"event {seq} of execution `{execution_id}`: its payload is no object")
    return EventRow(execution_id, seq, type, payload, occurred_at, hash)


def step(row: Row) -> StepRow:
    """A row of `steps` without its `n`."""
    for text in (row[5], row[16], row[17]):
        if text is not None:
            _scan(text)
    return _step(row)


def unread_step(row: Row) -> StepRow:
    """The same, where the arguments and the result of a success may be damaged: nobody has looked at them."""
    return _step(row) if row[9] == _SUCCEEDED else step(row)


def is_sound(step: StepRow) -> bool:
    """Whether the texts of a step of `unread_step` are JSON."""
    try:
        for text in (step.args, step.result, step.error):
            if text is not None:
                _scan(text)
    except ValueError:
        return False
    return True


def _step(row: Row) -> StepRow:
    if not (0 <= row[22] < _LATEST and 0 <= row[23] < _LATEST and 0 <= row[24] < _LATEST):
        _check_times(*row[22:25])
    step = StepRow(*row)
    try:
        # Several times as fast as a row with these in it.
        step.kind, step.idempotency, step.status = _KINDS[row[3]], _IDEMPOTENCIES[row[8]], _STATUSES[row[9]]
    except KeyError:
        said = f"`{row[3]}`, `{row[8]}` and `{row[9]}` are no step's kind, idempotency and status"
        raise ValueError(said) from None
    return step


def _scan(text: str) -> None:
    try:
        scan(text)
    except ValidationError as error:
        raise ValueError(str(error)) from None


def approval(row: Row) -> ApprovalRow:
    """A row of `approvals` without its `n`."""
    _check_times(*row[11:13], row[19])
    if row[22]:
        _check_json(row[22])
    cause = _POLICY if row[3] == _EDITED else row[3]
    kept = (*row[:3], cause, *row[4:16], names_from(row[16]), row[17], votes_from(row[18]), *row[19:21])
    fields: Row = (*kept, names_from(row[21]), *row[22:])
    return ApprovalRow(*fields)


def tombstone(row: Row) -> Tombstone:
    """A row of `tombstones`."""
    _check_times(row[6])
    fields: Row = (*row[:3], ExecutionStatus(row[3]), *row[4:])
    return Tombstone(*fields)


def turn(row: Row) -> TurnRow:
    """A row of `turns`."""
    _check_times(row[3])
    return TurnRow(*row)


def turn_values(write: TurnWrite, first_seq: int, now: float) -> Row:
    """The parameters of `add-turn`; `first_seq` is the number of the batch's first event, `now` its time."""
    turn = write.turn
    return turn.execution_id, turn.number, first_seq + write.said, now, turn.said_by, turn.text


def root(row: Row) -> RootRow:
    """A row of `roots`."""
    _check_json(*row[2:])
    return RootRow(*row)


def dispatch(row: Row) -> Dispatch:
    """A row of `dispatches`."""
    fields: Row = (*row[:3], DispatchState(row[3]), *row[4:])
    return Dispatch(*fields)


def dispatch_values(dispatch: Dispatch) -> Row:
    """The parameters of `put-dispatch`."""
    return (
        dispatch.id,
        dispatch.execution_id,
        dispatch.agent_id,
        dispatch.state,
        dispatch.attempt,
        dispatch.failures,
        dispatch.due_at,
        dispatch.unreached,
        dispatch.since,
        dispatch.error,
    )


def agent(row: Row) -> AgentRow:
    """A row of `agents`."""
    _check_json(row[6], row[7])
    return AgentRow(*row)


def policy(row: Row) -> AgentPolicy:
    """A row of `policies`."""
    return AgentPolicy(*row)


def key(row: Row) -> ApiKeyRow:
    """A row of `api_keys` without its `n`."""
    fields: Row = (*row[:2], names_from(row[2]), *row[3:])
    return ApiKeyRow(*fields)


def source(row: Row) -> tuple[str, str]:
    """The path and the text of a row of `bundle_sources`."""
    return row[0], row[1]


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


def execution_values(execution: ExecutionRow, head_seq: int, head_hash: bytes, now: float) -> Row:
    """The parameters of `add-execution`; its input and output stand elsewhere."""
    return (
        execution.id,
        execution.agent_id,
        execution.key,
        execution.status,
        execution.digest,
        execution.failure_reason,
        execution.attempt,
        *holder_values(execution.holder),
        execution.lease_until,
        head_seq,
        head_hash,
        execution.created_at or now,
        now,
        execution.deadline_at,
        int(execution.pinned),
        execution.forked_from,
        execution.fork_seq,
        int(execution.served),
        execution.session,
        execution.continues,
        execution.spawned_execution_id,
        execution.spawned_step_id,
        execution.created_by,
        execution.on_behalf_of,
        execution.seal,
    )


def holder_values(holder: Holder | None) -> tuple[str | None, str | None, int | None]:
    """The three columns of a holder."""
    return (None, None, None) if holder is None else (holder.owner, holder.host, holder.pid)


def step_values(write: StepWrite, first_seq: int, now: float) -> Row:
    """The parameters of `put-step`; `first_seq` is the number of the batch's first event, `now` its time."""
    decided, decided_at = _mark(write.decided, first_seq, now)
    started, started_at = _mark(write.started, first_seq, now)
    settled, settled_at = _mark(write.settled, first_seq, now)
    return _step_values(write.step, (decided, started, settled), (decided_at, started_at, settled_at))


def copied_step_values(step: StepRow) -> Row:
    """The same for a step with the numbers and times that it has."""
    numbers = (step.decided_seq, step.started_seq, step.outcome_seq)
    return _step_values(step, numbers, (step.decided_at, step.started_at, step.completed_at))


def _step_values(step: StepRow, numbers: tuple[int, int, int], times: tuple[float, float, float]) -> Row:
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
        *numbers,
        *times,
        step.input_tokens,
        step.output_tokens,
        step.visited,
        step.submission,
    )


def approval_values(write: ApprovalWrite, first_seq: int, now: float) -> Row:
    """The parameters of `put-approval`, as in `step_values`."""
    requested_seq, created_at = _mark(write.requested, first_seq, now)
    resolved_seq, decided_at = _mark(write.resolved, first_seq, now)
    return _approval_values(write.approval, (created_at, decided_at), (requested_seq, resolved_seq))


def copied_approval_values(approval: ApprovalRow) -> Row:
    """The same for an approval with the numbers and times that it has."""
    times = (approval.created_at, approval.decided_at)
    return _approval_values(approval, times, (approval.requested_seq, approval.resolved_seq))


def _approval_values(approval: ApprovalRow, times: tuple[float, float], numbers: tuple[int, int]) -> Row:
    return (
        approval.id,
        approval.execution_id,
        approval.step_id,
        _EDITED if approval.edited else approval.cause,
        approval.status,
        approval.message,
        approval.rule_id,
        approval.digest,
        approval.scope,
        approval.decided_by,
        approval.rationale,
        *times,
        *numbers,
        approval.bundle,
        names_text(approval.approvers),
        approval.quorum,
        votes_text(approval.votes),
        approval.timeout_at,
        approval.asserted_by,
        names_text(approval.edits),
        approval.edited,
        approval.edited_by,
    )


def _mark(event: int | None, first_seq: int, now: float) -> tuple[int, float]:
    return (0, 0.0) if event is None else (first_seq + event, now)
