"""The program that restores a store behind the world runs, and no promise is broken."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("restore.py")


def test_no_effect_is_repeated_without_a_person() -> None:
    """A few executions, of which the copy has some whole, some in part, and some not."""
    command = [sys.executable, str(PROGRAM), "--executions", "8", "--seed", "7", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout)
    assert report["asked"] > 0
    asked = report.pop("asked")
    assert asked <= 80
    assert report == {"executions": 8, "once_without_person": 0, "lost": 0, "unnoticed": 0}
