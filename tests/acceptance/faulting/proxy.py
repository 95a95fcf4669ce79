"""Stands between a client and its server and loses answers: seeded or at a moment that a test asks for, and counted."""

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit, urlunsplit

_PIECE: Final = 64 * 1024
# Closed with it, a socket sends a reset and nothing that was not sent.
_AT_ONCE: Final = struct.pack("ii", 1, 0)
# How long a server may take to answer what came late, in seconds.
_LATE_ANSWER: Final = 5.0


class Fault(StrEnum):
    """What becomes of a request and of the line: the request or its answer is dropped and the line reset; the request
    is carried out, and the line stalls before it is reset; a part of the answer comes together with the reset; the
    request arrives after its line was reset, or a second time."""

    DROP = "drop"
    STALL = "stall"
    PARTIAL = "partial"
    LATE = "late"


@dataclass(slots=True)
class Chance:
    """When faults fall: each request meets one with the chance `rate`, rarer kinds sooner, `limit` of them in all. A
    line stalls, and a request comes late, by `shortest` to `longest` seconds, or for ever where `for_ever` (a chance)
    says so."""

    seed: int
    rate: float = 0.05
    limit: int = 1 << 30
    shortest: float = 0.02
    longest: float = 0.5
    for_ever: float = 0.0
    kinds: tuple[Fault, ...] = tuple(Fault)
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)


@dataclass(slots=True)
class _Line:
    client: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    fault: Fault | None = None
    # What a server still gets after its client was reset.
    late: bytes = b""
    requests: int = 0
    stalled: asyncio.Event = field(default_factory=asyncio.Event)


