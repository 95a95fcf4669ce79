"""The store that seals: in front of another one, whose rows and events then hold ciphertext."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from rebuno.errors import SealKeyMissing, StoreError
from rebuno.journal.data_keys import ALL, SECRETS, DataKeyRow
from rebuno.journal.records import ApprovalRow, Batch, Copied, EventRow, ExecutionRow, NewEvent, StepRow
from rebuno.journal.resource_records import CheckpointRow, ResourceRow
from rebuno.journal.sealed import pieces
from rebuno.journal.sealed.lines import SealedLines
from rebuno.journal.sealed.log import opened_event
from rebuno.journal.sealed.rows import (
    opened_approval,
    opened_checkpoint,
    opened_execution,
    opened_resource,
    opened_root,
    opened_step,
    opened_turn,
    sealed_batch,
    sealed_start,
)
from rebuno.journal.sealed.seal import Seal, check
from rebuno.journal.served import ServedStore
from rebuno.journal.success_page import SuccessPage
from rebuno.journal.words import RootRow, TurnRow
from rebuno.sealing import ExecutionKey, KeyRing

T = TypeVar("T")

# Of how many executions the data keys stay in memory.
_MOST: Final = 10_000
# After so many seconds it is looked whether a key has been erased meanwhile.
_FRESH: Final = 1.0


class SealingStore(SealedLines):
    """In front of `inner`: with `encrypt` every payload of a new execution is sealed; what is sealed is opened with the
    keys of the `ring`. Whatever is not mentioned here is the inner store's. Make one with `sealing`.

    INVARIANT: the batches of one execution go to the inner store in the order of `write`, also where the key has to be
    fetched first.
    """

    def __init__(self, inner: ServedStore, ring: KeyRing | None, *, encrypt: bool) -> None:
        self.inner = inner
        self.ring = ring
        self._encrypt = encrypt
        self._seals: OrderedDict[str, Seal] = OrderedDict()
        # The keys of executions that are about to be created.
        self._new: dict[str, Seal] = {}
        self._waiting: dict[str, list[Batch]] = {}
        self._fetching: dict[str, asyncio.Task[None]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    # ---------------------------------------------------------------- keys

    async def sealed(self, execution: ExecutionRow, *, secrets: bool = False) -> ExecutionRow:
        """A new execution with the key of the ring that it will be sealed under, or as it is. It is sealed where the
        store encrypts, where an execution is whose payloads it takes over, or because it has `secrets`.

        Raises:
            SealKeyMissing: it has to be sealed, and there is no key for it.
        """
        source = await self._seal(execution.forked_from) if execution.forked_from else None
        covers, key_id = SECRETS if secrets else "", ""
        if source is not None and source.row is not None:
            # Its hashes and ids are those of the source, which rest on that key.
            covers, key_id = source.row.covers, source.row.key_id
        if self._encrypt or await self._inherits(execution):
            covers = ALL
        if not covers:
            return execution
        if self.ring is None:
            raise SealKeyMissing(key_id or "any", execution_id=execution.id)
        key = self.ring.new_key(execution.id, key_id=key_id)
        row = DataKeyRow(execution.id, key.key_id, covers, key.wrapped)
        self._new[execution.id] = Seal(execution.id, row, key)
        return replace(execution, seal=key.key_id)

    async def _inherits(self, execution: ExecutionRow) -> bool:
        for before in (execution.forked_from, execution.spawned_execution_id, execution.continues):
            if before and (await self._seal(before)).all:
                return True
        return False

    async def execution_key(self, execution: ExecutionRow) -> ExecutionKey | None:
        """The data key of an execution; None where it is not sealed.

        Raises:
            SealKeyMissing, SealErased, SealBroken: the execution may not go on.
        """
        if not execution.seal:
            return None
        seal = self._new.get(execution.id) or await self._seal(execution.id, execution.seal)
        key = seal.opened_key()
        check(execution.input, execution.output, execution.state)
        return key

    def seals_whole(self, execution_id: str) -> bool:
        """As `Store` says."""
        seal = self._new.get(execution_id) or self._seals.get(execution_id)
        return seal is not None and seal.all

    async def erase(self, execution_ids: Sequence[str], by: str) -> int:
        """As the inner store's; this one forgets the keys at once."""
        erased = await self.inner.erase(execution_ids, by)
        for execution_id in execution_ids:
            self._seals.pop(execution_id, None)
        return erased

    async def _seal(self, execution_id: str, named: str | None = None) -> Seal:
        """How an execution is sealed; `named` is the key of the ring that its row names, where that was read."""
        known = self._seals.get(execution_id)
        if known is not None and (known.row is None or time.monotonic() - known.seen_at < _FRESH):
            self._seals.move_to_end(execution_id)
            return known
        if named == "":
            return self._keep(Seal(execution_id))
        row = await self.inner.data_key(execution_id)
        seal = Seal(execution_id, seen_at=time.monotonic())
        if row is None:
            # Where there is no execution, there may be one later.
            return seal if named is None else self._keep(seal)
        seal.row = row
        if row.wrapped is not None:
            same = known is not None and known.key is not None and known.row is not None
            if same and known is not None and known.row is not None and known.row.wrapped == row.wrapped:
                seal.key = known.key
            elif self.ring is None:
                seal.why = SealKeyMissing(row.key_id, execution_id=execution_id)
            else:
                try:
                    seal.key = self.ring.open_key(execution_id, row.key_id, row.wrapped)
                except StoreError as error:
                    seal.why = error
        return self._keep(seal)

    def _keep(self, seal: Seal) -> Seal:
        self._seals[seal.execution_id] = seal
        self._seals.move_to_end(seal.execution_id)
        while len(self._seals) > _MOST:
            self._seals.popitem(last=False)
        return seal

    # ---------------------------------------------------------------- writing

    async def create(self, execution: ExecutionRow, events: Sequence[NewEvent], copied: Copied | None = None) -> bool:
        """As the inner store's; what is to be sealed was prepared by `sealed`."""
        seal = self._new.pop(execution.id, None)
        rows = copied or Copied()
        if seal is None or seal.row is None:
            return await self.inner.create(execution, events, copied)
        if seal.all:
            made = sealed_start(execution, events, rows, seal)
        else:
            made = execution, tuple(events), replace(rows, data_key=seal.row)
        done = await self.inner.create(*made)
        if done:
            seal.seen_at = time.monotonic()
            self._keep(seal)
        return done

    def write(self, batch: Batch) -> None:
        """As the inner store's."""
        execution_id = batch.execution_id
        seal = self._seals.get(execution_id)
        if seal is not None and execution_id not in self._waiting:
            self._write(batch, seal)
            return
        self._waiting.setdefault(execution_id, []).append(batch)
        if execution_id not in self._fetching:
            self._fetching[execution_id] = asyncio.create_task(self._fetch(execution_id))

    async def _fetch(self, execution_id: str) -> None:
        failure: Exception | None = None
        seal = Seal(execution_id)
        try:
            seal = await self._seal(execution_id)
        except Exception as error:
            failure = error
        finally:
            batches = self._waiting.pop(execution_id, [])
            del self._fetching[execution_id]
        for batch in batches:
            if failure is None:
                try:
                    self._write(batch, seal)
                except Exception as error:
                    _refuse(batch, error)
            else:
                _refuse(batch, failure)

    def _write(self, batch: Batch, seal: Seal) -> None:
        if not seal.all:
            self.inner.write(batch)
            return
        try:
            made = sealed_batch(batch, seal)
        except StoreError as error:
            _refuse(batch, error)
            return
        self.inner.write(made)

    async def close(self) -> None:
        """Writes what waits for its key, and closes the inner store."""
        if self._fetching:
            await asyncio.gather(*self._fetching.values(), return_exceptions=True)
        await self.inner.close()

    # ---------------------------------------------------------------- executions

    async def execution(self, execution_id: str) -> ExecutionRow:
        """As the inner store's."""
        return await self._opened(await self.inner.execution(execution_id))

    async def find(self, agent_id: str, key: str) -> ExecutionRow | None:
        """As the inner store's."""
        return await self._perhaps(self.inner.find(agent_id, key))

    async def named(self, key: str) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.named(key))

    async def beginning(self, prefix: str) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.beginning(prefix))

    async def executions(self, **asked: Any) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.executions(**asked))

    async def executions_due(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.executions_due(before, limit=limit))

    async def executions_ended(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.executions_ended(before, limit=limit))

    async def session(self, agent_id: str, session: str, *, live: bool) -> ExecutionRow | None:
        """As the inner store's."""
        return await self._perhaps(self.inner.session(agent_id, session, live=live))

    async def sessions_free(self, *, limit: int = 100) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.sessions_free(limit=limit))

    async def child(self, step_id: str) -> ExecutionRow | None:
        """As the inner store's."""
        return await self._perhaps(self.inner.child(step_id))

    async def children(self, execution_id: str) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.children(execution_id))

    async def children_ended(self, *, limit: int = 100) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.children_ended(limit=limit))

    async def orphans(self, *, limit: int = 100) -> list[ExecutionRow]:
        """As the inner store's."""
        return await self._all(self.inner.orphans(limit=limit))

    async def _opened(self, row: ExecutionRow) -> ExecutionRow:
        seal = await self._seal(row.id, row.seal)
        return opened_execution(row, seal) if seal.all else row

    async def _perhaps(self, found: Awaitable[ExecutionRow | None]) -> ExecutionRow | None:
        row = await found
        return None if row is None else await self._opened(row)

    async def _all(self, found: Awaitable[Iterable[ExecutionRow]]) -> list[ExecutionRow]:
        return [await self._opened(row) for row in await found]

    # ---------------------------------------------------------------- what belongs to one

    async def steps(
        self, execution_id: str, *, after: int = 0, limit: int = 1000, unread: bool = False
    ) -> list[StepRow]:
        """As the inner store's. Raises `SealBroken` where a step does not open."""
        rows = await self.inner.steps(execution_id, after=after, limit=limit, unread=unread)
        return await self._of(execution_id, rows, _step)

    async def successes(self, execution_id: str, *, after: int, limit: int) -> SuccessPage | None:
        """As the inner store's, and None where the execution is sealed."""
        if (await self._seal(execution_id)).all:
            return None
        return await self.inner.successes(execution_id, after=after, limit=limit)

    async def step(self, step_id: str) -> StepRow:
        """As the inner store's. Raises `SealBroken` where it does not open."""
        row = await self.inner.step(step_id)
        return (await self._of(row.execution_id, [row], _step))[0]

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        """As the inner store's. Raises `SealBroken` where an event does not open."""
        rows = await self.inner.events(execution_id, after=after, limit=limit)
        return await self._of(execution_id, rows, opened_event)

    async def events_at(self, execution_id: str, numbers: Sequence[int]) -> list[EventRow]:
        """As the inner store's. Raises `SealBroken` where an event does not open."""
        return await self._of(execution_id, await self.inner.events_at(execution_id, numbers), opened_event)

    async def approvals(self, **asked: Any) -> list[ApprovalRow]:
        """As the inner store's."""
        return [await self._approval(row) for row in await self.inner.approvals(**asked)]

    async def approval(self, approval_id: str) -> ApprovalRow:
        """As the inner store's."""
        return await self._approval(await self.inner.approval(approval_id))

    async def approvals_due(self, before: float, *, limit: int = 100) -> list[ApprovalRow]:
        """As the inner store's."""
        return [await self._approval(row) for row in await self.inner.approvals_due(before, limit=limit)]

    async def turns(self, execution_id: str) -> list[TurnRow]:
        """As the inner store's."""
        return await self._of(execution_id, await self.inner.turns(execution_id), opened_turn)

    async def root(self, execution_id: str) -> RootRow | None:
        """As the inner store's."""
        row = await self.inner.root(execution_id)
        return None if row is None else (await self._of(execution_id, [row], opened_root))[0]

    async def resources(self, execution_id: str) -> list[ResourceRow]:
        """As the inner store's."""
        return await self._of(execution_id, await self.inner.resources(execution_id), opened_resource)

    async def checkpoints(self, execution_id: str) -> list[CheckpointRow]:
        """As the inner store's."""
        return await self._of(execution_id, await self.inner.checkpoints(execution_id), opened_checkpoint)

    async def _approval(self, row: ApprovalRow) -> ApprovalRow:
        return (await self._of(row.execution_id, [row], opened_approval))[0]

    async def _of(self, execution_id: str, rows: list[T], opened: Callable[[T, Seal], T]) -> list[T]:
        if not rows:
            return rows
        seal = await self._seal(execution_id)
        return [opened(row, seal) for row in rows] if seal.all else rows

    # ---------------------------------------------------------------- streams

    async def notify(self, text: str) -> None:
        """As the inner store's. It begins with the id of the execution that it is about."""
        execution_id = text.partition(" ")[0]
        seal = await self._seal(execution_id)
        if not seal.all:
            await self.inner.notify(text)
            return
        for part in pieces.parts(execution_id, text, seal.opened_key()):
            await self.inner.notify(part)

    async def listen(self) -> AsyncGenerator[str, None]:
        """As the inner store's. What cannot be opened is left out: a piece may be lost."""
        found = pieces.SealedPieces()
        async for text in self.inner.listen():
            if not pieces.is_part(text):
                yield text
            elif (whole := found.take(text)) is not None:
                seal = await self._seal(whole[0])
                if seal.key is not None and (told := pieces.opened(whole[1], seal.key)) is not None:
                    yield told


def _step(row: StepRow, seal: Seal) -> StepRow:
    made = opened_step(row, seal)
    if seal.key is not None:
        # Placeholders are shown where a key is missing, and never taken for what was recorded.
        check(made.args, made.result, made.error)
    return made


def _refuse(batch: Batch, error: Exception) -> None:
    batch.failed(error)
    with suppress(asyncio.InvalidStateError):
        batch.committed.set_exception(error)
