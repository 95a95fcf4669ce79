"""What a scenario works with: a client of the published package, an operator's raw routes, and agents in processes."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx2

import rebuno
from rebuno.types import Approval, Execution, Step
from tests.conformance.published.ledger import VARIABLE, Note, notes

SECRET: Final = "conformance-secret"
# In seconds: the shortest lease that there is, for an agent whose loss is to be found soon, and one for the others,
# which no busy machine uses up.
SHORT_LEASE: Final = 10
LEASE: Final = 90
PATIENCE: Final = 60.0
PAUSE: Final = 0.05

T = TypeVar("T")


@dataclass(slots=True)
class World:
    """A server under trial. `token` is an operator's; a server for development needs none."""

    url: str
    token: str
    folder: Path
    client: rebuno.Client
    operator: httpx2.AsyncClient
    _agents: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        """Where bodies note that they run."""
        return self.folder / "ledger"

    def start(self, ports: dict[str, int]) -> "subprocess.Popen[bytes]":
        """A process that serves these agents, each on a port."""
        command = [sys.executable, "-m", "tests.conformance.published.agents"]
        known = {"REBUNO_URL": self.url, "REBUNO_API_KEY": self.token, "REBUNO_AGENT_SECRET": SECRET}
        process = subprocess.Popen(
            [*command, *(f"{name}={port}" for name, port in ports.items())],
            env={**os.environ, **known, VARIABLE: str(self.ledger)},
        )
        self._agents.append(process)
        return process

    async def register(self, agent_id: str, port: int, lease: int = LEASE) -> None:
        """Tells the server where an agent is."""
        webhook = f"http://127.0.0.1:{port}/webhook"
        body = {"id": agent_id, "webhook_url": webhook, "secret": SECRET, "lease_timeout_seconds": lease}
        (await self.operator.post("/v0/agents", json=body)).raise_for_status()

    async def allow(self, agent_id: str, bundle: str) -> None:
        """Sets the bundle of an agent."""
        (await self.operator.post(f"/v0/policies/{agent_id}", json={"bundle": bundle})).raise_for_status()

    async def until(self, what: str, found: Callable[[], Awaitable[T | None]]) -> T:
        """What `found` gives once it gives something; TimeoutError after a minute."""
        end = time.monotonic() + PATIENCE
        while (one := await found()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"waited for {what}")
            await asyncio.sleep(PAUSE)
        return one

    async def status(self, execution_id: str, *wanted: str) -> Execution:
        """The execution, once it has one of these statuses."""

        async def look() -> Execution | None:
            found = await self.client.get(execution_id)
            return found if found.status in wanted else None

        return await self.until(f"{execution_id} to be {' or '.join(wanted)}", look)

    async def ended(self, execution_id: str) -> Execution:
        """The execution after its end."""
        return await self.status(execution_id, "completed", "failed", "cancelled")

    async def completed(self, execution_id: str) -> Execution:
        """The execution after an end that must be a good one."""
        execution = await self.ended(execution_id)
        assert execution.status == "completed", (execution.status, execution.failure_reason)
        return execution

    async def asked(self, execution_id: str) -> Approval:
        """The question that an execution waits for."""

        async def look() -> Approval | None:
            pending = await self.client.list_approvals()
            return next((one for one in pending if one.execution_id == execution_id), None)

        return await self.until(f"{execution_id} to ask", look)

    async def grant(self, execution_id: str) -> Approval:
        """Grants what it asks for next."""
        question = await self.asked(execution_id)
        await self.client.grant_approval(question.id, decided_by="ana", rationale="ordered")
        return question

    async def noted(self, execution_id: str, what: str) -> Note:
        """What a body has written down, once it has."""

        async def look() -> Note | None:
            return next((one for one in notes(self.ledger, execution_id) if one.what == what), None)

        return await self.until(f"{execution_id} to note {what}", look)

    def count(self, execution_id: str, what: str) -> int:
        """How often a body began."""
        return sum(one.what == what for one in notes(self.ledger, execution_id))

    async def steps(self, execution_id: str, target: str = "") -> list[Step]:
        """The recorded steps, or those of a target."""
        return [one for one in await self.client.list_steps(execution_id) if target in ("", one.target)]

    async def types(self, execution_id: str) -> list[str]:
        """The types of all events, read in small pages, their numbers without a gap."""
        found: list[str] = []
        while page := await self.client.events(execution_id, after_seq=len(found), limit=7):
            assert [event.event_seq for event in page] == list(range(len(found) + 1, len(found) + len(page) + 1))
            found += [event.type for event in page]
        return found

    @asynccontextmanager
    async def deltas(self, execution_id: str) -> AsyncIterator[list[dict[str, Any]]]:
        """What an execution streams while the context is open, collected from the time that it is listened to."""
        got: list[dict[str, Any]] = []
        listening = asyncio.Event()

        async def collect() -> None:
            async with self.operator.stream("GET", f"/v0/executions/{execution_id}/stream", timeout=None) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                assert answer.headers["x-accel-buffering"] == "no"
                async for line in answer.aiter_lines():
                    listening.set()
                    if line.startswith("data: "):
                        got.append(json.loads(line.removeprefix("data: ")))

        task = asyncio.create_task(collect())
        try:
            await asyncio.wait_for(listening.wait(), PATIENCE)
            yield got
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def stop(self) -> None:
        """Ends every process that was started here."""
        for process in self._agents:
            process.kill()
            process.wait()


@asynccontextmanager
async def world(url: str, token: str, folder: Path) -> AsyncIterator[World]:
    """A world around a server that runs."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        rebuno.Client(url, token) as client,
        httpx2.AsyncClient(base_url=url, headers=headers, timeout=35) as operator,
    ):
        made = World(url, token, folder, client, operator)
        try:
            yield made
        finally:
            made.stop()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


async def listens(port: int) -> None:
    """Returns once somebody listens there."""
    for _ in range(int(PATIENCE / PAUSE)):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(PAUSE)
        else:
            writer.close()
            return
    raise TimeoutError(f"nobody listens on port {port}")
