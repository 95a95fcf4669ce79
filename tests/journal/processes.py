"""Starts `other_process.py` beside a test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def process(deed: str, where: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """`other_process.py`, killed at the end."""
    command = [sys.executable, "-m", "tests.journal.other_process", deed, str(where)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as running:
        try:
            yield running
        finally:
            running.kill()


def line(running: "subprocess.Popen[str]") -> str:
    """The next line that the process says."""
    assert running.stdout is not None
    return running.stdout.readline().strip()
