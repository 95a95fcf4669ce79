"""The store itself: `Store`'s promises on a PostgreSQL database, shared by the processes of many machines."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Final, Self

from rebuno.errors import StoreError, StoreUnreachable
from rebuno.journal.chain import written
from rebuno.journal.lease import Leases
from rebuno.journal.liveness import Owner, own_folder
from rebuno.journal.postgres import piece_rows, upkeep
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.claims import Claims
from rebuno.journal.postgres.connection import SILENCE, connect, migrate, target
from rebuno.journal.postgres.group import GroupChange
from rebuno.journal.postgres.notices import PostgresNotices
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.pooling import refuse_shared
from rebuno.journal.postgres.sealing import PostgresSealing
from rebuno.journal.postgres.served import PostgresServed
from rebuno.journal.postgres.server_clock import ServerClock
from rebuno.journal.postgres.session import Session
from rebuno.journal.postgres.work import ReadRequest
from rebuno.journal.postgres.workers import RENEW_SECONDS, Workers
from rebuno.journal.pot_records import Take
from rebuno.journal.records import Batch, Copied, ExecutionRow, Full, Holder, Lease, NewEvent, Spend, Tombstone
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.stops import StopRow
from rebuno.model.clock import Clock

# How long a deferred outcome may wait for the next submission of its execution.
DEFER_SECONDS: Final = 0.002
# How many connections one open store has at most. Each commits one change at a time, and the server syncs those of
# several together.
CONNECTIONS: Final = 8


class PostgresStore(PostgresServed, PostgresSealing, PostgresNotices):
    """A store in one database, in its schema `rebuno`. Open it with `open`; see `Store` for what the methods promise.

    Threads of its own speak to the server, so that a handler that computes holds up neither a deferred outcome nor the
    renewal of a lease.
    """

    def __init__(
        self,
        session: Callable[[], Session],
        first: Session,
        connect: Callable[[], PreparedConnection],
        server_clock: ServerClock,
        *,
        conninfo: str,
        name: str,
        clock: Clock,
        connections: int,
        renew_seconds: float,
        bound: float,
    ) -> None:
        self.name = name
        self._bound = bound
        self._conninfo = conninfo
        self._clock = clock
        self._owner = _owner()
        self._process = os.getpid()
        self._leases = Leases(self._owner, clock)
        self._changes = PostgresChanges(clock, name)
        self._claims = Claims()
        self._workers = Workers(
            session,
            first,
            connect,
            self._changes,
            server_clock,
            name=name,
            size=connections,
            renew_seconds=renew_seconds,
        )
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        create: bool = True,
        patience: float = 10.0,
        silence: float = SILENCE,
        connections: int = CONNECTIONS,
        clock: Clock | None = None,
        renew_seconds: float = RENEW_SECONDS,
    ) -> Self:
        """Opens the store at a `postgresql://` URL and brings its schema up to date.

        `create`: whether to make it where there is none. `patience`: seconds to wait for a lock, and for a server that
        went away. `silence`: for so many seconds more a server may owe an answer; then its connection is given up, and
        what it owes is looked for. `connections`: how many there are at most. `clock`: what rows are stamped with
        instead of the server's. `renew_seconds`: how often kept leases are renewed.

        Raises:
            StoreUnreachable, StoreReadOnly, StoreCorrupt, SchemaTooNew, StoreBusy, StoreError: they name the store,
                without its password.
        """
        to = target(url, patience, silence)
        server_clock = ServerClock()

        def session() -> Session:
            return Session(to, server_clock)

        def begun() -> Session:
            made = session()
            try:
                made.once(partial(refuse_shared, to=to))
                migrate(made.open(), to, create=create)
            except BaseException:
                made.close()
                raise
            return made

        first = await asyncio.to_thread(begun)
        return cls(
            session,
            first,
            partial(connect, to),
            server_clock,
            conninfo=to.conninfo,
            name=to.name,
            clock=clock or server_clock,
            connections=connections,
            renew_seconds=renew_seconds,
            bound=to.bound,
        )

    @property
    def holder(self) -> Holder:
        """Who this open store is, for the leases that it takes."""
        return self._owner.holder

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        return self._clock.now()

    # ---------------------------------------------------------------- writing

    async def create(self, execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied | None = None) -> bool:
        """Adds an execution with its first events and rows; False where its id or its agent's key is taken."""
        ready, rows, at = written(events), copied or Copied(), self._changes.now()
        calls = count()

        def unit(connection: PreparedConnection) -> bool:
            again = next(calls) > 0
            return self._changes.create(connection, execution, ready, rows, at, again=again)

        return await self._ask(unit)

    def write(self, batch: Batch) -> None:
        """Hands over a batch. Raises `NotJSON` at once for a payload that JSON cannot hold."""
        self._check()
        # Counted from here: a worker may wake late while this thread computes, and then must not wait again.
        due = time.monotonic() + DEFER_SECONDS if batch.deferred else None
        self._workers.submit(GroupChange(batch, written(batch.events), due))

    async def save_bundle(self, digest: str, sources: Sequence[tuple[str, str]]) -> None:
        """Keeps the (path, text) pairs of a policy under its digest; a second time is no change."""
        # The caller begins an execution next.
        self._workers.expect()
        await self._ask(partial(upkeep.save_bundle, digest=digest, sources=tuple(sources)), "")

    async def save_definition(self, digest: str, text: str) -> None:
        """Keeps what a server says of a tool under its digest; a second time is no change."""
        await self._ask(partial(upkeep.save_definition, digest=digest, text=text), "")

    async def add_stop(self, stop: StopRow) -> None:
        """Adds a standing denial."""
        await self._ask(partial(upkeep.add_stop, stop=stop), "")

    async def lift_stop(self, stop_id: str, by: str) -> None:
        """Ends a standing denial now."""
        await self._ask(partial(upkeep.lift_stop, stop_id=stop_id, by=by, at=self.now()), "")

    async def add_standing_grant(self, grant: StandingGrantRow) -> None:
        """Adds a grant that outlives its execution."""
        await self._ask(partial(upkeep.add_standing_grant, grant=grant), "")

    async def revoke_standing_grant(self, grant_id: str, by: str) -> None:
        """Ends a standing grant now."""
        await self._ask(partial(upkeep.revoke_standing_grant, grant_id=grant_id, by=by, at=self.now()), "")

    async def mark_restored(self, by: str) -> None:
        """Says that the store was restored from a copy now."""
        await self._ask(partial(upkeep.mark_restored, at=self.now(), by=by), "")

    async def accept_restored(self, by: str) -> None:
        """Accepts every restoration."""
        await self._ask(partial(upkeep.accept_restored, at=self.now(), by=by), "")

    async def use_pieces(self) -> None:
        """Stores long arguments in pieces from now on, in every replica within a minute; a second time is no change."""
        await self._ask(piece_rows.use, "")

    async def spend(
        self, step_id: str, spends: Sequence[Spend | Take], instead: Sequence[Spend | Take] = ()
    ) -> Full | None:
        """Takes one place for this step in every window and its amount from every pot, or nothing: then says what has
        no room. It takes all of this `instead` of what it had."""
        had, clock = tuple(instead), self._changes.now
        work = partial(upkeep.spend, step_id=step_id, spends=tuple(spends), instead=had, clock=clock)
        return await self._ask(work, "")

    async def bury(self, tombstone: Tombstone) -> bool:
        """Removes an ended execution with all its rows and leaves the tombstone."""
        return await self._ask(upkeep.Burial(tombstone), tombstone.id)

    # ---------------------------------------------------------------- leases

    async def lead(self, role: str, seconds: float) -> bool:
        """Whether this open store does the work of `role` for so many seconds."""
        owner, now = self.holder.owner, self._clock.now()
        return await self._ask(partial(upkeep.lead, role=role, owner=owner, now=now, seconds=seconds), "")

    def keep(self, lease: Lease) -> None:
        """Renews this lease in the background until `drop`."""
        self._check()
        self._workers.keep(lease)

    def drop(self, lease: Lease) -> None:
        """Stops renewing."""
        self._check()
        self._workers.drop(lease)

    async def alive(self, execution: ExecutionRow) -> bool:
        """Whether the holder of this execution's lease still lives."""
        self._check()
        return self._leases.alive(execution)

    async def close(self) -> None:
        """Writes what is deferred, gives up what this store leads, and lets go of the connections. A second time is no
        change."""
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        resigned: asyncio.Future[None] = loop.create_future()
        stopped: asyncio.Future[None] = loop.create_future()
        waiting: set[asyncio.Future[None]] = set()
        try:
            # Where its threads have ended by a fault, that was told to everybody.
            with suppress(StoreError):
                self._workers.ask(ReadRequest(partial(upkeep.resign, owner=self.holder.owner), resigned))
                waiting.add(resigned)
                self._workers.stop(stopped)
                waiting.add(stopped)
            late = await _left(waiting, self._bound)
            if late:
                # What is in doubt stays so: nobody may wait for ever for a server that does not answer.
                self._workers.give_up(
                    StoreUnreachable(f"the store `{self.name}` did not answer before it was closed", path=self.name)
                )
            self._workers.close()
        finally:
            self._owner.close()

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"the store `{self.name}` is closed", path=self.name)
        if os.getpid() != self._process:
            raise StoreError(
                f"the store `{self.name}` was opened before this process was forked; open it in the child",
                path=self.name,
            )


async def _left(waiting: set["asyncio.Future[None]"], seconds: float) -> bool:
    """Whether some of them are not set after so long."""
    return bool(waiting) and bool((await asyncio.wait(waiting, timeout=seconds))[1])


def _owner() -> Owner:
    """Who this store is: by a locked file where this user can have one, for others on this machine to see."""
    folder = own_folder("postgres")
    if folder is not None:
        with suppress(OSError):
            return Owner(folder, shared=False)
    return Owner(None, shared=False)
