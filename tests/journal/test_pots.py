"""Pots of limits: added up exactly, shared by all who count, given back where it is certain that nothing happened."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebuno.journal.pot_records import CopiedTake, Pot, Take
from rebuno.journal.records import Copied, Full, Spend, StepWrite, Tombstone
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.journal.builders import Opener, batch, ending, event, execution, in_loop, started, starting, step, written


def pot(key: str = "all", number: str = "10", window: int | None = None) -> Pot:
    """A pot of the rule `r`."""
    return Pot(key, "b", "rule r", "args.amount", "global", "", number, window)


def take(amount: str, of: Pot | None = None, *, by: str = "e1", asks: bool = False, forced: bool = False) -> Take:
    """What a step of the execution `by` takes."""
    return Take(of or pot(), amount, by, asks, forced)


async def taken(store: Store) -> dict[str, str]:
    """What stands in each pot."""
    return {state.key: state.taken for state in await store.pots()}


@in_loop
async def test_amounts_are_added_up_exactly(opener: Opener) -> None:
    """Ten dimes are one, and forty digits count to the last."""
    async with opener() as store:
        one = pot(number="1")
        for n in range(10):
            assert await store.spend(f"s{n}", [take("0.1", one)]) is None
        assert await store.spend("s10", [take("0.0000000000000000000000000000000000001", one)]) == Full(
            take("0.0000000000000000000000000000000000001", one), None
        )
        assert await taken(store) == {"all": "1.0"}


@in_loop
async def test_a_step_takes_from_all_pots_and_windows_or_from_none(opener: Opener) -> None:
    """Whatever has no room; and what it has already it does not take again."""
    async with opener() as store:
        both: list[Spend | Take] = [take("3"), take("1", pot("b", "1")), Spend("w", 1, 60)]
        assert await store.spend("s1", both) is None
        assert await store.spend("s1", both) is None
        full = await store.spend("s2", both)
        assert full is not None
        assert isinstance(full.spend, Spend)
        assert await store.spend("s2", both[:2]) == Full(both[1], None)
        assert await store.spend("s3", [take("8"), Spend("w2", 1, 60)]) == Full(take("8"), None)
        assert await store.spend("s4", [Spend("w2", 1, 60)]) is None
        assert await taken(store) == {"all": "3", "b": "1"}


@in_loop
async def test_forced_takes_go_beyond_the_number(opener: Opener) -> None:
    """And nothing more fits then."""
    async with opener() as store:
        assert await store.spend("s1", [take("12", forced=True)]) is None
        assert await taken(store) == {"all": "12"}
        assert await store.spend("s2", [take("0")]) == Full(take("0"), None)


@in_loop
async def test_unanswered_questions_hold_at_most_half_of_a_pot(opener: Opener) -> None:
    """Of each execution; what has started is no question."""
    async with opener() as store:
        await started(store)
        assert await store.spend("s1", [take("3", asks=True)]) is None
        assert await store.spend("s2", [take("3", asks=True)]) == Full(take("3", asks=True), None, asks=True)
        assert await store.spend("s3", [take("2", asks=True)]) is None
        assert await store.spend("s4", [take("5", by="e2", asks=True)]) is None
        await written(store, batch("e1", steps=(StepWrite(step("s1", status=StepStatus.AWAITING), 0),)))
        assert (await store.pots())[0].asked == "3"


@in_loop
async def test_a_full_pot_gets_back_what_came_to_nothing(opener: Opener) -> None:
    """A step denied before it started, and one that its execution ended without; nothing else."""
    async with opener() as store:
        await started(store)
        for name, amount in (("denied", "1"), ("ran", "2"), ("lost", "4")):
            assert await store.spend(name, [take(amount)]) is None
        await written(store, batch("e1", steps=(StepWrite(step("denied", status=StepStatus.DENIED), 0, settled=0),)))
        await written(store, starting(step("ran")))
        assert await taken(store) == {"all": "6"}
        assert await store.spend("next", [take("5")]) == Full(take("5"), None)
        assert await store.spend("next", [take("4")]) is None
        await written(store, ending())
        assert await taken(store) == {"all": "2"}
        assert await store.spend("last", [take("8", by="e2")]) is None


@pytest.mark.parametrize(("said", "starts", "free"), [(True, 1, True), (True, 2, False), (False, 1, False)])
@in_loop
async def test_a_failure_that_did_nothing_gives_back(opener: Opener, said: bool, starts: int, free: bool) -> None:
    """Of a step that was started once: an earlier start may have done something."""
    async with opener() as store:
        await started(store)
        assert await store.spend("s1", [take("9")]) is None
        for _ in range(starts):
            await written(store, starting(step("s1")))
        payload = {"step_id": "s1"} | ({"nothing_done": True} if said else {})
        failed = StepWrite(step("s1", status=StepStatus.FAILED, error="{}"), settled=0)
        await written(store, batch("e1", event("step.failed", **payload), steps=(failed,)))
        assert await taken(store) == {"all": "0" if free else "9"}
        assert (await store.spend("s2", [take("10")]) is None) is free


@in_loop
async def test_copied_steps_bring_what_they_took(opener: Opener) -> None:
    """At their own times; a pot that another store knows already keeps what it holds."""
    async with opener() as store:
        assert await store.spend("s1", [take("4")]) is None
        copied = Copied(takes=(CopiedTake(take("3"), "s2", 5.0), CopiedTake(take("4"), "s1", 5.0)))
        assert await store.create(execution("e9"), [event()], copied)
        assert await taken(store) == {"all": "7"}
        assert await store.spend("s3", [take("4")]) == Full(take("4"), None)
        assert await store.spend("s3", [take("3")]) is None


@in_loop
async def test_an_execution_that_is_removed_leaves_what_it_used(opener: Opener) -> None:
    """Its own pots go with it."""
    async with opener() as store:
        await started(store)
        own = pot("e1pot")
        assert await store.spend("used", [take("3"), take("1", own)]) is None
        assert await store.spend("lost", [take("4")]) is None
        await written(store, starting(step("used")))
        await written(store, ending())
        assert await store.bury(Tombstone("e1", "agent", None, ExecutionStatus.COMPLETED, "", b"x", 1.0))
        assert await taken(store) == {"all": "3"}
        assert await store.spend("s3", [take("8", by="e2")]) == Full(take("8", by="e2"), None)
        assert await store.spend("s3", [take("7", by="e2")]) is None


class Naive:
    """What pots say, added up row by row."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, tuple[float, Decimal]]] = {}
        self.kept: dict[str, float | None] = {}

    def spend(self, step_id: str, takes: Sequence[Take], now: float) -> Full | None:
        wanted = []
        for one in takes:
            key, window = one.pot.key, one.pot.window
            before = self.kept.get(key, 0.0)
            self.kept[key] = None if before is None or window is None else max(before, window)
            rows = self.rows.setdefault(key, {})
            if (longest := self.kept[key]) is not None:
                for gone in [name for name, row in rows.items() if row[0] <= now - longest]:
                    del rows[gone]
            since = 0.0 if window is None else now - window
            inside = {name: row for name, row in rows.items() if row[0] > since}
            if step_id in inside:
                continue
            amount, number = Decimal(one.amount), Decimal(one.pot.number)
            total = sum((row[1] for row in inside.values()), Decimal(0))
            if total + amount > number and not one.forced:
                due = None
                if window is not None and amount <= number:
                    for at, left in sorted(inside.values()):
                        total -= left
                        if total + amount <= number:
                            due = at + window
                            break
                return Full(one, due)
            wanted.append(one)
        for one in wanted:
            self.rows[one.pot.key][step_id] = now, Decimal(one.amount)
        return None


