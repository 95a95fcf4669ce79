"""Starts agents, kills them and the server beneath them, answers what they ask, and counts what is left."""

import asyncio
import multiprocessing
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import rebuno
from rebuno.journal.records import Event
from rebuno.kernel import Operator
from tests.acceptance.killing import points
from tests.acceptance.killing.agent import UNUSABLE, live
from tests.acceptance.killing.aims import TICK, Aim, Watch, When, choose
from tests.acceptance.killing.checks import Count
from tests.acceptance.killing.orders import Order
from tests.acceptance.killing.program import PRIME
from tests.acceptance.killing.trail import Trail, follow, noted
from tests.llm.provider import Provider
from tests.postgres.server import Server

# Executions side by side in one process.
ABREAST: Final = 3
# How often a process of the same executions is killed before they may end.
KILLS_A_ROUND: Final = 6
# More processes than this for the same executions: they do not get on.
PROCESSES: Final = 40
# What an agent imports when it first needs it, and what takes longer than its run.
_LATE: Final = (
    "rebuno.embedded",
    "rebuno.sdk.http_client",
    "rebuno.sdk.step",
    "rebuno.sdk.tool",
    "anyio._backends._asyncio",
    "httpcore2._async.http11",
    "httpcore2._backends.anyio",
)
# How many of the kills are the server's, where there is one, and every how many of them it stays away for longer than
# a store waits.
_SERVER_SHARE: Final = 0.25
_AWAY: Final = 16


