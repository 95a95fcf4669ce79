"""Hooks over HTTP: `POST /v1/hooks/HOST` on 127.0.0.1, for hosts that ask an address instead of starting a program.

Every user of the machine, and every page in a browser, reaches a port. So a request needs the token of the settings,
and names this address as its `Host`.
"""

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import h11

from rebuno.errors import RebunoError
from rebuno.hosts.answer import HookAnswer

logger: Final = logging.getLogger("rebuno.hosts")

ADDRESS: Final = "127.0.0.1"
PATH: Final = "/v1/hooks/"
# In bytes: what a request may hold, its head and its body.
LARGEST_HEAD: Final = 1 << 14
LARGEST: Final = 1 << 24
# In seconds: how long a client may take to send a request.
READING: Final = 20.0
# Strangers may hold so many connections at most.
CONNECTIONS: Final = 128

# The answer to an event, from the token, the host's name and the event. It may raise `HttpError`.
Respond = Callable[[str, str, bytes], Awaitable[HookAnswer]]


class HttpError(Exception):
    """The status of a request that gets no answer, with one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class HookServer:
    """Serves one port. `tokens` are those that it takes: each is the key to one file of settings."""

    def __init__(self, respond: Respond, port: int) -> None:
        self._respond = respond
        self.port = port
        self.tokens: set[str] = set()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens. Raises `OSError`: the port is another program's."""
        self._server = await asyncio.start_server(self._connected, ADDRESS, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Ends it, with the calls that wait."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= CONNECTIONS:
            writer.close()
            return
        self._open.add(task)
        try:
            await self._exchange(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        try:
            async with asyncio.timeout(READING):
                request = await _next(connection, reader)
                if not isinstance(request, h11.Request):
                    return
                token, host = self._checked(request)
                if connection.they_are_waiting_for_100_continue:
                    writer.write(_bytes(connection, h11.InformationalResponse(status_code=100, headers=[])))
                event = await _body(connection, reader)
            status, text, kind = await self._answered(token, host, event)
        except HttpError as error:
            status, text, kind = error.status, error.sentence + "\n", "text/plain; charset=utf-8"
        except TimeoutError:
            status, text, kind = 408, "the request did not come in time\n", "text/plain; charset=utf-8"
        except h11.RemoteProtocolError as error:
            status, text, kind = error.error_status_hint, f"{error}\n", "text/plain; charset=utf-8"
        await _send(connection, writer, status, text.encode("utf-8", "replace"), kind)

    async def _answered(self, token: str, host: str, event: bytes) -> tuple[int, str, str]:
        try:
            answer = await self._respond(token, host, event)
        except HttpError:
            raise
        except RebunoError as error:
            raise HttpError(500, str(error)) from None
        except Exception as error:
            logger.exception("an event of %.80r could not be judged", host)
            raise HttpError(500, f"the event could not be judged: {type(error).__name__}: {error}") from None
        if answer.code:
            raise HttpError(500, answer.stderr.strip() or "the event could not be judged")
        return 200, answer.stdout.strip() or "{}", "application/json"

    def _checked(self, request: h11.Request) -> tuple[str, str]:
        """The token of a request and the host that it names. Raises `HttpError`."""
        headers = dict(request.headers)
        named = headers.get(b"host", b"").decode("latin-1").lower()
        if named not in (f"{ADDRESS}:{self.port}", f"localhost:{self.port}") or b"origin" in headers:
            raise HttpError(403, "this address serves hooks of this machine only")
        scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        # Each is compared, so that the time does not tell which one comes near.
        held = [token for token in self.tokens if hmac.compare_digest(token.encode(), given.strip().encode("latin-1"))]
        if scheme.lower() != "bearer" or not held:
            raise HttpError(401, "it needs the token of the settings: `Authorization: Bearer TOKEN`")
        target = request.target.decode("latin-1")
        if not target.startswith(PATH) or not target.removeprefix(PATH):
            raise HttpError(404, f"there is only {PATH}HOST")
        if request.method != b"POST":
            raise HttpError(405, "an event is sent by POST")
        length = headers.get(b"content-length", b"0")
        if int(length) > LARGEST:
            raise _too_large()
        return held[0], target.removeprefix(PATH)


async def _next(connection: h11.Connection, reader: asyncio.StreamReader) -> object:
    while True:
        event = connection.next_event()
        if event is not h11.NEED_DATA:
            return event
        connection.receive_data(await reader.read(1 << 16))


async def _body(connection: h11.Connection, reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while isinstance(piece := await _next(connection, reader), h11.Data):
        pieces.append(bytes(piece.data))
        size += len(piece.data)
        if size > LARGEST:
            raise _too_large()
    event = b"".join(pieces)
    try:
        json.loads(event)
    except (ValueError, RecursionError):
        raise HttpError(400, "the event is no JSON") from None
    return event


def _too_large() -> HttpError:
    return HttpError(413, f"the event has more than {LARGEST:,} bytes")


async def _send(connection: h11.Connection, writer: asyncio.StreamWriter, status: int, body: bytes, kind: str) -> None:
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("Connection", "close")]
    if status == 401:
        headers.append(("WWW-Authenticate", "Bearer"))
    with suppress(h11.LocalProtocolError):
        writer.write(_bytes(connection, h11.Response(status_code=status, headers=headers)))
        writer.write(_bytes(connection, h11.Data(data=body)))
        writer.write(_bytes(connection, h11.EndOfMessage()))
    await writer.drain()


def _bytes(connection: h11.Connection, event: h11.Event) -> bytes:
    return connection.send(event) or b""
