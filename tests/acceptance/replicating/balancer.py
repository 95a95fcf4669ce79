"""Hands connections to whichever replica is there, in turn."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

_PIECE: Final = 64 * 1024


@asynccontextmanager
async def balancer(ports: Sequence[int]) -> AsyncIterator[str]:
    """The URL behind which these ports are; a connection stays with one of them, and ends with it."""
    turn = 0

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        nonlocal turn
        for _ in ports:
            turn += 1
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", ports[turn % len(ports)])
        return None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = await connect()
        if found is None:
            writer.close()
            return
        await asyncio.gather(_pump(reader, found[1]), _pump(found[0], writer))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    # What comes the other way is cut too: half a connection helps nobody.
    writer.close()
