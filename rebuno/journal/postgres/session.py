"""One connection of a store. It reconnects after a loss, and repeats the whole unit of work within a time limit."""

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg

from rebuno.errors import StoreBusy, StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.postgres.connection import Target, clock, connect
from rebuno.journal.postgres.failures import conflict, lost, typed
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.server_clock import ServerClock
from rebuno.journal.postgres.sql import SQL

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.5
# So often a line may be lost before the patience begins: one that stalls uses up more than that by itself, and the
# server is there.
_LOSSES: Final = 2


class Session:
    """Used by one thread. It waits for a server that is away as long as for a lock."""

    def __init__(self, to: Target, server_clock: ServerClock) -> None:
        self._to = to
        self._clock = server_clock
        self._connection: PreparedConnection | None = None

    def open(self) -> PreparedConnection:
        """The connection, made if there is none. Raises a `StoreError` at once where none can be had."""
        if self._connection is None:
            connection = connect(self._to)
            try:
                self._clock.ask(lambda: clock(connection))
            except psycopg.Error as error:
                connection.close()
                raise typed(error, self._to.name) from error
            self._connection = connection
        return self._connection

    def once(self, unit: Callable[[PreparedConnection], T]) -> T:
        """Does a unit of work without repeating it. Raises a `StoreError`."""
        connection = self.open()
        try:
            return unit(connection)
        except psycopg.Error as error:
            if connection.closed or lost(error):
                self.close()
            raise typed(error, self._to.name) from error

    def run(self, unit: Callable[[PreparedConnection], T]) -> T:
        """Does a unit of work: again where it gave way to another transaction, again on a new connection where the old
        one was lost. The unit must bear being repeated after it was done.

        Raises:
            StoreError: it cannot be done, or not within the patience.
        """
        until, pause, losses = None, _FIRST_PAUSE, 0
        # What the unit came to: it is not repeated where only the confirmation gave way.
        done: list[T] = []
        while True:
            failure: StoreError
            try:
                connection = self.open()
            except (StoreUnreachable, StoreBusy, StoreReadOnly) as error:
                # A standby may be on its way to be the primary.
                failure = error
            else:
                try:
                    if not done:
                        done.append(unit(connection))
                    if losses:
                        # INVARIANT: what is answered outlives the server. What the unit found done may wait for a
                        # standby still.
                        connection.execute(SQL["confirm"])
                    return done[0]
                except psycopg.Error as error:
                    failure = typed(error, self._to.name)
                    if connection.closed or lost(error):
                        self.close()
                        # INVARIANT: the server that confirms is the one that the unit was done on. The next one may be
                        # a standby that was promoted without what the unit found.
                        done.clear()
                        losses += 1
                        until = until if losses > _LOSSES else None
                    elif not conflict(error):
                        raise failure from error
            now = time.monotonic()
            until = until or now + self._to.patience
            if now >= until:
                raise failure
            time.sleep(min(pause * random.uniform(0.5, 1.0), until - now))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def close(self) -> None:
        """Lets go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
