"""A run of many recorded steps: the memory it takes to resume it, and steps that come in an order of their own."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rebuno
from rebuno.kernel.core import recorded_steps
from tests.embedded import long_run
from tests.embedded.support import ROOT, in_loop

# Several pages of steps.
MANY = 2 * recorded_steps.PAGE * 2 + 100


def resumed(path: Path, count: int) -> tuple[int, int]:
    """The peak of a process's memory in KiB that resumes a run, and how many steps it replayed."""
    asyncio.run(long_run.made(path, count))
    command = [sys.executable, "-m", "tests.embedded.long_run", str(path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)
    peak, replayed, _ = done.stdout.split()
    return int(peak), int(replayed)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a program is read from /proc")
def test_memory_does_not_grow_with_the_recorded_steps(tmp_path: Path) -> None:
    """Each step has 2 KB of arguments and of result. Ten times as many steps take less than one and a half times the
    peak; once the store's cache is full, a step more takes less than a quarter of its texts."""
    peaks = {}
    for count in (1000, 10_000, 20_000):
        peaks[count], replayed = resumed(tmp_path / f"{count}.db", count)
        assert replayed == count
    assert peaks[10_000] < 1.5 * peaks[1000], peaks
    assert peaks[20_000] - peaks[10_000] < 10_000 * 2 * len(long_run.TEXT) / 1024 / 4, peaks


@in_loop
async def test_steps_that_come_in_any_order_replay(tmp_path: Path) -> None:
    """Also where the handler's first step is the last one recorded, so that all pages are read before it."""
    path = tmp_path / "store.db"
    await long_run.made(path, MANY)
    order = list(range(MANY))
    random.Random(7).shuffle(order)
    order.insert(0, MANY - 1)
    order.pop(order.index(MANY - 1, 1))

    async def handler() -> list[int]:
        return [(await long_run.work(n, long_run.TEXT))["n"] for n in order]

    async with rebuno.open(path, policy=long_run.POLICY) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent")
    assert (ended.output, ended.replayed) == (order, MANY)


@in_loop
async def test_a_new_step_before_many_recorded_ones(tmp_path: Path) -> None:
    """Everything is read before it is decided, and everything replays after it; in parallel too."""
    path = tmp_path / "store.db"
    await long_run.made(path, MANY)
    ran: list[int] = []

    async def handler() -> int:
        await rebuno.tool("new")(lambda n: ran.append(n))(-1)
        found = await asyncio.gather(*(long_run.work(n, long_run.TEXT) for n in range(MANY)))
        return len({one["n"] for one in found})

    async with rebuno.open(path, policy=long_run.POLICY) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent")
    assert (ended.output, ended.replayed, ran) == (MANY, MANY, [-1])
