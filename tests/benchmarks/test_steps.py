"""The benchmark of steps runs, and prints what its readers look for; no figure of it is judged here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIGURES = {"steps_per_s", "us_per_step", "syncs_per_step", "relative_cost"}


def test_the_smallest_run_prints_every_figure() -> None:
    """Three workloads, each at 1 and at 32 executions, and the worst of their costs."""
    command = [sys.executable, "benchmarks/steps.py", "--steps", "32", "--rounds", "1", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    costs = [report.pop("worst_relative_cost")]
    assert set(report) == {"1", "32"}
    for workloads in report.values():
        assert set(workloads) == {"tool_safe", "tool_at_most_once", "local_safe"}
        for found in workloads.values():
            assert set(found) == FIGURES
            costs.append(found["relative_cost"])
    assert costs[0] == max(costs)
    assert all(isinstance(cost, int | float) for cost in costs)
