"""How a server is reached: a process that the proxy starts, or a URL."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final

import httpx2
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from rebuno.mcp_proxy.config import ServerConfig
from rebuno.mcp_proxy.redaction import Redaction

logger: Final = logging.getLogger("rebuno.mcp_proxy")

# A server may be silent for as long as a call may take; that has a bound of its own.
_TIMEOUTS: Final = httpx2.Timeout(30.0, read=None)
_LONGEST_LINE: Final = 1_000


@asynccontextmanager
async def reached(
    name: str, server: ServerConfig, folder: str, redaction: Redaction, lost: Callable[[], None]
) -> AsyncIterator[Any]:
    """The read and write streams of a new connection; `lost` is called where the server closes it.

    What a process writes to its stderr goes to the log, line by line, without secrets.

    Raises:
        OSError: the command cannot be run.
    """
    if server.url:
        async with (
            httpx2.AsyncClient(headers=server.headers, timeout=_TIMEOUTS) as client,
            streamable_http_client(server.url, http_client=client) as (read, write),
        ):
            yield _Watched(read, lost), write
        return
    where = os.path.join(folder, server.cwd)
    wanted = StdioServerParameters(command=server.command, args=[*server.args], env=server.env, cwd=where)
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as errors:
        logging_lines = asyncio.create_task(_log_lines(name, reading, redaction))
        try:
            async with stdio_client(wanted, errlog=errors) as (read, write):
                yield _Watched(read, lost), write
        finally:
            # A process that outlives its server may hold the pipe open for ever.
            logging_lines.cancel()


async def _log_lines(name: str, descriptor: int, redaction: Redaction) -> None:
    reader = asyncio.StreamReader(limit=1 << 16)
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:  # longer than the limit: the reader has dropped it
                continue
            if not line:
                return
            text = redaction(line.decode(errors="replace").rstrip())
            logger.info("[%s] %s", name, "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_LINE])
    finally:
        transport.close()


class _Watched:
    """A read stream that tells its end. The client of the library keeps it to itself."""

    def __init__(self, inner: Any, lost: Callable[[], None]) -> None:
        self._inner = inner
        self._lost = lost

    @property
    def last_context(self) -> Any:
        """The context of the sender, where the stream carries one."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        """The next message."""
        return await self._inner.receive()

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> "_Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except BaseException:
            self._lost()
            raise

    async def __aenter__(self) -> "_Watched":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        found: bool | None = await self._inner.__aexit__(kind, error, trace)
        return found
