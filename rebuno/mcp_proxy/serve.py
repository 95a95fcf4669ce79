"""Runs a proxy on stdio or HTTP until its client goes or it is told to stop."""

import asyncio
import hmac
import logging
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import uvicorn
from mcp.server.stdio import stdio_server

from rebuno.errors import ValidationError
from rebuno.gate import open_gate
from rebuno.mcp_proxy.calls import ToolCalls
from rebuno.mcp_proxy.config import ProxyConfig
from rebuno.mcp_proxy.front import Front
from rebuno.mcp_proxy.locks import Lock, read_lock
from rebuno.mcp_proxy.redaction import RedactingFormatter
from rebuno.mcp_proxy.stdio import standard_input
from rebuno.policy import Policy, Source, compile_policy, read_source

logger: Final = logging.getLogger("rebuno.mcp_proxy")

_LOOPBACK: Final = "127.0.0.1"
_PATH: Final = "/mcp"
# A session without a call for so long is over, in seconds.
_OVER: Final = 86_400.0
_PINNED: Final = """bundle rebuno_lock
default allow

{digests}rule changed_definition {{
  deny tool "*"{condition}
  because "nobody has reviewed this tool as it is now"
}}
"""


async def serve(
    config: ProxyConfig,
    *,
    port: int | None = None,
    session: str = "",
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serves on stdio, or on a port of the loopback interface (0: any). `session` names the session of the client on
    stdio; without one every run is a session of its own. `started` is called with the URL.

    Raises:
        ValidationError, BundleError: it should not start like this.
        StoreError: the store cannot be used.
        OSError: the port cannot be had.
    """
    async with opened(config, session=session) as front:
        if port is None:
            await _on_stdio(front)
        else:
            await _on_http(front, port, config.token, started)


@asynccontextmanager
async def opened(config: ProxyConfig, *, session: str = "") -> AsyncIterator[Front]:
    """A proxy that no transport serves yet. Raises as `serve`."""
    if not config.policy:
        raise ValidationError(f"the configuration `{config.path}` names no `policy`: without one nothing is allowed")
    if not config.store:
        raise ValidationError(f"the configuration `{config.path}` names no `store`: calls are recorded there")
    lock = read_lock(config.lock) if config.lock is not None else None
    policy = policy_of(config, lock)
    async with open_gate(config.store, policy=policy) as gate, anyio.create_task_group() as group:
        await gate.idle(seconds=_OVER)
        named = session or config.session
        calls = ToolCalls(config, gate, lock, kept=named)
        front = Front(config, calls, own_session=named or f"{config.agent}-{uuid.uuid4().hex}")
        await group.start(front.run)
        try:
            yield front
        finally:
            group.cancel_scope.cancel()


def policy_of(config: ProxyConfig, lock: Lock | None) -> Policy:
    """The policy of a configuration; where definitions are pinned, below a bundle that denies what is not pinned.

    Raises:
        BundleError: a bundle has errors.
    """
    sources = [read_source(path) for path in config.policy]
    if lock is None:
        return compile_policy(sources)
    listed = ", ".join(f'"{digest}"' for digest in sorted(lock.digests))
    digests = f"let pinned_digests = [{listed}]\n\n" if listed else ""
    condition = "\n  when definition.digest not in pinned_digests" if listed else ""
    return compile_policy([Source(_PINNED.format(digests=digests, condition=condition), stem="rebuno_lock"), *sources])


@contextmanager
def logging_to_stderr(config: ProxyConfig) -> Iterator[None]:
    """Sends the proxy's log, and warnings of all others, to stderr, without secrets."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(config.redaction))
    root = logging.getLogger()
    before = (root.level, logger.level)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before[0])
        logger.setLevel(before[1])


async def _on_stdio(front: Front) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_until_told, group.cancel_scope)
        async with standard_input() as lines, stdio_server(stdin=lines) as (read, write):
            await front.server.run(read, write, front.server.create_initialization_options())
        group.cancel_scope.cancel()


async def _on_http(front: Front, port: int, token: str, started: Callable[[str], None]) -> None:
    app: Any = front.server.streamable_http_app(streamable_http_path=_PATH, host=_LOOPBACK)
    app = _Port(app, token, front.gone)
    if not token:
        logger.warning("no `token` is configured: every user of this machine can call the tools")
    options = uvicorn.Config(
        app, host=_LOOPBACK, port=port, log_config=None, access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    listening = options.bind_socket()
    found = listening.getsockname()[1]
    server = _PortServer(options)
    async with anyio.create_task_group() as group:
        group.start_soon(_until_told, None, lambda: setattr(server, "should_exit", True))
        server.on_start = lambda: started(f"http://{_LOOPBACK}:{found}{_PATH}")
        try:
            await server.serve(sockets=[listening])
        finally:
            listening.close()
        group.cancel_scope.cancel()


class _PortServer(uvicorn.Server):
    """Uvicorn that tells its start, and leaves signals to its caller."""

    on_start: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None: see `_until_told`."""
        yield


async def _until_told(scope: anyio.CancelScope | None, stop: Callable[[], None] = lambda: None) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, told.set)
    try:
        await told.wait()
        stop()
        if scope is not None:
            scope.cancel()
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)


class _Port:
    """Lets only requests with the token in, where there is one, and tells which sessions their clients have ended."""

    def __init__(self, app: Any, token: str, gone: Callable[[str], Awaitable[None]]) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode() if token else b""
        self._gone = gone

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._wanted and not hmac.compare_digest(headers.get(b"authorization", b""), self._wanted):
            asked = [(b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": asked})
            await send({"type": "http.response.body", "body": b""})
            return
        ended = False

        async def seen(message: Any) -> None:
            nonlocal ended
            ended = ended or message.get("status") == 200
            await send(message)

        await self._app(scope, receive, seen)
        if scope["method"] == "DELETE" and ended:
            await self._gone(headers.get(b"mcp-session-id", b"").decode("latin-1"))
