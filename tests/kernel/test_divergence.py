"""A resumed handler that takes another way: what is asked, what is recorded, and what is no divergence."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.journal.records import StepRow
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.core import recorded_steps
from rebuno.model.decision import DIVERGED
from rebuno.policy import compile_text
from tests.embedded.support import answer, bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")


def pay(amount: int, ran: list[Any]) -> Any:
    """An effect that may be done once."""
    return rebuno.step("pay", lambda amount: ran.append(amount), {"amount": amount}, idempotency="at_most_once")


async def crashed(path: Path, text: str, handler: Any) -> None:
    with pytest.raises(Crash):
        await run(path, text, handler)


async def told(path: Path) -> list[tuple[list[str], list[str]]]:
    """What each `execution.diverged` names: the steps that did not come again, and the new ones."""
    _, events = await journal(path)
    return [
        ([s["target"] for s in e.payload["unvisited"]], [s["target"] for s in e.payload["fresh"]])
        for e in events
        if e.type == "execution.diverged"
    ]


@in_loop
async def test_another_effect_in_the_place_of_a_recorded_one_needs_a_person(tmp_path: Path) -> None:
    """The question shows both; after a grant it runs, and the log says what came instead of what."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    amounts = iter([100, 900, 900])

    async def handler() -> str:
        await pay(next(amounts), ran)
        if len(ran) == 1:
            raise Crash
        return "paid"

    await crashed(path, OPEN, handler)
    blocked = await run(path, OPEN, handler)
    (asked,) = blocked.approvals
    assert (asked.rule_id, asked.args) == (DIVERGED, {"amount": 900})
    assert '`pay` {"amount":100}' in (asked.message or "")
    assert '`pay` {"amount":900}' in (asked.message or "")
    assert ran == [100]
    await answer(path, asked.id, granted=True)
    ended = await run(path, OPEN, handler)
    assert (ended.output, ran) == ("paid", [100, 900])
    assert await told(path) == [(["pay"], ["pay"]), (["pay"], [])]


@in_loop
async def test_a_grant_is_not_used_for_another_call(tmp_path: Path) -> None:
    """What was granted stays granted and unused, a new question comes, and it shows both calls."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    amounts = iter([100, 900])
    text = 'bundle b\ndefault allow\nrule pay { require approval for local "pay" message "Pay?" }\n'

    async def handler() -> None:
        await pay(next(amounts), ran)

    first = await run(path, text, handler)
    await answer(path, first.approvals[0].id, granted=True)
    second = await run(path, text, handler)
    (asked,) = second.approvals
    assert (asked.rule_id, asked.args, ran) == ("pay", {"amount": 900}, [])
    assert (asked.message or "").startswith("Pay?\n")
    assert '{"amount":100}' in (asked.message or "")
    steps, _ = await journal(path)
    assert [(step.args, step.status) for step in steps] == [
        ({"amount": 100}, "allowed"),
        ({"amount": 900}, "awaiting_approval"),
    ]


@pytest.mark.parametrize("on_divergence", ["record", "block"])
@in_loop
async def test_a_new_step_before_the_recorded_ones(tmp_path: Path, on_divergence: Any) -> None:
    """It runs once and the recorded steps replay, unless every new step in such a place is to be asked about."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    code = iter([["X", "Y"], ["N", "X", "Y"], ["N", "X", "Y"]])

    async def handler() -> list[str]:
        names = next(code)
        for name in names:
            await rebuno.tool(f"divergence-{name}")(lambda name=name: ran.append(name))()
        if len(ran) == 2:
            raise Crash
        return names

    await crashed(path, OPEN, handler)
    async with rebuno.open(path, policy=compile_text(OPEN)) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent", on_divergence=on_divergence)
    if on_divergence == "block":
        (asked,) = ended.approvals
        assert (asked.target, asked.rule_id) == ("divergence-N", DIVERGED)
        assert "`divergence-X`" in (asked.message or "")
        assert ran == ["X", "Y"]
        await answer(path, asked.id, granted=True)
        ended = await run(path, OPEN, handler)
    assert (ended.status, ran) == ("completed", ["X", "Y", "N"])
    assert [targets for targets, _ in await told(path)] == (
        [["divergence-X", "divergence-Y"]] if on_divergence == "block" else []
    )


