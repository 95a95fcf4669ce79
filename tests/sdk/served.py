"""A real server with real agents, in one process."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

import rebuno
from tests.server.support import SECRET, TOKEN, running

OPEN = "bundle open\ndefault allow\n"


@dataclass(slots=True)
class Served:
    """A server, and a client of it that may do everything."""

    url: str
    client: rebuno.Client

    @asynccontextmanager
    async def agent(
        self, name: str, handler: Callable[..., Any], *, bundle: str = OPEN, lease: float | None = None, **options: Any
    ) -> AsyncIterator[rebuno.Agent]:
        """A registered agent that is served, with a bundle."""
        made = rebuno.Agent(name, secret=SECRET, base_url=self.url, **options)
        made.bind(handler)
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        webhook = f"http://127.0.0.1:{listening.getsockname()[1]}/webhook"
        await self.client.put_agent(name, webhook_url=webhook, secret=SECRET, lease_timeout_seconds=lease)
        if bundle:
            await self.client.set_policy(name, bundle)
        server = uvicorn.Server(uvicorn.Config(made.app, log_config=None, timeout_graceful_shutdown=1))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield made
        finally:
            server.should_exit = True
            await task

    async def ended(self, execution_id: str) -> rebuno.types.Execution:
        """The execution, once it has ended or waits for a person."""
        async with asyncio.timeout(20):
            return await self.client.wait(execution_id, every=0.02)


@asynccontextmanager
async def served(db: str = ":memory:", **options: Any) -> AsyncIterator[Served]:
    """A server over a store of its own."""
    async with running(db, **options) as server, rebuno.Client(server.url, TOKEN) as client:
        yield Served(server.url, client)


def play(scenario: Callable[[Served], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Plays a scenario on a server of its own."""

    async def whole() -> None:
        async with served(**options) as kernel:
            await scenario(kernel)

    asyncio.run(whole())
