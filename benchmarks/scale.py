"""What one PostgreSQL carries with one replica and with two, what a step costs it, and what that says of more.

    .venv/bin/python benchmarks/scale.py --json

Executions of ten steps go from their creation to their end, 32 at once, delivered, decided by a policy of a hundred
rules, and synced. `replicas` has for one and for two replicas the executions and steps a second, the time of a step,
and what a step costs: milliseconds of processor of the replicas, of PostgreSQL and of the agents, bytes of tables and
indexes (`by_table` says of which), bytes and syncs of the write-ahead log. `connections` is how many the replicas had.

Where all share the cores of one machine, it can do at most cores / (all milliseconds of a step) steps a second:
`most_per_s`. `share` is how much of that was reached; other work on the machine lowers it. `model` is what the costs
with one replica say of larger machines, where a replica fills a core and PostgreSQL its own. `million` is the cost of a
million steps, and with `--core-hour` and `--gb-month` its price.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

import psycopg
import uvloop

from benchmarks.scale_client import STEPS, work
from benchmarks.server import TOKEN, Kernel, kernel
from benchmarks.server_client import connected
from benchmarks.steps_kernel import bundle
from tests.postgres.server import Server, database

REPLICAS: Final = (1, 2)
WIDTH: Final = 32
# Of the machines that the model speaks of: replicas, each with a core, and cores of PostgreSQL.
SIZES: Final = ((1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32))
_TICK: Final = 1000 / os.sysconf("SC_CLK_TCK")
_MILLION: Final = 1_000_000
_SYNCS: Final = {
    True: "SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal'",
    False: "SELECT wal_sync FROM pg_stat_wal",
}
# Since this version the log's syncs are counted among all that is read and written.
_IN_IO: Final = 180_000
# A process of PostgreSQL tells what it has counted at most so often, in seconds.
_TOLD: Final = 1.5


@dataclass(frozen=True, slots=True)
class Meter:
    """What has been spent so far: milliseconds of processor, bytes, syncs."""

    replicas: float
    database: float
    agents: float
    tables: int
    log: int
    syncs: int

    def since(self, before: "Meter", steps: int) -> dict[str, float]:
        """What a step has cost since."""
        return {
            "replica_ms": round((self.replicas - before.replicas) / steps, 3),
            "database_ms": round((self.database - before.database) / steps, 3),
            "agent_ms": round((self.agents - before.agents) / steps, 3),
            "table_bytes": round((self.tables - before.tables) / steps),
            "wal_bytes": round((self.log - before.log) / steps),
            "wal_syncs": round((self.syncs - before.syncs) / steps, 3),
        }


@contextmanager
def replicas(url: str, count: int) -> Iterator[list[Kernel]]:
    """So many kernels on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(kernel(url, None)) for _ in range(count)]


def meter(server: Server, url: str, running: list[Kernel]) -> Meter:
    """What has been spent so far."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
        assert row is not None
        syncs = connection.execute(_SYNCS[connection.info.server_version >= _IN_IO]).fetchone()
        assert syncs is not None
        return Meter(
            replicas=sum(_spent(one.process.pid) for one in running),
            database=sum(_spent(pid) for pid in server.processes()),
            agents=1000 * time.process_time(),
            tables=sum(_tables(url).values()),
            log=row[0],
            syncs=syncs[0],
        )


def _tables(url: str) -> dict[str, int]:
    """The bytes of each table with its indexes."""
    with psycopg.connect(url) as connection:
        return dict(
            connection.execute(
                "SELECT relname, pg_total_relation_size(c.oid) FROM pg_class AS c"
                " JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = 'rebuno' AND c.relkind = 'r'"
            ).fetchall()
        )


def _spent(pid: int) -> float:
    """Milliseconds that a process has worked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


