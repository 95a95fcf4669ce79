"""Passes texts to the listeners in this process."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

# Who is so many texts behind loses the oldest.
_MOST_WAITING: Final = 10_000


class Broadcast:
    """Used from one event loop."""

    def __init__(self) -> None:
        self._listening: set[asyncio.Queue[str]] = set()

    def say(self, text: str) -> None:
        """Hands a text to all who listen now."""
        for queue in self._listening:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)

    async def listen(self) -> AsyncGenerator[str, None]:
        """The texts from now on."""
        queue: asyncio.Queue[str] = asyncio.Queue(_MOST_WAITING)
        self._listening.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listening.discard(queue)
