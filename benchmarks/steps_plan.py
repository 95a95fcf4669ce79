"""Who runs what in `steps.py`, in which order, and what the figures are made of."""

import sys
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg

from benchmarks.sqlite_syncs import commit_syncs
from benchmarks.steps_kernel import SLOW, WORKLOADS
from benchmarks.steps_worker import Worker
from tests.postgres.server import Server, database

# The workload that the others are beside.
MAIN: Final = "tool_safe"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is run: steps an execution, steps of the long one, timed rounds."""

    steps: int
    long: int
    rounds: int


class Bench:
    """The runtimes at work, and the seconds a step that each took, by its name, width and workload, a round each."""

    def __init__(
        self, folder: Path, sizes: Sizes, stack: ExitStack, *, peers: bool, postgres: bool, said: bool
    ) -> None:
        self._sizes = sizes
        self._said = said
        self._folder = folder
        self._stack = stack
        self._server = stack.enter_context(Server()) if postgres else None
        self._taken: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        self._syncs: dict[tuple[str, int, str], float] = {}
        self._dbos_commits = 0.0
        self._peers: dict[str, Worker] = {}
        self._ours: dict[str, Worker] = {}
        self._floor = {"sqlite": self._worker("steps_kernel", "sqlite-floor", folder / "floor.db")}
        self._ours["sqlite"] = self._worker("steps_kernel", "kernel", folder / "kernel.db")
        if self._server is not None:
            self._floor["postgres"] = self._worker("steps_kernel", "postgres-floor", self._database())
            self._ours["postgres"] = self._worker("steps_kernel", "kernel", self._database())
        if peers:
            self._peers["dbos_sqlite"] = self._worker("peers_steps", "dbos", f"sqlite:///{folder / 'dbos.db'}")
            self._peers["langgraph"] = self._worker("peers_steps", "langgraph", folder / "langgraph.db")
        if peers and self._server is not None:
            self._peers["dbos_postgres"] = self._worker("peers_steps", "dbos", self._database())
            self._peers["absurd"] = self._worker("peers_steps", "absurd", self._database())

    def _worker(self, program: str, runtime: str, target: object, *options: str) -> Worker:
        return self._stack.enter_context(Worker(program, runtime, str(target), *options))

    def _database(self) -> str:
        assert self._server is not None
        return self._stack.enter_context(database(self._server.url()))

    def _say(self, text: str) -> None:
        if self._said:
            print(text, file=sys.stderr)

    # ---------------------------------------------------------------- running

    def rounds(self, widths: tuple[int, ...]) -> None:
        """Everything that is timed and counted, the runtimes by turns."""
        for number in range(self._sizes.rounds):
            for width in widths:
                self._say(f"round {number + 1} of {self._sizes.rounds}, {width} side by side …")
                self._round(width)
        self._count(widths)
        self._long()

    def _round(self, width: int) -> None:
        steps = self._sizes.steps
        for store, worker in self._floor.items():
            # The bare loop on SQLite is one connection, whatever the width.
            self._time(f"floor_{store}", worker, width, 1 if store == "sqlite" else width, steps)
        for store, worker in self._ours.items():
            for workload in WORKLOADS:
                self._time(store, worker, width, width, self._each(width, workload), workload)
        for name, worker in self._peers.items():
            # They take minutes otherwise.
            self._time(name, worker, width, width, max(10, steps * 2 // (width + 1)))

    def _each(self, width: int, workload: str) -> int:
        # Beside the main workload the others are there for their order of magnitude.
        return self._sizes.steps if workload == MAIN else max(10, self._sizes.steps // width)

    def _time(self, name: str, worker: Worker, width: int, executions: int, each: int, workload: str = MAIN) -> None:
        found = worker.ask("steps", executions, each, workload)
        self._taken[name, width, workload].append(found["seconds"] / (executions * each))
        if name == "dbos_sqlite" and width == 1:
            self._dbos_commits = found["commits"] / each

    def _count(self, widths: tuple[int, ...]) -> None:
        steps = self._sizes.steps
        for workload in WORKLOADS:
            with Worker("steps_kernel", "kernel", str(self._folder / "counted.db"), "--count") as worker:
                for width in widths:
                    each = self._each(width, workload)
                    # Less what as many executions without a step cost.
                    without = worker.ask("steps", width, 0, workload)["syncs"]
                    syncs = worker.ask("steps", width, each, workload)["syncs"] - without
                    self._syncs["sqlite", width, workload] = syncs / (width * each)
        with Worker("steps_kernel", "kernel", str(self._folder / "slow.db"), "--slow") as worker:
            for width in widths:
                self._time("slow_disk", worker, width, width, steps)
        if self._server is not None:
            database = self._database()
            for width in widths:
                counted = []
                for each in (1, 0, steps):
                    # The store's connections report their syncs when they end.
                    with Worker("steps_kernel", "kernel", database) as worker:
                        worker.ask("steps", width, each, MAIN)
                    counted.append(self._server_syncs())
                without, syncs = counted[1] - counted[0], counted[2] - counted[1]
                self._syncs["postgres", width, MAIN] = (syncs - without) / (width * steps)

    def _server_syncs(self) -> int:
        assert self._server is not None
        with psycopg.connect(self._server.url(), autocommit=True) as connection:
            found = connection.execute("SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'").fetchone()
        return int(found[0]) if found and found[0] else 0

    def _long(self) -> None:
        self._say(f"{self._sizes.long} steps in one execution …")
        # The short one in a process of its own: a peak never falls.
        with Worker("steps_kernel", "kernel", str(self._folder / "short.db")) as worker:
            self._short = worker.ask("replay", self._sizes.long // 10, 1)
        with Worker("steps_kernel", "kernel", str(self._folder / "long.db")) as worker:
            self._replay = {"": worker.ask("replay", self._sizes.long, self._sizes.rounds)}
        if self._server is not None:
            with Worker("steps_kernel", "kernel", self._database()) as worker:
                self._replay["postgres_"] = worker.ask("replay", self._sizes.long, self._sizes.rounds)
        for name, steps in (("absurd", self._sizes.long), ("dbos_sqlite", self._sizes.long // 5)):
            if name in self._peers:
                found = self._peers[name].ask("replay", steps, self._sizes.rounds)
                # As if of so many steps: what is slow was run on fewer.
                self._replay[f"{name}_"] = {"seconds": found["seconds"] * self._sizes.long / steps}

    # ---------------------------------------------------------------- reporting

    def report(self, widths: tuple[int, ...]) -> dict[str, Any]:
        """The figures by their names."""
        report: dict[str, Any] = {store: self._store(store, widths) for store in self._ours}
        report["slow_disk"] = self._slow(widths)
        report["floor"] = {store: self._rates(f"floor_{store}", widths) for store in self._floor}
        report["peers"] = {name: self._rates(name, widths) for name in self._peers}
        seconds = {name: found["seconds"] for name, found in self._replay.items()}
        report["replay"] = {f"{name}steps_per_s": round(self._sizes.long / taken) for name, taken in seconds.items()}
        for peer in ("absurd", "dbos_sqlite"):
            if f"{peer}_" in seconds:
                report["replay"][f"times_{peer.removesuffix('_sqlite')}"] = _short(seconds[f"{peer}_"] / seconds[""])
        report["flat"] = {"last_100_to_first_100": _short(self._replay[""]["last_to_first"])}
        short, long = self._short["peak_mib"], self._replay[""]["peak_mib"]
        report["memory"] = {"short_mib": round(short), "long_mib": round(long), "long_to_short": _short(long / short)}
        return report

    def _store(self, store: str, widths: tuple[int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = self._rates(store, widths, times=self._times_of(store))
        found["rows"] = {workload: self._rates(store, widths, workload) for workload in WORKLOADS if workload != MAIN}
        found |= found.pop("rows")
        return found

    def _times_of(self, store: str) -> dict[str, str]:
        names = {"times_dbos": f"dbos_{store}", "times_langgraph": "langgraph", "times_absurd": "absurd"}
        return {key: name for key, name in names.items() if name in self._peers}

    def _rates(
        self, name: str, widths: tuple[int, ...], workload: str = MAIN, times: dict[str, str] | None = None
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for width in widths:
            taken = self._taken[name, width, workload]
            row = {
                "steps_per_s": round(1 / median(taken)),
                "relative": _short(_ratio(taken, self._taken["floor_sqlite", width, MAIN])),
            }
            if (name, width, workload) in self._syncs:
                row["syncs_per_step"] = _short(self._syncs[name, width, workload])
            for key, peer in (times or {}).items():
                row[key] = _short(_ratio(self._taken[peer, width, MAIN], taken))
            found[str(width)] = row
        return found

    def _slow(self, widths: tuple[int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {"sync_ms": SLOW * 1000}
        syncs = self._dbos_commits * commit_syncs(self._folder / "commit.db", "delete")
        for width in widths:
            taken = median(self._taken["slow_disk", width, MAIN])
            found[str(width)] = {"steps_per_s": round(1 / taken)}
            if "dbos_sqlite" in self._peers:
                dbos = median(self._taken["dbos_sqlite", width, MAIN]) + syncs * SLOW
                found[str(width)]["times_dbos"] = _short(dbos / taken)
        return found


def _ratio(times: list[float], others: list[float]) -> float:
    return median(time / other for time, other in zip(times, others, strict=True))


def _short(value: float) -> float:
    return float(f"{value:.3g}")
