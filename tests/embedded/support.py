"""Kernels on a file, opened anew for each run as a program does, and other processes beside them."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import rebuno
from rebuno.journal.chain import verify
from rebuno.policy import compile_text
from rebuno.types import Event, Step
from tests.rows import rows

ROOT = Path(__file__).parents[2]
P = ParamSpec("P")


def in_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs an async test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def body() -> None:
            await test(*args, **kwargs)

        asyncio.run(body())

    return run


def bundle(verdict: str, also: str = "") -> str:
    """A bundle that allows everything, and says `verdict` about the tool `act`."""
    head = {"allow": "allow", "ask": "require approval for", "deny": "deny"}[verdict]
    return f'bundle tests\ndefault allow\n{also}rule act {{ {head} tool "act" because "{verdict} it" }}\n'


async def run(path: Path, text: str, handler: Callable[..., Any], input: object = None) -> rebuno.Execution:
    """One run of the execution `run` in a store that is opened for it."""
    async with rebuno.open(path, policy=compile_text(text)) as kernel:
        return await kernel.run(handler, input, id="run", agent="agent")


async def answer(path: Path, approval_id: str, *, granted: bool, rationale: str = "") -> None:
    """A person's answer."""
    async with rebuno.operate(path) as operator:
        await (operator.grant if granted else operator.deny)(approval_id, decided_by="ana", rationale=rationale)


async def journal(path: Path) -> tuple[list[Step], list[Event]]:
    """The steps and events of the execution `run`; its chain of hashes is whole."""
    async with rebuno.operate(path) as operator:
        execution = await operator.execution("run")
        steps, events = await operator.steps(execution.id), await operator.events(execution.id)
    chain = verify(rows(events))
    assert (chain.fault, chain.seq, chain.hash.hex()) == ("", len(events), execution.head_hash)
    return steps, events


@contextmanager
def process(deed: str, path: Path, *more: str) -> Iterator["subprocess.Popen[str]"]:
    """`agents.py` in a process of its own, killed at the end."""
    command = [sys.executable, "-m", "tests.embedded.agents", deed, str(path), *more]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        try:
            yield running
        finally:
            running.kill()


def line(running: "subprocess.Popen[str]") -> str:
    """The next line that the process says."""
    assert running.stdout is not None
    return running.stdout.readline().strip()
