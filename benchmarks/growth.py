"""What a conversation with a model takes in a store, and what a call in it costs.

    .venv/bin/python benchmarks/growth.py --json

A model call repeats the whole conversation. A handler makes 200 calls, each two kilobytes longer than the one before;
the model is simulated in the same process. `times_last_request` is by how much the store has grown, as a multiple of
the last request: the file after a checkpoint; of PostgreSQL the tables and indexes, as they are, unvacuumed.
`step_ratio` is processor time a step beside an earlier version, which stored each request whole and is taken from the
project's own history: the median of rounds by turns (None: git does not have it). `call_ratio` is processor time of
the last calls, 400 KB each, beside that of what no kernel can do without, in the same run: each body read by orjson,
hashed by SHA-256 and inserted into a bare table. Processor time is that of the process and, of PostgreSQL, the
server's too.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, Final

# Run as a program it finds the packages beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))

import psycopg

from tests.postgres.server import Server, database

ROOT: Final = Path(__file__).parents[1]
# The last version that stored each request whole.
BEFORE: Final = "d6eb61cce5e79dbd025180023c8694adb33a045f"
TURNS: Final = 200
SIZE: Final = 2048
ROUNDS: Final = 3
LAST: Final = 45
_TABLES: Final = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c"
    " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'rebuno' AND c.relkind = 'r'"
)


class Place:
    """Where one kind of store is made anew each time."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.server = stack.enter_context(Server()) if kind == "postgres" else None
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    @contextmanager
    def store(self) -> Iterator[str]:
        """A new store's path or URL."""
        if self.server is not None:
            with database(self.server.url()) as url:
                yield url
        else:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                yield str(Path(folder) / "store.db")

    def size(self, store: str) -> int:
        """The bytes of a store that nobody has open."""
        if self.server is None:
            return Path(store).stat().st_size
        with psycopg.connect(store) as connection:
            row = connection.execute(_TABLES).fetchone()
            return int(row[0]) if row is not None else 0

    def run(self, code: Path, store: str, *options: str) -> dict[str, Any]:
        """What the worker of a version says."""
        command = [sys.executable, str(ROOT / "benchmarks" / "growth_worker.py"), "--store", store, *options]
        if self.server is not None:
            command += ["--server", str(self.server.processes()[0])]
        # Of this environment all, but for where the project is found.
        here = {**os.environ, "PYTHONPATH": str(code)}
        ran = subprocess.run(command, cwd=code, env=here, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(f"the worker failed: {ran.stderr[-2000:]}")
        report: dict[str, Any] = json.loads(ran.stdout)
        if Path(report["version"]) != code:
            raise SystemExit(f"the worker ran {report['version']}, not {code}")
        return report


@contextmanager
def earlier(revision: str) -> Iterator[Path | str]:
    """The folder of an earlier version, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "archive", revision, "rebuno", "grammar", "policies", "pyproject.toml"]
        try:
            made = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        except OSError as error:
            yield f"git cannot be run: {error}"
            return
        if made.returncode:
            yield f"git does not have {revision[:12]} here: {made.stderr.decode(errors='replace').strip()[:200]}"
            return
        with tarfile.open(fileobj=BytesIO(made.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder).resolve()


def measure(kind: str, before: Path | str, turns: int, rounds: int, last: int) -> dict[str, Any]:
    """The figures of one kind of store."""
    with ExitStack() as stack:
        place = Place(kind, stack)
        talk = ("--turns", str(turns), "--size", str(SIZE))
        grown: list[float] = []
        spent: dict[str, list[float]] = {"before": [], "now": []}
        for _ in range(rounds):
            if isinstance(before, Path):
                with place.store() as store:
                    spent["before"].append(place.run(before, store, *talk)["seconds"])
            with place.store() as store:
                # A store with one short run in it, so that what every store has is not counted.
                place.run(ROOT, store, "--turns", "6", "--size", "20")
                empty = place.size(store)
                told = place.run(ROOT, store, *talk)
                spent["now"].append(told["seconds"])
                grown.append((place.size(store) - empty) / told["request"])
        calls = []
        for _ in range(rounds):
            with place.store() as store:
                told = place.run(ROOT, store, *talk, "--last", str(last))
                calls.append(told["seconds"] / told["floor"])
    steps = [now / then for now, then in zip(spent["now"], spent["before"], strict=False)]
    return {
        "times_last_request": round(max(grown), 2),
        "step_ratio": round(median(steps), 2) if steps else None,
        "call_ratio": round(median(calls), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--store", choices=["sqlite", "postgres"], help="only this one")
    parser.add_argument("--before", default=BEFORE, metavar="REVISION", help="the earlier version, as git names it")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--last", type=int, default=LAST, help="how many of the last calls are compared with the floor")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    options = parser.parse_args()
    report = {}
    with earlier(options.before) as before:
        if isinstance(before, str):
            print(f"no step_ratio: {before}", file=sys.stderr)
        for kind in [options.store] if options.store else ["sqlite", "postgres"]:
            report[kind] = measure(kind, before, options.turns, options.rounds, options.last)
    print(json.dumps(report) if options.json else table(report))


def table(report: dict[str, dict[str, Any]]) -> str:
    """The report as lines of text."""
    lines = [f"{'':<10}{'times last request':>20}{'step ratio':>12}{'call ratio':>12}"]
    for kind, found in report.items():
        step = "-" if found["step_ratio"] is None else found["step_ratio"]
        lines.append(f"{kind:<10}{found['times_last_request']:>20}{step:>12}{found['call_ratio']:>12}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
