"""The exit codes, a row a way to end; and that every error is one sentence without a traceback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.cli.support import BUNDLE, CASES, payments, rebuno

GOOD_CASES = CASES.replace("9000}, input: pay DE1, expect: allow", "9000}, expect: require_approval")
SEND = ("policy", "explain", "pay.rbp", "--target", "send_money")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("version",), 0),
        (("--version",), 0),
        (("--version", "policy", "check"), 0),
        (("version", "--json"), 0),
        (("version", "--jsn"), 2),
        (("--help",), 0),
        (("policy", "explain", "--help"), 0),
        ((), 2),  # what to do is not said
        (("policy",), 2),
        (("polcy",), 2),
        (("policy", "check"), 2),
        (("policy", "check", "pay.rbp"), 0),
        (("policy", "check", "."), 2),  # another bundle there is broken
        (("policy", "check", "nowhere"), 2),
        (("policy", "check", "empty"), 2),
        (("policy", "check", "pay.rbp", "--jsn"), 2),
        (("policy", "test", "pay.rbp"), 1),  # a case fails
        (("policy", "test", "good"), 0),
        (("policy", "test", "pay.rbp", "--case", "reads"), 0),
        (("policy", "test", "pay.rbp", "--case", "zebra"), 2),
        (("policy", "test", "good", "--min-coverage", "nan"), 2),  # less than no number
        (("policy", "test", "broken.rbp"), 2),
        (("policy", "test", "untested.rbp"), 0),
        (("policy", "test", "alone.policytest.yaml"), 2),
        (("policy", "test", "nowhere"), 2),
        (SEND, 0),
        ((*SEND, "--expect", "require_approval"), 0),
        ((*SEND, "--expect", "allow"), 1),
        ((*SEND, "--expect", "alow"), 2),
        ((*SEND, "--args", "{"), 2),
        ((*SEND, "--args", '{"a":1,"a":2}'), 2),  # a key twice
        ((*SEND, "--args", "@nowhere.json"), 3),
        ((*SEND, "--args", f"[{10**4299}0]"), 0),  # more digits than Python reads or writes by itself
        ((*SEND, "--args", f"[{10**4299}0]", "--json"), 0),
        ((*SEND, "--agent", "a\udcff"), 2),  # a byte that is no text
        ((*SEND, "--kind", "tol"), 2),
        (("policy", "explain", "pay.rbp", "--target", ""), 2),
        (("policy", "explain", "pay.rbp"), 2),  # no step on standard input
        (("policy", "explain", "broken.rbp", "--target", "x"), 2),
        (("policy", "explain", "nowhere.rbp", "--target", "x"), 2),
        (("exec", "ls"), 2),  # no store is named
        (("exec", "ls", "--db", "postgresql://user:secret@127.0.0.1:1/db"), 3),
        (("exec", "ls", "--db", "nowhere.db"), 3),
        (("exec", "ls", "--db", "pay.rbp"), 3),  # no store
        (("exec", "ls", "--db", "nowhere.db", "--status", "runing"), 2),
        (("exec", "ls", "--limit", "0", "--db", "x"), 2),
        (("exec", "ls", "--limit", "many", "--db", "x"), 2),
        (("approval", "ls", "--db", "nowhere.db", "--status", "open"), 2),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else str(value),
)
def test_how_a_command_ends(tmp_path: Path, argv: tuple[str, ...], code: int) -> None:
    """0 yes, 1 no, 2 wrong usage or errors in a bundle, 3 unusable; an error is said, without a traceback."""
    payments(tmp_path)
    (tmp_path / "broken.rbp").write_text('bundle b\ndefault deny\nrule r { alow tool "x" }\n')
    (tmp_path / "untested.rbp").write_text(BUNDLE)
    (tmp_path / "alone.policytest.yaml").write_text("cases: [{target: x, expect: deny}]\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "good").mkdir()
    payments(tmp_path / "good", GOOD_CASES)
    ran = rebuno(*argv, within=tmp_path)
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    assert bool(ran.err or ran.out)
    if code in (2, 3) and argv[:2] not in {("policy", "check"), ("policy", "test")}:
        assert ran.out == ""


@pytest.mark.parametrize(
    ("argv", "code", "name"),
    [
        (("exec", "ls", "--json"), 2, "validation_error"),
        (("exec", "ls", "--db", "nowhere.db", "--json"), 3, "store_error"),
        (("exec", "ls", "--url", "http://127.0.0.1:9", "--json"), 3, "network_error"),
        (("exec", "ls", "--url", "http://ann:word@127.0.0.1:9", "--json"), 2, "validation_error"),
        (("exec", "list", "--json"), 2, "usage"),
        ((*SEND, "--args", "{", "--json"), 2, "validation_error"),
        (("policy", "explain", "broken.rbp", "--target", "x", "--json"), 2, "bundle_error"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else str(value),
)
def test_with_json_errors_are_json_too(tmp_path: Path, argv: tuple[str, ...], code: int, name: str) -> None:
    """On standard error, one object a line; nothing on standard output."""
    payments(tmp_path)
    (tmp_path / "broken.rbp").write_text('bundle b\ndefault deny\nrule r { alow tool "x" }\n')
    ran = rebuno(*argv, within=tmp_path)
    assert (ran.code, ran.out) == (code, "")
    error = json.loads(ran.err)["error"]
    assert error["code"] == name
    assert error["message"]
    assert ("details" in error) == (name == "bundle_error")


@pytest.mark.parametrize(
    ("argv", "meant"),
    [(("polcy", "check"), "'policy'"), (("policy", "chek"), "'check'"), (("exec", "ls", "--limt", "1"), "'--limit'")],
)
def test_a_misspelt_word_is_told_with_the_right_one(argv: tuple[str, ...], meant: str) -> None:
    """Also where the command that is meant has not been imported."""
    assert f"Did you mean {meant}" in rebuno(*argv).err


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "give `--db PATH` or `--url URL`, or set REBUNO_DB_URL or REBUNO_URL"),
        ({"REBUNO_URL": "http://127.0.0.1:1"}, "the kernel at `http://127.0.0.1:1` cannot be reached"),
        ({"REBUNO_URL": "kernel:8080"}, "`kernel:8080` is no URL of a server"),
        ({"REBUNO_DB_URL": "nowhere.db", "REBUNO_URL": "x"}, "nowhere.db"),  # the file comes first
        ({"REBUNO_DB_URL": "postgresql://u:secret@127.0.0.1:1/d"}, "`postgresql://u@127.0.0.1:1/d` cannot be reached"),
        ({"REBUNO_DB_URL": "mysql://u:secret@h/d"}, "no store is known for URLs of `mysql`"),
    ],
)
def test_where_the_store_is(tmp_path: Path, env: dict[str, str], said: str) -> None:
    """The error names the ways to say it, and never a password."""
    ran = rebuno("exec", "ls", within=tmp_path, env=env)
    assert said in ran.err
    assert "secret" not in ran.err


def test_an_interrupt_ends_quietly(tmp_path: Path) -> None:
    """With the code that shells give to it."""
    with patch("rebuno_cli.connection.server", side_effect=KeyboardInterrupt):
        ran = rebuno("exec", "ls", within=tmp_path)
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def _program(*argv: str) -> list[str]:
    return [sys.executable, "-m", "rebuno_cli.main", *argv]


def _env() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    """`rebuno … | head` ends without a word."""
    payments(tmp_path)
    lines = b'{"target": "send_money"}\n' * 2000
    (tmp_path / "steps").write_bytes(lines)
    with (tmp_path / "steps").open("rb") as steps:
        program = subprocess.Popen(
            _program("policy", "explain", str(tmp_path / "pay.rbp")),
            stdin=steps,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_env(),
        )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.readline()
    program.stdout.close()
    said = program.stderr.read()
    program.stderr.close()
    assert program.wait(30) == 128 + signal.SIGPIPE
    assert said == b""


def test_closed_standard_streams_are_no_fault() -> None:
    """A service manager may start a command without them."""
    line = f'exec "{sys.executable}" -m rebuno_cli.main version <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", line], env=_env(), check=False).returncode == 0
