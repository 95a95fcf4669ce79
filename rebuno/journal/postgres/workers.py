"""The threads that speak to the server: a few workers with a connection each, and one that watches the time."""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

import psycopg

from rebuno.errors import RebunoError, StoreError
from rebuno.journal.lease import LEASE_SECONDS
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.connection import clock
from rebuno.journal.postgres.failures import UNFIT, conflict, known, settled, typed, unfit
from rebuno.journal.postgres.group import ChangeGroup, GroupChange
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.queue import Queue
from rebuno.journal.postgres.sender import GroupOutcome, PipelineSender
from rebuno.journal.postgres.server_clock import ServerClock
from rebuno.journal.postgres.session import Session
from rebuno.journal.postgres.work import ReadRequest, answers_of, failed
from rebuno.journal.records import Lease
from rebuno.journal.wakeups import Wakeup, give, give_here

logger: Final = logging.getLogger("rebuno.store")

RENEW_SECONDS: Final = 10.0
# More workers than this are not needed: the event loop's own thread does most of the writing.
MOST_WORKERS: Final = 2
# So often the watch looks for answers that the event loop has no time for.
DRAIN_SECONDS: Final = 0.002
# After a change the watch goes on looking for so long, every `DRAIN_SECONDS`. To be woken costs more than to look.
BUSY_SECONDS: Final = 0.1
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
        connect: Callable[[], PreparedConnection],
        changes: PostgresChanges,
        server_clock: ServerClock,
        *,
        name: str,
        size: int,
        renew_seconds: float,
    ) -> None:
        """`session` makes one that is not open yet; `first` is open. `size` is how many connections there are at most,
        at most half of them the workers'."""
        self._session = session
        self._changes = changes
        self._clock = server_clock
        self._name = name
        self._size = max(1, min(MOST_WORKERS, size // 2))
        self._sender = PipelineSender(connect, changes, self._finished, size - self._size)
        self._renew_seconds = renew_seconds
        self._queue = Queue()
        self._leases: list[Lease] = []
        self._renew_at = math.inf
        self._lock = threading.Lock()
        # One token for each thing that a worker might find to do; one too many does no harm.
        self._tokens: SimpleQueue[None] = SimpleQueue()
        self._time = threading.Condition(self._lock)
        self._wakes_at = math.inf
        self._busy_until = -math.inf
        self._idle = 0
        self._alive = 0
        self._stopping = False
        self._grow_at = -math.inf
        # Why nothing is taken any more, where that is not that the store was closed.
        self._fault: StoreError | None = None
        self._ended: asyncio.Future[None] | None = None
        self._renewal: ReadRequest | None = None
        self._start(first)
        threading.Thread(target=self._watch, name="rebuno-postgres-time", daemon=True).start()

    # ---------------------------------------------------------------- from the event loop's thread

    def submit(self, change: GroupChange) -> None:
        """Hands over a change."""
        with self._lock:
            self._check()
            self._queue.add(change)
            # Where the lane is being written, its writer goes on with the rest.
            changes = self._queue.take_lane(change.batch.execution_id) if change.due is None else None
            if change.due is not None:
                self._busy_until = change.due + BUSY_SECONDS
                if change.due < self._wakes_at:
                    self._time.notify()
        if changes is not None:
            self._send(changes)

    def expect(self) -> None:
        """Changes are about to come: makes a connection ready for the first of them."""
        if not self._sender.ready:
            self._sender.grow()

    def ask(self, ask: ReadRequest) -> None:
        """Hands over a question."""
        with self._lock:
            self._check()
            self._queue.ask(ask)
            self._wake()

    def _send(self, changes: list[GroupChange]) -> None:
        group = ChangeGroup(changes, self._changes.now())
        if any(change.batch.refusal() for change in changes) or not self._sender.send(group):
            self._hand_all([group])

    def _hand_all(self, groups: list[ChangeGroup]) -> None:
        """Leaves groups to the workers; where none lives, nobody will ever write them."""
        with self._lock:
            left = [] if self._alive else groups
            if not left:
                for group in groups:
                    self._queue.hand(group)
                    self._wake()
        give([failed(change, self._closed()) for group in left for change in group.changes])

    @property
    def owing_since(self) -> float:
        """Since when the oldest answer to a change is owed, on the monotonic clock (infinity: none is)."""
        return self._sender.owing_since

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

    def give_up(self, error: StoreError) -> None:
        """Answers what waits with an error, and takes nothing any more."""
        with self._lock:
            self._fault = self._fault or error
            self._stopping = True
            changes, asks = self._queue.drain()
            leases, self._leases = self._leases, []
            self._wake_all()
            self._time.notify()
        for lease in leases:
            lease.poison = lease.poison or error
        answers = [failed(change, error) for change in changes]
        give(answers + [(ask.answer, None, error) for ask in asks if ask.answer is not None])

    def close(self) -> None:
        """After the stop: lets go of what the event loop's thread has."""
        owed = self._sender.close()
        give([failed(change, self._closed()) for group in owed for change in group.changes])

    def _check(self) -> None:
        if self._stopping or not self._alive:
            raise self._closed()

    def _closed(self) -> StoreError:
        return self._fault or StoreError(f"the store `{self._name}` is closed", path=self._name)

    def _faulty(self, fault: BaseException) -> StoreError:
        """What is told of a fault of ours."""
        return StoreError(f"the store `{self._name}` met a fault of its own: {fault!r:.200}", path=self._name)

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
                    match work:
                        case ReadRequest():
                            self._answer(session, work)
                        case ChangeGroup():
                            self._write(session, [work], self._answers)
                        case _:
                            at = self._changes.now()
                            self._write(session, [ChangeGroup(changes, at) for changes in work], self._written)
        except BaseException as fault:
            # Nobody knows what is written and what is not.
            logger.exception("a thread of the store ended by a fault")
            self.give_up(self._faulty(fault))
        finally:
            try:
                session.close()
            finally:
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

    def _next(self) -> ReadRequest | ChangeGroup | list[list[GroupChange]] | None:
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

    def _answer(self, session: Session, ask: ReadRequest) -> None:
        # A fault of ours ends the thread; nobody may wait for it for ever.
        value: object = None
        error: Exception | None = self._closed()
        try:
            value, error = session.run(ask.run), None
        except RebunoError as failure:
            error = failure
        except UNFIT as failure:
            error = unfit(failure, self._name)
        except Exception as failure:
            logger.exception("the store met a fault of its own")
            error = self._faulty(failure)
            # Nobody knows what it left the connection in.
            session.close()
        finally:
            if ask is self._renewal:
                self._renewal = None
            if ask.answer is not None:
                give([(ask.answer, value, error)])

    def _write(
        self, session: Session, groups: list[ChangeGroup], how: Callable[[Session, list[ChangeGroup]], list[Wakeup]]
    ) -> None:
        answers: list[Wakeup] = []
        error = self._closed()
        try:
            answers = how(session, groups)
        except Exception as fault:
            logger.exception("the store met a fault of its own")
            error = self._faulty(fault)
            # Nobody knows what it left the connection in.
            session.close()
        finally:
            # A fault of ours may end the thread; nobody may wait for it for ever.
            answers = answers or [failed(change, error) for group in groups for change in group.changes]
            try:
                with self._lock:
                    self._done(groups)
                    # This thread takes one itself.
                    if self._queue.runnable > 1:
                        self._tokens.put(None)
            finally:
                give(answers)

    def _done(self, groups: Iterable[ChangeGroup]) -> None:
        for group in groups:
            self._queue.done(group.execution_id)
        if self._queue.due < self._wakes_at:
            self._time.notify()

    def _written(self, session: Session, groups: list[ChangeGroup]) -> list[Wakeup]:
        sound = [group for group in groups if not any(change.batch.refusal() for change in group.changes)]
        # What goes wrong here is told by each group's own attempt.
        with suppress(StoreError):
            session.once(lambda connection: self._changes.write_all(connection, sound))
        return self._answers(session, groups)

    def _answers(self, session: Session, groups: list[ChangeGroup]) -> list[Wakeup]:
        return [answer for group in groups for answer in self._of(session, group)]

    def _of(self, session: Session, group: ChangeGroup) -> list[Wakeup]:
        failure = group.failure
        try:
            if group.numbers is None and failure is None:
                refused = next(filter(None, (change.batch.refusal() for change in group.changes)), None)
                if refused is not None:
                    raise refused
                session.run(lambda connection: self._changes.write(connection, group))
        except RebunoError as error:
            failure = error
        except UNFIT as error:
            failure = unfit(error, self._name)
        if failure is None:
            return answers_of(group)
        # What is wrong with the server is wrong for each of them.
        if len(group.changes) == 1 or (isinstance(failure, StoreError) and type(failure) is not StoreError):
            return [failed(change, failure) for change in group.changes]
        # One of them failed: each by itself gets its own answer.
        return self._answers(session, [ChangeGroup([change], group.at) for change in group.changes])

    # ---------------------------------------------------------------- what the sender brings, in the loop's thread

    def _finished(self, outcomes: list[GroupOutcome], in_loop: bool) -> None:
        """Or in the watch's thread, while the loop computes."""
        try:
            self._take(outcomes, in_loop)
        except Exception as fault:
            logger.exception("the store met a fault of its own")
            error = self._faulty(fault)
            self.give_up(error)
            give([failed(change, error) for outcome in outcomes for change in outcome.group.changes])

    def _take(self, outcomes: list[GroupOutcome], in_loop: bool) -> None:
        written: list[ChangeGroup] = []
        following: list[list[GroupChange]] = []
        for outcome in outcomes:
            group, answer = outcome.group, outcome.answer
            if answer is not None:
                group.sent.pop()
            if answer is True:
                self._changes.wrote(group, outcome.moved)
                written.append(group)
            elif isinstance(answer, psycopg.Error) and not (conflict(answer) or settled(answer) or known(answer)):
                group.failure = typed(answer, self._name)
        if len(written) < len(outcomes):
            self._hand_all([outcome.group for outcome in outcomes if outcome.group.numbers is None])
        with self._lock:
            self._done(written)
            for group in written:
                changes = self._queue.take_lane(group.execution_id)
                if changes is not None:
                    following.append(changes)
            if self._stopping:
                self._wake_all()
            # A worker that is woken in vain takes the interpreter from this thread for nothing.
            elif self._queue.runnable:
                for _ in range(min(self._alive, self._queue.takeable)):
                    self._tokens.put(None)
        answers = [answer for group in written for answer in answers_of(group)]
        (give_here if in_loop else give)(answers)
        for changes in following:
            if in_loop:
                self._send(changes)
            else:
                self._hand_all([ChangeGroup(changes, self._changes.now())])

    def _leave(self) -> None:
        answers: list[Wakeup] = []
        with self._lock:
            self._alive -= 1
            self._tokens.put(None)
            if not self._alive:
                error = self._closed()
                for lease in self._leases if self._fault else ():
                    # Nobody renews it any more.
                    lease.poison = lease.poison or error
                changes, asks = self._queue.drain()
                answers = [failed(change, error) for change in changes]
                answers += [(ask.answer, None, error) for ask in asks if ask.answer is not None]
                if self._ended is not None:
                    answers.append((self._ended, None, None))
        give(answers)

    # ---------------------------------------------------------------- the watch's thread

    def _watch(self) -> None:
        try:
            self._look_after()
        except BaseException as fault:
            # Without it a deferred change would wait for ever, and leases run out under their attempts.
            logger.exception("the thread of the store that watches the time ended by a fault")
            self.give_up(self._faulty(fault))

    def _look_after(self) -> None:
        """Lets deferred changes go in time, while the event loop computes too, and has the leases renewed."""
        with self._lock:
            while not self._stopping and self._alive:
                now = time.monotonic()
                if now >= self._renew_at:
                    self._renew_at = now + self._renew_seconds
                    if self._renewal is None:
                        self._renewal = ReadRequest(self._renew, None, "")
                        self._queue.ask(self._renewal)
                        self._wake()
                if now >= self._queue.due:
                    self._queue.release(now)
                    self._wake()
                if now >= self._queue.behind:
                    self._drain()
                looks = now < self._busy_until or self._queue.behind < math.inf
                self._wakes_at = min(self._queue.due, self._renew_at, now + DRAIN_SECONDS if looks else math.inf)
                self._time.wait(None if self._wakes_at == math.inf else max(0.0, self._wakes_at - now))

    def _drain(self) -> None:
        """The loop has no time for an answer that a deferred change waits for."""
        self._lock.release()
        try:
            self._sender.drain()
        finally:
            self._lock.acquire()

    def _renew(self, connection: PreparedConnection) -> None:
        """Extends the leases, each in a transaction of its own."""
        with self._lock:
            leases = list(self._leases)
        self._clock.ask(lambda: clock(connection))
        for lease in leases:
            if not self._changes.renew(connection, lease, self._changes.now() + LEASE_SECONDS):
                lease.lost = True
                self.drop(lease)
