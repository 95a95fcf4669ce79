"""One transaction for many changes: each fails alone, and the others become durable together."""

import time
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import apsw

from rebuno.errors import RebunoError, StoreError
from rebuno.journal.lease import LEASE_SECONDS
from rebuno.journal.records import Lease
from rebuno.journal.sqlite.changes import SQLiteChanges
from rebuno.journal.sqlite.failures import UNFIT, typed, unfit
from rebuno.journal.sqlite.jobs import WriteJob
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.sqlite.sql import SQL
from rebuno.journal.wakeups import Wakeup

# How much of an average the newest is.
NEWEST: Final = 0.1


class Committer:
    """Commits to one connection; used by one thread at a time. `seconds` is what the last commits took on the average,
    and `path` the store's name in errors."""

    def __init__(
        self, connection: apsw.Connection, changes: SQLiteChanges, marks: Marks, path: str, seconds: float
    ) -> None:
        self._connection = connection
        self._changes = changes
        self._marks = marks
        self._path = path
        self.seconds = seconds

    def begin(self) -> None:
        """Takes the write lock.

        Raises:
            apsw.BusyError: another process keeps it for too long.
            StoreForeign, StoreUnreachable: the file is not ours any more. No transaction is open.
        """
        self._connection.execute(SQL["begin"])
        try:
            self._marks.begin()
        except BaseException:
            self.give_up()
            raise

    def commit(self, group: Sequence[WriteJob]) -> list[Wakeup] | None:
        """Runs the changes as if none of them could fail, and makes durable what they wrote. None where one of several
        does: nothing is left of them, nobody is answered, and `one_by_one` is to follow in a new transaction.

        Raises:
            apsw.Error: nothing of it was; `give_up` is to be called.
        """
        if len(group) == 1:
            return self.one_by_one(group)
        try:
            answers = self._together(group)
        except (apsw.Error, RebunoError, *UNFIT):
            if not self._connection.in_transaction:
                raise
            answers = None
        if answers is None:
            self.give_up()
        else:
            self._end()
        return answers

    def one_by_one(self, group: Sequence[WriteJob]) -> list[Wakeup]:
        """Runs the changes, each to fail or not by itself, and makes durable what they wrote. Raises as `commit`."""
        answers = [self._member(change, alone=len(group) == 1) for change in group]
        self._end()
        return answers

    def give_up(self) -> None:
        """Takes back whatever was not committed."""
        self._changes.forget()
        if self._connection.in_transaction:
            self._connection.execute(SQL["rollback"])

    def fail(self, group: Iterable[WriteJob], error: apsw.Error | StoreError) -> list[Wakeup]:
        """The answers to changes of which nobody can be told more."""
        failure = typed(error, self._path) if isinstance(error, apsw.Error) else error
        return [_failed(change, failure) for change in group]

    def renew(self, leases: Iterable[Lease], now: float) -> list[Lease]:
        """Extends the leases in one commit; those that their attempts do not have any more. Raises as `commit`."""
        self.begin()
        lost = [lease for lease in leases if not self._changes.renew(lease, now + LEASE_SECONDS)]
        self._connection.execute(SQL["commit"])
        self._marks.committed()
        return lost

    def _end(self) -> None:
        if self._connection.in_transaction:
            start = time.perf_counter()
            self._connection.execute(SQL["commit"])
            self.seconds += NEWEST * (time.perf_counter() - start - self.seconds)
            self._marks.committed()
        self._changes.keep()

    def _together(self, group: Iterable[WriteJob]) -> list[Wakeup] | None:
        """Runs changes, those of one execution that follow each other as one; None where one is refused."""
        answers: list[Wakeup] = []
        for _, run in groupby(group, key=_execution_of):
            changes = list(run)
            parts = [change.part for change in changes if change.part is not None]
            for batch, _ in parts:
                if batch.refusal() is not None:
                    return None
            seqs = self._changes.write_in_one(parts) if len(parts) == len(changes) > 1 else None
            values = seqs or (change.run() for change in changes)
            answers += [(change.answer, value, None) for change, value in zip(changes, values, strict=True)]
        return answers

    def _member(self, change: WriteJob, *, alone: bool) -> Wakeup:
        """Runs one change so that, failing, it takes back its own rows only. The answer is not given yet.

        Raises:
            apsw.Error: SQLite gave up the whole transaction by itself, as it may where the disk is full.
        """
        refused = change.part[0].refusal() if change.part is not None else None
        if refused is not None:
            return change.answer, None, refused
        if not alone:
            self._connection.execute(SQL["savepoint"])
        failure: Exception
        try:
            value = change.run()
        except apsw.Error as error:
            if not self._connection.in_transaction:
                raise
            failure = typed(error, self._path)
        except RebunoError as error:
            failure = error
        except UNFIT as error:
            failure = unfit(error, self._path)
        else:
            if not alone:
                self._connection.execute(SQL["release"])
            return change.answer, value, None
        self._changes.undone()
        if alone:
            self._connection.execute(SQL["rollback"])
        else:
            self._connection.execute(SQL["undo"])
            self._connection.execute(SQL["release"])
        return _failed(change, failure)


def _execution_of(change: WriteJob) -> str:
    return change.execution_id


def _failed(change: WriteJob, error: Exception) -> Wakeup:
    if change.part is not None:
        change.part[0].failed(error)
    return change.answer, None, error
