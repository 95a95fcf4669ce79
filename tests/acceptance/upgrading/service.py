"""Two replicas behind a balancer, an agent, a client with a number of executions alive at once, and a person."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import rebuno
from tests.acceptance.replicating.balancer import balancer
from tests.acceptance.replicating.job import LEDGER, NAME
from tests.acceptance.replicating.killer import ENDED, LEASE, SECRET, TOKEN, Program, again, answer, free_ports
from tests.acceptance.upgrading.count import Tally
from tests.acceptance.upgrading.earlier import Version

REPLICAS: Final = 2
# Each look takes a place in a window that all executions share: more than there will ever be.
BUNDLE: Final = """
bundle upgrades
default deny because "not a tool of this agent"

rule pay {
  require approval for tool "pay"
}

rule look {
  allow tool "look"
  limit 1000000 per 1d
}

rule work {
  allow tool "book" or local "note"
}
"""
# So many executions are alive at once, so that whatever is done meets some.
ABREAST: Final = 20
# How long one execution may take in all, in seconds, on a slow machine.
PATIENCE: Final = 240.0


@dataclass(slots=True)
class Service:
    """What runs. `url` names the store for the replicas; `ended` counts executions that have ended."""

    url: str
    ledger: Path
    tally: Tally
    ports: list[int]
    address: str
    client: rebuno.Client
    stack: AsyncExitStack
    replicas: list[Program] = field(default_factory=list)
    ended: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    def replica(self, number: int, version: Version) -> Program:
        """The replica of this number in this version, not started."""
        port = self.ports[number]
        command = ("rebuno_cli.main", "server", "--log-level", "error", "--port", str(port))
        known = {"REBUNO_DB_URL": self.url, "REBUNO_BEARER_TOKEN": TOKEN}
        log = self.ledger.with_name(f"replica {number} of {version.name}.log")
        return self._kept(Program(port, command, known, version.python, version.root, log))

    async def agent(self, version: Version) -> None:
        """Starts an agent, which gets the executions from now on; one that was there goes on with its own."""
        (port,) = free_ports(1)
        known = {"REBUNO_URL": self.address, "REBUNO_AGENT_SECRET": SECRET, LEDGER: str(self.ledger)}
        arguments = ("tests.acceptance.replicating.agent", str(port))
        webhook = f"http://127.0.0.1:{port}/webhook"
        put = partial(self.client.put_agent, NAME, webhook_url=webhook, secret=SECRET, lease_timeout_seconds=LEASE)
        # An agent that says something of itself before it is known is not known for a second.
        await again(put)
        await self._kept(Program(port, arguments, known, version.python, version.root)).start()

    def _kept(self, program: Program) -> Program:
        self.stack.push_async_callback(program.kill)
        return program

    async def wait(self, executions: int) -> None:
        """Until so many more have ended."""
        for _ in range(executions):
            await self.ended.acquire()

    async def load(self, meanwhile: Callable[["Service"], Awaitable[None]]) -> None:
        """All executions to their ends, and beside them what is to be done meanwhile."""
        room = asyncio.Semaphore(ABREAST)
        person = asyncio.create_task(answer(self.client))
        doing = asyncio.ensure_future(meanwhile(self))
        runs = asyncio.gather(*(self._run(n, room) for n in range(self.tally.executions)))
        try:
            # A fault of what is done meanwhile is told at once.
            await asyncio.gather(runs, doing)
        finally:
            for task in (person, doing, runs):
                task.cancel()
            await asyncio.gather(person, doing, runs, return_exceptions=True)

    async def _run(self, n: int, room: asyncio.Semaphore) -> None:
        async with room:
            # The key makes it one execution, however often it is asked for.
            begun = await again(lambda: self.client.create(NAME, {"n": n}, idempotency_key=f"order-{n}"))
            try:
                async with asyncio.timeout(PATIENCE):
                    done = await again(partial(self.client.get, begun.id))
                    while done.status not in ENDED:
                        await asyncio.sleep(0.3)
                        done = await again(partial(self.client.get, begun.id))
            except TimeoutError:
                done = await again(lambda: self.client.get(begun.id))
        self.tally.ends(begun.id, n, done.status.value, done.output, done.failure_reason)
        self.ended.release()


@asynccontextmanager
async def service(url: str, folder: Path, tally: Tally, version: Version) -> AsyncIterator[Service]:
    """Replicas and an agent of a version, on the store at a URL; the replicas have answered."""
    ledger = folder / "ledger"
    ledger.touch()
    ports = free_ports(REPLICAS)
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(balancer(ports))
        client = await stack.enter_async_context(rebuno.Client(address, TOKEN))
        made = Service(url, ledger, tally, ports, address, client, stack)
        for number in range(REPLICAS):
            made.replicas.append(made.replica(number, version))
            await made.replicas[-1].start()
        await made.agent(version)
        await again(lambda: client.set_policy(NAME, BUNDLE))
        yield made