class FaultProxy:
    """Passes TCP connections on to `server`, a port of this machine or the path of a Unix socket, from a thread of its
    own. Use it with `with`. `hits` counts the faults that fell.

    `repeats` says which requests may be given to the server a second time: those that bear a number or a key. What is
    `spared` meets no fault by chance. The first `ease` pieces of a connection meet none: there it is made.
    """

    def __init__(
        self,
        server: int | str,
        *,
        chance: Chance | None = None,
        ease: int = 0,
        repeats: Callable[[bytes], bool] = lambda request: False,
        spared: Callable[[bytes], bool] = lambda request: False,
    ) -> None:
        self.hits: Counter[Fault] = Counter()
        self.port = 0
        self._server = server
        self._chance = chance
        self._ease = ease
        self._repeats = repeats
        self._spared = spared
        self._armed: list[tuple[Fault, bytes]] = []
        self._open = False
        self._hold: float | None = None
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._released = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    # ------------------------------------------------------------ what tests ask for

    def arm(self, fault: Fault, holding: str = "", *, hold: float | None = None) -> None:
        """The next request that holds this text meets this fault; it stalls, or is late, for `hold` seconds (None:
        until the client leaves, or `release`)."""
        with self._lock:
            self._armed.append((fault, holding.encode()))
            self._hold = hold

    def release(self) -> None:
        """What is held goes on: lines that stall are reset, what is late arrives."""
        self._loop.call_soon_threadsafe(self._released.set)

    def let(self, on: bool) -> None:
        """Whether faults fall by chance."""
        with self._lock:
            self._open = on

    @property
    def total(self) -> int:
        """How many faults fell."""
        return sum(self.hits.values())

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._listen())
        finally:
            self._loop.close()

    async def _listen(self) -> None:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._begin(self._pass(reader, writer))

        listening = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        listening.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._server, str):
            return await asyncio.open_unix_connection(self._server)
        return await asyncio.open_connection("127.0.0.1", self._server)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await self._connect()
        except OSError:
            _reset(writer)
            return
        line = _Line((reader, writer), server)
        try:
            # Half a line helps nobody.
            await _first(self._requests(line), self._answers(line), self._stall(line))
            if line.late:
                await self._deliver(line)
        finally:
            for _, end in (line.client, line.server):
                end.close()

    async def _requests(self, line: _Line) -> None:
        with suppress(OSError):
            while piece := await line.client[0].read(_PIECE):
                line.requests += 1
                if line.fault is None:
                    line.fault = self._choose(piece, line.requests)
                    if line.fault is Fault.LATE and self._repeats(piece):
                        line.fault = None
                        self._begin(self._again(piece))
                    elif line.fault is Fault.LATE:
                        line.late = piece
                        self._hit(Fault.LATE, line)
                        return
                    elif line.fault is Fault.STALL:
                        line.stalled.set()
                    elif line.fault is Fault.DROP and self._half():
                        self._hit(Fault.DROP, line)
                        return
                line.server[1].write(piece)
                await line.server[1].drain()

    async def _answers(self, line: _Line) -> None:
        with suppress(OSError):
            while piece := await line.server[0].read(_PIECE):
                match line.fault:
                    case Fault.DROP:
                        self._hit(Fault.DROP, line)
                        return
                    case Fault.PARTIAL:
                        line.client[1].write(piece[: self._part(len(piece))])
                        self._hit(Fault.PARTIAL, line)
                        return
                    case Fault.STALL:
                        pass
                    case _:
                        line.client[1].write(piece)
                        await line.client[1].drain()

    async def _stall(self, line: _Line) -> None:
        await line.stalled.wait()
        with self._lock:
            self.hits[Fault.STALL] += 1
        await self._pause()
        _reset(line.client[1])

    async def _deliver(self, line: _Line) -> None:
        """Gives the server what its client has given up."""
        await self._pause()
        with suppress(OSError, TimeoutError):
            line.server[1].write(line.late)
            async with asyncio.timeout(_LATE_ANSWER):
                await line.server[0].read(_PIECE)

    async def _again(self, request: bytes) -> None:
        """Gives the server a request a second time, on a line of its own."""
        with self._lock:
            self.hits[Fault.LATE] += 1
        await self._pause()
        with suppress(OSError, TimeoutError):
            reader, writer = await self._connect()
            try:
                writer.write(request)
                async with asyncio.timeout(_LATE_ANSWER):
                    await reader.read(_PIECE)
            finally:
                writer.close()

    # ------------------------------------------------------------ what falls

    def _choose(self, piece: bytes, number: int) -> Fault | None:
        with self._lock:
            for armed in self._armed:
                if armed[1] in piece:
                    self._armed.remove(armed)
                    return armed[0]
            chance = self._chance
            if chance is None or not self._open or number <= self._ease or self._spared(piece):
                return None
            if sum(self.hits.values()) >= chance.limit or chance.dice.random() >= chance.rate:
                return None
            rarest = min(self.hits[fault] for fault in chance.kinds)
            return chance.dice.choice([fault for fault in chance.kinds if self.hits[fault] <= rarest + 5])

    def _half(self) -> bool:
        return self._chance is not None and self._chance.dice.random() < 0.5

    def _part(self, size: int) -> int:
        return size // 2 if self._chance is None else self._chance.dice.randrange(1, max(size, 2))

    async def _pause(self) -> None:
        chance = self._chance
        if chance is None:
            seconds = self._hold
        elif chance.dice.random() < chance.for_ever:
            seconds = None
        else:
            seconds = chance.dice.uniform(chance.shortest, chance.longest)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._released.wait()

    def _hit(self, fault: Fault, line: _Line | None = None) -> None:
        if line is not None:
            _reset(line.client[1])
        with self._lock:
            self.hits[fault] += 1


async def _first(*works: Coroutine[Any, Any, None]) -> None:
    """Ends all of them with the first that ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    writer.transport.abort()


def before_postgres(url: str, **options: Any) -> FaultProxy:
    """A proxy before the server at a URL; `behind` gives the proxy's own."""
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    return FaultProxy(f"{folder}/.s.PGSQL.5432" if folder.startswith("/") else parts.port or 5432, **options)


def behind(url: str, proxy: FaultProxy) -> str:
    """The URL of the same database behind a proxy."""
    parts = urlsplit(url)
    place = f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{proxy.port}"
    return urlunsplit(parts._replace(netloc=place, query="sslmode=disable&gssencmode=disable&connect_timeout=2"))
