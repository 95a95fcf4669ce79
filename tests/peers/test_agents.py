"""Agents of other frameworks survive SIGKILL: no recorded model call is made again, and the answer is the recorded."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.llm.provider import Manner, Provider, provider
from tests.peers.agent import TURNS

ROOT = Path(__file__).parents[2]


@contextmanager
def lives(framework: str, store: Path, stub: Provider) -> Iterator["subprocess.Popen[str]"]:
    """The program that makes the agent's lives."""
    command = [sys.executable, "-W", "error", "-m", f"tests.peers.agents_{framework}", str(store), stub.url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as program:
        yield program
        assert program.stdin is not None
        program.stdin.close()


def live(program: "subprocess.Popen[str]", dies_in: int = 0) -> int:
    """Begins a life; its process."""
    assert program.stdin is not None
    program.stdin.write(f"{dies_in}\n")
    program.stdin.flush()
    process = said(program)
    if not process:
        assert program.stderr is not None
        raise AssertionError(program.stderr.read())
    return int(process)


def said(program: "subprocess.Popen[str]") -> str:
    """The next line that the program says."""
    assert program.stdout is not None
    return program.stdout.readline().strip()


@pytest.mark.parametrize("framework", ["openai", "pydantic", "langchain"])
def test_an_agent_of_another_framework_is_killed_and_resumed(framework: str, tmp_path: Path) -> None:
    """It dies while it waits for an answer of the model, and in the call of its tool that the answer asks for."""
    store = tmp_path / "agent.db"
    with provider(TURNS) as stub, lives(framework, store, stub) as program:
        for turn in range(TURNS):
            waits = Manner(hold=2)
            stub.manners.append(waits)
            process = live(program)
            stub.wait_for(2 * turn + 1)
            os.kill(process, signal.SIGKILL)
            assert said(program) == "killed"
            waits.go.set()
            live(program, dies_in=turn + 1)
            assert said(program) == "killed"
        live(program)
        ended = said(program)
        live(program)
        again = said(program)
    asked = Counter(json.dumps(request.body, sort_keys=True) for request in stub.requests)
    # Once when the life ended that waited for it, and once when the answer was recorded.
    assert list(asked.values()) == [2] * TURNS + [1]
    assert ended == again
    assert ended.startswith(f"completed 'answer {len(stub.requests)} ")
    assert store.with_suffix(".notes").read_text().split() == ["0", "0", "1", "1"]
