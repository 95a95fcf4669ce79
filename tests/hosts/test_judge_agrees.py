"""The judge and `rebuno hook run` give one answer to one event."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebuno.hosts import HOSTS
from rebuno.hosts.run import run_hook
from tests.hosts.judges import PATIENCE, JudgeHome
from tests.hosts.support import environ_of
from tests.hosts.vocabulary_rows import ROWS, P

CODING = str(Path(__file__).parents[2] / "policies" / "coding.rbp")
HOOK = (sys.executable, "-P", "-c", "from rebuno_cli.hook_main import main; main()")
# What differs by nature: ids and the place of the store.
ONE_STORE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[^ `\"]*\.db")
CLAUDE, CODEX, GEMINI, OPENCODE = HOSTS


@pytest.fixture
def home(tmp_path: Path) -> Iterator[JudgeHome]:
    """A user with no judge yet."""
    made = JudgeHome(tmp_path)
    yield made
    made.end_judge()


def call(host: str, number: int, tool: str, given: Any, **more: Any) -> dict[str, Any]:
    """The event before a call."""
    if host == OPENCODE:
        asked = {"call": f"c{number}", "tool": tool, "args": given}
        return {"event": "tool.execute.before", "session": "s", "directory": P, "servers": ["mail"], **asked, **more}
    name = "BeforeTool" if host == GEMINI else "PreToolUse"
    asked = {"tool_name": tool, "tool_input": given, "tool_use_id": f"c{number}"}
    return {"session_id": "s", "cwd": P, "hook_event_name": name, **asked, **more}


def events(host: str) -> Iterator[bytes]:
    """Events of a session: each tool of the host, odd ones, and what is none."""
    if host == OPENCODE:
        yield json.dumps({"event": "session.created", "session": "s", "directory": P}).encode()
        yield json.dumps(
            {"event": "chat.message", "session": "s", "directory": P, "text": "go", "typed": True}
        ).encode()
    else:
        place = {"session_id": "s", "cwd": P, "prompt": "go", "source": "startup"}
        for name in ("SessionStart", "BeforeAgent" if host == GEMINI else "UserPromptSubmit"):
            yield json.dumps(place | {"hook_event_name": name}).encode()
    before = "event" if host == OPENCODE else "hook_event_name"
    for number, (tool, given, *_) in enumerate(ROWS[host]):
        yield json.dumps(call(host, number, tool, given)).encode()
    plain = call(host, 900, ROWS[host][0][0], ROWS[host][0][1])
    whole = json.dumps(plain).encode()
    yield from (b"", b" ", b"\0", b"[]", b"null", whole * 2, whole[:-1], b"\xff" + whole, b"\xef\xbb\xbf" + whole)
    yield whole[:-1] + b', "x": NaN}'
    yield whole[:-1] + b', "x": "\\ud800"}'
    yield whole[:-1] + f', "{before}": "Stop"}}'.encode()
    own = "call" if host == OPENCODE else "tool_use_id"
    odd_names: list[Any] = [None, 1, {}, [], "", "pretooluse", "PRETOOLUSE", "New"]
    for wrong in odd_names:
        yield json.dumps(plain | {before: wrong}).encode()
    for name in plain:
        left = {key: value for key, value in plain.items() if key != name}
        for at, odd in enumerate((left, {name: 5}, {name: "x" * 600})):
            fresh = {} if name == own else {own: f"{name}{at}"}
            yield json.dumps(({} if odd is left else plain) | odd | fresh).encode()
    for number, name in enumerate(
        ["Bash\0", "bash", "\u0412ash", "mcp__claude-code__AskUserQuestion", "mcp__a.b__c", "a b"]
    ):
        yield json.dumps(call(host, 950 + number, name, {"command": "ls"})).encode()


@pytest.mark.parametrize("host", HOSTS)
def test_the_judge_answers_as_the_command_does(host: str, home: JudgeHome) -> None:
    """Exit code, words for the host, words for the person. Nothing that is unreadable is let through."""
    environ = environ_of(host) | home.environ
    for event in events(host):
        here = run_hook(
            host, io.BytesIO(event), environ, given={"policy": (CODING,), "db": str(home.folder / "here.db")}
        )
        there = subprocess.run(
            [*HOOK, host, "--policy", CODING, "--db", str(home.folder / "there.db")],
            input=event,
            capture_output=True,
            env=environ,
            cwd=home.project,
            timeout=PATIENCE,
            check=False,
        )
        expected = (here.code, ONE_STORE.sub("ID", here.stdout), ONE_STORE.sub("ID", here.stderr))
        found = (there.returncode, *(ONE_STORE.sub("ID", said.decode()) for said in (there.stdout, there.stderr)))
        assert found == expected, event[:200]
        assert here.code == 2 or (here.code == 0 and not here.stderr)
    assert home.judge_pid()
