"""Each example is killed while it waits for a person, and goes on in a new process after the grant."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.scripted import Scripted, scripted
from tests.adapters.support import steps, tells_no_repetition

ROOT = Path(__file__).parents[2]
NAMES = ["pydantic_ai", "langchain", "openai_agents", "claude_agent", "strands"]
PLAN = (
    [("look_up", {"order": 5}), ("delete_customer", {"customer": 7})],
    [("refund", {"order": 5, "amount": 15}), ("refund", {"order": 5, "amount": 40})],
)
COMMAND = [sys.executable, "-c", "import sys; from rebuno_cli.main import main; sys.exit(main(sys.argv[1:]))"]


@contextmanager
def life(name: str, folder: Path, provider: Scripted) -> "Iterator[subprocess.Popen[str]]":
    """One life of an example, in a process of its own."""
    line = [sys.executable, str(ROOT / "examples" / f"desk_{name}.py"), "ticket-1", "Refund order 5, please"]
    env = environment() | {
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "OPENAI_API_KEY": "none",
        "LANGSMITH_TRACING": "false",
        "ANTHROPIC_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "HOME": str(folder / "home"),
    }
    (folder / "helpdesk.rbp").write_text(
        (ROOT / "examples" / "helpdesk.rbp").read_text(encoding="utf-8"), encoding="utf-8"
    )
    with subprocess.Popen(
        line, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "REBUNO", "LANG"))}
    return kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}


def question(process: Any) -> str:
    """The id of the approval that it waits for, once it says so."""
    for line in process.stdout:
        if found := re.search(r"rebuno approval grant (\S+) --db desk\.db", line):
            return found[1]
    raise AssertionError(process.stderr.read())


@pytest.mark.parametrize("answer", ["grant", "deny"])
@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_killed_while_it_waits_and_goes_on(tmp_path: Path, name: str, answer: str) -> None:
    """The allowed calls ran once, the denied one never, and the asked one once after the grant, or not at all."""
    (tmp_path / "home").mkdir()
    prefix = "mcp__desk__" if name == "claude_agent" else ""
    with scripted(*([(f"{prefix}{tool}", args) for tool, args in turn] for turn in PLAN)) as provider:
        with life(name, tmp_path, provider) as first:
            approval = question(first)
            assert ledger(tmp_path) == ["look_up 5", "refund 5 15"]
            first.send_signal(signal.SIGKILL)
        said = [*COMMAND, "approval", answer, approval, "--db", "desk.db", "--as", "emma"]
        subprocess.run(said, cwd=tmp_path, env=environment(), check=True, capture_output=True)
        with life(name, tmp_path, provider) as second:
            out, err = second.communicate(timeout=120)
        assert (second.returncode, out.splitlines()[-1:]) == (0, ["done"]), err
        granted = ["refund 5 40"] if answer == "grant" else []
        assert ledger(tmp_path) == ["look_up 5", "refund 5 15", *granted]
        assert "customers are never deleted" in provider.told["call_0_1"]
        assert ("not allowed" in provider.told["call_1_1"]) is not bool(granted)
        for told in provider.told.values():
            tells_no_repetition(told)
    traced = subprocess.run(
        [*COMMAND, "exec", "ls", "--db", "desk.db", "--json"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    (execution,) = json.loads(traced.stdout)["executions"]
    assert execution["input"] == {"request": "Refund order 5, please"}


def test_a_tool_that_was_killed_is_not_run_again(tmp_path: Path) -> None:
    """A new process goes on from the framework's checkpoint: the model is told that the outcome is unknown, and what
    only reads runs again."""
    env = environment() | {"LANGSMITH_TRACING": "false"}
    with scripted([("pay", {"amount": 3})], [("look_up", {"order": 1})]) as provider:
        line = [sys.executable, "-m", "tests.adapters.killed_agent", str(tmp_path), provider.url]
        lives = [subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True) for _ in range(3)]
        assert [life.returncode for life in lives] == [-signal.SIGKILL, -signal.SIGKILL, 0], lives[-1].stderr
        assert lives[-1].stdout == "done"
        assert ledger(tmp_path) == ["pay 3"]
        assert (tmp_path / "reads.txt").read_text(encoding="utf-8").splitlines() == ["look_up 1", "look_up 1"]
        assert "outcome of pay is unknown" in provider.told["call_0_0"]
        assert provider.told["call_1_0"] == "found"
        tells_no_repetition(provider.told["call_0_0"])
    assert [(step.target, step.status) for step in steps(tmp_path, "s1")] == [
        ("pay", "failed"),
        ("look_up", "succeeded"),
    ]


def ledger(folder: Path) -> list[str]:
    """What the tools did."""
    return sorted((folder / "ledger.txt").read_text(encoding="utf-8").splitlines())
