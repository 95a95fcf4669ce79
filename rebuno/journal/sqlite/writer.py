"""Takes what is queued for the connection, commits it as one group, and only then answers: in a thread of its own, or
in the event loop's where the disk is so swift that handing over costs more than a commit."""

import logging
import math
import os
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Final

import apsw

from rebuno.errors import StoreError, StoreUnreachable
from rebuno.journal.records import Lease
from rebuno.journal.sqlite.changes import SQLiteChanges
from rebuno.journal.sqlite.committer import NEWEST, Committer
from rebuno.journal.sqlite.connection import Patience
from rebuno.journal.sqlite.failures import typed
from rebuno.journal.sqlite.file_watch import LOOK_SECONDS, FileWatch
from rebuno.journal.sqlite.jobs import EndJob, Job, Keep, ReadJob, WriteJob
from rebuno.journal.sqlite.log import Log
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.wakeups import Wakeup, give, give_here
from rebuno.model.clock import Clock

logger: Final = logging.getLogger("rebuno.store")

RENEW_SECONDS: Final = 10.0
# How long a batch may wait for the next of its execution.
DEFER_SECONDS: Final = 0.002
# How long after the last job the thread looks for the next by itself. To be woken costs more than to look.
BUSY_SECONDS: Final = 0.1
# What a commit may take, on the average of the last ones, for the event loop to wait for it.
SWIFT_SECONDS: Final = 0.001
# The same of a brief read. It is mostly Python, which in another thread keeps the loop waiting as long: for the
# interpreter's lock, which threads hand over every 5 ms.
BRIEF_SECONDS: Final = 0.005


