"""Batches of one execution for one statement, and the parameters of that statement."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from rebuno.journal.chain import Head, Written, chained
from rebuno.journal.data_keys import SealedText
from rebuno.journal.pieces import Laying, Piece, is_long
from rebuno.journal.postgres import single_statement
from rebuno.journal.postgres.sql import Given, Prepared, prepared
from rebuno.journal.postgres.texts import hexed, packed
from rebuno.journal.records import Batch, Dispatch, ExecutionWrite, StepWrite
from rebuno.journal.resource_rows import change_objects
from rebuno.journal.rows import Row, approval_values, holder_values, step_values, turn_values
from rebuno.model.clock import rfc3339

_WRITE: Final = prepared("write")
_WRITE_STEPS: Final = prepared("write-steps")
# What may be sent for a group.
STATEMENTS: Final = (_WRITE, _WRITE_STEPS, *single_statement.STATEMENTS)
# So many batches go together at most: one statement has to end, too.
MOST: Final = 100

_EVENT: Final = ("execution_id", "event_seq", "type", "payload", "occurred_at", "hash")
_APPROVAL: Final = (
    *("id", "execution_id", "step_id", "cause", "status", "message", "rule_id", "digest", "scope", "decided_by"),
    *("rationale", "created_at", "decided_at", "requested_seq", "resolved_seq", "bundle", "approvers", "quorum"),
    *("votes", "timeout_at", "asserted_by", "edits", "edited", "edited_by"),
)

_TURN: Final = ("execution_id", "number", "event_seq", "said_at", "said_by", "text")


@dataclass(slots=True)
class GroupChange:
    """One batch on its way. With `due` it may wait for the next one of its execution, until then on the monotonic
    clock; `number` is its place among all that was handed over."""

    batch: Batch
    events: list[Written]
    due: float | None = None
    number: int = 0


@dataclass(slots=True)
class ChangeGroup:
    """Changes for one statement; `at` is their time. `sent` are the heads that statements without an answer would have
    moved the execution to: one that is in the log was ours. `numbers` are those of the batches' last events, once it is
    written; `failure` is why it was not, where that is known."""

    changes: Sequence[GroupChange]
    at: float
    base: int | None = field(init=False)
    sent: list[Head] = field(init=False, default_factory=list)
    numbers: list[int] | None = field(init=False, default=None)
    failure: Exception | None = field(init=False, default=None)
    # What becomes of long arguments (None: they are written as they are), and the head that the last statement was for.
    laying: Laying | None = field(init=False, default=None)
    built_on: Head | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.base = _base(self.changes)

    @property
    def execution_id(self) -> str:
        return self.changes[0].batch.execution_id

    @property
    def first(self) -> Batch:
        return self.changes[0].batch

    @property
    def long(self) -> bool:
        """Whether a new step has long arguments."""
        return any(
            write.decided is not None and is_long(write.step.args)
            for change in self.changes
            for write in change.batch.steps
        )

    @property
    def row(self) -> ExecutionWrite | None:
        """What becomes of the execution's row: only the last batch may say."""
        return self.changes[-1].batch.execution

    def written(self, head: Head) -> None:
        """The last batch led to this head."""
        seq, numbers = head.seq, []
        for change in reversed(self.changes):
            numbers.append(seq)
            seq -= len(change.events)
        self.numbers = numbers[::-1]

    def statement(self, head: Head, *, fresh: bool = True) -> tuple[Prepared, Given, Head]:
        """The statement that adds the changes after a head, what it is given, and the head that it leads to. `fresh`:
        it may fail, as if settled, where a step is there that is decided only now."""
        id, at, lease = self.execution_id, self.at, self.first.lease
        events, moved = chained(id, head, [event for change in self.changes for event in change.events], rfc3339(at))
        writes, asked, last = self._steps(), self._approvals(), self.changes[-1].batch
        sealed = [text for change in self.changes for text in change.batch.sealed]
        steps_alone = self.row is None and not asked and not sealed and not _alone(last)
        steps = [step_values(write, head.seq + 1, at) for write in writes]
        self.built_on = head
        if self.laying is not None:
            steps = self.laying.lay_all(steps)
        elif fresh and steps_alone:
            new = [write.decided is not None for write in writes]
            single = single_statement.given(id, head, moved, at, lease, events, list(zip(new, steps, strict=True)))
            if single is not None:
                return *single, moved
        value = {
            "id": id,
            "base_seq": head.seq,
            "base_hash": hexed(head.hash),
            "lease_attempt": lease.attempt if lease else None,
            "lease_owner": lease.owner if lease else None,
            "head_seq": moved.seq,
            "head_hash": hexed(moved.hash),
            "at": at,
            "events": event_objects(events),
            "steps": step_objects(steps),
        }
        if self.laying is not None:
            value["pieces"] = piece_objects(id, self.laying.added)
        if steps_alone:
            return _WRITE_STEPS, [packed(value).encode()], moved
        value["approvals"] = approval_objects([approval_values(one, head.seq + 1, at) for one in asked])
        first_seq = moved.seq + 1 - len(self.changes[-1].events)
        value["turns"] = [dict(zip(_TURN, turn_values(one, first_seq, at), strict=True)) for one in last.turns]
        value["sealed"] = sealed_objects(id, sealed)
        if last.external is not None:
            value["resources"], value["checkpoints"] = change_objects(last.external, first_seq)
        if self.row is not None:
            value.update(_row(self.row))
        return _WRITE, [packed(value).encode()], moved

    def _steps(self) -> list[StepWrite]:
        if len(self.changes) == 1:
            return list(self.first.steps)
        merged: dict[str, StepWrite] = {}
        before = 0
        for change in self.changes:
            for write in change.batch.steps:
                moved = write.moved(before)
                first = merged.get(write.step.step_id)
                merged[write.step.step_id] = moved if first is None else _joined(first, moved)
            before += len(change.events)
        return list(merged.values())

    def _approvals(self) -> list[Any]:
        found, before = [], 0
        for change in self.changes:
            for write in change.batch.approvals:
                requested = None if write.requested is None else write.requested + before
                resolved = None if write.resolved is None else write.resolved + before
                found.append(replace(write, requested=requested, resolved=resolved))
            before += len(change.events)
        return found