TAKES = st.lists(
    st.builds(
        take,
        st.sampled_from(["0", "1", "0.5", "2.25", "3"]),
        st.builds(pot, st.sampled_from("ab"), st.sampled_from(["1", "3.5", "6"]), st.sampled_from([1, 5, 30, None])),
        forced=st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda one: one.pot.key,
)
ASKED = st.lists(
    st.tuples(st.integers(0, 12).map("s{}".format), TAKES, st.sampled_from([0.0, 0.5, 1.0, 4.0])),
    max_size=40,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ASKED)
def test_a_pot_says_what_a_naive_sum_says(asked: list[tuple[str, list[Take], float]]) -> None:
    """Whatever the amounts and windows, and however an edited bundle changes them."""

    async def scenario() -> None:
        clock, naive = FixedClock(), Naive()
        store = await SQLiteStore.open(":memory:", clock=clock)
        for step_id, takes, later in asked:
            clock.advance(later)
            assert await store.spend(step_id, takes) == naive.spend(step_id, takes, round(clock.now(), 6))
        await store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("number", ["5", "12.5"])
@in_loop
async def test_many_at_once_take_no_more_than_there_is(opener: Opener, number: str) -> None:
    """A hundred at the same moment; none is lost."""
    async with opener() as store:
        limit = pot(number=number)
        said = await asyncio.gather(*(store.spend(f"s{n}", [take("0.5", limit)]) for n in range(100)))
        assert sum(one is None for one in said) == Decimal(number) / Decimal("0.5")
        assert Decimal((await taken(store))["all"]) == Decimal(number)
