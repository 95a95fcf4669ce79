"""The benchmark of a database and its replicas runs, and the page has its recorded figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scale import million, model
from benchmarks.scale_page import PAGE, RESULTS, written

ROOT = Path(__file__).parents[2]
STEP = {"replica_ms": 2.0, "database_ms": 0.5, "table_bytes": 1000, "wal_bytes": 2000, "wal_syncs": 1.5}
COSTS = {"replica_ms", "database_ms", "agent_ms", "table_bytes", "wal_bytes", "wal_syncs"}


def test_the_report_has_every_figure(postgres_server: str) -> None:
    """For one replica and two; a step costs something of everything."""
    assert postgres_server
    command = [sys.executable, "benchmarks/scale.py", "--seconds", "0.5", "--width", "4", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert set(report) == {"cores", "width", "steps_of_an_execution", "replicas", "model", "million"}
    assert set(report["replicas"]) == {"1", "2"}
    for one in report["replicas"].values():
        assert set(one["step"]) == COSTS
        assert min(one["step"]["replica_ms"], one["step"]["wal_bytes"], one["step"]["wal_syncs"]) > 0
        assert 0 < one["p50_ms"] <= one["p99_ms"]
        assert one["steps_per_s"] > one["executions_per_s"] > 0
        assert one["connections"] > 0
    assert written(PAGE.read_text(encoding="utf-8"), report) != PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_recorded_figures() -> None:
    """`make scale` writes both."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- figures:") == 5
    assert written(page, json.loads(RESULTS.read_text(encoding="utf-8"))) == page


def test_the_model_is_bound_by_the_lower() -> None:
    """Four replicas of 500 steps a second; PostgreSQL does 2,000 a second on each core."""
    rows = {(row["replicas"], row["database_cores"]): row for row in model(STEP, 9)}
    four = rows[(4, 4)]
    assert (four["steps_per_s"], four["bound_by"], four["connections"]) == (2000, "replicas", 36)
    assert (four["wal_mb_per_s"], four["syncs_per_s"], four["table_gb_per_day"]) == (4.0, 3000, 173)
    dear = {(row["replicas"], row["bound_by"]) for row in model({**STEP, "database_ms": 4.0}, 9)}
    assert (4, "PostgreSQL") in dear


@pytest.mark.parametrize("prices", [(None, None), (0.5, None), (None, 0.1), (0.5, 0.1)])
def test_a_million_steps_have_a_price_where_prices_are_given(prices: tuple[float | None, float | None]) -> None:
    """2,500 core seconds, and a gigabyte."""
    cost = million(STEP, *prices)
    assert (cost["replica_core_s"], cost["database_core_s"], cost["table_gb"], cost["wal_gb"]) == (2000, 500, 1.0, 2.0)
    assert cost["wal_syncs"] == 1_500_000
    assert cost.get("processor_price") == (0.3472 if prices[0] else None)
    assert cost.get("table_price_per_month") == (0.1 if prices[1] else None)
