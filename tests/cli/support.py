"""Runs the command in this process, as a pipe would see it."""

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from rebuno_cli.main import main

BUNDLE = """\
# Payments.
bundle pay
default deny because "not a payment tool"

known payees = input
            or result of tool "list_payees" at [].iban

rule reads {
  allow tool "get_*", "list_*"
}

rule known-payee {
  allow tool "send_money"
  when args.to in payees and args.amount <= 2500
  because "a known payee and a moderate amount"
}

rule ask {
  require approval for tool "send_money"
  because "a payee that the user did not name"
}

rule no-shell {
  deny tool "shell"
  because "no shell here"
}
"""

CASES = """\
agent_id: banker
cases:
  - {name: reads are free, target: get_balance, expect: allow, expect_rule: reads}
  - name: a payee from the list
    target: send_money
    args: {to: DE1, amount: 20}
    history: [{target: list_payees, result: [{iban: DE1}]}]
    expect: allow
  - {name: too much, target: send_money, args: {to: DE1, amount: 9000}, input: pay DE1, expect: allow}
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def rebuno(
    *argv: str,
    stdin: bytes = b"",
    within: Path | None = None,
    columns: int | None = None,
    env: dict[str, str] | None = None,
    terminal: bool = False,
) -> Ran:
    """Runs `rebuno ARGV` in the folder `within`, without the variables of the user who runs the tests. `terminal` says
    that standard output takes itself for one."""
    out, err = _stream(terminal=terminal), _stream()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("REBUNO", "COLUMNS", "NO_COLOR"))}
    if columns is not None:
        kept["COLUMNS"] = str(columns)
    with (
        patch.dict(os.environ, kept | (env or {}), clear=True),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(within or Path.cwd()),
    ):
        code = main(argv)
    return Ran(code, _text(out), _text(err))


def payments(folder: Path, cases: str = CASES) -> Path:
    """A bundle with its cases in `folder`; returns the bundle."""
    (folder / "pay.rbp").write_text(BUNDLE)
    (folder / "pay.policytest.yaml").write_text(cases)
    return folder / "pay.rbp"


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def _stream(*, terminal: bool = False) -> io.TextIOWrapper:
    return (_Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
