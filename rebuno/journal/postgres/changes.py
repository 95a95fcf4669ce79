"""Applies one group of batches: moves the head in one statement, and finds the cause if it cannot."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import psycopg

from rebuno.errors import LeaseSuperseded, NotFoundError, Stale, StoreBusy, StoreCorrupt, Terminated
from rebuno.journal.chain import START, Head, Written, chained
from rebuno.journal.data_keys import DataKeyRow
from rebuno.journal.pieces import are_long
from rebuno.journal.postgres.failures import UNFIT, lost, settled
from rebuno.journal.postgres.group import (
    ChangeGroup,
    approval_objects,
    dispatch_object,
    event_objects,
    piece_objects,
    sealed_objects,
    step_objects,
)
from rebuno.journal.postgres.piece_rows import KnownRows
from rebuno.journal.postgres.pipeline import PreparedConnection, pipelined
from rebuno.journal.postgres.sql import SQL, Given, Prepared
from rebuno.journal.postgres.texts import asked, hexed, packed
from rebuno.journal.pots import declared
from rebuno.journal.records import Copied, ExecutionRow, Lease
from rebuno.journal.resource_rows import checkpoint_object, resource_object
from rebuno.journal.rows import Row, copied_approval_values, copied_step_values, holder_values
from rebuno.model.clock import Clock, rfc3339
from rebuno.model.execution import ExecutionStatus

# Heads are a few hundred bytes each.
_MOST_HEADS: Final = 10_000
# How often a batch that rests on nothing is moved behind what others wrote before it.
_MOST_TRIES: Final = 1000


def _data_key(key: DataKeyRow | None, at: float) -> dict[str, Any] | None:
    if key is None:
        return None
    wrapped = None if key.wrapped is None else hexed(key.wrapped)
    return {**asdict(key), "wrapped": wrapped, "created_at": key.created_at or at}


class PostgresChanges:
    """Writes of one store, over any of its connections. Used by several threads; one at a time for an execution.

    INVARIANT: a head kept here is an offer only; the row decides, in the statement that moves it.
    """

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._heads: dict[str, Head] = {}
        self._pieces = KnownRows()

    def now(self) -> float:
        """The time of a write, to the microsecond, as events tell it."""
        return round(self._clock.now() * 1_000_000) / 1_000_000

    def offer(self, execution_id: str, head: Head) -> None:
        """Keeps a head that was read or written."""
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[execution_id] = head

    def wrote(self, group: ChangeGroup, moved: Head) -> None:
        """A group's statement was carried out, and led to this head."""
        self.offer(group.execution_id, moved)
        self._pieces.wrote(group.execution_id, group.laying, group.built_on, moved)
        group.written(moved)

    def offered(self, group: ChangeGroup) -> tuple[Prepared, Given, Head] | None:
        """The statement for a group, what it is given and the head that it leads to, after the head that is known here;
        None where none is known, or the group does not fit to it or in a statement."""
        head = self._heads.pop(group.execution_id, None)
        if head is None or group.base not in (None, head.seq):
            return None
        group.laying = None
        if group.long and not self._pieces.unused:
            group.laying = self._pieces.at(group.execution_id, head)
            if group.laying is None:
                return None
        try:
            return group.statement(head)
        except UNFIT:
            return None

    def write_all(self, connection: PreparedConnection, groups: Sequence[ChangeGroup]) -> None:
        """Writes groups of different executions in one round trip, each whole or not at all. One that does not go
        through has no `numbers` then: `write` says why, or does it.

        Raises:
            psycopg.Error: the connection is lost.
        """
        sending: list[tuple[ChangeGroup, Head]] = []
        statements: list[tuple[Prepared, Given]] = []
        for group in groups:
            ready = self.offered(group)
            if ready is not None:
                statements.append(ready[:2])
                sending.append((group, ready[2]))
                group.sent.append(ready[2])
        if not sending:
            return
        for answer, (group, moved) in zip(pipelined(connection, statements), sending, strict=True):
            if isinstance(answer, psycopg.Error) and lost(answer):
                raise answer
            group.sent.pop()
            if answer is True:
                self.wrote(group, moved)

    def write(self, connection: PreparedConnection, group: ChangeGroup) -> None:
        """Writes a group, whole or not at all. To be called again after a lost connection: it then looks first whether
        the lost statement was carried out.

        Raises:
            Stale, Terminated, LeaseSuperseded, NotFoundError: as `Store.write` says.
            psycopg.Error
        """
        for _ in range(_MOST_TRIES):
            head, done = self._row_head(connection, group)
            if done:
                group.written(head)
                return
            if group.base not in (None, head.seq):
                raise Stale(f"execution `{group.execution_id}` is at event {head.seq}, not at {group.base}")
            moved = self._move(connection, group, head)
            if moved is not None:
                self.wrote(group, moved)
                return
        raise StoreBusy(f"others write to execution `{group.execution_id}` without a pause; try again", path=self._name)

    def create(
        self,
        connection: PreparedConnection,
        execution: ExecutionRow,
        events: list[Written],
        copied: Copied,
        at: float,
        *,
        again: bool,
    ) -> bool:
        """Adds an execution; False where its id or its agent's key is, or was, taken. To be called `again` with the
        same time after a lost connection."""
        rows, head = chained(execution.id, Head(0, START), events, rfc3339(at))
        owner, host, pid = holder_values(execution.holder)
        row = {
            "id": execution.id,
            "agent_id": execution.agent_id,
            "key": execution.key,
            "status": execution.status,
            "digest": execution.digest,
            "failure_reason": execution.failure_reason,
            "attempt": execution.attempt,
            "owner": owner,
            "host": host,
            "pid": pid,
            "lease_until": execution.lease_until,
            "head_seq": head.seq,
            "head_hash": hexed(head.hash),
            "created_at": execution.created_at or at,
            "updated_at": at,
            "deadline_at": execution.deadline_at,
            "pinned": execution.pinned,
            "forked_from": execution.forked_from,
            "fork_seq": execution.fork_seq,
            "served": execution.served,
            "session": execution.session,
            "continues": execution.continues,
            "spawned_execution_id": execution.spawned_execution_id,
            "spawned_step_id": execution.spawned_step_id,
            "created_by": execution.created_by,
            "on_behalf_of": execution.on_behalf_of,
            "seal": execution.seal,
            "ended_at": at if execution.status.terminal else 0.0,
        }
        steps: list[Row] = [copied_step_values(step) for step in copied.steps]
        laying = self._pieces.read(connection, execution.id) if are_long(steps) else None
        if laying is not None:
            steps = laying.lay_all(steps)
        change = {
            "execution": row,
            "input": execution.input,
            "output": execution.output,
            "state": execution.state,
            "events": event_objects(rows),
            "steps": step_objects(steps),
            "pieces": piece_objects(execution.id, laying.added) if laying is not None else None,
            "approvals": approval_objects([copied_approval_values(question) for question in copied.approvals]),
            "dispatch": dispatch_object(copied.dispatch) if copied.dispatch is not None else None,
            "places": [asdict(place) for place in copied.places],
            "turns": [asdict(turn) for turn in copied.turns],
            "root": asdict(copied.root) if copied.root is not None else None,
            "data_key": _data_key(copied.data_key, at),
            "sealed": sealed_objects(execution.id, copied.sealed),
            "pots": [declared(one.take) for one in copied.takes],
            "takes": [
                {
                    "key": one.take.pot.key,
                    "step_id": one.step_id,
                    "execution_id": one.take.execution_id,
                    "at": one.at,
                    "amount": one.take.amount,
                }
                for one in copied.takes
            ],
        }
        if copied.external is not None:
            change["resources"] = [resource_object(row, row.registered_seq) for row in copied.external.resources]
            change["checkpoints"] = [checkpoint_object(row) for row in copied.external.checkpoints]
        added = connection.execute(SQL["create"], {"change": packed(change)}).fetchone()
        if added is not None and added[0]:
            self.offer(execution.id, head)
            self._pieces.wrote(execution.id, laying, None, head)
            return True
        return again and self._created(connection, execution.id, head, execution.created_at or at)

    def _created(self, connection: PreparedConnection, execution_id: str, head: Head, at: float) -> bool:
        """Whether an execution is the one of a call whose answer was lost, whatever was written to it since."""
        if self._in_log(connection, execution_id, head):
            return True
        gone = asked({"id": execution_id, "at": at})
        return connection.execute(SQL["buried-since"], gone).fetchone() is not None

    def renew(self, connection: PreparedConnection, lease: Lease, until: float) -> bool:
        """Extends a lease; False if the attempt does not have it any more."""
        values = {"id": lease.execution_id, "attempt": lease.attempt, "owner": lease.owner, "until": until}
        return connection.execute(SQL["renew"], asked(values)).rowcount == 1

    def _move(self, connection: PreparedConnection, group: ChangeGroup, head: Head) -> Head | None:
        """The new head, or None where the row is not what `head` and the lease say."""
        group.laying = self._pieces.read(connection, group.execution_id) if group.long else None
        statement, given, moved = group.statement(head, fresh=False)
        group.sent.append(moved)
        (answer,) = pipelined(connection, [(statement, given)])
        if isinstance(answer, psycopg.Error) and lost(answer):
            raise answer
        if answer is True:
            # It stays among what was sent: where the server is lost before it confirms, the group is looked for again.
            return moved
        group.sent.pop()
        if isinstance(answer, psycopg.Error):
            raise overtaken(group) if settled(answer) else answer
        return None

    def _row_head(self, connection: PreparedConnection, group: ChangeGroup) -> tuple[Head, bool]:
        """The execution's head, and whether the group is written already: then it is the group's own.

        INVARIANT: the head is read before the events are looked for. A statement that was sent, and is carried out
        after the head was read, moves it, so that whatever is built on this head fails; one that was carried out before
        is found.
        """
        execution_id = group.execution_id
        row = connection.execute(SQL["head"], asked({"id": execution_id})).fetchone()
        for sent in group.sent:
            if self._carried_out(connection, group, sent):
                # INVARIANT: what is answered outlives the server. A statement that was cut off while it waited for a
                # standby is in the log, and on this server alone.
                connection.execute(SQL["confirm"])
                return sent, True
        if row is None:
            raise NotFoundError(f"there is no execution `{execution_id}`")
        seq, head_hash, status, attempt, owner = row
        try:
            ended = ExecutionStatus(status).terminal
        except ValueError as error:
            raise StoreCorrupt(
                f"execution `{execution_id}` is damaged: {error}; restore a copy", path=self._name
            ) from None
        if ended:
            raise Terminated(f"execution `{execution_id}` has ended: it is {status}")
        lease = group.first.lease
        if lease is not None and (attempt, owner) != (lease.attempt, lease.owner):
            raise LeaseSuperseded
        return Head(seq, head_hash), False

    def _carried_out(self, connection: PreparedConnection, group: ChangeGroup, sent: Head) -> bool:
        if any(change.events for change in group.changes):
            return self._in_log(connection, group.execution_id, sent)
        # Without an event it can only be told by what it makes of the execution's row.
        row = connection.execute(SQL["head"], asked({"id": group.execution_id})).fetchone()
        write = group.row
        if row is None or write is None or row[:3] != (sent.seq, sent.hash, write.status.value):
            return False
        return write.attempt is None or row[3:] == (write.attempt, holder_values(write.holder)[0])

    def _in_log(self, connection: PreparedConnection, execution_id: str, head: Head) -> bool:
        """Whether the log was at this head once."""
        rows = connection.execute(SQL["event-hash"], asked({"id": execution_id, "seq": head.seq})).fetchall()
        return any(row[0] == head.hash for row in rows)


def overtaken(group: ChangeGroup) -> Stale:
    """The error where a row that is to be put cannot be any more."""
    return Stale(
        f"a step or an approval of execution `{group.execution_id}` has settled, or a turn was added, meanwhile"
    )
