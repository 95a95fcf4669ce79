"""The store itself: `Store`'s promises on one SQLite file, shared by the processes of one machine."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar

import apsw

from rebuno.errors import StoreBusy, StoreError, StoreForeign, StoreReadOnly, StoreUnreachable
from rebuno.journal.broadcast import Broadcast
from rebuno.journal.chain import written
from rebuno.journal.lease import Leases
from rebuno.journal.liveness import Owner
from rebuno.journal.pot_records import Take
from rebuno.journal.records import Batch, Copied, ExecutionRow, Full, Holder, Lease, NewEvent, Spend, Tombstone
from rebuno.journal.sqlite.changes import SQLiteChanges
from rebuno.journal.sqlite.connection import MEMORY, Patience, connect, owners_folder
from rebuno.journal.sqlite.failures import named
from rebuno.journal.sqlite.file_watch import FileWatch
from rebuno.journal.sqlite.jobs import EndJob, Keep, WriteJob
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.sqlite.notices import SQLiteNotices
from rebuno.journal.sqlite.sealing import SQLiteSealing
from rebuno.journal.sqlite.served import SQLiteServed
from rebuno.journal.sqlite.upkeep import Upkeep
from rebuno.journal.sqlite.writer import DEFER_SECONDS, RENEW_SECONDS, Writer
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import StopRow
from rebuno.model.clock import Clock, WallClock

T = TypeVar("T")

# In characters: a step with more text takes longer to commit than the event loop may wait.
LONG_TEXT: Final = 256 * 1024


class SQLiteStore(SQLiteServed, SQLiteSealing, SQLiteNotices):
    """A store in one file. Open it with `open`; see `Store` for what the methods promise.

    Not for network file systems: their locks cannot be trusted, and SQLite cannot tell.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        patience: Patience,
        owner: Owner,
        *,
        path: str,
        clock: Clock,
        renew_seconds: float,
    ) -> None:
        self.path = path
        self._connection = connection
        self._owner = owner
        # The time by the clock that this store stamps its rows with, in seconds since 1970.
        self.now: Callable[[], float] = clock.now
        self._process = os.getpid()
        self._leases = Leases(owner, clock)
        self._changes = SQLiteChanges(connection, clock)
        self._upkeep = Upkeep(connection, clock, self._leases)
        file = None if owner.file is None else Path(path).resolve()
        watch = None if file is None or owner.file is None else FileWatch(file, owner.file, path)
        self._marks = Marks(connection, None if connection.readonly("main") else file, path)
        self._writer = Writer(connection, patience, self._changes, clock, path, watch, self._marks, renew_seconds)
        self._broadcast = Broadcast()
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        serving: bool = False,
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
        renew_seconds: float = RENEW_SECONDS,
        vfs: str | None = None,
    ) -> Self:
        """Opens the store at `path`, or one in memory (`:memory:`), and brings its schema up to date.

        `create`: whether to make it where there is none; where not, one that may not be written is opened for reading
        while somebody else has it open. `serving`: for a server, of which a file has one.
        `busy_timeout`: seconds to wait for another process's write.
        `renew_seconds`: how often kept leases are renewed. `vfs`: the name of an SQLite VFS.

        Raises:
            StoreUnreachable, StoreReadOnly, StoreCorrupt, SchemaTooNew, StoreBusy, StoreError: they name the path.
        """
        shown, patience = str(path), Patience(busy_timeout)
        connection = await asyncio.to_thread(connect, shown, patience=patience, create=create, vfs=vfs)
        try:
            owner = _owner(path, serving, holds=not connection.readonly("main"))
        except StoreError:
            connection.close()
            raise
        try:
            with named(shown):
                clock = clock or WallClock()
                return cls(connection, patience, owner, path=shown, clock=clock, renew_seconds=renew_seconds)
        except StoreError:
            # Its mark stands on a damaged page, for example.
            connection.close()
            owner.close()
            raise

    @property
    def holder(self) -> Holder:
        """Who this open store is, for the leases that it takes."""
        return self._owner.holder

    # ---------------------------------------------------------------- writing

    async def create(self, execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied | None = None) -> bool:
        """Adds an execution with its first events and rows; False where its id or its agent's key is taken."""
        run = partial(self._changes.create, execution, written(events), copied or Copied())
        return await self._change(run, long=copied is not None)

    def write(self, batch: Batch) -> None:
        """Hands over a batch. Raises `NotJSON` at once for a payload that JSON cannot hold."""
        self._check()
        long = False
        for change in batch.steps:
            long = long or len(change.step.args) + len(change.step.result or "") > LONG_TEXT
        part = (batch, written(batch.events))
        run = partial(self._changes.write, *part)
        # Counted from here: the thread may wake late while this one computes, and then must not wait again.
        due = time.monotonic() + DEFER_SECONDS if batch.deferred else None
        self._writer.submit(WriteJob(run, batch.committed, batch.execution_id, due, part, long))

    async def save_bundle(self, digest: str, sources: Sequence[tuple[str, str]]) -> None:
        """Keeps the (path, text) pairs of a policy under its digest; a second time is no change."""
        await self._change(partial(self._changes.save_bundle, digest, tuple(sources)))

    async def save_definition(self, digest: str, text: str) -> None:
        """Keeps what a server says of a tool under its digest; a second time is no change."""
        await self._change(partial(self._changes.save_definition, digest, text))

    async def add_stop(self, stop: StopRow) -> None:
        """Adds a standing denial."""
        await self._change(partial(self._changes.add_stop, stop))

    async def lift_stop(self, stop_id: str, by: str) -> None:
        """Ends a standing denial now."""
        await self._change(partial(self._changes.lift_stop, stop_id, by, self.now()))

    async def add_standing_grant(self, grant: StandingGrantRow) -> None:
        """Adds a grant that outlives its execution."""
        await self._change(partial(self._changes.add_standing_grant, grant))

    async def revoke_standing_grant(self, grant_id: str, by: str) -> None:
        """Ends a standing grant now."""
        await self._change(partial(self._changes.revoke_standing_grant, grant_id, by, self.now()))

    async def mark_restored(self, by: str) -> None:
        """Says that the store was restored from a copy now."""
        await self._change(partial(self._changes.mark_restored, self.now(), by))

    async def accept_restored(self, by: str) -> None:
        """Accepts every restoration."""
        await self._change(partial(self._changes.accept_restored, self.now(), by))

    async def use_pieces(self) -> None:
        """Stores long arguments in pieces from now on; a second time is no change."""
        await self._change(partial(self._changes.use_pieces, self.now()))

    async def spend(
        self, step_id: str, spends: Sequence[Spend | Take], instead: Sequence[Spend | Take] = ()
    ) -> Full | None:
        """Takes one place for this step in every window and its amount from every pot, or nothing: then says what has
        no room. It takes all of this `instead` of what it had."""
        return await self._change(partial(self._upkeep.spend, step_id, tuple(spends), tuple(instead)))

    async def bury(self, tombstone: Tombstone) -> bool:
        """Removes an ended execution with all its rows and leaves the tombstone."""
        return await self._change(partial(self._upkeep.bury, tombstone), long=True)

    # ---------------------------------------------------------------- leases

    async def lead(self, role: str, seconds: float) -> bool:
        """Whether this open store does the work of `role` for so many seconds."""
        return await self._change(partial(self._upkeep.lead, role, seconds))

    def keep(self, lease: Lease) -> None:
        """Renews this lease in the background until `drop`."""
        self._check()
        self._writer.submit(Keep(lease, True))

    def drop(self, lease: Lease) -> None:
        """Stops renewing."""
        self._check()
        self._writer.submit(Keep(lease, False))

    async def alive(self, execution: ExecutionRow) -> bool:
        """Whether the holder of this execution's lease still lives."""
        self._check()
        return self._leases.alive(execution)

    async def close(self) -> None:
        """Writes what is deferred and lets go of the file. A second time is no change."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        stop = EndJob(asyncio.get_running_loop().create_future())
        self._writer.submit(stop)
        try:
            await stop.answer
        finally:
            self._owner.close()

    # ---------------------------------------------------------------- the way to the thread

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"the store `{self.path}` is closed", path=self.path)
        if os.getpid() != self._process:
            raise StoreError(
                f"the store `{self.path}` was opened before this process was forked; open it in the child",
                path=self.path,
            )

    async def _change(self, run: Callable[[], T], *, long: bool = False) -> T:
        self._check()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.submit(WriteJob(run, answer, long=long))
        return await answer


def _owner(path: str | Path, serving: bool, *, holds: bool) -> Owner:
    owner: Owner | None = None
    other = None
    try:
        if str(path) == MEMORY:
            owner = Owner(None)
        else:
            owner = Owner(owners_folder(Path(path)), holds=holds, store=Path(path).resolve())
        other = owner.claim("server") if serving else None
    except (OSError, StoreForeign) as error:
        if owner is not None:
            owner.close()
        if isinstance(error, StoreForeign):
            raise StoreForeign(f"the store `{path}` cannot be used: {error}", path=str(path)) from None
        why = (error.strerror or "it cannot be made").lower()
        kind = StoreReadOnly if isinstance(error, PermissionError) else StoreUnreachable
        raise kind(f"the store `{path}` cannot keep its owner file: {why}", path=str(path)) from None
    if other is not None:
        owner.close()
        raise StoreBusy(f"the store `{path}` has a server already, {other}; for several use PostgreSQL", path=str(path))
    return owner