def together(changes: Sequence[GroupChange]) -> int:
    """How many of the changes, from the first, come to the same whether they go one by one or in one statement."""
    if len(changes) == 1:
        return 1
    lease, base = changes[0].batch.lease, None
    before, settled, asked = 0, set[str](), set[str]()
    for count, change in enumerate(changes):
        batch = change.batch
        if batch.base is not None:
            fits = base in (None, batch.base - before)
            base = batch.base - before
        else:
            fits = True
        steps = {write.step.step_id for write in batch.steps}
        approvals = {write.approval.id for write in batch.approvals}
        if count and (not fits or batch.lease is not lease or steps & settled or approvals & asked or _alone(batch)):
            return count
        settled |= {write.step.step_id for write in batch.steps if write.step.status.terminal}
        asked |= approvals
        before += len(change.events)
        # Somebody else's turn of the same number must fail nothing but this one.
        if batch.execution is not None or _alone(batch) or count + 1 == MOST:
            return count + 1
    return len(changes)


def _alone(batch: Batch) -> bool:
    """Whether it goes into no statement with another one."""
    return bool(batch.turns) or batch.external is not None


def event_objects(rows: Sequence[tuple[str, int, str, str, str, bytes]]) -> list[dict[str, Any]]:
    """Rows of events as the server takes them."""
    return [dict(zip(_EVENT, (*row[:5], hexed(row[5])), strict=True)) for row in rows]


def step_objects(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows of steps as the server takes them."""
    return [dict(zip(single_statement.STEP, row, strict=True)) for row in rows]


def piece_objects(execution_id: str, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """Pieces of an execution's long arguments as the server takes them."""
    if not pieces:
        return []
    return [{"execution_id": execution_id, "number": pieces[-1][0], "texts": [text for _, text in pieces]}]


def approval_objects(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows of approvals as the server takes them."""
    return [dict(zip(_APPROVAL, row, strict=True)) for row in rows]


def sealed_objects(execution_id: str, texts: Sequence[SealedText]) -> list[dict[str, Any]]:
    """Sealed texts as the server takes them; of several in one slot the last."""
    newest = {one.slot: one.text for one in texts}
    return [{"execution_id": execution_id, "slot": slot, "text": hexed(text)} for slot, text in newest.items()]


def dispatch_object(dispatch: Dispatch) -> dict[str, Any]:
    """A row of dispatches as the server takes it."""
    return asdict(dispatch)


def _base(changes: Sequence[GroupChange]) -> int | None:
    before = 0
    for change in changes:
        if change.batch.base is not None:
            return change.batch.base - before
        before += len(change.events)
    return None


def _joined(first: StepWrite, then: StepWrite) -> StepWrite:
    return StepWrite(
        then.step,
        then.decided if first.decided is None else first.decided,
        then.started if first.started is None else first.started,
        first.settled if then.settled is None else then.settled,
    )


def _row(write: ExecutionWrite) -> dict[str, Any]:
    value: dict[str, Any] = {
        "status": write.status,
        "failure_reason": write.failure_reason,
        "ended": write.status.terminal,
        "output": write.output,
        "state": write.state,
        "continues": write.continues or None,
    }
    if write.dispatch is not None:
        value["dispatch"] = dispatch_object(write.dispatch)
    if write.attempt is not None:
        owner, host, pid = holder_values(write.holder)
        lease = {"owner": owner, "host": host, "pid": pid, "lease_until": write.lease_until}
        value.update(attempt=write.attempt, **lease)
    return value
