"""Replays from pages of successes: in the recorded order, in another, and where the handler goes another way."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import ValidationError
from rebuno.journal.records import StepRow
from rebuno.kernel.core import recorded_steps
from rebuno.kernel.core.recorded_steps import RecordedSteps
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.sdk.support import OPEN, Crash

MANY = 40


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a few steps."""
    monkeypatch.setattr(recorded_steps, "PAGE", 8)


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> list[RecordedSteps]:
    """Fills with what was read anew, as often as that is."""
    found: list[RecordedSteps] = []
    whole = RecordedSteps._read_anew

    def noted(self: RecordedSteps) -> None:
        found.append(self)
        whole(self)

    monkeypatch.setattr(RecordedSteps, "_read_anew", noted)
    return found


ran: list[Any] = []


def body(n: Any) -> Any:
    """Says that it ran."""
    ran.append(n)
    return n


async def one(n: Any, name: str = "n") -> Any:
    """A step of its own; the loop gets a turn, so that pages come."""
    value = await rebuno.step(name, body, {"n": n})
    await asyncio.sleep(0.0005)
    return value


async def twice(
    path: Path, first: Callable[[], Awaitable[Any]], then: Callable[[], Awaitable[Any]], *, policy: str = OPEN
) -> tuple[rebuno.Execution, list[dict[str, Any]]]:
    """A handler that dies at its end and another that resumes its run: how that ended, and in which ways it went
    another way."""
    calls = iter(((first, True), (then, False)))
    ran.clear()

    async def handler() -> Any:
        call, dies = next(calls)
        value = await call()
        if dies:
            raise Crash
        return value

    async with rebuno.open(path / "a.db", policy=compile_text(policy)) as kernel:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run", agent="agent")
        ran.clear()
        ended = await kernel.run(handler, id="run", agent="agent")
        events = await kernel.operator.events(ended.id)
    return ended, [event.payload for event in events if event.type == "execution.diverged"]


async def in_order() -> list[Any]:
    """Many steps, every third of them for the second or third time."""
    return [await one(n if n % 3 else 0) for n in range(MANY)]


@in_loop
async def test_the_recorded_order_is_gone_through_as_it_was_read(tmp_path: Path, anew: list[RecordedSteps]) -> None:
    """Nothing runs and nothing is read anew, also where the same was submitted before."""
    ended, diverged = await twice(tmp_path, in_order, in_order)
    assert ended.output == [n if n % 3 else 0 for n in range(MANY)]
    assert (ended.replayed, ran, diverged, anew) == (MANY, [], [], [])


@in_loop
async def test_pages_wait_for_a_handler_that_is_slower_than_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a policy looks back on steps, so that pages are read whole: two of them at a time are in memory."""
    most = 0
    whole = RecordedSteps._take

    def noted(self: RecordedSteps, page: list[StepRow]) -> None:
        nonlocal most
        whole(self, page)
        most = max(most, len(self.steps))

    monkeypatch.setattr(RecordedSteps, "_take", noted)
    looks_back = OPEN + 'rule twice { deny tool "t" when after local "n" }'
    ended, _ = await twice(tmp_path, in_order, in_order, policy=looks_back)
    assert (ended.replayed, ran) == (MANY, [])
    assert recorded_steps.PAGE < most <= 2 * recorded_steps.PAGE


@in_loop
async def test_branches_may_come_in_another_order(tmp_path: Path, anew: list[RecordedSteps]) -> None:
    """Each has what it had before, from the pages as they were read as far as two of them reach."""

    async def branch(name: str, pause: float) -> list[Any]:
        values = []
        for n in range(MANY // 4):
            values.append(await rebuno.step("n", body, {"n": [name, n]}))
            await asyncio.sleep(pause)
        return values

    async def branches(*pauses: float) -> list[list[Any]]:
        return list(await asyncio.gather(*(branch(name, pause) for name, pause in zip("abcd", pauses, strict=True))))

    ended, diverged = await twice(
        tmp_path, lambda: branches(0.001, 0.001, 0.002, 0.002), lambda: branches(0.002, 0.002, 0.001, 0.001)
    )
    assert ended.output == [[[name, n] for n in range(MANY // 4)] for name in "abcd"]
    assert (ended.replayed, ran, diverged) == (MANY, [], [])
    assert len(anew) <= 1


@in_loop
async def test_any_order_at_all_replays(tmp_path: Path) -> None:
    """From the last step to the first, each with its number among equal ones."""
    back = [n if n % 3 else 0 for n in range(MANY)][::-1]

    async def backwards() -> list[Any]:
        return [await one(n) for n in back]

    ended, diverged = await twice(tmp_path, in_order, backwards)
    assert (ended.output, ended.replayed, ran, diverged) == (back, MANY, [], [])


@in_loop
async def test_what_did_not_come_again_is_told_in_its_order(tmp_path: Path, anew: list[RecordedSteps]) -> None:
    """A new step in the middle of a page: the steps behind it are read after all, and are the ones that are missed."""

    async def straight() -> None:
        for n in range(MANY):
            await one(n)

    async def other() -> None:
        for n in range(11):
            await one(n)
        await one("new")

    ended, (diverged,) = await twice(tmp_path, straight, other)
    assert (ended.status, ended.replayed, ran) == ("completed", 11, ["new"])
    async with rebuno.operate(tmp_path / "a.db") as operator:
        ids = [step.step_id for step in await operator.steps(ended.id)]
    assert diverged["unvisited_count"] == MANY - 11
    assert [step["step_id"] for step in diverged["unvisited"]] == ids[11:21]
    assert len(anew) == 1


@in_loop
async def test_steps_in_bodies_that_have_ended_are_passed_over(tmp_path: Path, anew: list[RecordedSteps]) -> None:
    """They cannot come again, and are no reason to read anything anew."""

    async def inner(n: int) -> int:
        return int(await rebuno.step("inner", body, {"n": n}))

    async def nested() -> list[Any]:
        values = []
        for n in range(MANY // 2):
            values.append(await rebuno.step("outer", inner, {"n": n}))
            await asyncio.sleep(0.0005)
        return values

    ended, diverged = await twice(tmp_path, nested, nested)
    assert (ended.output, ended.replayed, ran, diverged) == (list(range(MANY // 2)), MANY // 2, [], [])
    assert anew == []


@in_loop
async def test_a_new_step_after_the_recorded_ones_has_the_next_number(tmp_path: Path) -> None:
    """Equal ones that replayed in their order count too."""

    async def more() -> list[Any]:
        return [*[await one(n if n % 3 else 0) for n in range(MANY)], await one(1), await one(0)]

    ended, diverged = await twice(tmp_path, in_order, more)
    async with rebuno.operate(tmp_path / "a.db") as operator:
        last = (await operator.steps(ended.id))[-2:]
    assert [step.occurrence for step in last] == [1, (MANY + 2) // 3]
    assert (ended.replayed, ran, diverged) == (MANY, [1, 0], [])


@in_loop
async def test_a_name_that_is_no_text_is_refused_in_the_middle_of_a_replay(tmp_path: Path) -> None:
    """As it is at any other time, and the replay goes on."""

    async def straight() -> list[Any]:
        return [await one(n) for n in range(MANY)]

    async def wrong() -> list[Any]:
        values = [await one(n) for n in range(12)]
        with pytest.raises(ValidationError, match="not valid Unicode"):
            await one(12, "\ud800")
        return values + [await one(n) for n in range(12, MANY)]

    ended, diverged = await twice(tmp_path, straight, wrong)
    assert (ended.output, ended.replayed, ran, diverged) == (list(range(MANY)), MANY, [], [])
