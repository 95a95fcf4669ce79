"""`rebuno exec trace` on runs that are not like most: forks, pinned ones, changed policies, other ways."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno as library
from rebuno.embedded import PolicyLike
from rebuno.policy import compile_text
from tests.cli.support import rebuno

OPEN = compile_text("bundle tests\ndefault allow\n")


@library.tool("trace.act")
async def act(n: int) -> int:
    return n


@library.tool("trace.ask")
async def ask() -> None:
    """Needs a person under some bundles."""


ASKS = compile_text('bundle tests\ndefault allow\nrule ask { require approval for tool "trace.ask" }\n')
ASKS_TOO = compile_text('bundle tests\ndefault allow\nrule ask { require approval for tool "trace.as*" }\n')


async def agent() -> None:
    """Three steps, of which the last waits."""
    await act(1)
    await act(2)
    await ask()


async def changed() -> None:
    """Another second step."""
    await act(1)
    await act(3)
    await ask()


def _trace(folder: Path, key: str) -> str:
    ran = rebuno("exec", "trace", key, "--db", "agent.db", within=folder)
    assert ran.code == 0
    return ran.out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which `run` waits for a person."""
    library.run_sync(agent, path=tmp_path / "agent.db", policy=ASKS, id="run", agent="agent")
    return tmp_path


def _resume(folder: Path, handler: Callable[..., Any], policy: PolicyLike) -> None:
    async def through() -> None:
        async with library.open(folder / "agent.db", policy=policy) as kernel:
            for asked in await kernel.operator.approvals(status="pending"):
                await kernel.operator.grant(asked.id, decided_by="ana")
            await kernel.run(handler, id="run", agent="agent")

    asyncio.run(through())


def test_another_way_is_told_under_its_attempt(folder: Path) -> None:
    """What was new, and what did not come again."""
    _resume(folder, changed, ASKS)
    out = _trace(folder, "run")
    told = out.partition("it left the way of the recorded run")[2].splitlines()
    assert told[1].startswith("    new: tool_call trace.act [")
    assert told[2].startswith("    not again: tool_call trace.act [")
    data = json.loads(rebuno("exec", "trace", "run", "--json", "--db", "agent.db", within=folder).out)
    assert [run["divergence"] is not None for run in data["attempts"]] == [False, True]
    assert data["attempts"][1]["divergence"]["missing_count"] == 1


def test_another_policy_is_told_at_its_attempt(folder: Path) -> None:
    """Where it begins to count, and nowhere else."""
    _resume(folder, agent, ASKS_TOO)
    out = _trace(folder, "run")
    assert out.count("under another policy than before") == 1
    assert out.index("attempt 2") < out.index(f"under another policy than before: {ASKS_TOO.digest[:12]}")


def test_a_fork_names_its_source(folder: Path) -> None:
    """And what it took over stands before its attempts."""

    async def through() -> str:
        async with library.operate(folder / "agent.db") as operator:
            source = await operator.execution("run")
            await operator.fork("run", key="again")
            return source.id

    source = asyncio.run(through())
    library.run_sync(agent, path=folder / "agent.db", policy=ASKS, id="again", agent="agent")
    out = _trace(folder, "again")
    assert f"a fork of {source} at its event " in out
    assert out.index("taken over") < out.index("trace.act") < out.index("attempt 1")
    assert rebuno("exec", "verify", "again", "--db", "agent.db", within=folder).code == 0


def test_a_pinned_run_says_so(tmp_path: Path) -> None:
    """It is judged by the bundle of its start."""

    async def through() -> None:
        async with library.open(tmp_path / "agent.db", policy=OPEN) as kernel:
            await kernel.run(agent, id="run", agent="agent", pin=True)

    asyncio.run(through())
    assert f"judged to its end by the policy of its start, {OPEN.digest[:12]}" in _trace(tmp_path, "run")
