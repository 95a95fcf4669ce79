"""What has to be done to a store's executions from time to time, by one process at once."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from rebuno.errors import ConflictError, RebunoError, StoreError
from rebuno.journal.records import ExecutionRow, ExecutionWrite, Tombstone
from rebuno.journal.store import Store
from rebuno.kernel.core.transact import MOVED_ON, write
from rebuno.kernel.lifecycle import votes
from rebuno.kernel.lifecycle.cancel import DEADLINE_EXCEEDED, cancel
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.types import SweptStore

logger: Final = logging.getLogger("rebuno")

# For how long at least the sweeping process is the only one, in seconds.
LEADS: Final = 60.0
_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did: executions past their deadlines that it cancelled, questions that it let expire, executions
    whose dead holders it let go of, ended ones that it removed, and how many failed to be swept."""

    overdue: int = 0
    expired: int = 0
    released: int = 0
    removed: int = 0
    failed: int = 0

    def view(self) -> SweptStore:
        """The sweep as the public model."""
        return SweptStore(
            overdue=self.overdue,
            expired=self.expired,
            released=self.released,
            removed=self.removed,
            failed=self.failed,
        )


async def sweep(store: Store, *, retention: float | None = None, release: bool = True) -> Swept:
    """Does what is due now. `retention` is for how many seconds ended executions are kept; None: for ever. Dead holders
    are looked for with `release`. An execution that cannot be swept never stops the others.

    Raises:
        StoreError: the store cannot be used at all.
    """
    work = _Sweep(store)
    overdue = await work.each(lambda: store.executions_due(store.now(), limit=_BATCH), work.end_overdue)
    expired = await votes.expire_due(store)
    released = await work.release_dead() if release else 0
    try:
        # What an erasure that was cut off has left in the files.
        await store.purge()
    except StoreError as error:
        logger.warning("erased data keys are still in the files of the store: %s", error)
    removed = 0
    if retention is not None:
        before = store.now() - retention
        removed = await work.each(lambda: store.executions_ended(before, limit=_BATCH), work.bury)
    return Swept(overdue, expired, released, removed, len(work.failed))


async def keep_sweeping(store: Store, *, every: float, retention: float | None = None) -> None:
    """Sweeps for ever, about every `every` seconds, while no other process does. What goes wrong is logged, and tried
    again the next time."""
    while True:
        await asyncio.sleep(every * random.uniform(0.8, 1.2))
        try:
            if await store.lead("sweeps", max(LEADS, 2 * every)):
                await sweep(store, retention=retention)
        except RebunoError as error:
            logger.warning("the sweep stopped: %s", error)


class _Sweep:
    def __init__(self, store: Store) -> None:
        self.store = store
        # Executions that could not be swept: not tried twice in one sweep.
        self.failed: set[str] = set()

    async def each(
        self, page: Callable[[], Awaitable[list[ExecutionRow]]], work: Callable[[ExecutionRow], Awaitable[bool]]
    ) -> int:
        """How many executions it worked on, page by page; each page is asked for anew, as those done are no longer in
        it."""
        done = 0
        while True:
            found = [execution for execution in await page() if execution.id not in self.failed]
            if not found:
                return done
            for execution in found:
                if await self._one(execution, work):
                    done += 1
                else:
                    self.failed.add(execution.id)

    async def _one(self, execution: ExecutionRow, work: Callable[[ExecutionRow], Awaitable[bool]]) -> bool:
        try:
            return await work(execution)
        except (ConflictError, *MOVED_ON):
            # Somebody was faster.
            return False
        except StoreError as error:
            logger.warning("the execution `%s` could not be swept: %s", execution.id, error)
            return False

    async def end_overdue(self, execution: ExecutionRow) -> bool:
        await cancel(self.store, execution.id, reason=DEADLINE_EXCEEDED)
        return True

    async def bury(self, execution: ExecutionRow) -> bool:
        key = await self.store.data_key(execution.id) if execution.seal else None
        if key is not None and key.wrapped is None and not key.purged_at:
            # INVARIANT: the row says that the files still hold the key, until they do no more.
            return False
        return await self.store.bury(
            Tombstone(
                execution.id,
                execution.agent_id,
                execution.key,
                execution.status,
                "" if execution.output is None or execution.seal else identity.args_hash(execution.output),
                execution.head_hash,
                execution.updated_at,
            )
        )

    async def release_dead(self) -> int:
        """Lets go of executions whose holders are dead, so that nobody is said to run them."""
        released = 0
        before: str | None = None
        while page := await self.store.executions(status=ExecutionStatus.RUNNING.value, before=before, limit=_BATCH):
            for execution in page:
                released += await self._one(execution, self._release)
            before = page[-1].id
        return released

    async def _release(self, execution: ExecutionRow) -> bool:
        # Of a served one the next delivery sees to that.
        if execution.served or execution.holder is None or await self.store.alive(execution):
            return False
        row = ExecutionWrite(ExecutionStatus.RUNNING, attempt=execution.attempt)
        await write(self.store, execution.id, None, row, base=execution.head_seq)
        return True
