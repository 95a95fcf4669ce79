"""The stores that the contract is tried on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from tests.journal.builders import Opener


@pytest.fixture(params=["sqlite in memory", "sqlite"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a store of each kind; the same one each time within a test."""
    path = ":memory:" if request.param == "sqlite in memory" else tmp_path / "store.db"

    @asynccontextmanager
    async def opened() -> AsyncIterator[Store]:
        store = await SQLiteStore.open(path)
        try:
            yield store
        finally:
            await store.close()

    return opened