class Killer:
    """`count` is what was seen so far, `runs` the names and inputs of the executions of the newest round. The first
    round shows how long a process works that nobody kills, and kills none."""

    def __init__(self, url: str, folder: Path, operator: Operator, stub: Provider, server: Server | None) -> None:
        self.count = Count()
        self.runs: tuple[tuple[str, int], ...] = ()
        self._url = url
        self._folder = folder
        self._operator = operator
        self._stub = stub
        self._server = server
        self._longest = 0.0
        self._rounds = 0
        # How many requests came in before this round's.
        self._asked = 0
        self._seen: dict[str, tuple[Event, ...]] = {}
        self._made = multiprocessing.get_context("forkserver")
        self._made.set_forkserver_preload([live.__module__, *_LATE, *(["rebuno.journal.postgres"] if server else [])])

    async def round(self, kills: int) -> None:
        """Some executions: killed again and again while `kills` are not reached, then left to end, and checked."""
        self.runs = tuple((f"run-{self._rounds}-{n}", random.randrange(PRIME)) for n in range(ABREAST))
        self._rounds += 1
        self._asked = len(self._stub.requests)
        killed = 0
        for _ in range(PROCESSES):
            more = self._longest > 0 and killed < KILLS_A_ROUND and self.count.kills < kills
            before = self.count.kills
            # What is left to do grows less with each resumption.
            trails = await self._process(self._longest * (0.2 + 0.8 / (1 + killed)) if more else None)
            killed += self.count.kills - before
            if all(trail.ended for trail in trails):
                for trail in trails:
                    self.count.at_the_end(trail)
                return
        raise SystemExit(f"`{self.runs[0][0]}` and those beside it do not end")

    # ------------------------------------------------------------ one process

    async def _process(self, longest: float | None) -> list[Trail]:
        """One process of the runs, killed within `longest` seconds or where it comes otherwise, or (None) left alone;
        what is left of them after it."""
        due = longest is not None and self.count.server_kills <= _SERVER_SHARE * self.count.kills
        server = self._server if due else None
        aim = Aim(When.NEVER) if longest is None else choose(longest, self._impossible(server))
        order = Order(self._url, self._folder, self._stub.url, self.runs, aim.moment, int(aim.number))
        process = self._made.Process(target=live, args=(order,))
        began = time.monotonic()
        process.start()
        notes = [self._folder / f"{run}.notes" for run, _ in self.runs]
        watch = Watch(process, notes, lambda: len(self._stub.requests), answers=aim.answers)
        prefix = ""
        async with self._person(watch):
            await watch.come(aim)
            if server is not None and not watch.gone():
                prefix = await self._kill_server(server, process, watch)
            elif longest is not None:
                process.kill()
            await watch.end()
        process.join()
        self._longest = self._longest or time.monotonic() - began
        self._ended(process)
        return await self._look(process, prefix)

    def _impossible(self, server: Server | None) -> set[When]:
        """What the next process will not come to: questions that were answered, and a server that kills itself."""
        answered = all(any(e.type == "approval.granted" for e in self._seen.get(run, ())) for run, _ in self.runs)
        return ({When.QUESTION, When.ANSWER} if answered else set()) | ({When.INSIDE} if server is not None else set())

    async def _kill_server(self, server: Server, process: BaseProcess, watch: Watch) -> str:
        """Kills the server, starts it again, and the process with it or not; how points are named then, if any."""
        self.count.kills += 1
        self.count.server_kills += 1
        # Where the process is left alone, it must come to its end.
        watch.answers = True
        if self.count.server_kills % _AWAY == 0:
            await asyncio.to_thread(server.kill)
            await watch.end()
            await asyncio.to_thread(server.start)
            self.count.points["server killed: away until the process ended"] += 1
            return ""
        if random.random() < 0.5:
            await asyncio.to_thread(server.kill)
            process.kill()
            await asyncio.to_thread(server.start)
            return "server and process killed: "
        await asyncio.to_thread(server.kill)
        for run, start in self.runs:
            trail = noted(run, start, self._folder)
            self.count.points[f"server killed: {points.noted(trail, process.pid or 0)}"] += 1
        await asyncio.to_thread(server.start)
        # The process goes on, or ends with a typed error.
        await watch.end()
        return ""

    def _ended(self, process: BaseProcess) -> None:
        """Counts how a process ended, where it was not killed."""
        path = self._folder / "stderr"
        said = path.read_text() if path.exists() else ""
        if process.exitcode == UNUSABLE:
            self.count.store_errors += 1
        if process.exitcode not in (0, -9, UNUSABLE) or said:
            self.count.crashes += 1
            self.count.said.append(f"exit code {process.exitcode}: {said}")
            path.write_text("")

    async def _look(self, process: BaseProcess, prefix: str) -> list[Trail]:
        """Reads what is left, and counts the points of a kill."""
        requests = list(enumerate(self._stub.requests[self._asked :], self._asked + 1))
        trails = [await follow(self._operator, run, start, self._folder, requests) for run, start in self.runs]
        killed = process.exitcode == -9
        self.count.kills += killed and not prefix
        for trail in trails:
            self.count.on_the_way(trail, self._seen.get(trail.run, ()))
            new = len(trail.events) > len(self._seen.get(trail.run, ())) or not trail.ended
            self._seen[trail.run] = trail.events
            if killed and new:
                self.count.points[prefix + points.point(trail, process.pid or 0)] += 1
        if random.random() < 0.5:
            # A person answers while nobody runs.
            for asked in await self._operator.approvals(status="pending"):
                await self._operator.grant(asked.id, decided_by="ana")
        return trails

    # ------------------------------------------------------------ a person beside it

    @asynccontextmanager
    async def _person(self, watch: Watch) -> AsyncIterator[None]:
        """Answers questions on the same store from this process, while the other runs."""
        over = asyncio.Event()
        answering = asyncio.create_task(self._answer(watch, over))
        try:
            yield
        finally:
            over.set()
            await answering

    async def _answer(self, watch: Watch, over: asyncio.Event) -> None:
        while not over.is_set():
            # A server that is away: the question stands when it is back.
            with suppress(rebuno.StoreError, rebuno.ConflictError):
                for asked in await self._operator.approvals(status="pending"):
                    watch.asked.set()
                    if watch.answers:
                        await asyncio.sleep(random.random() * 0.02)
                        await self._operator.grant(asked.id, decided_by="ana")
                        watch.granted.set()
            await asyncio.sleep(5 * TICK)
