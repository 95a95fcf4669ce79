"""Readings that are shared by those who ask for the same at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class JoinedReads(Generic[T]):
    """Many executions of one agent ask for the same when what was kept becomes old: one of them reads it."""

    def __init__(self) -> None:
        self._reading: dict[object, asyncio.Task[T]] = {}

    async def join(self, key: object, read: Callable[[], Awaitable[T]]) -> T:
        """What `read` gives, or one that is under way for the same key. Raises what it raises."""
        reading = self._reading.get(key)
        if reading is None or reading.get_loop() is not asyncio.get_running_loop():
            reading = self._reading[key] = asyncio.create_task(self._one(key, read))
            reading.add_done_callback(_heard)
        return await asyncio.shield(reading)

    def forget(self) -> None:
        """Something has changed: what is asked for from now on is read from now on."""
        self._reading.clear()

    async def _one(self, key: object, read: Callable[[], Awaitable[T]]) -> T:
        try:
            return await read()
        finally:
            if self._reading.get(key) is asyncio.current_task():
                del self._reading[key]


def _heard(reading: "asyncio.Task[T]") -> None:
    # Where all who asked have gone, nobody else hears of its failure.
    if not reading.cancelled():
        reading.exception()
