"""What is known of the pieces of long arguments, and reads them."""

import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from rebuno.journal.chain import Head
from rebuno.journal.pieces import PIECES, KnownPieces, Laying, joined
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, row_told
from rebuno.journal.rows import Row

# How many pieces of how many executions are known at once: some twenty megabytes.
_MOST: Final = 100_000
# How often one looks whether pieces are written in this store, in seconds.
_LOOK_SECONDS: Final = 60.0
# The migration that a version must know to read them.
NEEDED: Final = 11


class KnownRows:
    """The pieces that one store has written and read, each execution's at a head of its log. Used by several threads;
    one at a time for an execution.

    INVARIANT: who adds pieces moves the head. So what is known at a head is all that there is, if the statement that
    adds to it finds the execution at this head.
    """

    def __init__(self) -> None:
        self._known = KnownPieces(_MOST)
        self._lock = threading.Lock()
        self._used = False
        self._look_at = 0.0

    @property
    def unused(self) -> bool:
        """Whether no pieces are written: an older process may be using the store, and could not read them."""
        return not self._used and time.monotonic() < self._look_at

    def at(self, execution_id: str, head: Head) -> Laying | None:
        """What a change makes of arguments after this head; None where the pieces have to be read."""
        with self._lock:
            found = self._known.take(execution_id)
            if found is None or found[1] != head:
                # The first ones stay true.
                if found is not None:
                    self._known.put(execution_id, *found)
                return None
        return Laying(found[0])

    def read(self, connection: PreparedConnection, execution_id: str) -> Laying | None:
        """The same, at a head that was read before; None where no pieces are written."""
        if not self._used:
            self._used = connection.execute(SQL["has-feature"], {"name": PIECES}).fetchone() is not None
            self._look_at = time.monotonic() + _LOOK_SECONDS
        if not self._used:
            return None
        with self._lock:
            found = self._known.take(execution_id)
        laying = Laying() if found is None else Laying(found[0])
        while not laying.known.learn(_pieces(connection, execution_id, laying.known.last)):
            pass
        return laying

    def wrote(self, execution_id: str, laying: Laying | None, base: Head | None, head: Head) -> None:
        """A change that was built on the head `base` has led to another one, and added what was laid."""
        with self._lock:
            if laying is not None:
                laying.keep()
                self._known.put(execution_id, laying.known, head)
            elif self._known and (found := self._known.take(execution_id)) is not None:
                self._known.put(execution_id, found[0], head if found[1] == base else found[1])


def use(connection: PreparedConnection) -> None:
    """Has them written from now on. Earlier versions do not start on this store any more."""
    connection.execute(SQL["add-feature"], {"name": PIECES, "needed": NEEDED})


def whole(connection: PreparedConnection, query: str, values: dict[str, Any]) -> Sequence[Row]:
    """The rows of steps that a question finds, with their long arguments.

    Raises:
        ValueError: a row or a piece is damaged.
    """

    def pieces(execution_id: str, first: int, last: int) -> list[Row]:
        return _pieces(connection, execution_id, first, last)

    return joined(lambda: connection.execute(SQL[query], values).fetchall(), pieces)


def _pieces(connection: PreparedConnection, execution_id: str, first: int, last: int | None = None) -> list[Row]:
    values = asked({"id": execution_id, "first": first, "last": last})
    return [row_told(row) for row in connection.execute(SQL["pieces"], values)]
