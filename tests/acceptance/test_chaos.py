"""The program that loses answers runs embedded and served, and after some faults no promise is broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("chaos.py")
FAULTS = ("drop", "stall", "partial", "late")
PROMISES = ("double_runs", "at_most_once_doubles", "lost", "duplicates", "failed_by_us", "hung")


def ran(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The program, run to its end."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("more", [(), ("--served",)], ids=["embedded", "served"])
def test_a_few_faults_break_no_promise_on_postgres(postgres_server: str, more: tuple[str, ...]) -> None:
    """The report is the only line on standard output, and nothing is beside it; the server is the program's own."""
    assert postgres_server
    done = ran("--store", "postgres", "--faults", "24", "--executions", "8", "--seed", "1", "--json", *more)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert list(report) == ["executions", "faults", *PROMISES]
    assert {promise: report[promise] for promise in PROMISES} == dict.fromkeys(PROMISES, 0)
    assert report["executions"] >= 8
    assert sum(report["faults"][fault] for fault in FAULTS) >= 24
    assert min(report["faults"][fault] for fault in FAULTS) >= 2


def test_a_few_faults_before_a_server_on_a_file_break_no_promise() -> None:
    """There the only line is that of agents and clients."""
    done = ran("--store", "sqlite", "--served", "--faults", "24", "--executions", "8", "--seed", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert {promise: report[promise] for promise in PROMISES} == dict.fromkeys(PROMISES, 0)


def test_a_file_without_a_server_is_refused_in_words() -> None:
    """It names what can be done instead."""
    done = ran("--store", "sqlite")
    assert done.returncode == 2
    assert "no line to its SQLite file" in done.stderr
    assert "--served" in done.stderr


def test_the_help_names_every_promise_and_every_fault() -> None:
    """So that a report can be read."""
    said = ran("--help").stdout
    for word in (*PROMISES, *(f"`{fault}`" for fault in FAULTS), "--faults", "--executions", "--seed", "--served"):
        assert word in said
