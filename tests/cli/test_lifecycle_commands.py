"""`rebuno exec cancel`, `fork`, `retry` and `sweep`, and what `get` and `ls` tell of such executions."""

import asyncio
import json
from pathlib import Path

import pytest

import rebuno
from rebuno.policy import compile_text
from rebuno_cli.main import main

ACT = rebuno.tool("act")(lambda: "acted")
ASKS = 'bundle b\ndefault allow\nrule ask { require approval for tool "act" }\n'


async def fails() -> None:
    await rebuno.step("before", lambda: 1)
    raise OSError("no")


async def _made(path: Path) -> None:
    async with rebuno.open(path, policy=compile_text(ASKS)) as kernel:
        await kernel.run(ACT, id="waits", agent="agent", pin=True, deadline=1000)
        await kernel.run(fails, id="failed", agent="agent")


@pytest.fixture
def db(tmp_path: Path) -> str:
    """A store with an execution that waits and one that failed."""
    path = tmp_path / "store.db"
    asyncio.run(_made(path))
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    """The exit code and all that is said."""
    code = main(argv)
    said = capsys.readouterr()
    return code, said.out + said.err


def test_cancel_ends_what_has_not_ended(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With its reason; a second time it is 4."""
    code, text = told(capsys, "exec", "cancel", "waits", "--reason", "not needed", "--db", db, "--json")
    found = json.loads(text)
    assert (code, found["status"], found["failure_reason"]) == (0, "cancelled", "not needed")
    for ref in ("waits", "failed"):
        code, text = told(capsys, "exec", "cancel", ref, "--db", db)
        assert code == 4
        assert "already" in text
    code, text = told(capsys, "exec", "cancel", "nobody", "--db", db)
    assert code == 4


def test_get_tells_of_pins_deadlines_and_forks(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As text and as JSON."""
    code, text = told(capsys, "exec", "get", "waits", "--db", db)
    assert (code, "(pinned)" in text, "deadline" in text) == (0, True, True)
    _, text = told(capsys, "exec", "get", "failed", "--db", db)
    assert "pinned" not in text
    assert "deadline" not in text
    found = json.loads(told(capsys, "exec", "get", "waits", "--db", db, "--json")[1])
    assert (found["pinned"], found["deadline_at"][-1], found["forked_from"], found["fork_seq"]) == (True, "Z", None, 0)


def test_fork_and_retry_make_new_executions(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At an event, at the newest one, or before the failure; under an id of one's own, or none."""
    source = json.loads(told(capsys, "exec", "get", "failed", "--db", db, "--json")[1])
    for command, seq in ((("fork", "--at", "2"), 2), (("fork",), source["head_seq"]), (("retry", "--id", "again"), 4)):
        code, text = told(capsys, "exec", command[0], "failed", *command[1:], "--db", db, "--json")
        made = json.loads(text)
        assert (code, made["forked_from"], made["fork_seq"], made["status"]) == (0, source["id"], seq, "running")
        assert made["idempotency_key"] == ("again" if command[0] == "retry" else None)
        shown = told(capsys, "exec", "get", made["id"], "--db", db)[1]
        assert f"from {source['id']} at event {seq}" in shown


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("fork", "failed", "--at", "99"), 2, "and no 99"),
        (("fork", "failed", "--id", "waits"), 4, "another id"),
        (("fork", "failed", "--at", "two"), 2, "valid integer"),
        (("fork", "failed", "--id", ""), 2, "the id is blank"),  # no run could name it
        (("retry", "failed", "--id", "x" * 257), 2, "at most 256 bytes"),
        (("retry", "waits"), 4, "only failed and cancelled"),
        (("retry", "nobody"), 4, "no execution"),
        (("sweep", "--older-than", "soon"), 2, "no age"),
        (("sweep", "--older-than", "-1d"), 2, "no age"),
    ],
)
def test_what_cannot_be_done_says_why(
    db: str, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], code: int, words: str
) -> None:
    """Wrong usage is 2, what is not so (any more) 4."""
    found, text = told(capsys, "exec", *argv, "--db", db)
    assert (found, words in text) == (code, True), text


def test_sweep_removes_what_is_old_and_get_tells_what_is_left(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing without an age; its id then says how it ended."""
    failed = json.loads(told(capsys, "exec", "get", "failed", "--db", db, "--json")[1])["id"]
    assert told(capsys, "exec", "sweep", "--db", db)[0] == 0
    assert told(capsys, "exec", "get", failed, "--db", db)[0] == 0
    code, text = told(capsys, "exec", "sweep", "--older-than", "0s", "--db", db, "--json")
    assert (code, json.loads(text)) == (0, {"overdue": 0, "expired": 0, "released": 0, "removed": 1, "failed": 0})
    code, text = told(capsys, "exec", "get", failed, "--db", db)
    assert (code, "has failed and was removed" in text) == (4, True)
    listed = json.loads(told(capsys, "exec", "ls", "--db", db, "--json")[1])
    assert [row["idempotency_key"] for row in listed["executions"]] == ["waits"]


def test_ls_names_bundle_files_that_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While an execution goes on that began under them."""
    path, rules = tmp_path / "store.db", tmp_path / "agent.rbp"
    rules.write_text(ASKS)

    async def waits() -> None:
        async with rebuno.open(path, policy=rules) as kernel:
            await kernel.run(ACT, id="run", agent="agent")

    asyncio.run(waits())
    assert json.loads(told(capsys, "exec", "ls", "--db", str(path), "--json")[1])["changed_files"] == []
    rules.write_text(f"{ASKS}# changed\n")
    assert json.loads(told(capsys, "exec", "ls", "--db", str(path), "--json")[1])["changed_files"] == [str(rules)]
    assert f"`{rules}` has changed" in told(capsys, "exec", "ls", "--db", str(path))[1]
    assert told(capsys, "exec", "cancel", "run", "--db", str(path))[0] == 0
    assert json.loads(told(capsys, "exec", "ls", "--db", str(path), "--json")[1])["changed_files"] == []
