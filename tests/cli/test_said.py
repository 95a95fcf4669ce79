"""`rebuno exec say`, and what `get`, `trace`, `verify`, `export` and `import` tell of what the user wrote."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

import rebuno
from rebuno.policy import compile_text
from rebuno_cli.main import main

ASKS = 'bundle b\ndefault allow\nrule ask { require approval for tool "act" unless any turns[] contains "go" }\n'
ACT = rebuno.tool("act")(lambda: "acted")


async def _run(path: Path) -> str:
    async with rebuno.open(path, policy=compile_text(ASKS)) as kernel:
        return str((await kernel.run(ACT, id="waits", agent="agent")).status)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with an execution that waits."""
    assert asyncio.run(_run(tmp_path / "store.db")) == "blocked"
    return tmp_path / "store.db"


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    """The exit code and all that is said."""
    code = main(argv)
    said = capsys.readouterr()
    return code, said.out + said.err


def test_it_is_kept_shown_and_brought_along(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By every command that looks at an execution."""
    there = ("--db", str(db))
    assert told(capsys, "exec", "say", "waits", "wait\n\x1b[31m", "--as", "ana", *there) == (
        0,
        f"execution {_id(capsys, db)} has 1 turn of the user\n",
    )
    code, text = told(capsys, "exec", "say", "waits", "go on", "--as", "ana", "--json", *there)
    turns = json.loads(text)["turns"]
    assert (code, [turn["text"] for turn in turns]) == (0, ["wait\n\x1b[31m", "go on"])
    assert [(turn["number"], turn["by"]) for turn in turns] == [(1, "ana"), (2, "ana")]
    code, text = told(capsys, "exec", "trace", "waits", *there)
    assert code == 0
    assert "the user wrote" in text
    assert "after 1 step by ana: wait\\n\\u001b[31m" in text
    code, text = told(capsys, "exec", "trace", "waits", "--json", *there)
    assert [turn["text"] for turn in json.loads(text)["turns"]] == ["wait\n\x1b[31m", "go on"]
    assert "go on" in told(capsys, "exec", "get", "waits", *there)[1]
    assert told(capsys, "exec", "verify", "waits", *there)[0] == 0
    file, other = db.parent / "run.jsonl", ("--db", str(db.parent / "other.db"))
    assert told(capsys, "exec", "export", "waits", str(file), *there)[0] == 0
    assert told(capsys, "exec", "import", str(file), *other)[0] == 0
    assert told(capsys, "exec", "verify", "waits", *other)[0] == 0
    code, text = told(capsys, "exec", "get", "waits", "--json", *other)
    assert [turn["text"] for turn in json.loads(text)["turns"]] == ["wait\n\x1b[31m", "go on"]


def test_it_is_read_from_standard_input(
    db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `-`; without a name it is the login's own."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("go\n"))
    monkeypatch.setenv("LOGNAME", "ben")
    code, text = told(capsys, "exec", "say", "waits", "-", "--json", "--db", str(db))
    assert code == 0
    (turn,) = json.loads(text)["turns"]
    assert (turn["text"], turn["by"]) == ("go\n", "ben")


def test_what_is_refused(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A blank text is 2, an execution that has ended 4, none 4 as well."""
    there = ("--db", str(db))
    assert told(capsys, "exec", "say", "waits", " ", *there)[0] == 2
    assert told(capsys, "exec", "say", "nothing", "go", *there)[0] == 4
    assert told(capsys, "exec", "cancel", "waits", *there)[0] == 0
    code, text = told(capsys, "exec", "say", "waits", "go", *there)
    assert (code, "has ended" in text) == (4, True)


def _id(capsys: pytest.CaptureFixture[str], db: Path) -> str:
    return str(json.loads(told(capsys, "exec", "get", "waits", "--json", "--db", str(db))[1])["id"])
