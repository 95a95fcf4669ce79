"""The program that kills replicas runs, and after a few kills no promise is broken; its counters see what is broken."""

import json
import subprocess
import sys
from pathlib import Path

from tests.acceptance.replicating.killer import Count, look_through

PROGRAM = Path(__file__).with_name("replicas.py")


def test_a_few_kills_break_no_promise(postgres_server: str) -> None:
    """The report is the only line on standard output, and nothing stands beside it."""
    assert postgres_server
    command = [sys.executable, str(PROGRAM), "--executions", "4", "--kills", "2", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {
        "executions": 4,
        "completed": 4,
        "kills": 2,
        "at_most_once_doubles": 0,
        "lost": 0,
    }


def test_bodies_that_ran_twice_are_seen(tmp_path: Path) -> None:
    """Of tools that may run at most once; a safe one may run again."""
    begun = [["a", "look", 1, 0]] * 2 + [
        ["a", "pay", 1, 3],
        ["b", "pay", 1, 3],
        ["a", "book", 1, 1],
        ["a", "book", 1, 2],
    ]
    cases = [("nothing twice", begun, 0), ("a payment twice", [*begun, ["b", "pay", 1, 3]], 1)]
    for why, lines, doubles in cases:
        ledger = tmp_path / why
        ledger.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        count = Count(executions=2, completed=2)
        look_through(ledger, count)
        assert (count.at_most_once_doubles, count.broken) == (doubles, doubles > 0), why
