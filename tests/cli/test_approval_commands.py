"""What the person who answers is shown and told: who may answer, what a grant covers, how votes stand."""

import getpass
import json
from pathlib import Path
from typing import Any

import pytest

import rebuno as library
from tests.cli.support import Ran, rebuno

POLICY = """\
bundle house
default deny because "not listed"
rule pay {
  require approval for tool "pay"
  approvers "ana", "ben", "eva"
  quorum 2
  expires 2h
  message "Did you order this?"
  because "money leaves the house"
}
rule shell { require approval for tool "shell" because "shell asks" }
"""


@library.tool(idempotency="at_most_once")
async def pay(to: str, amount: int) -> str:
    """Pays."""
    return f"paid {amount} to {to}"


@library.tool
async def shell(command: str) -> str:
    """Runs a command."""
    return f"ran {command}"


async def payer(to: str) -> str:
    """Pays once."""
    return str(await pay(to=to, amount=40))


async def builder(commands: list[str]) -> list[str]:
    """Runs commands one after the other."""
    return [await shell(command=command) for command in commands]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which a payment and a command wait for people."""
    (tmp_path / "house.rbp").write_text(POLICY)
    _run(tmp_path, payer, {"to": "DE75"}, "pay-1")
    _run(tmp_path, builder, {"commands": ["make", "make test"]}, "build-1")
    return tmp_path


def _run(folder: Path, handler: Any, input: dict[str, Any], key: str) -> library.Execution:
    return library.run_sync(handler, input, path=folder / "a.db", policy=folder / "house.rbp", id=key)


def _ask(folder: Path, *argv: str) -> Ran:
    return rebuno(*argv, "--db", "a.db", within=folder)


def _waiting(folder: Path, target: str) -> dict[str, Any]:
    rows = json.loads(_ask(folder, "approval", "ls", "--json").out)["approvals"]
    (found,) = [row for row in rows if row["target"] == target]
    assert isinstance(found, dict)
    return found


def test_who_may_answer_is_shown(folder: Path) -> None:
    """With how many must agree, until when, and what a grant of each scope covers."""
    row = _waiting(folder, "pay")
    assert (row["approvers"], row["quorum"], row["votes"], row["bundle"]) == (["ana", "ben", "eva"], 2, [], "house")
    assert row["reason"] == "money leaves the house"
    shown = " ".join(_ask(folder, "approval", "get", row["id"]).out.split())
    for line in (
        "rule pay of bundle house",
        "because money leaves the house",
        "approvers 2 of ana, ben, eva",
        "time left 120 min",
        "covers once: this one step with these arguments, if it starts within 120 min of the answer",
        "covers execution: every tool_call of `pay` about which the rule `pay` asks, for the rest of this execution"
        " under the same policy, 120 min from the answer at most",
    ):
        assert line in shown
    assert "time left no limit" in _ask(folder, "approval", "get", _waiting(folder, "shell")["id"]).out


def test_votes_are_counted(folder: Path) -> None:
    """The first is told to wait for another; the second decides; a later one is told by whom."""
    question = _waiting(folder, "pay")["id"]
    first = _ask(folder, "approval", "grant", question, "--as", "ana", "--rationale", "I did")
    assert first.code == 0
    assert first.out.splitlines()[-1] == f"approval {question} pending: 1 grant of 2 so far, others must grant it too"
    shown = _ask(folder, "approval", "get", question).out
    assert f"grant by ana, says {getpass.getuser()} at " in shown
    assert _run(folder, payer, {"to": "DE75"}, "pay-1").status == "blocked"
    assert f"approval {question} pending, granted so far by ana" in _ask(folder, "exec", "trace", "pay-1").out
    second = json.loads(_ask(folder, "approval", "grant", question, "--as", "eva", "--json").out)
    assert (second["status"], [vote["decided_by"] for vote in second["votes"]]) == ("granted", ["ana", "eva"])
    late = _ask(folder, "approval", "deny", question, "--as", "ben")
    assert (late.code, "granted by ana and eva already" in late.err) == (4, True)
    assert _run(folder, payer, {"to": "DE75"}, "pay-1").output == "paid 40 to DE75"


# What is typed after the approval's id → the exit code, and what is said.
REFUSED: list[tuple[list[str], int, str]] = [
    (["--as", "zoe"], 1, "`zoe` is not among the approvers"),  # the answer is no
    (["--as", "Ana"], 1, "names are compared letter by letter"),
    (["--as", "ana "], 2, "write `ana`"),  # a malformed call
    (["--as", "ana", "--scope", "forever"], 2, "one of once, execution, rule"),
]


@pytest.mark.parametrize(("argv", "code", "said"), REFUSED, ids=[" ".join(argv) for argv, _, _ in REFUSED])
def test_answers_that_are_refused(argv: list[str], code: int, said: str, folder: Path) -> None:
    """Each with its exit code, and nothing is recorded."""
    question = _waiting(folder, "pay")["id"]
    ran = _ask(folder, "approval", "grant", question, *argv)
    assert (ran.code, said in ran.err) == (code, True)
    assert _waiting(folder, "pay")["votes"] == []


def test_the_same_person_twice(folder: Path) -> None:
    """Decided already, as far as this person goes."""
    question = _waiting(folder, "pay")["id"]
    _ask(folder, "approval", "grant", question, "--as", "ana")
    again = _ask(folder, "approval", "grant", question, "--as", "ana", "--json")
    assert (again.code, json.loads(again.err)["error"]["code"]) == (4, "conflict")


@pytest.mark.parametrize(
    ("scope", "covers"),
    [
        ("once", "this one step with these arguments, if it starts within 15 min of the answer"),
        (
            "execution",
            "every tool_call of `shell` about which the rule `shell` asks, for the rest of this execution"
            " under the same policy",
        ),
        ("rule", "every step about which the rule `shell` asks, for the rest of this execution under the same policy"),
    ],
)
def test_a_grant_says_what_it_covers_before_it_is_given(scope: str, covers: str, folder: Path) -> None:
    """And covers just that; the story names the grant at every step that it covers."""
    question = _waiting(folder, "shell")["id"]
    argv = () if scope == "once" else ("--scope", scope)
    ran = _ask(folder, "approval", "grant", question, "--as", "ana", *argv)
    assert ran.out == f"scope {scope}: {covers}\napproval {question} granted by ana\n"
    again = _run(folder, builder, {"commands": ["make", "make test"]}, "build-1")
    assert again.status == ("blocked" if scope == "once" else "completed")
    data = json.loads(_ask(folder, "approval", "get", question, "--json").out)
    assert (data["scope"], data["covers"]) == (scope, {scope: covers})
    story = _ask(folder, "exec", "trace", "build-1").out
    assert (f"covered by approval {question} granted by ana, scope {scope}" in story) is (scope != "once")
