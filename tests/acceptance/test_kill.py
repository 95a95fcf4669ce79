"""The program that kills agents runs, and after a few kills no promise is broken."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("kill.py")
PROMISES = ("double_runs", "at_most_once_doubles", "gaps", "wrong_outputs")


def test_three_kills_break_no_promise() -> None:
    """The report counts what was killed and where; it is the only line on standard output."""
    command = [sys.executable, str(PROGRAM), "--store", "sqlite", "--kills", "3", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert set(report) == {"kills", "executions", "indeterminate", "points", *PROMISES}
    assert {promise: report[promise] for promise in PROMISES} == dict.fromkeys(PROMISES, 0)
    assert report["kills"] == sum(report["points"].values()) == 3
    assert report["executions"] >= 2
