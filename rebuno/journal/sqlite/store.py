"""The store itself: `Store`'s promises on one SQLite file, shared by the processes of one machine."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar

import apsw

from rebuno.errors import NotFoundError, StoreCorrupt, StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.records import Approval, Batch, Event, Execution, Holder, Lease, NewEvent, Step
from rebuno.journal.sqlite import rows
from rebuno.journal.sqlite.changes import Changes, Written
from rebuno.journal.sqlite.connection import MEMORY, connect
from rebuno.journal.sqlite.failures import UNFIT, unfit
from rebuno.journal.sqlite.jobs import Change, Keep, Read, Stop
from rebuno.journal.sqlite.owners import Owner
from rebuno.journal.sqlite.sql import SQL
from rebuno.journal.sqlite.writer import RENEW_SECONDS, Writer
from rebuno.model.clock import Clock, WallClock
from rebuno.model.identity import canonical

T = TypeVar("T")

# How long a deferred outcome may wait for the next submission of its execution.
DEFER_SECONDS: Final = 0.002


class SQLiteStore:
    """A store in one file. Open it with `open`; see `Store` for what the methods promise.

    Not for network file systems: their locks cannot be trusted, and SQLite cannot tell.
    """

    def __init__(
        self, connection: apsw.Connection, owner: Owner, *, path: str, clock: Clock, renew_seconds: float
    ) -> None:
        self.path = path
        self._connection = connection
        self._owner = owner
        self._clock = clock
        self._process = os.getpid()
        self._changes = Changes(connection, clock)
        self._writer = Writer(connection, self._changes, clock, path, renew_seconds)
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        busy_timeout: float = 5.0,
        clock: Clock | None = None,
        renew_seconds: float = RENEW_SECONDS,
        vfs: str | None = None,
    ) -> Self:
        """Opens the store at `path`, or one in memory (`:memory:`), and brings its schema up to date.

        `create`: whether to make it where there is none. `busy_timeout`: seconds to wait for another process's write.
        `renew_seconds`: how often kept leases are renewed. `vfs`: the name of an SQLite VFS.

        Raises:
            StoreUnreachable, StoreReadOnly, StoreCorrupt, SchemaTooNew, StoreBusy, StoreError: they name the path.
        """
        shown = str(path)
        connection = await asyncio.to_thread(connect, shown, patience=busy_timeout, create=create, vfs=vfs)
        try:
            owner = Owner(None if shown == MEMORY else _owners(Path(path)))
        except OSError as error:
            connection.close()
            why = (error.strerror or "it cannot be made").lower()
            kind = StoreReadOnly if isinstance(error, PermissionError) else StoreUnreachable
            raise kind(f"the store `{shown}` cannot keep its owner file: {why}", path=shown) from None
        return cls(connection, owner, path=shown, clock=clock or WallClock(), renew_seconds=renew_seconds)

    @property
    def holder(self) -> Holder:
        """Who this open store is, for the leases that it takes."""
        return self._owner.holder

    def now(self) -> float:
        """The time by the clock that this store stamps its rows with, in seconds since 1970."""
        return self._clock.now()

    # ---------------------------------------------------------------- writing

    async def create(self, execution: Execution, events: Sequence[NewEvent]) -> bool:
        """Adds an execution with its first events; False if the agent has one under this key already."""
        return await self._change(partial(self._changes.create, execution, _written(events)))

    def write(self, batch: Batch) -> None:
        """Hands over a batch. Raises `NotJSON` at once for a payload that JSON cannot hold."""
        self._check()
        run = partial(self._changes.write, batch, _written(batch.events))
        # Counted from here: the thread may wake late while this one computes, and then must not wait again.
        due = time.monotonic() + DEFER_SECONDS if batch.deferred else None
        self._writer.submit(Change(run, batch.committed, batch.execution_id, batch.lease, due))

    async def save_bundle(self, digest: str, sources: Sequence[tuple[str, str]]) -> None:
        """Keeps the (path, text) pairs of a policy under its digest; a second time is no change."""
        await self._change(partial(self._changes.save_bundle, digest, tuple(sources)))

    # ---------------------------------------------------------------- leases

    def keep(self, lease: Lease) -> None:
        """Renews this lease in the background until `drop`."""
        self._check()
        self._writer.submit(Keep(lease, True))

    def drop(self, lease: Lease) -> None:
        """Stops renewing."""
        self._check()
        self._writer.submit(Keep(lease, False))

    async def alive(self, execution: Execution) -> bool:
        """Whether the holder of this execution's lease still lives."""
        self._check()
        if execution.holder is None:
            return False
        lives = self._owner.alive(execution.holder)
        return execution.lease_until > self._clock.now() if lives is None else lives

    # ---------------------------------------------------------------- reading

    async def execution(self, execution_id: str) -> Execution:
        """The execution with this id, else `NotFoundError`."""
        found = await self._rows(rows.execution, "execution", execution_id)
        return _only(found, "execution", execution_id)

    async def find(self, agent_id: str, key: str) -> Execution | None:
        """The agent's execution under the caller's own id."""
        found = await self._rows(rows.execution, "execution-by-key", agent_id, key)
        return found[0] if found else None

    async def named(self, key: str) -> list[Execution]:
        """Every agent's execution under the caller's own id."""
        return await self._rows(rows.execution, "executions-by-key", key)

    async def beginning(self, prefix: str) -> list[Execution]:
        """The executions whose ids begin so, ten at most."""
        return await self._rows(rows.execution, "executions-by-prefix", prefix)

    async def executions(
        self, *, agent_id: str | None = None, status: str | None = None, before: str | None = None, limit: int = 50
    ) -> list[Execution]:
        """Newest first, those older than the execution `before`; none where that does not exist."""
        return await self._rows(rows.execution, "executions", agent_id, status, before, limit)

    async def steps(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[Step]:
        """A page of an execution's steps in the order of `decided_seq`, those decided after event `after`."""
        return await self._rows(rows.step, "steps", execution_id, after, limit)

    async def step(self, step_id: str) -> Step:
        """The step with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.step, "step", step_id), "step", step_id)

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """A page of an execution's events, those numbered above `after`."""
        return await self._rows(rows.event, "events", execution_id, after, limit)

    async def approvals(
        self, *, execution_id: str | None = None, status: str | None = None, limit: int = 1000
    ) -> list[Approval]:
        """Approvals, oldest first."""
        if execution_id is not None:
            return await self._rows(rows.approval, "approvals-by-execution", execution_id, status, limit)
        if status is not None:
            return await self._rows(rows.approval, "approvals-by-status", status, limit)
        return await self._rows(rows.approval, "approvals", limit)

    async def approval(self, approval_id: str) -> Approval:
        """The approval with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.approval, "approval", approval_id), "approval", approval_id)

    async def bundle(self, digest: str) -> list[tuple[str, str]] | None:
        """The sources kept under a digest, or None."""
        return await self._rows(_source, "sources", digest) or None

    async def close(self) -> None:
        """Writes what is deferred and lets go of the file. A second time is no change."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        stop = Stop(asyncio.get_running_loop().create_future())
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

    async def _change(self, run: Callable[[], T]) -> T:
        self._check()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.submit(Change(run, answer))
        return await answer

    async def _rows(self, record: Callable[[rows.Row], T], query: str, *values: str | int | None) -> list[T]:
        self._check()
        answer: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        self._writer.submit(Read(lambda: self._read(record, query, values), answer))
        return await answer

    def _read(self, record: Callable[[rows.Row], T], query: str, values: tuple[str | int | None, ...]) -> list[T]:
        # In the writer's thread.
        try:
            found = self._connection.execute(SQL[query], values)
        except UNFIT as error:
            raise unfit(error, self.path) from None
        try:
            return [record(row) for row in found]
        except UNFIT as error:
            message = f"the store `{self.path}` is damaged: a row cannot be read: {error}; restore a copy"
            raise StoreCorrupt(message, path=self.path) from error


def _owners(path: Path) -> Path:
    file = path.resolve()
    return file.with_name(f"{file.name}-owners")


def _written(events: Sequence[NewEvent]) -> list[Written]:
    # In the caller's thread: it overlaps with the other one's waiting for the disk.
    return [Written(event.type, canonical(event.payload, "payload")) for event in events]


def _only(found: list[T], noun: str, identity: str) -> T:
    if not found:
        raise NotFoundError(f"there is no {noun} `{identity}`")
    return found[0]


def _source(row: rows.Row) -> tuple[str, str]:
    return row[0], row[1]
