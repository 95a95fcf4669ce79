"""The threads that speak to the server: a few workers with a connection each, and one that watches the time."""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from rebuno.errors import RebunoError, StoreError
from rebuno.journal.answers import Answer, give
from rebuno.journal.leases import LEASE_SECONDS
from rebuno.journal.postgres.changes import Changes
from rebuno.journal.postgres.connection import clock
from rebuno.journal.postgres.failures import UNFIT, unfit
from rebuno.journal.postgres.group import Change, Group
from rebuno.journal.postgres.pipeline import Connection
from rebuno.journal.postgres.queue import Queue
from rebuno.journal.postgres.server_clock import ServerClock
from rebuno.journal.postgres.session import Session
from rebuno.journal.postgres.work import Ask, failed
from rebuno.journal.records import Lease

RENEW_SECONDS: Final = 10.0
# After a worker got no connection, none is added for so long.
GROW_SECONDS: Final = 5.0


class Workers:
    """Takes work from the event loop's thread and does it in at most `size` of its own, each on its own connection.

    INVARIANT: what is answered is committed: an answer is given after the server's.
    """

    def __init__(
        self,
        session: Callable[[], Session],
        first: Session,
        changes: Changes,
        server_clock: ServerClock,
        *,
        name: str,
        size: int,
        renew_seconds: float,
    ) -> None:
        """`session` makes one that is not open yet; `first` is open."""
        self._session = session
        self._changes = changes
        self._clock = server_clock
        self._name = name
        self._size = size
        self._renew_seconds = renew_seconds
        self._queue = Queue()
        self._leases: list[Lease] = []
        self._renew_at = math.inf
        self._lock = threading.Lock()
        # One token for each thing that a worker might find to do; one too many does no harm.
        self._tokens: SimpleQueue[None] = SimpleQueue()
        self._time = threading.Condition(self._lock)
        self._wakes_at = math.inf
        self._idle = 0
        self._alive = 0
        self._stopping = False
        self._grow_at = -math.inf
        self._ended: asyncio.Future[None] | None = None
        self._renewal: Ask | None = None
        self._start(first)
        threading.Thread(target=self._watch, name="rebuno-postgres-time", daemon=True).start()

    # ---------------------------------------------------------------- from the event loop's thread

    def submit(self, change: Change) -> None:
        """Hands over a change."""
        with self._lock:
            self._check()
            self._queue.add(change)
            if change.due is None:
                self._wake()
            elif change.due < self._wakes_at:
                self._time.notify()

    def ask(self, ask: Ask) -> None:
        """Hands over a question."""
        with self._lock:
            self._check()
            self._queue.ask(ask)
            self._wake()

    def keep(self, lease: Lease) -> None:
        """Renews a lease from now on."""
        with self._lock:
            if not self._leases:
                self._renew_at = time.monotonic() + self._renew_seconds
                self._time.notify()
            self._leases.append(lease)

    def drop(self, lease: Lease) -> None:
        """Renews it no more."""
        with self._lock:
            self._leases = [kept for kept in self._leases if kept is not lease]
            if not self._leases:
                self._renew_at = math.inf

    def stop(self, ended: "asyncio.Future[None]") -> None:
        """Does what is left, closes the connections and answers `ended`."""
        with self._lock:
            self._check()
            self._stopping = True
            self._ended = ended
            self._leases = []
            self._queue.release(math.inf)
            self._wake_all()
            self._time.notify()

    def _check(self) -> None:
        if self._stopping or not self._alive:
            raise self._closed()

    def _closed(self) -> StoreError:
        return StoreError(f"the store `{self._name}` is closed", path=self._name)

    def _wake(self) -> None:
        if self._queue.runnable > self._idle and self._alive < self._size and time.monotonic() >= self._grow_at:
            self._start(self._session())
        else:
            self._tokens.put(None)

    def _wake_all(self) -> None:
        for _ in range(self._alive):
            self._tokens.put(None)

    def _start(self, session: Session) -> None:
        self._alive += 1
        threading.Thread(target=self._live, args=(session,), name="rebuno-postgres", daemon=True).start()

    # ---------------------------------------------------------------- a worker's thread

    def _live(self, session: Session) -> None:
        try:
            if self._connected(session):
                while (work := self._next()) is not None:
                    if isinstance(work, Ask):
                        self._answer(session, work)
                    else:
                        self._write(session, work)
        finally:
            session.close()
            self._leave()

    def _connected(self, session: Session) -> bool:
        """Whether this worker is of use: another one does the work where the server has no connection for it."""
        try:
            session.open()
        except StoreError:
            with self._lock:
                self._grow_at = time.monotonic() + GROW_SECONDS
                return self._alive == 1
        return True

    def _next(self) -> Ask | list[list[Change]] | None:
        while True:
            with self._lock:
                work = self._queue.take(self._size)
                if work is not None:
                    return work
                if self._stopping and self._queue.empty:
                    self._wake_all()
                    return None
                self._idle += 1
            self._tokens.get()
            with self._lock:
                self._idle -= 1

    def _answer(self, session: Session, ask: Ask) -> None:
        # A fault of ours ends the thread; nobody may wait for it for ever.
        value: object = None
        error: Exception | None = self._closed()
        try:
            value, error = session.run(ask.run), None
        except RebunoError as failure:
            error = failure
        except UNFIT as failure:
            error = unfit(failure, self._name)
        finally:
            if ask is self._renewal:
                self._renewal = None
            if ask.answer is not None:
                give([(ask.answer, value, error)])

    def _write(self, session: Session, groups: list[list[Change]]) -> None:
        answers: list[Answer] = []
        try:
            answers = self._written(session, groups)
        finally:
            with self._lock:
                for changes in groups:
                    self._queue.done(changes[0].batch.execution_id)
                # This thread takes one itself.
                if self._queue.runnable > 1:
                    self._tokens.put(None)
                if self._queue.due < self._wakes_at:
                    self._time.notify()
            give(answers or [failed(change, self._closed()) for changes in groups for change in changes])

    def _written(self, session: Session, lanes: list[list[Change]]) -> list[Answer]:
        at = self._changes.now()
        groups = [Group(changes, at) for changes in lanes]
        sound = [group for group in groups if group.first.lease is None or group.first.lease.poison is None]
        # What goes wrong here is told by each group's own attempt.
        with suppress(StoreError):
            session.once(lambda connection: self._changes.write_all(connection, sound))
        return [answer for group in groups for answer in self._answers(session, group)]

    def _answers(self, session: Session, group: Group) -> list[Answer]:
        lease = group.first.lease
        failure: Exception
        try:
            if group.numbers is None:
                if lease is not None and lease.poison is not None:
                    raise lease.poison
                session.run(lambda connection: self._changes.write(connection, group))
        except RebunoError as error:
            failure = error
        except UNFIT as error:
            failure = unfit(error, self._name)
        else:
            numbers = group.numbers or []
            return [(each.batch.committed, n, None) for each, n in zip(group.changes, numbers, strict=True)]
        # What is wrong with the server is wrong for each of them.
        if len(group.changes) == 1 or (isinstance(failure, StoreError) and type(failure) is not StoreError):
            return [failed(change, failure) for change in group.changes]
        # One of them failed: each by itself gets its own answer.
        each = [Group([change], group.at) for change in group.changes]
        return [answer for one in each for answer in self._answers(session, one)]

    def _leave(self) -> None:
        answers: list[Answer] = []
        with self._lock:
            self._alive -= 1
            self._tokens.put(None)
            if not self._alive:
                error = self._closed()
                changes, asks = self._queue.drain()
                answers = [failed(change, error) for change in changes]
                answers += [(ask.answer, None, error) for ask in asks if ask.answer is not None]
                if self._ended is not None:
                    answers.append((self._ended, None, None))
        give(answers)

    # ---------------------------------------------------------------- the watch's thread

    def _watch(self) -> None:
        """Lets deferred changes go in time, while the event loop computes too, and has the leases renewed."""
        with self._lock:
            while not self._stopping and self._alive:
                now = time.monotonic()
                if now >= self._renew_at:
                    self._renew_at = now + self._renew_seconds
                    if self._renewal is None:
                        self._renewal = Ask(self._renew, None, "")
                        self._queue.ask(self._renewal)
                        self._wake()
                if now >= self._queue.due:
                    self._queue.release(now)
                    self._wake()
                self._wakes_at = min(self._queue.due, self._renew_at)
                self._time.wait(None if self._wakes_at == math.inf else max(0.0, self._wakes_at - now))

    def _renew(self, connection: Connection) -> None:
        """Extends the leases, each in a transaction of its own."""
        with self._lock:
            leases = list(self._leases)
        self._clock.ask(lambda: clock(connection))
        for lease in leases:
            if not self._changes.renew(connection, lease, self._changes.now() + LEASE_SECONDS):
                lease.lost = True
                self.drop(lease)
