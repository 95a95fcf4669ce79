"""A runtime in a process of its own, asked over a pipe: so that none shares a process's state or heap with another."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[1]
# What a step takes besides a number, so that its arguments are about 100 bytes as JSON.
ARGS: Final = {"path": "reports/2026/summary.txt", "note": "x" * 48}


@dataclass(frozen=True, slots=True)
class Runtime:
    """`steps(executions, steps, workload)` runs so many executions side by side, of so many steps each; `replay(steps,
    times)` interrupts one after its last step and runs it again so many times. Both give figures, `seconds` among them:
    of all steps, and of a replay up to its last step."""

    steps: Callable[..., Awaitable[dict[str, float]]]
    replay: Callable[[int, int], Awaitable[dict[str, float]]] | None = None


async def serve(made: AbstractAsyncContextManager[Runtime]) -> None:
    """Does what each line of the standard input asks (`["steps", 8, 200]`), and answers with a line."""
    async with made as runtime:
        while line := await asyncio.to_thread(sys.stdin.readline):
            what, *asked = json.loads(line)
            found = await getattr(runtime, what)(*asked)
            print(json.dumps(found), flush=True)


class Worker:
    """Speaks with a program that serves a runtime. Use it with `with`."""

    def __init__(self, program: str, *arguments: str) -> None:
        self._command = [sys.executable, "-m", f"benchmarks.{program}", *arguments]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()

    def ask(self, *what: str | int) -> dict[str, Any]:
        """What the runtime found; raises RuntimeError where its process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"`{' '.join(self._command)}` has ended")
        found: dict[str, Any] = json.loads(line)
        return found
