"""A run of five steps in a process of its own: `python -m tests.cases.stepping PATH`. Each step notes its name and the
process in a file beside the store; the process says `sN` when it is in step N, and how the run ended."""

import asyncio
import os
import sys
import time
from pathlib import Path

import rebuno

NAMES = [f"s{n}" for n in range(1, 6)]


def notes(path: Path) -> list[str]:
    """What the steps noted: `NAME PROCESS`."""
    file = path.with_suffix(".notes")
    return file.read_text().splitlines() if file.exists() else []


def hold(path: Path, name: str) -> None:
    """From now on the step of that name does not end; an empty name lets every one end."""
    path.with_suffix(".hold").write_text(name)


def released(path: Path, name: str) -> None:
    """Returns once the step may end."""
    file = path.with_suffix(".hold")
    while file.exists() and file.read_text() == name:
        time.sleep(0.01)


def say(text: str) -> None:
    """One line for the process that started this one."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def run(path: Path, pause: float = 0.05) -> rebuno.Execution:
    """The run; each step takes so many seconds."""

    async def step(name: str) -> str:
        say(name)
        with path.with_suffix(".notes").open("a") as file:
            file.write(f"{name} {os.getpid()}\n")
        await asyncio.to_thread(released, path, name)
        await asyncio.sleep(pause)
        return name

    async def handler() -> list[str]:
        return [await rebuno.step("step", step, {"name": name}) for name in NAMES]

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        return await kernel.run(handler, id="run", agent="agent")


if __name__ == "__main__":
    try:
        say(asyncio.run(run(Path(sys.argv[1]))).status)
    except rebuno.RebunoError as error:
        say(f"{type(error).__name__}: {error}")
