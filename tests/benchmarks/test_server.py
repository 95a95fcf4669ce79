"""The benchmark of the served kernel runs, and its JSON has the agreed figures."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_report_has_every_figure() -> None:
    """Rates and latencies by connections, and processor time by part, none of which is nothing."""
    command = [sys.executable, "benchmarks/server.py", "--store", "sqlite", "--seconds", "0.3", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert set(report) == {"sqlite", "cpu_ms", "cores", "bound_by"}
    assert set(report["sqlite"]) == {"1", "16", "64"}
    for found in report["sqlite"].values():
        assert set(found) == {"pairs_per_s", "p50_ms", "p99_ms"}
        assert 0 < found["p50_ms"] <= found["p99_ms"]
        assert found["pairs_per_s"] > 0
    spent = report["cpu_ms"]["sqlite"]
    assert set(spent) == {"http", "auth", "policy", "kernel", "journal", "process"}
    assert abs(sum(spent.values()) - 2 * spent["process"]) < 0.01
    assert min(spent["http"], spent["kernel"], spent["journal"]) > 0


def test_the_kernel_on_postgresql_is_measured_beside_a_floor() -> None:
    """In the same run; and what executions leave in memory."""
    command = [sys.executable, "benchmarks/server.py", "--store", "postgres", "--seconds", "0.2", "--rounds", "1"]
    command += ["--executions", "20", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert set(report) == {"postgres", "cpu_ms", "cores", "bound_by", "ratio", "memory_mb"}
    assert set(report["ratio"]) == {"16", "64"}
    for found in report["ratio"].values():
        assert set(found) == {"cpu", "pairs", "p99"}
        assert min(found.values()) > 0
    assert set(report["memory_mb"]) == {"rest", "after"}
    assert min(report["memory_mb"].values()) > 10
