"""D01 and D02: a step is found again by what it is and how often it was asked for, not by when it came or ended."""

import asyncio
from pathlib import Path

import pytest

import rebuno
from tests.cases.killing import effects, killed, run
from tests.embedded.support import bundle, in_loop, journal
from tests.embedded.support import run as run_under
from tests.sdk.support import Crash

OPEN = bundle("allow")


@in_loop
async def test_identical_calls_together_and_after_are_four_effects(tmp_path: Path) -> None:
    """D01.1 to 3: four lines and four ids; after a kill the results come back position by position."""
    path = tmp_path / "store.db"
    (first,) = killed("identical", path, "end")
    assert sorted(first) == [1, 2, 3, 4]
    steps, _ = await journal(path)
    assert len({step.step_id for step in steps}) == 4
    ended = await run("identical", path)
    assert (ended.output, effects(path)) == (first, ["a"] * 4)


@pytest.mark.parametrize("count", [2, 5, 20])
@pytest.mark.parametrize("once", [True, False])
@in_loop
async def test_identical_calls_that_end_in_another_order_keep_their_results(
    tmp_path: Path, count: int, once: bool
) -> None:
    """Bodies of equal calls that take the longer the earlier they came: each position has its own result again."""
    path = tmp_path / "store.db"
    ran: list[int] = []
    stops = iter([True])

    async def body() -> int:
        number = len(ran)
        ran.append(number)
        await asyncio.sleep(0.002 * (count - number))
        return number

    async def handler() -> list[int]:
        idempotency = "at_most_once" if once else "safe_to_retry"
        calls = [rebuno.step("same", body, idempotency=idempotency) for _ in range(count)]
        values = await asyncio.gather(*calls)
        if next(stops, False):
            seen.append(values)
            raise Crash
        return values

    seen: list[list[int]] = []
    with pytest.raises(Crash):
        await run_under(path, OPEN, handler)
    ended = await run_under(path, OPEN, handler)
    assert (ended.output, len(ran)) == (seen[0], count)


@in_loop
async def test_parallel_steps_that_end_in_another_order_are_replayed(tmp_path: Path) -> None:
    """D02.1 to 3: nothing runs again, and each name comes back from its own call."""
    path = tmp_path / "store.db"
    killed("parallel", path, "end")
    ended = await run("parallel", path)
    assert ended.output == [["A", "A2"], ["B", "B2"], ["C", "C2"]]
    assert sorted(effects(path)) == ["A", "A2", "B", "B2", "C", "C2"]


@in_loop
async def test_a_new_step_before_recorded_ones_runs_once(tmp_path: Path) -> None:
    """D02.4: the steps that moved are replayed where they stand now."""
    path = tmp_path / "store.db"
    killed("inserted", path, "end")
    ended = await run("inserted", path)
    assert (ended.output, effects(path)) == (["N", "X", "Y"], ["X", "Y", "N"])
    assert ended.replayed == 2
