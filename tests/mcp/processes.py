"""The proxy as a process of its own, on stdio and on a port, between the official client and real servers."""

import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.support import LONG, SERVER, Scene, written

REBUNO: Final = str(Path(sys.executable).with_name("rebuno"))
SECRET: Final = "hunter2-hunter2"
TRANSPORTS: Final = ("stdio", "http")


@asynccontextmanager
async def running(
    folder: Path,
    *,
    front: str = "auto",
    transport: str = "stdio",
    session: str = "",
    client: dict[str, Any] | None = None,
    **config: Any,
) -> AsyncIterator[Scene]:
    """A proxy that runs, and a client of it. The rest is as in `support.scene`; `proxy.log` in the folder has what the
    proxy said."""
    path = written(folder, **config)
    heard: list[Any] = []
    logs: list[types.LoggingMessageNotificationParams] = []

    async def on_message(message: Any) -> None:
        heard.append(message)

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logs.append(params)

    given = {"message_handler": on_message, "logging_callback": on_log, "cache": None, **(client or {})}
    words = ["mcp", "proxy", "--config", str(path), *(["--session", session] if session else [])]
    with (folder / "proxy.log").open("a") as log:
        if transport == "stdio":
            process = StdioServerParameters(command=REBUNO, args=words, env={"SECRET": SECRET})
            async with Client(stdio_client(process, errlog=log), mode=front, **given) as connected:
                yield Scene(folder, connected, None, heard, logs)
            return
        async with served(words, log) as url:
            headers = {"Authorization": f"Bearer {config['token']}"} if "token" in config else {}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(LONG, read=None)) as http,
                Client(streamable_http_client(url, http_client=http), mode=front, **given) as connected,
            ):
                yield Scene(folder, connected, None, heard, logs)


@asynccontextmanager
async def served(words: list[str], log: Any) -> AsyncIterator[str]:
    """A proxy on a free port, and its URL. It is told to stop at the end, and must do so in time."""
    environment = {**os.environ, "SECRET": SECRET}
    async with await anyio.open_process(
        [REBUNO, *words, "--port", "0"], stdin=None, stderr=log, env=environment
    ) as process:
        assert process.stdout is not None
        line = b""
        with anyio.fail_after(LONG):
            while not line.endswith(b"\n"):
                line += await process.stdout.receive()
        try:
            yield line.decode().split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            with anyio.CancelScope(shield=True), anyio.fail_after(LONG):
                assert await process.wait() == 0, f"the proxy ended with {process.returncode}"


@asynccontextmanager
async def server_on_port(folder: Path, name: str = "one") -> AsyncIterator[str]:
    """The server beside this file on a free port, and its URL."""
    words = [sys.executable, str(SERVER), str(folder / f"{name}.jsonl"), "http"]
    async with await anyio.open_process(words, stdin=None, stderr=None) as process:
        assert process.stdout is not None
        line = b""
        with anyio.fail_after(LONG):
            while not line.endswith(b"\n"):
                line += await process.stdout.receive()
        try:
            yield line.decode().strip()
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def node() -> str | None:
    """Where `node` and `npm` are, if they are."""
    return shutil.which("npm") and shutil.which("node")