@pytest.mark.parametrize("ending", ["returns", "raises"])
@in_loop
async def test_steps_that_do_not_come_again_are_told_at_the_end(tmp_path: Path, ending: str) -> None:
    """With what came instead, whether the handler returns or raises."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    names = iter(["old", "new"])

    async def handler() -> None:
        await rebuno.step(next(names), lambda: ran.append(1))
        if len(ran) == 1:
            raise Crash
        if ending == "raises":
            raise OSError("no")

    await crashed(path, OPEN, handler)
    await run(path, OPEN, handler)
    assert await told(path) == [(["old"], ["new"])]
    _, events = await journal(path)
    assert events[-1].type == ("execution.failed" if ending == "raises" else "execution.completed")


@in_loop
async def test_branches_that_come_in_another_order_do_not_diverge(tmp_path: Path) -> None:
    """Effects of one tool in parallel branches, of which the later ones were recorded: nobody is asked."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    first = iter([True])
    others_paid = asyncio.Semaphore(0)

    async def branch(n: int, slow: bool) -> None:
        await rebuno.step("fetch", lambda n: n, {"n": n})
        if slow and n == 0:
            await others_paid.acquire()
            await others_paid.acquire()
            raise Crash
        await pay(n, ran)
        others_paid.release()

    async def handler() -> None:
        slow = next(first, False)
        await asyncio.gather(*(branch(n, slow) for n in range(3)))

    await crashed(path, OPEN, handler)
    assert sorted(ran) == [1, 2]
    ended = await run(path, OPEN, handler)
    assert (ended.status, sorted(ran)) == ("completed", [0, 1, 2])
    assert await told(path) == []


@in_loop
async def test_steps_inside_a_replayed_one_are_not_missed(tmp_path: Path) -> None:
    """Nobody can come to them again: neither is anybody asked about the next effect, nor is a divergence told."""
    path = tmp_path / "store.db"
    ran: list[Any] = []

    async def outer() -> None:
        await pay(1, ran)

    async def handler() -> None:
        await rebuno.step("outer", outer)
        if len(ran) == 1:
            ran.append("crash")
            raise Crash
        await pay(2, ran)

    await crashed(path, OPEN, handler)
    ended = await run(path, OPEN, handler)
    assert (ended.status, ran) == ("completed", [1, "crash", 2])
    assert await told(path) == []


@in_loop
async def test_a_denied_step_that_does_not_come_again_is_no_reason_to_ask(tmp_path: Path) -> None:
    """It did nothing, and never will."""
    path = tmp_path / "store.db"
    ran: list[Any] = []
    amounts = iter([100, 900])
    text = 'bundle b\ndefault allow\nrule big { deny local "pay" when args.amount == 100 }\n'

    async def handler() -> str:
        try:
            await pay(next(amounts), ran)
        except rebuno.PolicyError:
            raise Crash from None
        return "paid"

    await crashed(path, text, handler)
    assert ((await run(path, text, handler)).output, ran) == ("paid", [900])


@in_loop
async def test_how_to_take_a_divergence_is_one_of_two_words(tmp_path: Path) -> None:
    """Anything else is refused before anything is recorded."""
    async with rebuno.open(tmp_path / "store.db", policy=rebuno.PERMISSIVE) as kernel:
        word: Any = "ask"
        with pytest.raises(rebuno.ValidationError, match="neither `record` nor `block`"):
            await kernel.run(lambda: None, agent="agent", on_divergence=word)
        assert await kernel.operator.executions() == []


@in_loop
async def test_a_branch_that_waits_for_its_texts_is_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps so far ahead that they are read a second time are no reason to ask about what another branch does next."""
    read = SQLiteStore.steps

    async def slowly(self: SQLiteStore, execution_id: str, **how: Any) -> list[StepRow]:
        for _ in range(100):
            await asyncio.sleep(0)
        return await read(self, execution_id, **how)

    monkeypatch.setattr(SQLiteStore, "steps", slowly)
    monkeypatch.setattr(recorded_steps, "PAGE", 2)
    path = tmp_path / "store.db"
    ran: list[Any] = []
    short = iter([1, 2])

    async def branch(first: int, count: int) -> None:
        for n in range(count):
            await pay(first + n, ran)

    async def handler() -> str:
        if ran:
            # What is new has the log read to its end.
            await rebuno.step("new", lambda: None)
        await asyncio.gather(branch(0, next(short)), branch(100, 30))
        if len(ran) == 31:
            raise Crash
        return "paid"

    await crashed(path, OPEN, handler)
    ended = await run(path, OPEN, handler)
    assert (ended.output, ended.approvals, ended.replayed) == ("paid", [], 31)
    assert sorted(ran) == [0, 1, *range(100, 130)]
