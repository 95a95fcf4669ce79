"""Passes the output of a running body to listeners. Pieces may be lost, and a slow listener does not delay the body."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from rebuno.errors import RebunoError

# What comes within so many seconds goes together.
_TOGETHER: Final = 0.05
# The kernel takes 7,000 bytes at once, and a character has four at most.
_LONGEST: Final = 1750
# So many characters of one step may wait to be sent; what comes beside them is left out.
_WAITING: Final = 1 << 20
# How long a step's outcome waits for the last of what it put out, in seconds.
_PATIENCE: Final = 1.0

Send = Callable[[str, int, str], Awaitable[None]]


class Deltas:
    """The pieces of one attempt's steps; `send(step_id, seq, data)` sends one."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._streams: dict[str, _Stream] = {}

    def add(self, step_id: str, text: str) -> None:
        """Queues a piece, to be sent soon."""
        stream = self._streams.get(step_id)
        if stream is None:
            stream = self._streams[step_id] = _Stream(step_id, self._send)
        stream.add(text)

    async def end(self, step_id: str) -> None:
        """Sends the rest of a step, as far as there is time: once its outcome is known, nobody takes it any more."""
        if (stream := self._streams.pop(step_id, None)) is not None:
            await stream.end()

    def stop(self) -> None:
        """Drops the unsent pieces."""
        for stream in self._streams.values():
            stream.stop()


class _Stream:
    """The output of one step."""

    def __init__(self, step_id: str, send: Send) -> None:
        self._step_id = step_id
        self._send = send
        self._text = ""
        self._seq = 0
        self._ended = asyncio.Event()
        self._more = asyncio.Event()
        self._sender = asyncio.create_task(self._run())

    def add(self, text: str) -> None:
        if len(self._text) < _WAITING:
            self._text += text
            self._more.set()

    async def end(self) -> None:
        self._ended.set()
        self._more.set()
        await asyncio.wait({self._sender}, timeout=_PATIENCE)
        self._sender.cancel()

    def stop(self) -> None:
        self._sender.cancel()

    async def _run(self) -> None:
        while self._text or not self._ended.is_set():
            await self._more.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_TOGETHER):
                    await self._ended.wait()
            self._more.clear()
            text, self._text = self._text, ""
            for start in range(0, len(text), _LONGEST):
                # Nobody may listen any more, or the kernel is away: the record has it all.
                with suppress(RebunoError):
                    await self._send(self._step_id, self._seq, text[start : start + _LONGEST])
                self._seq += 1
