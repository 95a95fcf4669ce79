"""Places in limits: counted exactly, anyone who writes them, and as fast with many as with few."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebuno.journal.records import Full, Spend
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.model.clock import FixedClock
from tests.journal.builders import Opener, in_loop

KEYS = ("all", "agent", "e1rule")


class Naive:
    """What a limit says, counted place by place."""

    def __init__(self) -> None:
        self.places: dict[str, dict[str, float]] = {key: {} for key in KEYS}

    def spend(self, step_id: str, spends: list[Spend], now: float) -> Full | None:
        wanted = []
        for spend in spends:
            places = self.places[spend.key]
            if spend.window is not None:
                for gone in [step for step, at in places.items() if at <= now - spend.window]:
                    del places[gone]
            if step_id not in places:
                wanted.append(spend)
        for spend in wanted:
            times = sorted(self.places[spend.key].values())
            if len(times) >= spend.number:
                never = spend.window is None or spend.number < 1
                return Full(spend, None if never else times[len(times) - spend.number] + (spend.window or 0))
        for spend in wanted:
            self.places[spend.key][step_id] = now
        return None


SPENDS = st.lists(
    st.builds(Spend, st.sampled_from(KEYS), st.integers(0, 6), st.sampled_from([1, 5, 30, None])),
    min_size=1,
    max_size=3,
    unique_by=lambda spend: spend.key,
)
ASKED = st.lists(
    st.tuples(st.integers(0, 12).map("s{}".format), SPENDS, st.sampled_from([0.0, 0.5, 1.0, 4.0, 31.0])), max_size=40
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ASKED)
def test_a_limit_says_what_a_naive_count_says(asked: list[tuple[str, list[Spend], float]]) -> None:
    """Whatever the windows, and however a bundle that was edited changes their size and number."""

    async def scenario() -> None:
        clock, naive = FixedClock(), Naive()
        store = await SQLiteStore.open(":memory:", clock=clock)
        for step_id, spends, later in asked:
            clock.advance(later)
            assert await store.spend(step_id, spends) == naive.spend(step_id, spends, round(clock.now(), 6))
        await store.close()

    asyncio.run(scenario())


def numbers(rows: Iterable[tuple[Any, ...]]) -> dict[str, int]:
    """Rows of a key and a number."""
    return {str(key): int(number) for key, number in rows}


async def count(store: Store, url: str | None = None) -> tuple[dict[str, int], dict[str, int]]:
    """The places of each limit as they stand, and as they are counted."""
    places, counted = "SELECT key, count(*) FROM {}spends GROUP BY key", "SELECT key, taken FROM {} WHERE taken <> 0"
    if isinstance(store, SQLiteStore):
        connection = store._connection
        return (
            numbers(connection.execute(places.format("")).fetchall()),
            numbers(connection.execute(counted.format("place_counts")).fetchall()),
        )
    assert url is not None
    with psycopg.connect(url) as other:
        return (
            numbers(other.execute(places.format("rebuno.").encode()).fetchall()),
            numbers(other.execute(counted.format("rebuno.windows").encode()).fetchall()),
        )


@in_loop
async def test_many_at_once_take_as_many_places_as_there_are(opener: Opener, request: pytest.FixtureRequest) -> None:
    """Side by side on two open stores; what one was refused, no other has."""
    async with opener() as first, opener() as second:
        if first is not second and str(getattr(first, "path", "")) == ":memory:":
            second = first
        limit = Spend("all", 25, 3600)
        found = await asyncio.gather(*((first, second)[n % 2].spend(f"s{n}", [limit]) for n in range(60)))
        assert sum(answer is None for answer in found) == 25
        url = None if isinstance(first, SQLiteStore) else request.getfixturevalue("postgres")
        stand, counted = await count(first, url)
        assert stand == counted == {"all": 25}


@pytest.mark.parametrize("deed", ["take", "free", "both"])
@in_loop
async def test_a_process_of_an_earlier_version_is_counted_too(tmp_path: Path, deed: str) -> None:
    """It knows no counter, and writes places as ever."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    for n in range(3):
        assert await store.spend(f"s{n}", [Spend("all", 9, 3600)]) is None
    other = apsw.Connection(str(path))
    if deed != "free":
        other.execute("INSERT INTO spends (key, step_id, at) VALUES ('all', 'old', 1.0), ('more', 'old', 1.0)")
    if deed != "take":
        other.execute("DELETE FROM spends WHERE key = 'all' AND step_id = 's0'")
    other.close()
    stand, counted = await count(store)
    assert stand == counted
    taken = {"take": 4, "free": 2, "both": 3}[deed]
    full = await store.spend("s9", [Spend("all", taken, None)])
    assert full == Full(Spend("all", taken, None), None)
    assert await store.spend("s9", [Spend("all", taken + 1, None)]) is None
    await store.close()


@in_loop
async def test_a_process_of_an_earlier_version_is_counted_in_a_database_too(postgres: str) -> None:
    """The same on PostgreSQL, with what removes a whole execution's places."""
    from rebuno.journal.postgres import PostgresStore

    store = await PostgresStore.open(postgres)
    for n in range(3):
        assert await store.spend(f"s{n}", [Spend("all", 9, 3600)]) is None
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("INSERT INTO rebuno.spends (key, step_id, at) VALUES ('all', 'old', 1), ('more', 'old', 1)")
        other.execute("DELETE FROM rebuno.spends WHERE step_id IN ('s0', 's1')")
    stand, counted = await count(store, postgres)
    assert stand == counted == {"all": 2, "more": 1}
    assert await store.spend("s9", [Spend("all", 2, None)]) is not None
    assert await store.spend("s9", [Spend("all", 3, None)]) is None
    await store.close()


@pytest.mark.parametrize("number", [1, 3_000, 5_999, 6_000])
@in_loop
async def test_a_step_asks_as_little_of_a_full_limit_as_of_an_empty_one(tmp_path: Path, number: int) -> None:
    """Counted in the steps of SQLite's own machine, which are the same on every computer."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    connection = store._connection

    async def cost(step_id: str, spend: Spend) -> tuple[Full | None, int]:
        """The answer, and how many thousand steps it took."""
        ticks = 0

        def tick() -> bool:
            nonlocal ticks
            ticks += 1
            return False

        connection.set_progress_handler(tick, 10)
        answer = await store.spend(step_id, [spend])
        connection.set_progress_handler(None)
        return answer, ticks

    _, empty = await cost("first", Spend("few", 10, 3600))
    with connection:
        connection.executemany(
            "INSERT INTO spends (key, step_id, at) VALUES ('many', ?, ?)",
            [(f"s{n}", clock.now() - 6_000 + n) for n in range(6_000)],
        )
    taken, many = await cost("next", Spend("many", 10_000, 86_400))
    assert taken is None
    assert many <= empty + 20
    await store.spend("other", [Spend("many", 10_000, 86_400)])
    full, _ = await cost("last", Spend("many", number, 86_400))
    assert full is not None
    assert full.due is not None
    await store.close()
