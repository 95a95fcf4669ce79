"""The stores that scenarios are played on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rebuno.journal.postgres import PostgresStore
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import stops
from rebuno.model.clock import FixedClock
from tests.kernel import served
from tests.kernel.support import Opener, Play, in_memory, player


@pytest.fixture(autouse=True)
def stops_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stopped is not read again in the middle of a scenario, however long it takes: a life that is lived twice
    takes the same way."""
    monkeypatch.setattr(stops, "FRESH", float("inf"))


@pytest.fixture(params=["sqlite", "postgres"])
def opener(request: pytest.FixtureRequest) -> Opener:
    """Opens a store of each kind."""
    if request.param == "sqlite":
        return in_memory
    url = request.getfixturevalue("postgres")

    @asynccontextmanager
    async def opened(clock: FixedClock) -> AsyncIterator[ServedStore]:
        store = await PostgresStore.open(url, clock=clock)
        try:
            yield store
        finally:
            await store.close()

    return opened


@pytest.fixture
def play(opener: Opener) -> Play:
    """Plays a scenario on a store of each kind."""
    return player(opener)


@pytest.fixture
def judge() -> Play:
    """Plays a scenario on SQLite alone: for tables whose rows differ in what is judged, not in what a store does."""
    return player(in_memory)


@pytest.fixture(params=["one replica", "two replicas"])
def serve(request: pytest.FixtureRequest) -> served.Scenario:
    """Plays a scenario on one replica over SQLite, and on two over PostgreSQL."""
    return served.player(None if request.param == "one replica" else request.getfixturevalue("postgres"))
