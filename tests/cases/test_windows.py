"""D08: killed between the effect and its record. What nobody knows is not done again unless it may be, and is told."""

from pathlib import Path

import pytest

import rebuno
from tests.cases.killing import Agent, effects, killed, run
from tests.embedded.support import in_loop, journal

PAID = ["paid 7"]

# The agent · where it dies → the lines when it is dead, the lines in the end, and what the handler is told.
WINDOWS = [
    ("pays_once", "before", [], [], "indeterminate"),  # the kernel cannot know that nothing happened
    ("pays_once", "between", PAID, PAID, "indeterminate"),
    ("pays_once", "after", PAID, PAID, "paid"),
    ("pays_safely", "before", [], PAID, "paid"),
    ("pays_safely", "between", PAID, PAID * 2, "paid"),
    ("pays_safely", "after", PAID, PAID, "paid"),
]


@pytest.mark.parametrize(("agent", "place", "left", "lines", "told"), WINDOWS, ids=[f"{a}-{p}" for a, p, *_ in WINDOWS])
@in_loop
async def test_a_kill_around_an_effect(
    tmp_path: Path, agent: str, place: str, left: list[str], lines: list[str], told: str
) -> None:
    """D08.1 and 2: the start is on the disk before the body; a second and a third resume change nothing."""
    path = tmp_path / "store.db"
    killed(agent, path, place)
    assert effects(path) == left
    started = (await journal(path))[0][0]
    assert started.started_seq > 0
    assert started.args == {"amount": 7}
    for _ in range(3):
        ended = await run(agent, path)
        assert (ended.output, ended.approvals, effects(path)) == ([told, "noted"], [], lines)


@in_loop
async def test_an_unknown_outcome_is_told_with_its_step_and_settled_in_a_fork(tmp_path: Path) -> None:
    """D08.1: the log has id, time and arguments; a fork from before the step asks a person whether it runs."""
    path = tmp_path / "store.db"
    killed("pays_once", path, "before")
    await run("pays_once", path)
    (step, _), events = await journal(path)
    assert step.error is not None
    assert step.error["reason"] == "indeterminate"
    assert step.started_at is not None
    intent = next(event.event_seq for event in events if event.type == "step.executing")
    async with rebuno.operate(path) as operator:
        fork = await operator.fork("run", at_seq=intent - 1)
    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        waits = await kernel.run(Agent(path).pays_once, id=fork.id, agent="agent")
        assert [(asked.target, asked.args) for asked in waits.approvals] == [("pay_at_most_once", {"amount": 7})]
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana")
        ended = await kernel.run(Agent(path).pays_once, id=fork.id, agent="agent")
    assert (ended.output, effects(path)) == (["paid", "noted"], PAID)
