"""A proxy in this process between the official client and the server beside this file."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import yaml
from mcp import Client
from mcp.shared.memory import create_client_server_memory_streams

from rebuno.mcp_proxy.config import read_config
from rebuno.mcp_proxy.front import Front
from rebuno.mcp_proxy.serve import opened

SERVER = Path(__file__).with_name("server.py")
OPEN = 'bundle tests\ndefault deny because "no rule allows it"\n\nrule all {\n  allow tool "one.*", "two.*"\n}\n'
# How long a test waits for what must come, in seconds.
LONG = 60.0
# The versions of the protocol: in front as the client's mode, behind as the configuration names them.
FRONTS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
BACKS = {"2025-11-25": "2025-11-25", "2026-07-28": "auto"}


@dataclass
class Scene:
    """What a test has: a folder, the client, the proxy, and what servers said to the client."""

    folder: Path
    client: Client
    front: Front | None = None
    heard: list[Any] = field(default_factory=list)
    logs: list[types.LoggingMessageNotificationParams] = field(default_factory=list)

    def told(self, server: str = "one") -> list[dict[str, Any]]:
        """The lines that a server has written."""
        file = self.folder / f"{server}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def calls(self, tool: str, server: str = "one") -> int:
        """How often a server was called."""
        return sum(line.get("called") == tool for line in self.told(server))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until it holds; `TimeoutError` where it does not in a minute."""
        with anyio.fail_after(LONG):
            while not holds():  # noqa: ASYNC110, what is waited for is a file or another process
                await anyio.sleep(0.02)


def said(result: types.CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def written(
    folder: Path, *, bundle: str = OPEN, servers: tuple[str, ...] = ("one",), back: str = "auto", **config: Any
) -> Path:
    """A configuration with servers of this name, each the server beside this file."""
    (folder / "tests.rbp").write_text(bundle)
    of_servers: dict[str, Any] = {}
    for name in servers:
        given = config.pop(f"server_{name}", {})
        command = {"command": sys.executable, "args": [str(SERVER), str(folder / f"{name}.jsonl")]}
        of_servers[name] = {"protocol": back, **({} if "url" in given else command), **given}
    whole = {"servers": of_servers, "policy": "tests.rbp", "store": "tests.db", **config}
    path = folder / "proxy.yaml"
    path.write_text(yaml.safe_dump(whole))
    return path


@asynccontextmanager
async def scene(
    folder: Path, *, front: str = "auto", session: str = "monday", client: dict[str, Any] | None = None, **config: Any
) -> AsyncIterator[Scene]:
    """An open proxy and a client of it. `config` is as in `written`, `client` are arguments of the client."""
    read = read_config(written(folder, **config), {"SECRET": "hunter2-hunter2"})
    heard: list[Any] = []
    logs: list[types.LoggingMessageNotificationParams] = []

    async def on_message(message: Any) -> None:
        heard.append(message)

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logs.append(params)

    async with opened(read, session=session) as proxy:
        given = {"message_handler": on_message, "logging_callback": on_log, "cache": None, **(client or {})}
        async with Client(_joined(proxy), mode=front, **given) as connected:
            yield Scene(folder, connected, proxy, heard, logs)


@asynccontextmanager
async def _joined(proxy: Front) -> AsyncIterator[Any]:
    """The streams of a client that the proxy serves, as on stdio."""
    async with create_client_server_memory_streams() as (of_client, of_server), anyio.create_task_group() as group:
        group.start_soon(proxy.server.run, *of_server, proxy.server.create_initialization_options())
        yield of_client
        group.cancel_scope.cancel()


def play(work: Awaitable[None]) -> None:
    """Runs a test to its end."""

    async def whole() -> None:
        with anyio.fail_after(4 * LONG):
            await work

    asyncio.run(whole())
