"""The judge judges by what the bundles, the settings and the store are now."""

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.judges import JudgeHome, decision, shell, until, write_settings

BUNDLE = """bundle small
default deny because "not this"

use "words.rbp"

rule reads {
  allow tool "shell" when args.command in allowed
}
rule asks {
  require approval for tool "shell" when args.command == "make"
  message "Build it?"
}
"""
WORDS = '# Words of the bundle.\n\nlet allowed = ["ls"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Iterator[JudgeHome]:
    """A home with settings, whose judge runs and has answered once."""
    made = JudgeHome(tmp_path)
    (tmp_path / "small.rbp").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "words.rbp").write_text(WORDS, encoding="utf-8")
    write_settings(made, policy=[str(tmp_path / "small.rbp")])
    assert decision(made.hook(shell("ls", "first"))) == "allow"
    assert decision(made.hook(shell("pwd", "second"))) == "deny"
    yield made
    made.end_judge()


def edited(home: JudgeHome, name: str, old: str, new: str) -> None:
    """A bundle file with something else in it, of the same length where both texts are, and written at once."""
    file = home.folder / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def refusal(answer: "subprocess.CompletedProcess[str]") -> str:
    """What the hook says where it cannot judge."""
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("rebuno: the call must not run: ")
    return answer.stderr


def test_a_changed_bundle_holds_from_the_next_call_on(home: JudgeHome) -> None:
    """Also for a session that has begun, and in the same judge."""
    judge = home.judge_pid()
    edited(home, "small.rbp", '"make"', '"pwd"')
    edited(home, "small.rbp", "args.command in allowed", 'args.command == "make"')
    assert decision(home.hook(shell("ls", "a"))) == "deny"
    assert decision(home.hook(shell("make", "b"))) == "allow"
    assert home.judge_pid() == judge


def test_a_changed_file_that_a_bundle_uses_holds_too(home: JudgeHome) -> None:
    """The text has as many bytes as before."""
    edited(home, "words.rbp", '"ls"', '"id"')
    assert decision(home.hook(shell("ls", "a"))) == "deny"
    assert decision(home.hook(shell("id", "b"))) == "allow"


def test_a_broken_bundle_refuses_every_call_until_it_is_repaired(home: JudgeHome) -> None:
    """What it said before does not hold any more; the message tells what is wrong, and how to see all of it."""
    edited(home, "small.rbp", "rule reads", "rul reads")
    for call in ("a", "b"):
        sentence = refusal(home.hook(shell("ls", call)))
        assert "small.rbp:6" in sentence
        assert "`rebuno policy check` shows all" in sentence
    edited(home, "small.rbp", "rul reads", "rule reads")
    assert decision(home.hook(shell("ls", "c"))) == "allow"


@pytest.mark.parametrize("name", ["small.rbp", "words.rbp"])
def test_a_bundle_that_is_gone_refuses_every_call(home: JudgeHome, name: str) -> None:
    """Its file is named."""
    (home.folder / name).unlink()
    assert name in refusal(home.hook(shell("ls", "a")))


