"""`rebuno exec` and `rebuno approval` on a real store."""

import asyncio
import getpass
import json
import sqlite3
from pathlib import Path
from unittest.mock import patch

import pytest

import rebuno as library
from tests.cli.support import Ran, rebuno

POLICY = """\
bundle files
default deny because "not listed"
rule read { allow tool "read" }
rule write { require approval for tool "write" because "writes ask" message "Really?" }
"""
TAIL = "; rm -r /srv\x1b[8m\u202e"


@library.tool
async def read(path: str) -> str:
    """A body that always works."""
    return "text of " + path


@library.tool(idempotency="at_most_once")
async def write(path: str, text: str) -> str:
    """Another."""
    return "written"


async def agent(input: dict[str, str]) -> str:
    """Reads, then writes what a person has to allow."""
    await read(path="a")
    return str(await write(path="b", text="x" * 4000 + TAIL))


def _run(folder: Path, key: str) -> library.Execution:
    policy = folder / "files.rbp"
    policy.write_text(POLICY)
    return library.run_sync(agent, {"q": "\x1b[31m"}, path=folder / "agent.db", policy=policy, id=key)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two executions that wait for a person."""
    _run(tmp_path, "order-1")
    _run(tmp_path, "order-2")
    return tmp_path


def _ask(folder: Path, *argv: str, columns: int | None = None) -> Ran:
    ran = rebuno(*argv, "--db", "agent.db", within=folder, columns=columns)
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.out + ran.err
    return ran


def _first(folder: Path, number: int = 0) -> str:
    rows = json.loads(_ask(folder, "approval", "ls", "--json").out)["approvals"]
    found = rows[number]["id"]
    assert isinstance(found, str)
    return found


def test_executions_are_listed_newest_first(folder: Path) -> None:
    """As a table and as JSON, all or those in one state."""
    lines = _ask(folder, "exec", "ls").out.splitlines()
    assert ["order-2" in lines[2], "order-1" in lines[3], len(lines)] == [True, True, 4]
    data = json.loads(_ask(folder, "exec", "ls", "--json", "--limit", "1").out)
    assert [row["idempotency_key"] for row in data["executions"]] == ["order-2"]
    assert data["executions"][0]["input"] == {"q": "\x1b[31m"}
    assert _ask(folder, "exec", "ls", "--status", "completed").out == "no executions\n"
    assert _ask(folder, "exec", "ls", "--agent", "nobody").out == "no executions\n"


def test_an_execution_is_named_by_id_prefix_or_key(folder: Path) -> None:
    """What names none, or several, is said with code 4."""
    one = json.loads(_ask(folder, "exec", "get", "order-1", "--json").out)
    assert (one["status"], one["attempt"]) == ("blocked", 1)
    assert json.loads(_ask(folder, "exec", "get", one["id"], "--json").out) == one
    shown = _ask(folder, "exec", "get", one["id"][:-2])
    assert (shown.code, "order-1" in shown.out) == (0, True)
    for ref in ("order-3", one["id"][:4], "01"):
        ran = _ask(folder, "exec", "get", ref)
        assert (ran.code, ran.out) == (4, "")


def test_a_filter_that_is_no_text_is_a_wrong_usage(folder: Path) -> None:
    """A command line may hold such bytes; the store is not to blame."""
    ran = _ask(folder, "exec", "ls", "--agent", "a\udcff")
    assert (ran.code, "`agent_id` is not valid Unicode" in " ".join(ran.err.split())) == (2, True)


def test_a_question_is_listed_cut_and_shown_whole(folder: Path) -> None:
    """The list says how much it leaves out; what is to be answered is shown to its last character."""
    listed = _ask(folder, "approval", "ls").out
    assert "characters)" in listed
    assert "rm -r" not in listed
    shown = _ask(folder, "approval", "get", _first(folder)).out
    assert "; rm -r /srv\\u001b[8m\\u202e" in shown
    assert "Really?" in shown
    assert "writes ask" in shown
    assert "this one step with these arguments, if it starts within 15 min of the answer" in shown


def test_a_grant_lets_the_step_run_and_stands_in_the_story(folder: Path) -> None:
    """The next run replays what is known and runs what was granted."""
    question = _first(folder)
    ran = _ask(folder, "approval", "grant", question, "--as", "ann", "--rationale", "fine")
    assert (ran.code, ran.out.splitlines()[1:]) == (0, [f"approval {question} granted by ann"])
    again = _ask(folder, "approval", "deny", question, "--as", "bob")
    assert (again.code, "granted by ann already" in again.err) == (4, True)
    assert _run(folder, "order-1").output == "written"
    story = _ask(folder, "exec", "trace", "order-1").out
    assert f"approval {question} granted by ann: fine" in story
    assert "ran in attempt 2" in story
    assert "replayed in attempt 2" in story
    assert 'end: completed, output "written"' in story
    data = json.loads(_ask(folder, "exec", "trace", "order-1", "--json").out)
    assert [step["outcome"] for step in data["steps"]] == ["succeeded", "succeeded"]


def test_the_agent_is_told_why_it_was_refused(folder: Path) -> None:
    """The rationale of a denial is the reason that it hears."""
    ran = _ask(folder, "approval", "deny", _first(folder, 1), "--rationale", "wrong folder", "--json")
    answered = json.loads(ran.out)
    assert (answered["status"], answered["decided_by"]) == ("denied", getpass.getuser())
    assert "wrong folder" in str(_run(folder, "order-2").output)
    assert len(json.loads(_ask(folder, "approval", "ls", "--status", "all", "--json").out)["approvals"]) == 2
    mine = _ask(folder, "approval", "ls", "--status", "denied", "--execution", "order-2")
    assert "denied" in mine.out


def test_an_approval_that_does_not_exist(folder: Path) -> None:
    """Code 4 for looking and for answering."""
    for command in ("get", "grant", "deny"):
        assert _ask(folder, "approval", command, "nothing").code == 4


def test_without_a_login_name_somebody_has_to_be_named(folder: Path) -> None:
    """An answer of nobody is none."""
    with patch("getpass.getuser", side_effect=OSError):
        ran = _ask(folder, "approval", "grant", _first(folder))
    assert (ran.code, "`--as NAME`" in ran.err) == (2, True)


@pytest.mark.parametrize(
    "argv",
    [("exec", "ls"), ("exec", "get", "order-1"), ("exec", "trace", "order-1"), ("approval", "ls")],
    ids=" ".join,
)
def test_everything_fits_on_forty_columns(folder: Path, argv: tuple[str, ...]) -> None:
    """Tables become names and values there."""
    out = _ask(folder, *argv, columns=40).out
    assert max(map(len, out.splitlines())) <= 40


def test_looking_changes_nothing(folder: Path) -> None:
    """And a store that is not there is not made."""

    async def head() -> list[tuple[int | None, str]]:
        async with library.operate(folder / "agent.db") as operator:
            return [(row.head_seq, row.head_hash) for row in await operator.executions()]

    before = asyncio.run(head())
    for argv in (("exec", "ls"), ("exec", "trace", "order-1"), ("approval", "ls"), ("approval", "get", "x")):
        _ask(folder, *argv)
    assert asyncio.run(head()) == before
    assert rebuno("exec", "ls", "--db", "none.db", within=folder).code == 3
    assert not (folder / "none.db").exists()


@pytest.mark.parametrize(
    ("change", "argv"),
    [
        ("executions SET status = 'weird'", ["exec", "ls"]),
        ("executions SET created_at = 1e300", ["exec", "ls", "--json"]),
        ("steps SET args = '{'", ["exec", "trace", "order-1"]),
        ("steps SET args = '{'", ["exec", "trace", "order-1", "--json"]),
        ("approvals SET created_at = 1e300", ["approval", "ls"]),
        ("events SET occurred_at = 'zz'", ["exec", "trace", "order-1"]),
        ("events SET payload = '{}'", ["exec", "trace", "order-1"]),
        ("events SET payload = '[]'", ["exec", "trace", "order-1"]),
        ("events SET payload = '{\"step_id\":[]}' WHERE type LIKE 'step.%'", ["exec", "trace", "order-1"]),
        ("events SET payload = '{\"attempt\":\"1\"}' WHERE type = 'execution.started'", ["exec", "trace", "order-1"]),
    ],
)
def test_a_damaged_store_is_told_in_a_sentence(folder: Path, change: str, argv: list[str]) -> None:
    """Exit code 3, and what to do."""
    connection = sqlite3.connect(folder / "agent.db")
    with connection:
        connection.execute(f"UPDATE {change}")
    connection.close()
    ran = _ask(folder, *argv)
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert "damaged" in ran.err
    assert "; restore a copy" in ran.err
