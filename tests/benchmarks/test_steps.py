"""The benchmark of steps runs, and prints what its readers look for; no figure of it is judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.steps import table
from benchmarks.steps_worker import Worker
from tests.postgres.server import database

ROOT = Path(__file__).parents[2]
WIDTHS = {"1", "8", "32"}
WORKLOADS = {"tool_at_most_once", "strict", "local_safe"}


def test_the_smallest_run_prints_every_figure() -> None:
    """Rates at each width, beside the floor, with the syncs counted; and what a long execution costs."""
    command = ["benchmarks/steps.py", "--no-postgres", "--no-peers", "--steps", "10", "--long", "20"]
    ran = subprocess.run(
        [sys.executable, *command, "--rounds", "1", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert set(report) == {"sqlite", "slow_disk", "floor", "peers", "replay", "flat", "memory"}
    assert set(report["sqlite"]) == WIDTHS | WORKLOADS
    for rows in (report["sqlite"], *(report["sqlite"][workload] for workload in WORKLOADS)):
        for width in WIDTHS:
            assert set(rows[width]) == {"steps_per_s", "relative", "syncs_per_step"}
            assert rows[width]["steps_per_s"] > 0
    assert report["floor"]["sqlite"]["1"]["relative"] == 1
    assert set(report["slow_disk"]) > WIDTHS
    assert report["replay"]["steps_per_s"] > 0
    assert {line.split()[0] for line in table(report).splitlines()[1:]} >= {"sqlite", "floor", "replay:"}


@pytest.mark.parametrize(
    ("runtime", "target", "replays"), [("dbos", "sqlite:///{}/dbos.db", True), ("langgraph", "{}/langgraph.db", False)]
)
def test_a_peer_runs(tmp_path: Path, runtime: str, target: str, replays: bool) -> None:
    """What stands beside us does its steps, and runs again where it can."""
    with Worker("peers_steps", runtime, target.format(tmp_path)) as worker:
        assert worker.ask("steps", 2, 3, "tool_safe")["seconds"] > 0
        if replays:
            assert worker.ask("replay", 5, 1)["seconds"] > 0


@pytest.mark.parametrize(
    ("program", "runtime", "replays"),
    [("steps_kernel", "kernel", True), ("steps_kernel", "postgres-floor", False), ("peers_steps", "absurd", True)],
)
def test_a_runtime_runs_on_postgresql(postgres_server: str, program: str, runtime: str, replays: bool) -> None:
    """Ours, the bare driver, and the peer that knows no other store; each leaves more behind than is emptied."""
    with database(postgres_server) as url, Worker(program, runtime, url) as worker:
        assert worker.ask("steps", 2, 3, "tool_safe")["seconds"] > 0
        if replays:
            assert worker.ask("replay", 5, 2)["seconds"] > 0


def test_a_runtime_that_ends_is_named(tmp_path: Path) -> None:
    """No figure is made up for it."""
    with (
        Worker("steps_kernel", "sqlite-floor", str(tmp_path / "no" / "file.db")) as worker,
        pytest.raises(RuntimeError, match=r"sqlite-floor .* has ended"),
    ):
        worker.ask("steps", 1, 1, "")
