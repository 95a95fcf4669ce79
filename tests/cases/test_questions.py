"""What the person who is asked sees, and can say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rebuno
from tests.cases.playing import HERE
from tests.cli.support import Ran
from tests.cli.support import rebuno as command

TAIL = "; rm -r /srv/projects/of/everybody/\x1b[8m"
COMMAND = "echo \x1b[31m\u202e\u200b" + "a" * (4000 - len(TAIL)) + TAIL

POLICY = """\
bundle builders
default deny because "not a tool of this agent"
rule shell {
  require approval for tool "shell"
  expires 1h
  message "Does this belong to the build?"
  because "somebody looks at every command"
}
"""


@rebuno.tool
async def shell(command: str) -> str:
    """Would run it."""
    return "ran"


async def builder() -> str:
    """Runs one command."""
    return str(await shell(command=COMMAND))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which the command waits for somebody."""
    (tmp_path / "builders.rbp").write_text(POLICY)
    _run(tmp_path)
    return tmp_path


def _run(folder: Path) -> rebuno.Execution:
    return rebuno.run_sync(builder, path=folder / "a.db", policy=folder / "builders.rbp", id="build-7")


def _ask(folder: Path, *argv: str) -> Ran:
    ran = command(*argv, "--db", "a.db", within=folder)
    # Nothing of what the agent wrote reaches the terminal as it is.
    assert not {"\x1b", "\u202e", "\u200b"} & set(ran.out + ran.err)
    return ran


def _question(folder: Path) -> dict[str, Any]:
    (found,) = json.loads(_ask(folder, "approval", "ls", "--json").out)["approvals"]
    assert isinstance(found, dict)
    return found


def test_the_list_says_how_much_it_leaves_out(folder: Path) -> None:
    """T06: a command whose end is not shown does not look whole."""
    listed = _ask(folder, "approval", "ls").out
    assert "rm -r" not in listed
    assert "characters)" in "".join(listed.split("\n"))


def test_one_question_is_shown_whole(folder: Path) -> None:
    """T06: every character of the command, hidden ones spelled out; run, step, target, arguments, rule and its reason,
    age and time left."""
    question = _question(folder)
    shown = _ask(folder, "approval", "get", question["id"]).out
    text = "".join(line.strip() for line in shown.splitlines())
    assert r"echo \u001b[31m\u202e\u200b" + "a" * (4000 - len(TAIL)) + r"; rm -r" in text
    assert r"/srv/projects/of/everybody/\u001b[8m" in text
    lines = {line[:9].strip(): line[10:] for line in shown.splitlines()}
    assert lines["execution"] == question["execution_id"]
    assert lines["step"] == question["step_id"]
    assert lines["target"] == "shell"
    assert lines["rule"] == "shell of bundle builders"
    assert lines["because"] == "somebody looks at every command"
    assert lines["message"] == "Does this belong to the build?"
    assert lines["asked"].endswith(" ago")
    assert lines["time left"] == "60 min"
    assert question["args"] == {"command": COMMAND}


def test_a_grant_says_what_it_covers_first(folder: Path) -> None:
    """T06: this one step, if nothing else is said, and for how long; then that it is given."""
    question = _question(folder)
    said = _ask(folder, "approval", "grant", question["id"], "--as", "ana").out.splitlines()
    assert said[0].startswith("scope once: this one step with these arguments, if it starts within 60 min")
    assert said[-1] == f"approval {question['id']} granted by ana"
    assert _run(folder).output == "ran"


def test_a_comment_on_a_denial_reaches_the_agent(folder: Path) -> None:
    """T06: it is part of what the agent is told, and stands in the journal."""
    question = _question(folder)
    assert _ask(folder, "approval", "deny", question["id"], "--as", "ana", "--rationale", "wrong folder").code == 0
    assert "wrong folder" in str(_run(folder).output)
    story = json.loads(_ask(folder, "exec", "trace", "build-7", "--json").out)
    (asked,) = story["steps"][0]["approvals"]
    assert (asked["status"], asked["decided_by"], asked["rationale"]) == ("denied", "ana", "wrong folder")


def test_nobody_has_to_sit_at_a_terminal(folder: Path) -> None:
    """T06: without an input to read from there is no prompt; the exit code and JSON say how it went."""
    question = _question(folder)

    def answer(*argv: str) -> tuple[int, Any, Any]:
        program = [sys.executable, "-m", "rebuno_cli.main", "approval", *argv, "--db", "a.db", "--json"]
        env = {"PYTHONPATH": f"{HERE.parents[1]}:{HERE.parents[1] / 'cli'}", "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            program,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        given, error = (json.loads(text) if text else None for text in (done.stdout, done.stderr))
        return done.returncode, given, error

    code, given, _ = answer("grant", question["id"], "--as", "ana")
    assert (code, given["status"], given["scope"], given["decided_by"]) == (0, "granted", "once", "ana")
    code, _, error = answer("deny", question["id"], "--as", "ben")
    assert (code, error["error"]["code"]) == (4, "conflict")
    assert "granted by ana already" in error["error"]["message"]
