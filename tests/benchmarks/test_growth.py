"""The benchmark of a conversation runs, and its JSON has the agreed figures."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_report_has_every_figure_and_says_what_it_could_not_measure() -> None:
    """Of a conversation that is too short for the bars; an earlier version that git does not have is told plainly."""
    command = [sys.executable, "benchmarks/growth.py", "--store", "sqlite", "--turns", "30", "--rounds", "1", "--json"]
    command += ["--last", "10", "--before", "0" * 40]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("no step_ratio: git does not have 000000000000 here: ")
    report = json.loads(ran.stdout)
    assert set(report) == {"sqlite"}
    found = report["sqlite"]
    assert set(found) == {"times_last_request", "step_ratio", "call_ratio"}
    assert found["step_ratio"] is None
    # Stored whole, the requests would be some fifteen times the last one.
    assert 1 < found["times_last_request"] < 10
    assert found["call_ratio"] > 1