def test_under_observe_a_broken_bundle_stops_nothing(home: JudgeHome) -> None:
    """The failure is kept for doctor."""
    write_settings(home, observe=True)
    edited(home, "small.rbp", "rule reads", "rul reads")
    answer = home.hook(shell("pwd", "a"))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    failures = (home.folder / "state" / "rebuno" / "hook-failures.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["observed"] for line in failures] == [True]


def test_a_call_that_waits_is_judged_anew_where_the_bundle_changes(home: JudgeHome) -> None:
    """It was asked about under a rule that is no more. Another call brings the change to light."""
    with home.hooking(shell("make", "a"), "--wait", "600", "--timeout", "900") as waiting:
        until(lambda: questions(home))
        edited(home, "small.rbp", "require approval for", "deny")
        edited(home, "small.rbp", '"make"\n  message "Build it?"', '"make" because "no builds today"')
        assert decision(home.hook(shell("ls", "b", session="other"))) == "allow"
        out, said = waiting.communicate()
    answer = subprocess.CompletedProcess(waiting.args, waiting.returncode, out, said)
    assert decision(answer) == "deny"
    assert "no builds today" in out


def questions(home: JudgeHome) -> int:
    """How many questions wait in the store."""
    with sqlite3.connect(home.folder / "state" / "rebuno" / "hooks.db") as store:
        return int(store.execute("SELECT count(*) FROM approvals").fetchone()[0])


def test_changed_settings_hold_from_the_next_call_on(home: JudgeHome) -> None:
    """Another bundle judges, and the calls before are still known."""
    (home.folder / "none.rbp").write_text('bundle none\ndefault deny because "nothing"\n', encoding="utf-8")
    write_settings(home, policy=[str(home.folder / "none.rbp")])
    assert decision(home.hook(shell("ls", "a", session="new"))) == "deny"


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"policy": 3}, "`policy`"), ({"version": 9}, "`version`"), ({"timeout": "x"}, "`timeout`"), ({"x": 1}, "`x`")],
)
def test_settings_that_are_none_refuse_every_call(home: JudgeHome, settings: dict[str, object], named: str) -> None:
    """The field is named."""
    write_settings(home, **settings)
    assert named in refusal(home.hook(shell("ls", "a")))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--wait", "soon"], "`--wait` is no span of time: `soon`"),
        (["--wait=-1"], "`--wait` is no span of time: `-1`"),
        (["--nothing"], "no option `--nothing`"),
        (["--db"], "no option `--db`, or it lacks its value"),
        (["--observe=no"], "no option `--observe`"),
    ],
)
def test_options_that_are_none_refuse_the_call(home: JudgeHome, options: list[str], named: str) -> None:
    """As they would without a judge."""
    assert named in refusal(home.hook(shell("ls", "a"), *options))


def test_paths_on_the_command_line_are_those_of_the_host(home: JudgeHome) -> None:
    """The judge runs in a folder of its own."""
    (home.project / "own.rbp").write_text(
        'bundle own\ndefault deny because "x"\nrule all { allow tool "shell" }\n', encoding="utf-8"
    )
    options = ["--policy", "own.rbp", "--db=own.db"]
    assert decision(home.hook(shell("pwd", "a", session="own"), *options)) == "allow"
    assert (home.project / "own.db").exists()


def test_a_call_does_not_run_where_the_store_is_gone(home: JudgeHome) -> None:
    """What the session did is forgotten. A new session begins a new store, in the same judge."""
    judge = home.judge_pid()
    for file in ("hooks.db", "hooks.db-wal", "hooks.db-shm"):
        (home.folder / "state" / "rebuno" / file).unlink()
    assert "is gone" in refusal(home.hook(shell("ls", "a")))
    begun = {"hook_event_name": "UserPromptSubmit", "session_id": "new", "cwd": "/", "prompt": "List it."}
    assert home.hook(begun).returncode == 0
    assert decision(home.hook(shell("ls", "b", session="new"))) == "allow"
    assert home.judge_pid() == judge


def test_a_store_that_is_locked_stops_its_calls_and_no_others(home: JudgeHome) -> None:
    """A program that holds the lock keeps the call waiting until the hook's time is over."""
    with sqlite3.connect(home.folder / "state" / "rebuno" / "hooks.db", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with home.hooking(shell("ls", "a"), "--timeout", "8") as waiting:
            other = home.hook(shell("ls", "b", session="other"), "--db", str(home.folder / "other.db"))
            assert decision(other) == "allow"
            out, said = waiting.communicate()
        holder.execute("ROLLBACK")
    refusal(subprocess.CompletedProcess(waiting.args, waiting.returncode, out, said))
    assert decision(home.hook(shell("ls", "c"))) == "allow"
