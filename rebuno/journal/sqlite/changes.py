"""Applies one change inside an open transaction: numbers and chains its events, moves the head, writes its rows."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any, Final

import apsw

from rebuno.errors import LeaseSuperseded, NotFoundError, Stale, StoreCorrupt, Terminated
from rebuno.journal.chain import START, Head, Written, chained
from rebuno.journal.pieces import ARGS, LONG, PIECES
from rebuno.journal.pots import declared
from rebuno.journal.records import Batch, Copied, ExecutionRow, ExecutionWrite, Lease
from rebuno.journal.resource_rows import change_objects, checkpoint_object, resource_object
from rebuno.journal.rows import (
    Row,
    approval_values,
    copied_approval_values,
    copied_step_values,
    dispatch_values,
    execution_values,
    holder_values,
    step_values,
    turn_values,
)
from rebuno.journal.sqlite.piece_rows import PieceRows
from rebuno.journal.sqlite.sql import SQL
from rebuno.journal.standing import StandingGrantRow, standing_values
from rebuno.journal.stops import StopRow
from rebuno.model.clock import Clock, rfc3339
from rebuno.model.execution import ExecutionStatus

_ADVANCE, _ADD_EVENT, _PUT_STEP = SQL["advance"], SQL["add-event"], SQL["put-step"]
# A batch with its events as they are written.
Part = tuple[Batch, Sequence[Written]]

# Heads are a few hundred bytes each.
_MOST_HEADS: Final = 10_000


class SQLiteChanges:
    """Writes to one connection. Used by one thread at a time. What is written until `keep` or `forget` bears one time.

    INVARIANT: a head kept here is an offer only; the row decides, in the statement that moves it.
    """

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._heads: dict[str, Head] = {}
        self._moved: dict[str, Head] = {}
        self._pieces = PieceRows(connection)
        # The time of the group, as a number and as text.
        self._stamp: tuple[float, str] | None = None

    def keep(self) -> None:
        """After the commit: what moved is where the heads are."""
        self._stamp = None
        self._heads.update(self._moved)
        self._moved.clear()
        if len(self._heads) > _MOST_HEADS:
            self._heads.clear()

    def forget(self) -> None:
        """After a rollback: no head is known any more."""
        self._stamp = None
        self._heads.clear()
        self._moved.clear()
        self._pieces.forget()

    def undone(self) -> None:
        """After one change of a group was taken back: heads are those of the others."""
        self._pieces.forget()

    def _now(self) -> tuple[float, str]:
        if self._stamp is None:
            now = round(self._clock.now(), 6)
            self._stamp = now, rfc3339(now)
        return self._stamp

    def create(self, execution: ExecutionRow, events: Sequence[Written], copied: Copied) -> bool:
        """Adds an execution; False where its id or its agent's key is, or was, another's."""
        now, at = self._now()
        rows, head = chained(execution.id, Head(0, START), events, at)
        if not self._execute(SQL["add-execution"], execution_values(execution, head.seq, head.hash, now)):
            return False
        self._execute(SQL["add-contents"], (execution.input, execution.output, execution.state))
        self._connection.executemany(_ADD_EVENT, rows)
        self._put_steps(execution.id, [copied_step_values(step) for step in copied.steps])
        for approval in copied.approvals:
            self._put_approval(approval.id, copied_approval_values(approval))
        for place in copied.places:
            self._execute(SQL["copy-place"], (place.key, place.step_id, place.at))
        for turn in copied.turns:
            self._execute(SQL["add-turn"], astuple(turn))
        if copied.root is not None:
            self._execute(SQL["add-root"], astuple(copied.root))
        if copied.external is not None:
            resources = [resource_object(row, row.registered_seq) for row in copied.external.resources]
            self._put_external(resources, map(checkpoint_object, copied.external.checkpoints))
        for one in copied.takes:
            self._connection.execute(SQL["put-pot"], declared(one.take))
            taken = {"key": one.take.pot.key, "step_id": one.step_id, "execution_id": one.take.execution_id}
            self._connection.execute(SQL["copy-amount"], {**taken, "at": one.at, "amount": one.take.amount})
            self._connection.execute(SQL["disturb-pot"], {"key": one.take.pot.key})
        if copied.data_key is not None:
            key = copied.data_key
            made_at = key.created_at or now
            values = (key.execution_id, key.key_id, key.covers, key.wrapped, made_at, key.erased_at, key.erased_by)
            self._execute(SQL["add-data-key"], values)
        for text in copied.sealed:
            self._execute(SQL["put-sealed-text"], (execution.id, text.slot, text.text))
        if copied.dispatch is not None:
            self._execute(SQL["put-dispatch"], dispatch_values(copied.dispatch))
        self._moved[execution.id] = head
        return True

    def write(self, batch: Batch, events: Sequence[Written]) -> int:
        """Writes a batch; the number of its last event (the head's, where it has none).

        Raises:
            Stale, Terminated, LeaseSuperseded, NotFoundError: as `Store.write` says. Rows may have been written.
        """
        execution_id = batch.execution_id
        now, at = self._now()
        head = self._moved.get(execution_id) or self._heads.get(execution_id)
        moved = None
        if head is not None and batch.base in (None, head.seq):
            moved = self._advance(batch, head, events, now, at)
        if moved is None:
            head = self._row_head(execution_id, batch.lease)
            if batch.base not in (None, head.seq):
                raise Stale(f"execution `{execution_id}` is at event {head.seq}, the batch rests on {batch.base}")
            moved = self._advance(batch, head, events, now, at)
            assert moved is not None
        rows, moved_to = moved
        self._connection.executemany(_ADD_EVENT, rows)
        self._put_rows(batch, moved_to.seq - len(rows) + 1, now)
        self._moved[execution_id] = moved_to
        return moved_to.seq

    def write_in_one(self, parts: Sequence[Part]) -> list[int] | None:
        """Writes several batches of one execution as if they were one: its head moves once. The number of each one's
        last event; None, and nothing is written, where they have to be written one by one."""
        first = parts[0][0]
        execution_id = first.execution_id
        head = self._moved.get(execution_id) or self._heads.get(execution_id)
        if head is None or any(batch.execution is not None or batch.turns for batch, _ in parts[:-1]):
            return None
        last_seqs: list[int] = []
        seq = head.seq
        for batch, events in parts:
            if batch.base not in (None, seq) or batch.lease is not first.lease:
                return None
            seq += len(events)
            last_seqs.append(seq)
        now, at = self._now()
        moved = self._advance(first, head, [event for _, events in parts for event in events], now, at)
        if moved is None:
            return None
        self._connection.executemany(_ADD_EVENT, moved[0])
        for (batch, events), last in zip(parts, last_seqs, strict=True):
            self._put_rows(batch, last - len(events) + 1, now)
        self._moved[execution_id] = moved[1]
        return last_seqs

    def renew(self, lease: Lease, until: float) -> bool:
        """Extends a lease; False if the attempt does not have it any more."""
        return self._execute(SQL["renew"], (lease.execution_id, lease.attempt, lease.owner, until)) == 1

    def save_bundle(self, digest: str, sources: Sequence[tuple[str, str]]) -> None:
        """Keeps a policy's files."""
        for position, (path, text) in enumerate(sources):
            self._execute(SQL["add-source"], (digest, position, path, text))

    def save_definition(self, digest: str, text: str) -> None:
        """Keeps what a server says of a tool."""
        self._execute(SQL["add-definition"], (digest, text))

    def add_stop(self, stop: StopRow) -> None:
        """Adds a standing denial."""
        self._execute(SQL["add-stop"], (stop.id, stop.agent, stop.tool, stop.reason, stop.created_by, stop.created_at))

    def lift_stop(self, stop_id: str, by: str, at: float) -> None:
        """Ends one."""
        self._execute(SQL["lift-stop"], (stop_id, by, at))

    def add_standing_grant(self, grant: StandingGrantRow) -> None:
        """Adds a grant that outlives its execution."""
        self._execute(SQL["add-standing-grant"], standing_values(grant))

    def revoke_standing_grant(self, grant_id: str, by: str, at: float) -> None:
        """Ends one."""
        self._execute(SQL["revoke-standing-grant"], (grant_id, by, at))

    def mark_restored(self, at: float, by: str) -> None:
        """Says that this is a copy."""
        self._execute(SQL["add-restoration"], (at, by))

    def accept_restored(self, at: float, by: str) -> None:
        """Accepts that."""
        self._execute(SQL["accept-restorations"], (at, by))

    def use_pieces(self, at: float) -> None:
        """Has long arguments written in pieces from now on."""
        self._execute(SQL["add-feature"], (PIECES, at))

    def _advance(
        self, batch: Batch, head: Head, events: Sequence[Written], now: float, at: str
    ) -> tuple[list[Row], Head] | None:
        """The rows of the events and the new head, or None where the row is not what `head` and the lease say."""
        rows, moved = chained(batch.execution_id, head, events, at)
        attempt, owner = (batch.lease.attempt, batch.lease.owner) if batch.lease else (None, None)
        values = (moved.seq, moved.hash, now, batch.execution_id, head.seq, head.hash, attempt, owner)
        return (rows, moved) if self._execute(_ADVANCE, values) else None

    def mark(self, lease: Lease, step_id: str, submission: int) -> bool:
        """Notes that an attempt has come to a step; False if it had, under another number. Raises as `write`."""
        self._row_head(lease.execution_id, lease)
        values = (step_id, lease.execution_id, lease.attempt, submission)
        return self._execute(SQL["mark-step"], values) == 1

    def _row_head(self, execution_id: str, lease: Lease | None) -> Head:
        row = self._connection.execute(SQL["head"], (execution_id,)).fetchone()
        if row is None:
            raise NotFoundError(f"there is no execution `{execution_id}`")
        seq, head_hash, status, attempt, owner = row
        try:
            ended = ExecutionStatus(status).terminal
        except ValueError as error:
            raise StoreCorrupt(f"execution `{execution_id}` is damaged: {error}; restore a copy") from None
        if ended:
            raise Terminated(f"execution `{execution_id}` has ended: it is {status}")
        if lease is not None and (attempt, owner) != (lease.attempt, lease.owner):
            raise LeaseSuperseded
        return Head(seq, head_hash)

    def _put_rows(self, batch: Batch, first_seq: int, now: float) -> None:
        self._put_steps(batch.execution_id, [step_values(step, first_seq, now) for step in batch.steps])
        for approval in batch.approvals:
            self._put_approval(approval.approval.id, approval_values(approval, first_seq, now))
        for turn in batch.turns:
            if not self._execute(SQL["add-turn"], turn_values(turn, first_seq, now)):
                raise Stale(f"somebody has said something in execution `{batch.execution_id}` meanwhile")
        if batch.external is not None:
            self._put_external(*change_objects(batch.external, first_seq))
        for text in batch.sealed:
            self._execute(SQL["put-sealed-text"], (batch.execution_id, text.slot, text.text))
        if batch.execution is not None:
            self._put_execution(batch.execution_id, batch.execution)

    def _put_external(self, resources: Iterable[dict[str, Any]], checkpoints: Iterable[dict[str, Any]]) -> None:
        for row in resources:
            self._connection.execute(SQL["put-resource"], row)
            if row["invalidated"]:
                self._connection.execute(SQL["invalidate-checkpoints"], row)
        for row in checkpoints:
            self._connection.execute(SQL["put-checkpoint"], row)

    def _put_steps(self, execution_id: str, rows: list[Row]) -> None:
        for values in rows:
            # Looked at here: no other file is entered for short ones.
            if len(values[ARGS]) >= LONG:
                rows = self._pieces.put(execution_id, rows)
                break
        for values in rows:
            if not self._execute(_PUT_STEP, values):
                raise Stale(f"step `{values[0]}` has settled meanwhile")

    def _put_approval(self, approval_id: str, values: Row) -> None:
        if not self._execute(SQL["put-approval"], values):
            raise Stale(f"approval `{approval_id}` was resolved meanwhile")

    def _put_execution(self, execution_id: str, write: ExecutionWrite) -> None:
        self._execute(SQL["set-status"], (execution_id, write.status, write.failure_reason))
        if write.output is not None:
            self._execute(SQL["set-output"], (execution_id, write.output))
        if write.state is not None:
            self._execute(SQL["set-state"], (execution_id, write.state))
        if write.continues:
            self._execute(SQL["set-continues"], (execution_id, write.continues))
        if write.dispatch is not None:
            self._execute(SQL["put-dispatch"], dispatch_values(write.dispatch))
        elif write.status is not ExecutionStatus.RUNNING:
            self._execute(SQL["drop-dispatch"], (execution_id,))
        if write.attempt is not None:
            holder = holder_values(write.holder)
            self._execute(SQL["set-lease"], (execution_id, write.attempt, *holder, write.lease_until))

    def _execute(self, sql: str, values: Row) -> int:
        self._connection.execute(sql, values)
        return self._connection.changes()
