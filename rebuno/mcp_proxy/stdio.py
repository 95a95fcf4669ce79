"""Standard input as lines that can be waited for and given up.

The library reads it in a thread, which nothing wakes but the client: a proxy that is told to stop would hang.
"""

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

logger: Final = logging.getLogger("rebuno.mcp_proxy")

# Of a message, in bytes.
_LONGEST: Final = 64 * 1024 * 1024


class _Lines:
    """The lines of a stream."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                logger.warning("a message of the client was dropped: it has more than %d bytes", _LONGEST)
                continue
            if not line:
                raise StopAsyncIteration
            return line.decode(errors="replace")


@asynccontextmanager
async def standard_input() -> AsyncIterator[Any]:
    """What `stdio_server` reads from: lines of standard input, or None, for its own way, where that is a terminal or a
    file."""
    descriptor = sys.stdin.fileno()
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield None
        return
    blocking = os.get_blocking(descriptor)
    reader = asyncio.StreamReader(limit=_LONGEST)
    # A copy: closing the transport must not close standard input under others.
    pipe = os.fdopen(os.dup(descriptor), "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        yield _Lines(reader)
    finally:
        transport.close()
        os.set_blocking(descriptor, blocking)
