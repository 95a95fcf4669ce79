"""The short way to the server: the event loop's own thread sends a change, and takes the answer when it comes.

It saves two changes of threads a step. Whatever does not go through at once is left to the workers.
"""

import asyncio
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus

from rebuno.errors import StoreError
from rebuno.journal.chain import Head
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.failures import lost
from rebuno.journal.postgres.group import STATEMENTS, ChangeGroup
from rebuno.journal.postgres.pipeline import FATAL, PreparedConnection, pipelined
from rebuno.journal.postgres.sql import SQL, Given, Prepared

# A line that owes more answers than this takes no more; one more is opened before.
_MOST_OWED: Final = 32
_BUSY: Final = 2
# After no connection could be had, none is asked for so long, in seconds.
_GROW_SECONDS: Final = 5.0
# How often one looks for answers that are overdue, in seconds.
_LOOK_SECONDS: Final = 1.0


# Made for every group: treat it as frozen.
@dataclass(slots=True)
class GroupOutcome:
    """What became of a group: `answer` is whether it was written, the server's error, or None where nobody knows."""

    group: ChangeGroup
    moved: Head
    answer: bool | psycopg.Error | None


class PipelinedConnection:
    """A connection in pipeline mode, and the groups that it owes answers for, in their order, with the times at which
    they were sent.

    INVARIANT: each statement is followed by a sync, so each is a transaction of its own. What has come is taken to its
    end each time, be that an error: an event loop need not say a second time that a lost socket can be read.
    """

    def __init__(self, connection: PreparedConnection) -> None:
        self.connection = connection
        # The event loop's own: the library closes its socket as soon as it is lost, and another may get its number.
        self.file = os.dup(connection.pgconn.socket)
        self.lost = False
        # Whether an answer has been owed for a while: then it gets no more to answer.
        self.slow = False
        self.owed: deque[tuple[ChangeGroup, Head, float]] = deque()
        self._poller = select.poll()
        self._poller.register(self.file, select.POLLIN)
        self._answer: bool | psycopg.Error | None = None
        # The loop's thread and, while that computes, the watch.
        self._lock = threading.Lock()

    def send(self, statement: Prepared, given: Given, group: ChangeGroup, moved: Head) -> bool:
        """Sends a statement; whether some of it still has to be pushed. Raises `psycopg.Error`: the line is lost, which
        `receive` will tell to all."""
        with self._lock:
            self.owed.append((group, moved, time.monotonic()))
            pgconn = self.connection.pgconn
            pgconn.send_query_prepared(statement.name, given)
            pgconn.pipeline_sync()
            return pgconn.flush() != 0

    def push(self) -> bool:
        """Sends the rest; whether there still is one. Raises as `send`."""
        with self._lock:
            return self.connection.pgconn.flush() != 0

    def receive(self) -> list[GroupOutcome]:
        """The answers that have come, or nobody knows any more: also where one is owed for longer than the connection's
        bound."""
        with self._lock:
            found: list[GroupOutcome] = []
            try:
                self._take(found)
                while self._poller.poll(0):
                    self._take(found)
                if self._overdue():
                    raise psycopg.OperationalError("the server does not answer")
            except psycopg.Error:
                self.lost = True
                found += [GroupOutcome(group, moved, None) for group, moved, _ in self.owed]
                self.owed.clear()
            return found

    @property
    def owing_since(self) -> float:
        """Since when the oldest answer is owed, on the monotonic clock (infinity: none is)."""
        with self._lock:
            return self._oldest()

    def _oldest(self) -> float:
        return self.owed[0][2] if self.owed else math.inf

    def _overdue(self) -> bool:
        bound = self.connection.bound
        return bound is not None and time.monotonic() - self._oldest() > bound

    def _take(self, found: list[GroupOutcome]) -> None:
        pgconn = self.connection.pgconn
        pgconn.consume_input()
        while self.owed and not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                if pgconn.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection is lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                group, moved, _ = self.owed.popleft()
                found.append(GroupOutcome(group, moved, self._answer))
                self._answer = None
            elif result.status in FATAL:
                error = error_from_result(result)
                if lost(error):
                    raise error
                self._answer = error
            else:
                self._answer = result.ntuples > 0


