"""The open gates of the judge: one for each store and policy, opened anew where a bundle has changed."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, TypeVar

from rebuno.errors import RebunoError, StoreError
from rebuno.gate import Gate, open_gate
from rebuno.hosts.run import policy_files
from rebuno.hosts.settings import HookSettings
from rebuno.kernel import ChangedFiles
from rebuno.policy import Policy, compile_policy, read_source

logger: Final = logging.getLogger("rebuno.hosts")

T = TypeVar("T")

# In seconds: how long calls have to end before the gate of a changed bundle is opened, after how long without a call a
# gate is closed, and after how long a session is complete.
ENDING: Final = 2.0
UNUSED: Final = 1800.0
SESSION: Final = 86_400.0

# What makes two settings share a gate.
_Key = tuple[tuple[str, ...], str, bool, float | None]


class Gates:
    """Use it from one event loop."""

    def __init__(self) -> None:
        self._held: dict[_Key, _HeldGate] = {}

    async def use(
        self, settings: HookSettings, ready: Callable[[], Awaitable[None]], work: Callable[[Gate], Awaitable[T]]
    ) -> T:
        """What `work` makes of the gate of these settings. It is begun anew with the next gate where a bundle changes
        meanwhile and it does not end. `ready` comes before, one at a time for each gate: it raises where the store
        must not be used.

        Raises:
            BundleError: a bundle has errors now. The gate of what it said before is not used.
            StoreError: the store cannot be used.
        """
        key = (settings.policy, settings.db, settings.observe, settings.retention)
        held = self._held.setdefault(key, _HeldGate(settings))
        return await held.use(ready, work)

    async def upkeep(self) -> None:
        """Completes sessions that had no call for a day, and closes what nobody uses."""
        for key, held in tuple(self._held.items()):
            try:
                if not await held.upkeep():
                    del self._held[key]
            except RebunoError as error:
                logger.warning("the sessions in %s could not be looked at: %s", held.settings.db, error)

    async def close(self) -> None:
        """Closes all gates."""
        await asyncio.gather(*(held.close() for held in self._held.values()))
        self._held.clear()


class _HeldGate:
    def __init__(self, settings: HookSettings) -> None:
        self.settings = settings
        self._turn = asyncio.Lock()
        self._gate: Gate | None = None
        self._stack = AsyncExitStack()
        self._works: set[asyncio.Future[Any]] = set()
        self._used = time.monotonic()

    async def use(self, ready: Callable[[], Awaitable[None]], work: Callable[[Gate], Awaitable[T]]) -> T:
        while True:
            self._used = time.monotonic()
            async with self._turn:
                await ready()
                gate = await self._current()
                doing = asyncio.ensure_future(work(gate))
                self._works.add(doing)
            try:
                return await asyncio.shield(doing)
            except asyncio.CancelledError:
                if not doing.cancelled():
                    doing.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await doing
                    raise
                # The gate was closed under it. The client has not gone: with the next one it begins anew.
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise
            except StoreError:
                await self._drop(gate)
                raise
            finally:
                self._works.discard(doing)
                self._used = time.monotonic()

    async def upkeep(self) -> bool:
        """False where it is not used any more."""
        if (gate := self._gate) is not None:
            idling = asyncio.ensure_future(gate.idle(seconds=SESSION))
            self._works.add(idling)
            try:
                await asyncio.wait({idling})
                if not idling.cancelled():
                    idling.result()
            finally:
                self._works.discard(idling)
        async with self._turn:
            if self._works or time.monotonic() - self._used < UNUSED:
                return True
            await self._shut()
            return False

    async def close(self) -> None:
        async with self._turn:
            await self._shut()

    async def _current(self) -> Gate:
        gate = self._gate
        if gate is not None and _is_gone(self.settings.db):
            # The open file has no name any more. What may be begun in its place, `ready` has said.
            await self._shut()
            gate = None
        if gate is not None and not ChangedFiles(gate.policy).differ():
            return gate
        policy = await asyncio.to_thread(_compiled, policy_files(self.settings))
        if gate is not None and policy.digest == gate.policy.digest:
            return gate
        await self._shut()
        opening = open_gate(
            self.settings.db, policy=policy, observe=self.settings.observe, retention=self.settings.retention
        )
        self._gate = await self._stack.enter_async_context(opening)
        return self._gate

    async def _shut(self) -> None:
        if self._works:
            await asyncio.wait(self._works, timeout=ENDING)
        for work in tuple(self._works):
            work.cancel()
        if self._works:
            await asyncio.wait(self._works)
        self._gate = None
        await self._stack.aclose()

    async def _drop(self, gate: Gate) -> None:
        # A store that is gone or was moved is not used again: the next call opens what is there then.
        async with self._turn:
            if self._gate is gate:
                await self._shut()


def _is_gone(store: str) -> bool:
    return ":" not in store and not os.path.exists(store)


def _compiled(files: Sequence[str]) -> Policy:
    return compile_policy([read_source(file) for file in files])
