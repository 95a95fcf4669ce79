"""Recorded histories must still replay: what is on users' disks was written by earlier code."""

import asyncio
from pathlib import Path

import pytest

import rebuno
from rebuno.testing import assert_replays, recorded
from tests.histories.programs import INPUT, PROGRAMS, policy

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.jsonl"))


def _name(path: Path) -> str:
    # `tools.jsonl` and, recorded later with other code, `tools.2.jsonl` are of one program.
    return path.name.partition(".")[0]


def test_every_program_has_a_history() -> None:
    """And no history is without its program."""
    assert {_name(path) for path in FILES} == set(PROGRAMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_history_is_sound_and_replays(path: Path) -> None:
    """Its hashes are those that today's code computes, and its handler goes the recorded way."""
    program = PROGRAMS[_name(path)]
    recording = recorded(path)
    assert recording.execution.status == program.status
    found = assert_replays(recording, program.handler)
    assert found.visited == len([step for step in recording.steps if not step.parent_id])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_history_goes_on_in_a_store(path: Path, tmp_path: Path) -> None:
    """The same line as then resumes it, or returns how it ended; the policy that was kept is the same one still."""
    program = PROGRAMS[_name(path)]
    recording = recorded(path)

    async def through() -> rebuno.Execution:
        async with rebuno.operate(tmp_path / "agent.db", create=True) as operator:
            await operator.restore(recording)
            assert (await operator.verify(recording.execution.id)).fault == ""
        async with rebuno.open(tmp_path / "agent.db", policy=policy()) as kernel:
            key = recording.execution.key
            run = await kernel.run(program.handler, INPUT, id=key, agent=recording.execution.agent_id)
            assert (await kernel.operator.verify(run.id)).fault == ""
            return run

    run = asyncio.run(through())
    assert run.status == {"running": "failed"}.get(program.status, program.status)
    if program.status == "running":
        assert (run.failure_reason or "").startswith("tool_error: endless: the step was started")
    assert recording.execution.digest == policy().digest