class PipelineSender:
    """Lines of one store. Used from the event loop's thread, but for `drain`."""

    def __init__(
        self,
        connect: Callable[[], PreparedConnection],
        changes: PostgresChanges,
        finish: Callable[[list[GroupOutcome], bool], None],
        size: int,
    ) -> None:
        """`finish` is given outcomes, and whether it is called in the event loop's thread."""
        self._loop = asyncio.get_running_loop()
        self._connect = connect
        self._changes = changes
        self._finish = finish
        self._size = size
        self._lines: list[PipelinedConnection] = []
        self._opening = False
        self._grow_at = -math.inf
        self._closed = False
        # Whether somebody will look for what is overdue.
        self._looking = False
        # A connection that is made, and not a line yet: the caller who takes it away under the lock has to close it.
        self._arriving: PreparedConnection | None = None
        self._lock = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether there is a line."""
        return bool(self._lines)

    def send(self, group: ChangeGroup) -> bool:
        """Sends a group; False where a worker has to, as for another event loop than that which hears the answers."""
        if asyncio.get_running_loop() is not self._loop:
            return False
        line = min((line for line in self._lines if not line.slow), key=lambda line: len(line.owed), default=None)
        if line is None or len(line.owed) >= _BUSY:
            self.grow()
        if line is None or line.lost or len(line.owed) >= _MOST_OWED:
            return False
        ready = self._changes.offered(group)
        if ready is None:
            return False
        statement, given, moved = ready
        group.sent.append(moved)
        try:
            if line.send(statement, given, group, moved):
                self._loop.add_writer(line.file, self._push, line)
        except psycopg.Error:
            self._loop.call_soon(self._receive, line)
        if not self._looking:
            self._looking = True
            self._loop.call_later(_LOOK_SECONDS, self._look)
        return True

    def _look(self) -> None:
        """Takes what no event has told of, and gives up what is overdue."""
        self._looking = False
        for line in list(self._lines):
            if line.owed:
                self._receive(line)
        before = time.monotonic() - _LOOK_SECONDS
        for line in self._lines:
            line.slow = line.owing_since < before
        if not self._looking and any(line.owed for line in self._lines):
            self._looking = True
            self._loop.call_later(_LOOK_SECONDS, self._look)

    @property
    def owing_since(self) -> float:
        """Since when the oldest answer is owed, on the monotonic clock (infinity: none is)."""
        return min((line.owing_since for line in list(self._lines)), default=math.inf)

    def drain(self) -> None:
        """Takes the answers that have come while the event loop computes. From another thread."""
        for line in list(self._lines):
            found = line.receive()
            if line.lost:
                # Where the loop is closed, nobody has the line any more.
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._drop, line)
            if found:
                self._finish(found, False)

    def close(self) -> list[ChangeGroup]:
        """Lets go of the connections; the groups that they still owe answers for."""
        with self._lock:
            self._closed = True
            arriving, self._arriving = self._arriving, None
        if arriving is not None:
            arriving.close()
        owed: list[ChangeGroup] = []
        for line in list(self._lines):
            owed += [group for group, _, _ in line.owed]
            self._drop(line)
        return owed

    def _receive(self, line: PipelinedConnection) -> None:
        if line not in self._lines:
            return
        found = line.receive()
        if line.lost:
            self._drop(line)
        if found:
            self._finish(found, True)

    def _push(self, line: PipelinedConnection) -> None:
        try:
            if line.push():
                return
        except psycopg.Error:
            self._loop.call_soon(self._receive, line)
        self._loop.remove_writer(line.file)

    def _drop(self, line: PipelinedConnection) -> None:
        if line in self._lines:
            self._lines.remove(line)
            self._loop.remove_reader(line.file)
            self._loop.remove_writer(line.file)
            os.close(line.file)
            line.connection.close()

    def grow(self) -> None:
        """Has one more line opened, unless there are enough."""
        if self._opening or len(self._lines) >= self._size or time.monotonic() < self._grow_at or self._closed:
            return
        self._opening = True
        threading.Thread(target=self._open, name="rebuno-postgres-open", daemon=True).start()

    def _open(self) -> None:
        connection: PreparedConnection | None = None
        try:
            connection = self._connect()
            connection.execute(SQL["plan-once"])
            # Given nothing they change nothing, but the server plans them: the first change does not wait for that.
            deque(pipelined(connection, [(each, [None] * len(each.parameters)) for each in STATEMENTS]), maxlen=0)
            connection.pgconn.enter_pipeline_mode()
        except (StoreError, psycopg.Error):
            # The workers say why, if they cannot have one either.
            if connection is not None:
                connection.close()
            connection = None
        with self._lock:
            if not self._closed:
                self._arriving, connection = connection, None
        if connection is not None:
            connection.close()
        # A loop that is closed has let the store go before.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._attach)

    def _attach(self) -> None:
        self._opening = False
        with self._lock:
            connection, self._arriving = self._arriving, None
        if connection is None:
            self._grow_at = time.monotonic() + _GROW_SECONDS
        else:
            line = PipelinedConnection(connection)
            self._lines.append(line)
            self._loop.add_reader(line.file, self._receive, line)
