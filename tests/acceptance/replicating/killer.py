"""Runs executions on two replicas, kills these in turn, answers questions, and counts what became of it all."""

import asyncio
import json
import os
import random
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import rebuno
from tests.acceptance.replicating.balancer import balancer
from tests.acceptance.replicating.job import BUNDLE, LEDGER, NAME, output

ROOT: Final = Path(__file__).parents[3]
TOKEN: Final = "a-token-for-operators"
SECRET: Final = "an-agents-secret"
REPLICAS: Final = 2
# So many executions are alive at once, so that every kill meets some.
ABREAST: Final = 20
LEASE: Final = 20.0
# How long one execution may take in all, in seconds, kills and a slow machine included.
PATIENCE: Final = 240.0
# Between the return of one replica and the death of the other, in seconds at most.
LATEST: Final = 1.0
STEPS: Final = 6
ENDED: Final = ("completed", "failed", "cancelled")
ONCE: Final = ("book", "pay")

T = TypeVar("T")


@dataclass(slots=True)
class Count:
    """What was seen; `said` is a line for each promise that was broken."""

    executions: int = 0
    completed: int = 0
    kills: int = 0
    at_most_once_doubles: int = 0
    lost: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether anything is not as promised."""
        return self.completed < self.executions or self.at_most_once_doubles > 0 or self.lost > 0

    def report(self) -> dict[str, int]:
        """The counts by name."""
        return {
            "executions": self.executions,
            "completed": self.completed,
            "kills": self.kills,
            "at_most_once_doubles": self.at_most_once_doubles,
            "lost": self.lost,
        }


@dataclass(slots=True)
class Program:
    """A process that listens on a port, and can be killed and started again. `python` runs it, in the folder `root`;
    what it says on standard error is added to the file `log`."""

    port: int
    arguments: tuple[str, ...]
    environment: dict[str, str]
    python: str = sys.executable
    root: Path = ROOT
    log: Path = Path(os.devnull)
    _process: Process | None = None

    async def start(self) -> None:
        """Starts it, and returns once it listens."""
        known = {key: value for key, value in os.environ.items() if not key.startswith("REBUNO")}
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                self.python,
                "-m",
                *self.arguments,
                cwd=self.root,
                env=known | self.environment,
                stdout=DEVNULL,
                stderr=log,
            )
        while self._process.returncode is None:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"`{' '.join(self.arguments)}` ended with {self._process.returncode}")

    async def kill(self) -> None:
        """SIGKILL: it has no moment to put anything in order."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def stop(self, seconds: float) -> bool:
        """SIGTERM: whether it has put everything in order and ended within so many seconds."""
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.terminate()
        with suppress(TimeoutError):
            return await asyncio.wait_for(self._process.wait(), seconds) == 0
        return False


async def play(url: str, folder: Path, executions: int, kills: int) -> Count:
    """All executions to their ends, with so many kills spread over them."""
    count = Count(executions=executions)
    ledger = folder / "ledger"
    *ports, port = free_ports(REPLICAS + 1)
    async with AsyncExitStack() as stack:

        async def started(port: int, *arguments: str, **environment: str) -> Program:
            program = Program(port, arguments, environment)
            stack.push_async_callback(program.kill)
            await program.start()
            return program

        command = ("rebuno_cli.main", "server", "--log-level", "error", "--port")
        replicas = [await started(p, *command, str(p), REBUNO_DB_URL=url, REBUNO_BEARER_TOKEN=TOKEN) for p in ports]
        address = await stack.enter_async_context(balancer(ports))
        client = await stack.enter_async_context(rebuno.Client(address, TOKEN))
        webhook = f"http://127.0.0.1:{port}/webhook"
        await again(lambda: client.put_agent(NAME, webhook_url=webhook, secret=SECRET, lease_timeout_seconds=LEASE))
        await again(lambda: client.set_policy(NAME, BUNDLE))
        known = {"REBUNO_URL": address, "REBUNO_AGENT_SECRET": SECRET, LEDGER: str(ledger)}
        await started(port, "tests.acceptance.replicating.agent", str(port), **known)
        person = asyncio.create_task(answer(client))
        room, ended = asyncio.Semaphore(ABREAST), asyncio.Semaphore(0)
        killing = asyncio.create_task(_kill(replicas, kills, ended, count))
        try:
            await asyncio.gather(*(_run(client, n, room, ended, count) for n in range(executions)))
            await killing
        finally:
            for task in (person, killing):
                task.cancel()
            await asyncio.gather(person, killing, return_exceptions=True)
    look_through(ledger, count)
    return count


async def again(work: Callable[[], Awaitable[T]]) -> T:
    """What a request gives, sent until a replica is there for it."""
    while True:
        try:
            return await work()
        except rebuno.NetworkError:
            await asyncio.sleep(0.05)
        except rebuno.APIError as error:
            if error.status_code < 500:
                raise
            await asyncio.sleep(0.05)


async def _run(client: rebuno.Client, n: int, room: asyncio.Semaphore, ended: asyncio.Semaphore, count: Count) -> None:
    """Begins an execution, waits for its end, and compares what is left of it with what must be."""
    async with room:
        # The key makes it one execution, however often it is asked for.
        begun = await again(lambda: client.create(NAME, {"n": n}, idempotency_key=f"order-{n}"))
        try:
            async with asyncio.timeout(PATIENCE):
                done = await again(partial(client.get, begun.id))
                while done.status not in ENDED:
                    await asyncio.sleep(0.3)
                    done = await again(partial(client.get, begun.id))
        except TimeoutError:
            done = await again(lambda: client.get(begun.id))
        steps = await again(lambda: client.list_steps(begun.id))
        events = await again(lambda: client.events(begun.id, limit=1000))
    ended.release()
    succeeded = sum(step.status == "succeeded" for step in steps)
    if done.status == "completed":
        count.completed += 1
    else:
        count.said.append(f"{begun.id} is {done.status}: {done.failure_reason}")
    whole = [event.event_seq for event in events] == list(range(1, len(events) + 1))
    if done.status == "completed" and (
        done.output != output(n) or succeeded != STEPS or len(steps) != STEPS or not whole
    ):
        count.lost += 1
        count.said.append(f"{begun.id} has {succeeded} of {len(steps)} steps and the output {done.output}")


async def answer(client: rebuno.Client) -> None:
    """A person who agrees to everything, a moment after being asked."""
    while True:
        for question in await again(client.list_approvals):
            with suppress(rebuno.ConflictError):
                await again(partial(client.grant_approval, question.id, decided_by="ana"))
        await asyncio.sleep(0.2)


async def _kill(replicas: Sequence[Program], kills: int, ended: asyncio.Semaphore, count: Count) -> None:
    """Kills the replicas in turn, each time that another part of the executions is done, and starts them again."""
    for number in range(kills):
        await asyncio.sleep(random.random() * LATEST)
        replica = replicas[number % len(replicas)]
        await replica.kill()
        count.kills += 1
        await replica.start()
        for _ in range(count.executions // (kills + 1)):
            await ended.acquire()


def look_through(ledger: Path, count: Count) -> None:
    """Counts the bodies that ran twice and must not."""
    begun = Counter(tuple(json.loads(line)) for line in ledger.read_text(encoding="utf-8").splitlines())
    for (execution_id, target, *args), times in begun.items():
        if target in ONCE and times > 1:
            count.at_most_once_doubles += 1
            count.said.append(f"{execution_id} began {target}{args} {times} times")


def free_ports(wanted: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(wanted)]
    ports: list[int] = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
