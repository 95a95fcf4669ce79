"""Runs a server until it is told to stop, then finishes its requests."""

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any, Final

import uvicorn
from starlette.routing import BaseRoute

from rebuno.journal.opening import open_store
from rebuno.notices import read_notices, telling
from rebuno.policy import read_source, shadow_policies
from rebuno.server.app import app, assemble
from rebuno.server.config import Config
from rebuno.server.connections import ClientConnection
from rebuno.server.manifest import read_manifest
from rebuno.server.routes import Server
from rebuno.server.tracing import Traced, exported
from rebuno.server.webhooks import AllowList, sender
from rebuno.tracing import span_writer

# Longer than clients, and servers in front of this one, keep an idle connection: a reused one is still open.
_KEEP_ALIVE: Final = 75
# Objects made, less those that went, between two looks for unreachable ones, and how many looks come before a deeper
# one. Python's own numbers stop every request for some 50 ms several times a second: most of what a server holds stays.
_COLLECT: Final = (50_000, 50, 50)
# The pages that a server shows to people, by the server.
Pages = Callable[[Server], Sequence[BaseRoute]]


def _no_pages(_: Server) -> Sequence[BaseRoute]:
    return ()


async def run(config: Config, started: Callable[[str], None], pages: Pages = _no_pages) -> None:
    """Serves until SIGINT or SIGTERM, with these `pages` besides the interface of programs. `started` is called with
    the URL once the server accepts requests.

    Raises:
        ValidationError, BundleError: it should not start like this.
        StoreError: the store cannot be used, now or any more.
        OSError: the address cannot be had.
    """
    config.check()
    allowed = AllowList(config.webhooks)
    manifest = read_manifest(config.manifest) if config.manifest else None
    layers = [read_source(path) for path in config.layers]
    shadows = shadow_policies(config.shadows)
    notices = read_notices(config.notify, config.public_url) if config.notify else None
    with bound(config.host, config.port) as listening, exported() if config.traced else nullcontext() as provider:
        store = await open_store(
            config.db,
            serving=True,
            connections=config.connections,
            key_ring=config.key_ring,
            key_command=config.key_command,
            encrypt=config.encrypt,
        )
        try:
            server = assemble(
                store,
                bearer_token=config.bearer_token,
                open_to_all=config.open_to_all,
                permissive=config.permissive,
                layers=layers,
                shadows=shadows,
                allowed=allowed,
                settings=config.settings,
                bounds=config.bounds,
                spans=span_writer(provider) if provider is not None else None,
            )
            if manifest is not None:
                await manifest.apply(server.serving, allowed)
            with stopping(server.closing), _seldom_collecting():
                tracer = provider.get_tracer("rebuno") if provider is not None else None
                made = pages(server)
                async with telling(store, notices) if notices is not None else nullcontext():
                    await serve(server, listening, grace=config.grace, started=started, tracer=tracer, pages=made)
        finally:
            await store.close()


async def serve(
    server: Server,
    listening: socket.socket,
    *,
    grace: float,
    started: Callable[[str], None] = lambda url: None,
    tracer: Any = None,
    pages: Sequence[BaseRoute] = (),
) -> None:
    """Serves on a bound socket, delivers and sweeps, until `server.closing` is set; each request is a span of `tracer`,
    if there is one. Raises a `StoreError` where the store gave up first."""
    made = app(server, pages)
    async with _working(server) as working:
        await answer_requests(
            made if tracer is None else Traced(made, tracer),
            listening,
            server.closing,
            grace=grace,
            started=started,
        )
        if working.done():
            working.result()


async def answer_requests(
    application: Any,
    listening: socket.socket,
    closing: asyncio.Event,
    *,
    grace: float,
    started: Callable[[str], None],
) -> None:
    """Serves an ASGI application on a bound socket until `closing` is set; requests that run then have `grace` seconds
    to end. `started` is called with the URL."""
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    options = uvicorn.Config(
        application,
        http=ClientConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    await _Uvicorn(options, closing, lambda: started(url)).serve(sockets=[listening])


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there while the context is open; `OSError` where it cannot."""
    try:
        [*found] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError(f"the host `{host}` is not known") from None
    family, _, _, _, address = found[0]
    with socket.create_server(address[:2], family=family, backlog=1024) as listening:
        listening.setblocking(False)
        # Connections inherit it. asyncio sees to it by itself only where a socket names its protocol, and without it an
        # answer in two parts waits 40 ms for the client to acknowledge the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listening


@asynccontextmanager
async def _working(server: Server) -> "AsyncIterator[asyncio.Task[None]]":
    """Delivers and sweeps; a server whose deliveries have come to an end must end too, so that others are asked."""
    async with sender(server.allowed) as send:
        working = asyncio.create_task(server.serving.run(send))
        working.add_done_callback(lambda _: server.closing.set())
        try:
            yield working
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Excludes existing objects from garbage collection, and collects new ones less often."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def stopping(closing: asyncio.Event) -> Iterator[None]:
    """Sets `closing` at SIGINT and SIGTERM while the context is open."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for one in signals:
        loop.add_signal_handler(one, closing.set)
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


class _Uvicorn(uvicorn.Server):
    """Uvicorn that ends when it is told to, and leaves signals to its caller."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._closing.is_set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
