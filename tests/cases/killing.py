"""Agents that are killed at a chosen place: `python -m tests.cases.killing NAME STORE [killed]`.

Every effect is a line of a file beside the store, on the disk before the body goes on. `killed` has the process kill
itself at the place of that name; how the run ended is its last line.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import rebuno

ROOT = Path(__file__).parents[2]
# The outcome of such a step is on the disk before its caller sees it, so that a kill after it comes after its record.
ONCE = "at_most_once"


def effects(store: Path) -> list[str]:
    """What the bodies did, in order."""
    file = store.with_suffix(".effects")
    return file.read_text().splitlines() if file.exists() else []


class Agent:
    """The agents, one method each. `place` is where the process dies, empty: nowhere."""

    def __init__(self, store: Path, place: str = "") -> None:
        self.store = store
        self.place = place

    def effect(self, line: str) -> int:
        """Notes an effect; how many there are."""
        with self.store.with_suffix(".effects").open("a") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        return len(effects(self.store))

    def here(self, place: str) -> None:
        """Dies, if this is the place."""
        if place == self.place:
            os.kill(os.getpid(), signal.SIGKILL)

    async def identical(self) -> list[int]:
        """Four identical calls, three of them together."""

        async def append() -> int:
            return self.effect("a")

        async def call() -> int:
            return int(await rebuno.step("append", append, idempotency=ONCE))

        results = [*await asyncio.gather(call(), call(), call()), await call()]
        say(results)
        self.here("end")
        return results

    async def parallel(self) -> list[list[str]]:
        """Three branches of two steps; the first ones take long, the longest first; killed, they take turns."""
        pauses = {"A": 0.03, "B": 0.02, "C": 0.01} if self.place else {"A": 0.01, "B": 0.02, "C": 0.03}

        async def first(name: str) -> str:
            await asyncio.sleep(pauses[name])
            self.effect(name)
            return name

        async def second(name: str) -> str:
            self.effect(name)
            return name

        async def branch(name: str) -> list[str]:
            one = await rebuno.step("first", first, {"name": name}, idempotency=ONCE)
            return [one, await rebuno.step("second", second, {"name": f"{name}2"}, idempotency=ONCE)]

        values = await asyncio.gather(*map(branch, "ABC"))
        self.here("end")
        return values

    async def inserted(self) -> list[str]:
        """Two steps; the code that resumes them has a new one before them."""
        names = ["X", "Y"] if self.place else ["N", "X", "Y"]

        def named(name: str) -> str:
            self.effect(name)
            return name

        values = [await rebuno.step(name, named, {"name": name}, idempotency=ONCE) for name in names]
        self.here("end")
        return values

    async def pays_once(self) -> list[Any]:
        """A payment that may be made once."""
        return await self._pay("at_most_once")

    async def pays_safely(self) -> list[Any]:
        """A payment that may be made again."""
        return await self._pay("safe_to_retry")

    async def _pay(self, idempotency: str) -> list[Any]:
        def pay(amount: int) -> str:
            self.here("before")
            self.effect(f"paid {amount}")
            self.here("between")
            return "paid"

        try:
            value = await rebuno.tool(f"pay_{idempotency}", idempotency=idempotency)(pay)(amount=7)
        except rebuno.ToolError as error:
            value = error.reason
        # An outcome is on the disk at the latest when the next effect begins.
        after = await rebuno.tool("note")(lambda: "noted")()
        self.here("after")
        return [value, after]


def say(value: object) -> None:
    """One line of JSON for the process that started this one."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def run(name: str, store: Path, place: str = "") -> rebuno.Execution:
    """The run of this agent, begun or resumed, in this process."""
    handler: Callable[[], Awaitable[Any]] = getattr(Agent(store, place), name)
    async with rebuno.open(store, policy=rebuno.PERMISSIVE) as kernel:
        return await kernel.run(handler, id="run", agent="agent")


def killed(name: str, store: Path, place: str) -> list[Any]:
    """Runs the agent in a process of its own until it kills itself; what it said."""
    command = [sys.executable, "-m", "tests.cases.killing", name, str(store), place]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
