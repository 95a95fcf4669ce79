"""The benchmark of hooks runs, and prints what its readers look for; no figure of it is judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hook import missed

ROOT = Path(__file__).parents[2]
GOOD = {"wall_ratio": 2.5, "cpu_ratio": 9.0, "cold_ratio": 40.0, "openmoat_cpu_ratio": 1.5}


def test_the_smallest_run_prints_every_ratio() -> None:
    """As JSON and nothing besides; a hook takes longer than a Python that does nothing, and longest without a judge."""
    command = [sys.executable, "benchmarks/hook.py", "--json", "--calls", "3", "--cold", "1"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    ratios = json.loads(ran.stdout)
    assert set(ratios) == set(GOOD)
    assert ratios["cold_ratio"] > ratios["wall_ratio"] > 0
    assert ratios["cpu_ratio"] > 0


@pytest.mark.parametrize(("name", "value"), [("wall_ratio", 2.51), ("cold_ratio", 40.1), ("openmoat_cpu_ratio", 1.51)])
def test_a_missed_bound_is_named(name: str, value: float) -> None:
    """At the bounds nothing is missed, and OpenMoat need not be there; over any of them, that one is."""
    assert missed(GOOD) == []
    assert missed({**GOOD, "openmoat_cpu_ratio": None}) == []
    assert [sentence.split()[0] for sentence in missed({**GOOD, name: value})] == [name]