class Writer:
    """Takes jobs from the event loop's thread. While jobs come one upon another and the disk is swift, changes are
    committed there once the loop has come round, so that all that runs side by side shares a commit; what else there is
    to do, and what would make the loop wait for longer, is done in a thread.

    INVARIANT: who uses the connection, or takes a job, has the `_turn`; so the changes of one execution run in the
    order of `submit`.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        patience: Patience,
        changes: SQLiteChanges,
        clock: Clock,
        path: str,
        watch: FileWatch | None,
        marks: Marks,
        renew_seconds: float,
    ) -> None:
        # It knows who has it: a signal may come between the taking of a lock and the next line.
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._connection = connection
        self._patience = patience
        self._marks = marks
        self._log = Log(connection, patience, marks, watch)
        self._committer = Committer(connection, changes, marks, path, SWIFT_SECONDS)
        # What the last brief reads took on the average, in seconds.
        self._read_seconds = 0.0
        # How often the event loop was asked to come, whether it is still to come or at work, and how often it had been
        # asked when the thread looked last.
        self._asked = 0
        self._coming = False
        self._here = False
        self._seen = 0
        self._clock = clock
        self._path = path
        self._watch = watch
        self._look_at = 0.0
        self._gone: StoreError | None = None
        self._renew_seconds = renew_seconds
        self._jobs: deque[Job] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()
        # Whether the thread looks for deferred changes by itself, and need not be woken for one.
        self._looking = False
        self._busy_until = 0.0
        self._ready: list[WriteJob] = []
        self._deferred: dict[str, list[WriteJob]] = {}
        self._due = math.inf
        self._reads: list[ReadJob] = []
        self._leases: list[Lease] = []
        self._renew_at = time.monotonic() + renew_seconds
        self._stop: EndJob | None = None
        self._ended = False
        # Why, where that is not that it was stopped.
        self._fault: StoreError | None = None
        threading.Thread(target=self._work, name="rebuno-sqlite", daemon=True).start()

    def submit(self, job: Job) -> None:
        """Hands a job over. Its answer comes in the event loop of its future."""
        self._jobs.append(job)
        # INVARIANT: the thread says that it stops looking before it looks a last time, so one of the two sees the job.
        if isinstance(job, Keep | EndJob) or not (self._looking and self._is_light(job)):
            self._wake.put(None)
        elif not (self._coming or (isinstance(job, WriteJob) and job.due is not None)):
            self._coming = True
            self._asked += 1
            job.answer.get_loop().call_soon(self._work_here)
        # INVARIANT: the thread sets `_ended` before it empties the queue a last time, so one of the two sees the job.
        if self._ended:
            self._refuse()

    def _is_light(self, job: Job) -> bool:
        """Whether the event loop may wait for it, or need not have it done at once."""
        match job:
            case WriteJob(long=False):
                return job.due is not None or self._committer.seconds < SWIFT_SECONDS
            case ReadJob(brief=True):
                return self._read_seconds < BRIEF_SECONDS
            case _:
                return False

    # ---------------------------------------------------------------- in the event loop's thread

    def _work_here(self) -> None:
        """Commits the changes that are queued and answers the reads, unless the thread is at work: then it does."""
        self._coming = False
        # A forked child has the callback too.
        if not self._jobs or os.getpid() != self._process:
            return
        answers: list[Wakeup] = []
        try:
            try:
                self._in_turn(answers)
            finally:
                try:
                    self._turn.release()
                except RuntimeError:
                    # Another has it: the thread then takes what is here.
                    self._wake.put(None)
            # Afterwards, for it may run what takes its time.
            give_here(answers)
        except BaseException:
            # A signal may interrupt this thread anywhere. What is left is the other's.
            self._wake.put(None)
            give(answers)
            raise

    def _in_turn(self, answers: list[Wakeup]) -> None:
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._here = self._patience.hurried = True
            while self._jobs and self._is_light(self._jobs[0]):
                self._take_one()
            if self._jobs:
                self._wake.put(None)
            self._busy_until = time.monotonic() + BUSY_SECONDS
            if self._ready:
                self._commit_group(answers, here=True)
            # What the other thread has to commit comes before what is asked after it.
            if not self._ready:
                self._read(answers, here=True)
        finally:
            self._here = self._patience.hurried = False

    # ---------------------------------------------------------------- the thread

    def _work(self) -> None:
        try:
            while self._stop is None:
                woken = self._await_job()
                self._look()
                if woken or not self._left_to_the_loop():
                    with self._turn:
                        self._run()
                if self._log.due and self._gone is None:
                    self._log.tend(self._turn)
            with self._turn:
                self._close(self._stop)
        except BaseException as fault:
            logger.exception("the thread of the store `%s` ended by a fault", self._path)
            said = f"the thread of the store `{self._path}` ended by a fault: {fault!r:.200}; open the store again"
            self._fault = StoreError(said, path=self._path)
        finally:
            # Also where a fault of ours ends the thread: nobody may wait for it for ever.
            self._ended = True
            self._refuse()
            if self._fault is not None:
                # Other processes wait for its locks.
                with self._turn, suppress(apsw.Error):
                    self._connection.close()

    def _run(self) -> None:
        """Takes all that is queued, and does it."""
        self._take()
        now = time.monotonic()
        if now >= self._due:
            self._release_deferred()
        answers: list[Wakeup] = []
        if self._ready:
            self._commit_group(answers)
            give(answers)
        if self._reads:
            answers = []
            try:
                self._read(answers)
            finally:
                give(answers)
        if self._leases and now >= self._renew_at:
            self._renew()

    def _await_job(self) -> bool:
        """Waits for a job or for what is due. Whether somebody asked for this thread."""
        now = time.monotonic()
        self._looking = self._coming or now < self._busy_until
        # INVARIANT: the jobs are read after `_looking` is set, and what is due after the jobs: a job that the loop took
        # meanwhile is seen there.
        look_at = now + DEFER_SECONDS if self._looking or self._jobs else math.inf
        due = min(look_at, self._next_due())
        return self._await_wake(None if due == math.inf else max(0.0, due - now))

    def _next_due(self) -> float:
        return min(self._due, self._renew_at if self._leases else math.inf)

    def _left_to_the_loop(self) -> bool:
        """Whether the event loop commits all that is queued: now, or as soon as it comes round. One that has let a
        whole look pass since it was asked is held up by something else."""
        seen, self._seen = self._seen, self._asked
        at_work = self._here or (self._coming and seen != self._asked)
        return at_work and time.monotonic() < self._next_due()

    def _take(self) -> None:
        """Takes all that is queued."""
        # INVARIANT: first the wake-ups, then the jobs: each job was there before it woke anybody.
        while not self._wake.empty():
            self._await_wake(0.0)
        # Also where a loop that was to come was closed meanwhile.
        self._coming = False
        if self._jobs:
            self._busy_until = time.monotonic() + BUSY_SECONDS
        while self._jobs and self._stop is None:
            self._take_one()

    def _await_wake(self, timeout: float | None) -> bool:
        with suppress(Empty):
            self._wake.get(timeout=timeout)
            return True
        return False

    def _take_one(self) -> None:
        # INVARIANT: a change or a read is in one place at any call, for there a signal may end this: it is lost or done
        # twice otherwise.
        match job := self._jobs[0]:
            case WriteJob(due=float(due)):
                self._due = min(self._due, due)
                if job.execution_id in self._deferred:
                    self._deferred[job.execution_id] += (job,)
                else:
                    self._deferred[job.execution_id] = [job]
                del self._jobs[0]
            case WriteJob():
                if waiting := self._deferred.get(job.execution_id, []):
                    self._ready += waiting
                    del self._deferred[job.execution_id]
                    if not self._deferred:
                        self._due = math.inf
                self._ready += (job,)
                del self._jobs[0]
            case ReadJob():
                self._release_deferred()
                self._reads += (job,)
                del self._jobs[0]
            case other:
                del self._jobs[0]
                self._take_other(other)

    def _take_other(self, job: Keep | EndJob) -> None:
        match job:
            case Keep(lease, True):
                if not self._leases:
                    self._renew_at = time.monotonic() + self._renew_seconds
                self._leases.append(lease)
            case Keep(lease, False):
                self._leases = [kept for kept in self._leases if kept is not lease]
            case EndJob():
                self._release_deferred()
                self._stop = job

    def _release_deferred(self) -> None:
        # As above: no call comes between.
        released = list(chain.from_iterable(self._deferred.values()))
        self._ready += released
        self._deferred = {}
        self._due = math.inf

    def _look(self) -> None:
        """Notices that the files are gone. From then on nothing is written, and every lease is poisoned."""
        now = time.monotonic()
        if self._watch is None or self._gone is not None or now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        try:
            self._watch.check()
        except StoreUnreachable as error:
            with self._turn:
                self._lose(error)

    def _lose(self, error: StoreError) -> None:
        """The files are not ours any more: nothing is written to them, not even by closing."""
        self._gone = error
        self._marks.leave()
        for lease in self._leases:
            lease.poison = lease.poison or error

    # ---------------------------------------------------------------- a group

    def _commit_group(self, answers: list[Wakeup], *, here: bool = False) -> None:
        """Commits what is ready, and adds its answers. `here`, in the event loop's thread, it stays ready for the other
        thread where another process has the store locked."""
        group, self._ready = self._ready, []
        try:
            try:
                if not self._begun(here):
                    self._ready = group
                    return
                found = self._committer.commit(group)
                if found is None:
                    if not self._begun(here):
                        self._ready = group
                        return
                    found = self._committer.one_by_one(group)
                answers += found
            except (apsw.Error, StoreError) as error:
                self._committer.give_up()
                answers += self._committer.fail(group, error)
        except BaseException:
            # What became of the group, only the file knows.
            with suppress(apsw.Error):
                self._committer.give_up()
            cut_off = StoreError(f"the store `{self._path}` was interrupted in a write", path=self._path)
            give(self._committer.fail(group, cut_off))
            raise

    def _begun(self, here: bool) -> bool:
        if self._gone is not None:
            raise self._gone
        if here and not self._marks.undisturbed():
            # To look what became of the file takes its time.
            self._wake.put(None)
            return False
        try:
            self._committer.begin()
        except StoreError as error:
            self._lose(error)
            raise
        except apsw.BusyError:
            if not here:
                raise
            self._wake.put(None)
            return False
        return True

    # ---------------------------------------------------------------- the rest

    def _read(self, answers: list[Wakeup], *, here: bool = False) -> None:
        """Asks what is to be asked. `here`, in the event loop's thread, it is left to the other where another process
        has the store locked."""
        while self._reads:
            read = self._reads[0]
            start = time.perf_counter()
            value: object = None
            failure: Exception | None = None
            try:
                if self._gone is not None:
                    raise self._gone
                value = read.run()
            except apsw.BusyError as error:
                if here:
                    self._wake.put(None)
                    return
                failure = typed(error, self._path)
            except apsw.Error as error:
                failure = typed(error, self._path)
            except Exception as error:
                # Whatever it is, it is the answer to this question, and the next is asked.
                failure = error
            answers += ((read.answer, value, failure),)
            del self._reads[0]
            if read.brief:
                self._read_seconds += NEWEST * (time.perf_counter() - start - self._read_seconds)

    def _renew(self) -> None:
        """Extends the leases in one commit. A failure is no verdict about a lease: it is tried again in a second."""
        if self._gone is not None:
            self._leases = []
            return
        try:
            lost = self._committer.renew(self._leases, self._clock.now())
        except StoreError as error:
            self._lose(error)
            return
        except apsw.Error:
            self._committer.give_up()
            self._renew_at = time.monotonic() + min(1.0, self._renew_seconds)
            return
        for lease in lost:
            lease.lost = True
        self._leases = [lease for lease in self._leases if not lease.lost]
        self._renew_at = time.monotonic() + self._renew_seconds

    def _close(self, stop: EndJob) -> None:
        try:
            if self._gone is None:
                self._seal()
            self._connection.close()
        except apsw.Error as error:
            give([(stop.answer, None, typed(error, self._path))])
        else:
            give([(stop.answer, None, None)])

    def _seal(self) -> None:
        """Before the connection is closed, which may copy the log into the file."""
        self._patience.hurried = True
        try:
            self._marks.seal()
        except (apsw.Error, StoreError):
            # Anyone who has it locked closes it later, and the next to open it finds the log.
            self._marks.leave()
        finally:
            self._patience.hurried = False

    def _refuse(self) -> None:
        """Tells everybody who waits, and every attempt, that nothing is done any more."""
        error = self._fault or StoreError(f"the store `{self._path}` is closed", path=self._path)
        # INVARIANT: the event loop may be at work meanwhile; what it has taken, it answers.
        with self._turn:
            waiting: list[WriteJob | ReadJob | EndJob] = [
                *self._ready,
                *chain.from_iterable(self._deferred.values()),
                *self._reads,
            ]
            self._ready, self._deferred, self._reads = [], {}, []
            if self._stop is not None:
                waiting.append(self._stop)
            with suppress(IndexError):
                while True:
                    job = self._jobs.popleft()
                    if not isinstance(job, Keep):
                        waiting.append(job)
            leases, self._leases = self._leases, []
        for lease in leases if self._fault is not None else ():
            # Nobody renews it any more.
            lease.poison = lease.poison or self._fault
        for job in waiting:
            if isinstance(job, WriteJob) and job.part is not None:
                job.part[0].failed(error)
        give([(job.answer, None, error) for job in waiting])
