"""The judge's loop: it takes requests of this user's processes, one task each, until nobody asks any more."""

import asyncio
import logging
import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from rebuno.hosts.answer import HookAnswer
from rebuno.hosts.failures import BEGINNING
from rebuno.hosts.judge.frames import GONE, MalformedFrameError, Request, pack_answer, read_request
from rebuno.hosts.judge.place import JudgeFolder

logger: Final = logging.getLogger("rebuno.hosts")

# In seconds: how long a client may take to send its event, how long before the client's own deadline an answer is due,
# and how often the judge looks whether it is still needed.
READING: Final = 30.0
MARGIN: Final = 0.5
LOOK: Final = 5.0
UPKEEP: Final = 60.0
_CREDENTIALS: Final = struct.Struct("3i")


class Responder(Protocol):
    """What answers events."""

    @property
    def busy(self) -> bool:
        """Whether the judge is needed though no call comes."""

    async def respond(self, argv: Sequence[str], event: bytes, environ: Mapping[str, str], cwd: str) -> HookAnswer:
        """The answer to an event: `argv` is the host's name with the options of `rebuno hook run`; `environ` and `cwd`
        are those of the host."""

    async def upkeep(self) -> None:
        """What is due now and then."""

    async def close(self) -> None:
        """Ends what it has opened."""


class Judge:
    """Answers requests on the socket of a place. `identity` is the installation that it was started by: a client of
    another one is told that the judge is gone, and so it is. It ends after `idle` seconds without a call."""

    def __init__(self, responder: Responder, place: JudgeFolder, *, identity: str, idle: float) -> None:
        self._responder = responder
        self._place = place
        self._identity = identity
        self._idle = idle
        self._leaving = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._last = time.monotonic()

    async def serve(self, listening: socket.socket) -> None:
        """Answers until the judge is idle, not needed any more, or told to leave. Then no call is left unanswered:
        each one that still waits is sent to the next judge."""
        server = await asyncio.start_unix_server(self._connected, sock=listening)
        kept = time.monotonic()
        try:
            while not self._is_over():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), min(LOOK, self._idle))
                if time.monotonic() - kept > UPKEEP:
                    await self._responder.upkeep()
                    kept = time.monotonic()
        finally:
            self.leave()
            server.close()
            for call in self._calls:
                call.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)

    def leave(self) -> None:
        """Ends the judge. From now on nobody finds it."""
        self._place.unbind()
        self._leaving.set()

    def _is_over(self) -> bool:
        if self._leaving.is_set() or not self._place.is_bound():
            return True
        return not self._calls and not self._responder.busy and time.monotonic() - self._last >= self._idle

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        self._last = time.monotonic()
        try:
            writer.write(await self._served(reader, writer))
            await writer.drain()
        except asyncio.CancelledError:
            # The judge leaves.
            writer.write(GONE)
        except (MalformedFrameError, TimeoutError, OSError):
            pass
        finally:
            self._calls.discard(task)
            self._last = time.monotonic()
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        if not is_own(writer.get_extra_info("socket")):
            return b""
        async with asyncio.timeout(READING):
            request = await read_request(reader)
        if request.identity != self._identity:
            self.leave()
            return GONE
        answering = asyncio.create_task(self._answered(request))
        hearing = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answering, hearing}, return_when=asyncio.FIRST_COMPLETED)
            # A client that has gone cannot carry the answer to its host: nothing may be granted for it any more.
            return answering.result() if answering.done() else b""
        finally:
            for task in (answering, hearing):
                task.cancel()
            await asyncio.gather(answering, hearing, return_exceptions=True)

    async def _answered(self, request: Request) -> bytes:
        seconds = max(request.seconds - MARGIN, request.seconds / 2)
        try:
            async with asyncio.timeout(seconds):
                found = await self._responder.respond(request.argv, request.event, request.environ, request.cwd)
        except TimeoutError:
            return _refused(f"there was no answer within {seconds:g} seconds")
        except Exception as error:
            logger.exception("an event of %.80r could not be judged", request.argv[0])
            return _refused(f"the event could not be judged: {type(error).__name__}: {error}")
        return pack_answer(found.code, _bytes(found.stdout), _bytes(found.stderr))


def _refused(why: str) -> bytes:
    return pack_answer(2, b"", _bytes(f"{BEGINNING}{' '.join(why.split())[:2000]}\n"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def is_own(peer: socket.socket) -> bool:
    """Whether a process of this user is at the other end."""
    # Nobody else can enter the folder. Where the system does not say who it is, that has to do.
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    try:
        found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return False
    _, user, _ = _CREDENTIALS.unpack(found)
    return bool(user == os.geteuid())
