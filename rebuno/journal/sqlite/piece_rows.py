"""Writes and reads the pieces of long arguments, inside a transaction that is open."""

from collections.abc import Sequence
from typing import Final

import apsw

from rebuno.journal.pieces import PIECES, ExecutionPieces, KnownPieces, Laying, bring_long
from rebuno.journal.rows import Row
from rebuno.journal.sqlite.sql import SQL

# How many pieces of how many executions are known at once: some twenty megabytes.
_MOST: Final = 100_000


class PieceRows:
    """The pieces that one connection has written and read. Used by one thread at a time.

    INVARIANT: what is kept here is an offer only; the rows decide: the last piece that is known here is compared with
    the store's in the transaction that adds to it.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known = KnownPieces(_MOST)
        self._used = False

    def put(self, execution_id: str, rows: list[Row]) -> list[Row]:
        """The columns of steps, some with long arguments, as they are to be written; the pieces that they need are."""
        if not self._in_use():
            return rows
        if not bring_long(rows):
            return Laying().lay_all(rows)
        laying = Laying(self._take(execution_id))
        written = laying.lay_all(rows)
        if laying.added:
            self._connection.executemany(SQL["add-piece"], [(execution_id, *piece) for piece in laying.added])
        laying.keep()
        # Kept only now: where this fails, or its transaction, it is read again.
        self._known.put(execution_id, laying.known)
        return written

    def forget(self) -> None:
        """After a rollback: what was kept may not have been written."""
        self._known.clear()

    def _take(self, execution_id: str) -> ExecutionPieces:
        found = self._known.take(execution_id)
        known = ExecutionPieces() if found is None else found[0]
        while not known.learn(self._from(execution_id, known.last)):
            pass
        return known

    def _from(self, execution_id: str, first: int) -> Sequence[Row]:
        return self._connection.execute(SQL["pieces-from"], (execution_id, first)).fetchall()

    def _in_use(self) -> bool:
        # It never ends.
        self._used = self._used or self._connection.execute(SQL["has-feature"], (PIECES,)).fetchone() is not None
        return self._used
