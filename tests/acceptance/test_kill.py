"""The program that kills agents runs on both stores, and after a few kills no promise is broken."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("kill.py")
PROMISES = ("double_runs", "at_most_once_doubles", "gaps", "broken_chains", "wrong_outputs", "crashes")
COUNTS = ("kills", "server_kills", "executions", "indeterminate", "store_errors", "points")


def killed(*arguments: str) -> dict[str, Any]:
    """The report: the only line on standard output, and nothing beside it."""
    command = [sys.executable, str(PROGRAM), *arguments, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report: dict[str, Any] = json.loads(ran.stdout)
    assert set(report) == {*COUNTS, *PROMISES}
    assert {promise: report[promise] for promise in PROMISES} == dict.fromkeys(PROMISES, 0)
    return report


def test_a_few_kills_break_no_promise_on_sqlite() -> None:
    """The points say where the killed executions stood, three a process at most."""
    report = killed("--store", "sqlite", "--kills", "3")
    assert report["kills"] == 3
    assert 3 <= sum(report["points"].values()) <= 9
    assert report["executions"] >= 6


def test_a_few_kills_break_no_promise_on_postgres(postgres_server: str) -> None:
    """The server is one of the program's own, and is killed too."""
    assert postgres_server
    report = killed("--store", "postgres", "--kills", "3")
    assert report["kills"] == 3
    assert report["server_kills"] >= 1
