"""What a step costs on this machine: steps a second and syncs a step, beside two bare SQLite commits a step.

    .venv/bin/python benchmarks/steps.py --json

Each workload runs at 1 and at 32 concurrent executions on a fresh file. Bodies do nothing, so what is left is the
kernel: policy, journal, sync. The bare loop writes what a step has to say in two synced commits on one connection,
its intent and its outcome, in the same run and interleaved with the workloads; `relative_cost` is a step's time over
its time, the median of the rounds. Syncs are counted by a VFS below SQLite, in rounds that are not timed.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rebuno
from benchmarks.sqlite_syncs import Counter, bare
from rebuno.embedded import Kernel
from rebuno.journal.sqlite import SQLiteStore
from rebuno.policy.compile import compile_text

POLICY = compile_text(
    """bundle bench
default deny
rule tools { allow tool "bench-*" when args.n >= 0 }
"""
)
CONCURRENT = (1, 32)


@rebuno.tool("bench-safe")
async def safe(n: int) -> int:
    return n


@rebuno.tool("bench-once", idempotency="at_most_once")
async def once(n: int) -> int:
    return n


async def same(n: int) -> int:
    return n


async def local(n: int) -> int:
    return int(await rebuno.step("bench-local", same, {"n": n}))


WORKLOADS: dict[str, Callable[[int], Any]] = {"tool_safe": safe, "tool_at_most_once": once, "local_safe": local}


async def measure(path: Path, call: Callable[[int], Any], executions: int, steps: int, vfs: str | None) -> float:
    """Seconds that so many executions of so many steps each take, side by side."""

    async def agent() -> int:
        for n in range(steps):
            await call(n)
        return steps

    store = await SQLiteStore.open(path, vfs=vfs)
    kernel = Kernel(store, POLICY, strict=False)
    try:
        began = time.perf_counter()
        ended = await asyncio.gather(*(kernel.run(agent, {}, id=f"run-{i}") for i in range(executions)))
        seconds = time.perf_counter() - began
    finally:
        await store.close()
    wrong = [execution for execution in ended if execution.status != "completed"]
    if wrong:
        raise SystemExit(f"a measured run ended as {wrong[0].status}: {wrong[0].failure_reason}")
    return seconds


def rounds(call: Callable[[int], Any], executions: int, total: int, times: int) -> dict[str, float]:
    """One workload at one width: the median of its rounds, each beside a bare round."""
    each = total // executions
    taken: list[float] = []
    ratios: list[float] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            before = bare(place / "bare-1.db", total)
            seconds = asyncio.run(measure(place / "steps.db", call, executions, each, None))
            after = bare(place / "bare-2.db", total)
        # Two commits a step, by the mean of the loops before and after: the disk's mood changes.
        two_commits = 1 / before + 1 / after
        taken.append(seconds / (each * executions))
        ratios.append(taken[-1] / two_commits)
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter()
        asyncio.run(measure(Path(folder) / "steps.db", call, executions, each, counter.vfs))
        syncs = counter.reset() / (each * executions)
    step = statistics.median(taken)
    return {
        "steps_per_s": round(1 / step),
        "us_per_step": round(step * 1e6, 1),
        "syncs_per_step": round(syncs, 3),
        "relative_cost": round(statistics.median(ratios), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print only JSON")
    parser.add_argument("--steps", type=int, default=1600, help="steps a round (default 1600)")
    parser.add_argument("--rounds", type=int, default=3, help="timed rounds a figure (default 3)")
    options = parser.parse_args()
    if options.steps < max(CONCURRENT) or options.rounds < 1:
        parser.error(f"at least {max(CONCURRENT)} steps and 1 round")
    report: dict[str, Any] = {}
    for executions in CONCURRENT:
        for name, call in WORKLOADS.items():
            if not options.json:
                print(f"{name} at {executions} …", file=sys.stderr)
            found = rounds(call, executions, options.steps, options.rounds)
            report.setdefault(str(executions), {})[name] = found
    report["worst_relative_cost"] = max(found["relative_cost"] for width in report.values() for found in width.values())
    if options.json:
        print(json.dumps(report))
        return
    print(
        f"{'executions':>10}  {'workload':<18} {'steps/s':>8} {'µs/step':>8} {'syncs/step':>10} {'× two commits':>13}"
    )
    for width, workloads in report.items():
        if isinstance(workloads, dict):
            for name, f in workloads.items():
                print(
                    f"{width:>10}  {name:<18} {f['steps_per_s']:>8} {f['us_per_step']:>8} {f['syncs_per_step']:>10}"
                    f" {f['relative_cost']:>13}"
                )


if __name__ == "__main__":
    main()
