"""The program that kills primaries runs, and after a kill no promise is broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.failover import whole
from tests.acceptance.upgrading.count import Tally

PROGRAM = Path(__file__).with_name("failover.py")


@pytest.mark.parametrize("way", ["direct", "embedded"])
def test_a_kill_breaks_no_promise(postgres_server: str, way: str) -> None:
    """The report is the only line on standard output, and nothing stands beside it."""
    assert postgres_server
    command = [sys.executable, str(PROGRAM), "--executions", "4", "--kills", "1", "--way", way, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    counts = {"executions": 4, "completed": 4, "lost": 0, "doubled": 0, "kills": 1}
    assert json.loads(ran.stdout) == counts | {"ways": {way: counts}, "refused": []}


def test_counts_are_added_up() -> None:
    """Over the ways; a mode that was not refused is not among those that were."""
    direct, session = Tally(3, completed=3), Tally(5, completed=4, lost=1, doubled=2)
    direct.did["kills"] = session.did["kills"] = 2
    report = whole({"direct": direct, "session": session}, {"transaction": "refused", "statement": ""})
    assert {name: report[name] for name in ("executions", "completed", "lost", "doubled", "kills", "refused")} == {
        "executions": 8,
        "completed": 7,
        "lost": 1,
        "doubled": 2,
        "kills": 4,
        "refused": ["transaction"],
    }
