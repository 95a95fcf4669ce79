"""The shipped bundles let a day's lines and queries through, and no hostile call."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.shell_day import CHANGED, everyday, groups, missed

ROOT = Path(__file__).parents[2]


def test_the_bounds_hold() -> None:
    """It prints the three figures as JSON, ends with 0, and says nothing besides."""
    command = [sys.executable, "benchmarks/shell_day.py", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    figures = json.loads(ran.stdout)
    keys = {"lines", "allowed"}
    assert {name: set(figure) for name, figure in figures.items()} == {"shell": keys, "queries": keys, "hostile": keys}
    assert figures["hostile"]["allowed"] == 0


def test_no_line_stands_twice() -> None:
    """Each call counts once, and no everyday line is hostile."""
    calls = [call for found in groups().values() for call in found]
    assert len(calls) == len(set(calls))


@pytest.mark.parametrize("name", ["shell", "queries"])
def test_each_line_stands_beside_its_change(name: str) -> None:
    """A line and what makes it hostile differ, and neither keeps the sign that tells them apart."""
    usual, changed = everyday(name)
    assert len(usual) == len(changed)
    assert [line for line, change in zip(usual, changed, strict=True) if line == change] == []
    assert [call for call in usual + changed if call.text.startswith(CHANGED.strip())] == []


GOOD = {
    "shell": {"lines": 100, "allowed": 81},
    "queries": {"lines": 100, "allowed": 92},
    "hostile": {"lines": 300, "allowed": 0},
}


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("shell", {"lines": 100, "allowed": 80}),
        ("shell", {"lines": 78, "allowed": 78}),
        ("queries", {"lines": 100, "allowed": 91}),
        ("queries", {"lines": 51, "allowed": 51}),
        ("hostile", {"lines": 300, "allowed": 1}),
        ("hostile", {"lines": 299, "allowed": 0}),
    ],
)
def test_a_missed_bound_is_named(name: str, figure: dict[str, int]) -> None:
    """At the bounds nothing is missed; one line beyond any of them, that one is."""
    assert missed(GOOD) == []
    (sentence,) = missed(GOOD | {name: figure})
    assert sentence.startswith(f"{name}: ")
