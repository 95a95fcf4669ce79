"""The stores that the contract is tried on."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rebuno.journal.postgres import PostgresStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from tests.acceptance.faulting.loops import LOOPS
from tests.acceptance.faulting.proxy import FaultProxy, before_postgres
from tests.journal.builders import Opener


@pytest.fixture(params=["sqlite in memory", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a store of each kind; the same one each time within a test."""
    path = ":memory:" if request.param == "sqlite in memory" else str(tmp_path / "store.db")
    url = request.getfixturevalue("postgres") if request.param == "postgres" else None

    @asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        store: Store = await (SQLiteStore.open(path) if url is None else PostgresStore.open(url))
        try:
            yield store
        finally:
            await store.close()

    return opened


@pytest.fixture(params=list(LOOPS))
def loop(request: pytest.FixtureRequest) -> str:
    """The event loop that the store is opened in."""
    kind: str = request.param
    return kind


@pytest.fixture
def losing(postgres: str) -> Iterator[FaultProxy]:
    """A proxy before it."""
    with before_postgres(postgres) as made:
        yield made
