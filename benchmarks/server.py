"""What a served step costs on this machine: submissions with their outcomes a second, and how long one takes.

    .venv/bin/python benchmarks/server.py --json

A pair is a signed submission that may proceed and the report of its result, two requests, both committed and synced
before they are answered, under a policy of a hundred rules. 1, 16 and 64 agents work side by side, each on an
execution and a connection of its own. The kernel is one process on one core; PostgreSQL and the agents share the
others. `cpu_ms` is processor time a pair at 16 connections, from a run of its own in which one looks at the kernel at
every millisecond: `journal` is all that the store does in the kernel's process, `database` PostgreSQL's own.

`ratio` is of the kernel on PostgreSQL to the floor of `server_floor.py`, in the same run: both processes take turns on
the same core, and each number is the median of the rounds; `cpu` is that of the process, the smaller the better,
`pairs` that of pairs a second, `p99` that of the 99th percentile. `memory_mb` is what the kernel's process holds at
rest and after so many executions, each with a pair.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

import uvloop

from benchmarks.server_client import Agent, connected, strangers, together
from benchmarks.steps_kernel import bundle
from tests.postgres.server import Server, database

ROOT: Final = Path(__file__).parents[1]
WIDTHS: Final = (1, 16, 64)
SAMPLED: Final = 16
COMPARED: Final = (16, 64)
# Executions before the memory at rest is taken: what is loaded and made once is there by then.
WARM: Final = 300
PARTS: Final = ("http", "auth", "policy", "kernel", "journal")
TOKEN: Final = "a-token-for-operators"
_TICK: Final = 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's process that serves at `url`."""

    url: str
    process: "subprocess.Popen[str]"

    def spent(self) -> dict[str, float]:
        """Milliseconds of processor time by part since the last time that this was asked."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        spent: dict[str, float] = json.loads(self.process.stdout.readline())
        return spent


@contextmanager
def kernel(db: str, core: int | None, *, sampled: bool = False) -> Iterator[Kernel]:
    """A kernel that serves a store while the context is open."""
    more = ["--sampled"] if sampled else []
    with _process("benchmarks.server_kernel", db, core, ["--token", TOKEN, *more]) as running:
        yield running


@contextmanager
def floor(db: str, core: int | None) -> Iterator[Kernel]:
    """The floor on a database of its own while the context is open."""
    with _process("benchmarks.server_floor", db, core, []) as running:
        yield running


@contextmanager
def _process(module: str, db: str, core: int | None, more: list[str]) -> Iterator[Kernel]:
    command = [sys.executable, "-m", module, "--db", db, *more]
    command += ["--core", str(core)] if core is not None else []
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Kernel(json.loads(process.stdout.readline())["url"], process)
        finally:
            process.stdin.close()
            process.wait(30)


async def rates(url: str, widths: tuple[int, ...], seconds: float) -> dict[str, dict[str, float]]:
    """The figures of each width."""
    found = {}
    async with connected(url, TOKEN, bundle()) as bench:
        await bench.measure(max(widths), seconds / 4)
        for width in widths:
            took, went = await bench.measure(width, seconds)
            found[str(width)] = {
                "pairs_per_s": round(len(took) / went),
                "p50_ms": round(1000 * took[len(took) // 2], 2),
                "p99_ms": round(1000 * took[len(took) * 99 // 100], 2),
            }
    return found


async def shares(running: Kernel, seconds: float, server: Server | None) -> dict[str, float]:
    """Processor time a pair, by part, in milliseconds."""
    async with connected(running.url, TOKEN, bundle()) as bench:
        await bench.measure(SAMPLED, seconds / 4)
        running.spent()
        before = _database(server)
        took, _ = await bench.measure(SAMPLED, seconds)
        spent = running.spent()
        parts = {part: spent.get(part, 0.0) for part in PARTS}
        whole = {**parts, "process": sum(parts.values())}
        if server is not None:
            whole["database"] = _database(server) - before
        return {part: round(value / len(took), 3) for part, value in whole.items()}


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of a process: processor milliseconds a pair, pairs a second, and the 99th percentile in milliseconds."""

    cpu: float
    pairs: float
    p99: float


