"""The lives of an agent of another framework: its model calls go through the kernel's client, its tool is a tool of the
kernel, and a life may be ended in it by SIGKILL.

A program makes as many lives as lines come in, each in a process of its own, so that the framework is imported once.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import rebuno

QUESTION = "add up what you are told"
# The answer of the stub takes so many results of the tool.
TURNS = 2


def added(store: Path, dies_in: int) -> Callable[..., Any]:
    """The one tool. It notes each call beside the store, and kills its process in the call of that number, from 1."""

    async def add(a: int, b: int) -> int:
        """Adds two numbers."""
        with store.with_suffix(".notes").open("a") as notes:
            notes.write(f"{a}\n")
        if a + 1 == dies_in:
            os.kill(os.getpid(), signal.SIGKILL)
        return a + b

    return rebuno.tool("add")(add)


Agent = Callable[[str, Callable[..., Any]], Callable[[str], Awaitable[str]]]


async def _life(agent: Agent, store: Path, url: str, dies_in: int) -> None:
    async with rebuno.open(store, policy=rebuno.PERMISSIVE) as kernel:
        handler = agent(url, added(store, dies_in))
        ended = await kernel.run(handler, {"question": QUESTION}, id="run", agent="agent")
    _say(f"{ended.status.value} {ended.output!r} {ended.failure_reason}".strip())


def main(agent: Agent) -> None:
    """`STORE URL` are the arguments; each line is in which call of the tool the next life ends (0: in none). Says the
    life's process, and at its end how the execution stands, or that the life was killed."""
    store, url = Path(sys.argv[1]), sys.argv[2]
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            asyncio.run(_life(agent, store, url, int(line)))
            os._exit(0)
        _say(str(process))
        _, status = os.waitpid(process, 0)
        if status != 0:
            _say("killed" if os.WIFSIGNALED(status) else "broken")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
