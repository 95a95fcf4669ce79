"""What chaos counts is counted: a journal and notes that break a promise are told, each by its name."""

import asyncio
import json
from typing import Any

import pytest

import rebuno
from rebuno.policy import compile_text
from tests.acceptance.faulting import agent
from tests.acceptance.faulting.checks import PROMISES, Count, look_through


async def run(path: Any, ledger: list[str]) -> rebuno.Execution:
    """One execution to its end, nothing lost."""
    agent.noted = ledger.append
    async with rebuno.open(path, policy=compile_text(agent.BUNDLE)) as kernel:
        return await kernel.run(agent.work, {"n": 10}, id="order-10")


def again(ledger: list[str], target: str) -> None:
    """A second run of a body, noted at the end."""
    line = next(json.loads(one) for one in ledger if json.loads(one)[1] == target)
    ledger.append(json.dumps([*line[:3], "another", "start"]))


@pytest.mark.parametrize(
    ("promise", "target"),
    [("double_runs", "look"), ("at_most_once_doubles", "book"), ("lost", ""), ("duplicates", ""), ("", "")],
)
def test_a_broken_promise_is_counted(tmp_path: Any, promise: str, target: str) -> None:
    """By its name; and a whole run breaks none."""

    async def body() -> None:
        ledger: list[str] = []
        path = tmp_path / "store.db"
        ended = await run(path, ledger)
        count = Count(asked={10})
        count.acknowledged[ended.id] = (ended.status.value, ended.output)
        if target:
            again(ledger, target)
        elif promise == "lost":
            count.acknowledged[ended.id] = (ended.status.value, ["another output"])
        elif promise == "duplicates":
            count.asked.clear()
        async with rebuno.operate(path) as operator:
            await look_through(operator, ledger, count)
        broken = {each for each in PROMISES if count.broken[each]}
        # A body that ran twice and must not did so after its step had succeeded.
        assert broken == {promise, "double_runs"} - {""} if target else broken == {promise} - {""}

    asyncio.run(body())
