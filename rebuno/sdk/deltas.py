"""Hands what a body puts out on to those who listen, while it comes: nothing waits for it, and it may be lost."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from rebuno.errors import RebunoError

# What comes within so many seconds goes together.
_TOGETHER: Final = 0.05
# The kernel takes 7,000 bytes at once, and a character has four at most.
_LONGEST: Final = 1750
# So much of one step may wait to be sent; what comes beside it is left out.
_WAITING: Final = 1 << 20

Send = Callable[[str, int, str], Awaitable[None]]


class Deltas:
    """The pieces of one attempt's steps; `send(step_id, seq, data)` sends one."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._texts: dict[str, str] = {}
        self._next: dict[str, int] = {}
        self._sender: asyncio.Task[None] | None = None

    def add(self, step_id: str, text: str) -> None:
        """Takes a piece, and sends it soon."""
        if len(self._texts.get(step_id, "")) < _WAITING:
            self._texts[step_id] = self._texts.get(step_id, "") + text
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Drops what is not sent yet."""
        if self._sender is not None:
            self._sender.cancel()

    async def _run(self) -> None:
        while self._texts:
            await asyncio.sleep(_TOGETHER)
            texts, self._texts = self._texts, {}
            for step_id, text in texts.items():
                for start in range(0, len(text), _LONGEST):
                    seq = self._next[step_id] = self._next.get(step_id, -1) + 1
                    # Nobody may listen any more, or the step has ended: the record has it all.
                    with suppress(RebunoError):
                        await self._send(step_id, seq, text[start : start + _LONGEST])
