"""Connections of slow and of hostile clients, on a server that only says hello."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from rebuno.server import connections
from rebuno.server.connections import ClientConnection

HELLO = b"HTTP/1.1 200 OK"


async def _hello(scope: Any, receive: Any, send: Any) -> None:
    body = b"x" * 4_000_000 if scope["path"] == "/long" else b"hello"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _served() -> AsyncIterator[int]:
    config = uvicorn.Config(
        _hello, http=ClientConnection, ws="none", lifespan="off", log_config=None, port=0, timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        await server.shutdown()


def _play(scenario: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with _served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await asyncio.wait_for(scenario(reader, writer), 10)
            finally:
                writer.close()

    asyncio.run(whole())


def test_requests_are_answered_one_after_the_other() -> None:
    """A head may come in pieces, and the connection takes a second one."""

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: ")
            await writer.drain()
            writer.write(b"a\r\n\r\n")
            assert (await reader.readuntil(b"hello")).startswith(HELLO)

    _play(scenario)


@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"], ids=["at once", "later on"])
def test_a_head_has_a_size(first: bytes) -> None:
    """A client that sends headers without end is told so, and left."""

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if first:
            writer.write(first)
            await reader.readuntil(b"hello")
        # Hardly more than may be: what came after the answer would reset the connection before it is read.
        writer.write(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%03d: %b\r\n" % (n, b"a" * 1015) for n in range(64)))
        assert (await reader.read()).startswith(b"HTTP/1.1 431")

    _play(scenario)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: $x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\ncontent-length: ten\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"\x16\x03\x01 the hello of TLS\r\n\r\n",
    ],
    ids=["transfer coding", "length", "header", "TLS"],
)
def test_what_is_no_http_is_answered_as_json(sent: bytes) -> None:
    """A client that reads JSON errors can read this one too."""

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/json" in head
        assert json.loads(body)["code"] == "validation_error"

    _play(scenario)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT"],
    ids=["nothing", "half a head", "one and a half"],
)
def test_a_head_has_its_time(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not come to the end of a head is left."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        answers = await reader.read()
        assert answers.count(HELLO) == sent.count(b"\r\n\r\n")

    _play(scenario)


def test_an_idle_connection_is_no_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two requests a client may take its time."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.1)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await reader.readuntil(b"hello")
            # Longer than a head may take.
            await asyncio.sleep(0.3)

    _play(scenario)


def test_an_answer_that_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for much and does not take it loses the connection."""
    monkeypatch.setattr(connections, "READER_SECONDS", 0.2)

    async def scenario(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport = writer.transport
        writer.write(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        await asyncio.sleep(0.5)
        transport.resume_reading()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await reader.readexactly(4_000_000)

    _play(scenario)