async def turn(running: Kernel, agents: list[Agent], seconds: float) -> Round:
    """One turn of these agents."""
    running.spent()
    took, went = await together(agents, seconds)
    spent = running.spent()["process"]
    return Round(spent / len(took), len(took) / went, 1000 * took[len(took) * 99 // 100])


async def ratios(running: Kernel, beside: Kernel, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """The kernel's figures as multiples of the floor's, by connections: medians of the rounds."""
    found = {}
    async with connected(running.url, TOKEN, bundle()) as bench:
        for width in COMPARED:
            ours, bare = await bench.agents(width), await strangers(beside.url, width)
            for each, agents in ((running, ours), (beside, bare)):
                await turn(each, agents, seconds / 2)
            turns = [(await turn(running, ours, seconds), await turn(beside, bare, seconds)) for _ in range(rounds)]
            found[str(width)] = {
                name: round(median(getattr(one, name) / getattr(other, name) for one, other in turns), 2)
                for name in ("cpu", "pairs", "p99")
            }
            for agent in ours:
                await agent.send("/complete", b'{"output":null}')
            for agent in (*ours, *bare):
                agent.connection.close()
    return found


async def memory(running: Kernel, executions: int) -> dict[str, float]:
    """Megabytes that the kernel's process holds at rest and after so many executions."""
    async with connected(running.url, TOKEN, bundle()) as bench:
        await bench.whole(WARM)
        rest = running.spent()["memory"]
        await bench.whole(executions)
        return {"rest": round(rest, 1), "after": round(running.spent()["memory"], 1)}


def _database(server: Server | None) -> float:
    """Milliseconds that the processes of a PostgreSQL have worked."""
    spent = 0.0
    for pid in server.processes() if server is not None else ():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += (int(fields[11]) + int(fields[12])) * _TICK
    return spent


def measure(seconds: float, stores: list[str], rounds: int, executions: int) -> dict[str, Any]:
    """Every figure, by the names that the JSON has."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[0] if len(cores) > 1 else None
    # What is started from here inherits it; the kernel takes the one that is left.
    os.sched_setaffinity(0, cores[1:] or cores)
    report: dict[str, Any] = {}
    spent: dict[str, Any] = {}
    for store in stores:
        with ExitStack() as stack:
            server = stack.enter_context(Server()) if store == "postgres" else None
            folder = stack.enter_context(tempfile.TemporaryDirectory())

            def fresh(name: str, stack: ExitStack = stack, server: Server | None = server, to: str = folder) -> str:
                return stack.enter_context(database(server.url())) if server is not None else str(Path(to) / name)

            with kernel(fresh("rates.db"), core) as running:
                report[store] = uvloop.run(rates(running.url, WIDTHS, seconds))
            with kernel(fresh("shares.db"), core, sampled=True) as running:
                spent[store] = uvloop.run(shares(running, seconds, server))
            if server is not None:
                with kernel(fresh("ratios.db"), core) as running, floor(fresh("floor.db"), core) as beside:
                    report["ratio"] = uvloop.run(ratios(running, beside, rounds, seconds))
                with kernel(fresh("memory.db"), core) as running:
                    report["memory_mb"] = uvloop.run(memory(running, executions))
    return {
        **report,
        "cpu_ms": spent,
        "cores": len(cores),
        "bound_by": {name: bound(one) for name, one in spent.items()},
    }


def bound(spent: dict[str, float]) -> str:
    """What the rate cannot pass on this machine, in words."""
    most = max((part for part in spent if part not in ("process", "database")), key=lambda part: spent[part])
    return (
        f"the kernel's core: {spent['process']:.2f} ms a pair, at most {1000 / spent['process']:.0f} pairs a second; "
        f"the largest part is {most}, {spent[most] / spent['process']:.0%}"
    )


def table(report: dict[str, Any]) -> str:
    """The report as lines of text."""
    lines = [f"{'':<10}{'connections':>12}{'pairs/s':>9}{'p50 ms':>9}{'p99 ms':>9}"]
    for store in report["cpu_ms"]:
        for width, found in report[store].items():
            lines.append(f"{store:<10}{width:>12}{found['pairs_per_s']:>9}{found['p50_ms']:>9}{found['p99_ms']:>9}")
    for store, spent in report["cpu_ms"].items():
        parts = ", ".join(f"{part} {value}" for part, value in spent.items())
        lines.append(f"{store}: ms of processor time a pair: {parts}\n{store}: bound by {report['bound_by'][store]}")
    for width, found in report.get("ratio", {}).items():
        numbers = ", ".join(f"{name} {value}" for name, value in found.items())
        lines.append(f"times the floor at {width} connections: {numbers}")
    if held := report.get("memory_mb"):
        lines.append(f"memory in MB: {held['rest']} at rest, {held['after']} after")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each figure is measured")
    parser.add_argument("--store", choices=["sqlite", "postgres"], help="only this one")
    parser.add_argument("--rounds", type=int, default=5, help="turns of the kernel and the floor each")
    parser.add_argument("--executions", type=int, default=10_000, help="how many come before memory is looked at again")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    stores = [options.store] if options.store else ["sqlite", "postgres"]
    report = measure(options.seconds, stores, options.rounds, options.executions)
    print(json.dumps(report) if options.json else table(report))


if __name__ == "__main__":
    main()
