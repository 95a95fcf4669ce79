"""Traces, reports and stories as they look in a pipe, at 40 columns and on a terminal, compared with files.

Where a change is meant, write the new text into `tests/golden/traces/`.
"""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import payments, rebuno

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "traces"
HOSTILE = '{"to": "DE1\\u001b[31m\\u202e", "amount": "12 ", "note": "[bold]' + "x" * 300 + '"}'
EXPLAIN = ("policy", "explain", "pay.rbp", "--target", "send_money", "--input", '"pay DE1"')

SHOWN = {
    "allow": (*EXPLAIN, "--args", '{"to": "DE1", "amount": 20}'),
    "hostile": (*EXPLAIN, "--args", HOSTILE),  # nothing in the arguments may reach the terminal as it is
    "default": ("policy", "explain", "pay.rbp", "--target", "unknown", "--kind", "llm", "--all"),
    "report": ("policy", "test", "pay.rbp"),
}


@pytest.mark.parametrize("columns", [None, 40], ids=["pipe", "40"])
@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(tmp_path: Path, name: str, columns: int | None) -> None:
    """In a pipe nothing is wrapped; at 40 columns every line fits."""
    payments(tmp_path)
    out = rebuno(*SHOWN[name], within=tmp_path, columns=columns).out
    assert "\x1b" not in out
    assert columns is None or max(map(len, out.splitlines())) <= columns
    assert out == (GOLDEN / f"{name}{'' if columns is None else f'-{columns}'}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colours_only_on_a_terminal_that_wants_them(tmp_path: Path, env: dict[str, str], coloured: bool) -> None:
    """The words are the same with and without; the colours of the arguments never count."""
    payments(tmp_path)
    parent, child = pty.openpty()
    path = os.pathsep.join(path for path in sys.path if path)
    program = subprocess.Popen(
        [sys.executable, "-m", "rebuno_cli.main", *SHOWN["hostile"]],
        stdout=child,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env={"PYTHONPATH": path, "PATH": os.environ["PATH"], **env},
    )
    os.close(child)
    out = b""
    try:
        while part := os.read(parent, 65536):
            out += part
    except OSError:
        pass  # how Linux says that the other side is closed
    os.close(parent)
    assert program.wait(30) == 0
    assert (b"\x1b[" in out) == coloured
    assert b"\x1b[31m\\u202e" not in out
    assert b"require_approval" in out
