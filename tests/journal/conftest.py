"""The stores that the contract is tried on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rebuno.journal.postgres import PostgresStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
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