async def rates(server: Server, url: str, running: list[Kernel], width: int, seconds: float) -> dict[str, Any]:
    """The figures of so many replicas."""
    urls = [one.url for one in running]
    async with connected(urls[0], TOKEN, bundle()) as bench:
        await work(bench, urls, width, seconds / 4)
        await asyncio.sleep(_TOLD)
        before, small = meter(server, url, running), _tables(url)
        done = await work(bench, urls, width, seconds)
        connections = _connections(url)
        await asyncio.sleep(_TOLD)
        costs = meter(server, url, running).since(before, len(done.took))
        sizes = {
            name: round(grown / len(done.took))
            for name, size in _tables(url).items()
            if (grown := size - small[name]) * 100 > len(done.took)
        }
    took = sorted(done.took)
    cores = len(os.sched_getaffinity(0))
    whole = costs["replica_ms"] + costs["database_ms"] + costs["agent_ms"]
    return {
        "executions_per_s": round(done.executions / done.seconds, 1),
        "steps_per_s": round(len(took) / done.seconds),
        "p50_ms": round(1000 * took[len(took) // 2], 2),
        "p99_ms": round(1000 * took[len(took) * 99 // 100], 2),
        "connections": connections,
        "step": costs,
        "by_table": sizes,
        "most_per_s": round(1000 * cores / whole),
        "share": round(len(took) / done.seconds * whole / (1000 * cores), 2),
    }


def _connections(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rebuno'").fetchone()
        assert row is not None
        return int(row[0])


def model(step: dict[str, float], connections: int) -> list[dict[str, Any]]:
    """What the costs of a step say of machines: the lower of what the replicas and PostgreSQL can do."""
    rows = []
    for count, cores in SIZES:
        replica, store = count * 1000 / step["replica_ms"], cores * 1000 / step["database_ms"]
        rate = min(replica, store)
        rows.append(
            {
                "replicas": count,
                "database_cores": cores,
                "steps_per_s": round(rate),
                "bound_by": "replicas" if replica < store else "PostgreSQL",
                "wal_mb_per_s": round(rate * step["wal_bytes"] / 1e6, 1),
                "syncs_per_s": round(rate * step["wal_syncs"]),
                "table_gb_per_day": round(rate * step["table_bytes"] * 86_400 / 1e9),
                "connections": count * connections,
            }
        )
    return rows


def million(step: dict[str, float], core_hour: float | None, gb_month: float | None) -> dict[str, float]:
    """The cost of a million steps, and its price where those of a core's hour and of a gigabyte's month are given."""
    cost = {
        "replica_core_s": round(step["replica_ms"] * _MILLION / 1000),
        "database_core_s": round(step["database_ms"] * _MILLION / 1000),
        "table_gb": round(step["table_bytes"] * _MILLION / 1e9, 2),
        "wal_gb": round(step["wal_bytes"] * _MILLION / 1e9, 2),
        "wal_syncs": round(step["wal_syncs"] * _MILLION),
    }
    if core_hour is not None:
        cost["processor_price"] = round((cost["replica_core_s"] + cost["database_core_s"]) / 3600 * core_hour, 4)
    if gb_month is not None:
        cost["table_price_per_month"] = round(cost["table_gb"] * gb_month, 4)
    return cost


def measure(seconds: float, width: int, core_hour: float | None, gb_month: float | None) -> dict[str, Any]:
    """Every figure, by the names that the JSON has."""
    found: dict[str, Any] = {}
    with Server() as server:
        for count in REPLICAS:
            with database(server.url()) as url, replicas(url, count) as running:
                found[str(count)] = uvloop.run(rates(server, url, running, width, seconds))
    one = found["1"]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "width": width,
        "steps_of_an_execution": STEPS,
        "replicas": found,
        "model": model(one["step"], one["connections"]),
        "million": million(one["step"], core_hour, gb_month),
    }


def table(report: dict[str, Any]) -> str:
    """The report as lines of text."""
    lines = [f"{'replicas':>8}{'exec/s':>9}{'steps/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'connections':>13}{'share':>7}"]
    for count, one in report["replicas"].items():
        lines.append(
            f"{count:>8}{one['executions_per_s']:>9}{one['steps_per_s']:>9}{one['p50_ms']:>9}{one['p99_ms']:>9}"
            f"{one['connections']:>13}{one['share']:>7}"
        )
    for count, one in report["replicas"].items():
        lines.append(f"a step, {count} replicas: {', '.join(f'{key} {value}' for key, value in one['step'].items())}")
    lines.append(f"{'replicas':>8}{'cores':>7}{'steps/s':>9}{'WAL MB/s':>10}{'syncs/s':>9}{'GB/day':>8}  bound by")
    for row in report["model"]:
        lines.append(
            f"{row['replicas']:>8}{row['database_cores']:>7}{row['steps_per_s']:>9}{row['wal_mb_per_s']:>10}"
            f"{row['syncs_per_s']:>9}{row['table_gb_per_day']:>8}  {row['bound_by']}"
        )
    lines.append(f"a million steps: {', '.join(f'{key} {value}' for key, value in report['million'].items())}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each figure is measured")
    parser.add_argument("--width", type=int, default=WIDTH, help="executions at once")
    parser.add_argument("--core-hour", type=float, help="the price of a core for an hour")
    parser.add_argument("--gb-month", type=float, help="the price of a gigabyte of the database for a month")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    report = measure(options.seconds, options.width, options.core_hour, options.gb_month)
    print(json.dumps(report) if options.json else table(report))


if __name__ == "__main__":
    main()
