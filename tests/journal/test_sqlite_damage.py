"""A row that was damaged, or a value that SQLite does not take, is an answer; the store goes on."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rebuno.errors import StoreCorrupt, StoreError
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import approval, asking, batch, execution, in_loop, started, starting, step, written

DAMAGE: list[tuple[str, str, str, Any]] = [
    # The table and the column, the read that meets it, the value.
    ("executions.status", "execution", "weird", "weird"),
    ("executions.created_at", "execution", "1e+300 is no time", 1e300),
    ("executions.updated_at", "execution", "is no time", -1.0),
    ("executions.lease_until", "execution", "is no time", 1e300),
    ("contents.input", "execution", "not JSON", "{"),
    ("contents.output", "execution", "not JSON", "["),
    ("steps.status", "steps", "weird", "weird"),
    ("steps.kind", "steps", "weird", "weird"),
    ("steps.args", "steps", "not JSON", "{"),
    ("steps.result", "steps", "not JSON", ""),
    ("steps.result", "steps", "`NaN` is not JSON", "[NaN]"),
    ("steps.result", "steps", "too large for a double", "1e700"),
    ("steps.result", "steps", "surrogate", '"\\ud800"'),
    ("steps.error", "steps", "not JSON", "x"),
    ("steps.completed_at", "steps", "is no time", 1e300),
    ("approvals.created_at", "approvals", "is no time", 1e300),
    ("events.payload", "events", "event 1 of execution `e1`: not JSON", "{"),
    ("events.payload", "events", "its payload is no object", "[]"),
    ("events.occurred_at", "events", "event 1 of execution `e1`", "zz"),
    ("events.occurred_at", "events", "no offset", "2026-01-01"),
]


def damage(path: Path, place: str, value: Any) -> None:
    """Writes a value past the store."""
    table, column = place.split(".")
    other = apsw.Connection(str(path))
    other.execute(f"UPDATE {table} SET {column} = ?", (value,))
    other.close()


@pytest.mark.parametrize(("place", "what", "says", "value"), DAMAGE)
@in_loop
async def test_a_damaged_row_is_told_and_the_store_goes_on(
    tmp_path: Path, place: str, what: str, says: str, value: Any
) -> None:
    """The error names the store and what cannot be read; other reads and writes are answered."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    await written(store, starting(step()))
    await written(store, asking(approval()))
    damage(path, place, value)
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        "execution": lambda: store.execution("e1"),
        "steps": lambda: store.steps("e1"),
        "approvals": store.approvals,
        "events": lambda: store.events("e1"),
    }
    for name, read in reads.items():
        if name != what:
            await read()
            continue
        with pytest.raises(StoreCorrupt, match=r"a row cannot be read: .*; restore a copy") as caught:
            await read()
        assert str(path) in str(caught.value)
        assert says in str(caught.value)
    assert await store.create(execution("e2"), [])
    await store.close()


@in_loop
async def test_a_text_that_is_no_unicode_is_damage(tmp_path: Path) -> None:
    """SQLite keeps any bytes as a text."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    other = apsw.Connection(str(path))
    other.execute("UPDATE executions SET failure_reason = CAST(x'ff' AS TEXT)")
    other.close()
    with pytest.raises(StoreCorrupt, match="a row cannot be read"):
        await store.execution("e1")
    assert len(await store.events("e1")) == 1
    await store.close()


@in_loop
async def test_a_write_to_an_execution_of_no_known_state_is_refused(tmp_path: Path) -> None:
    """Nobody knows whether it has ended."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    await store.close()
    damage(path, "executions.status", "weird")
    store = await SQLiteStore.open(path)
    with pytest.raises(StoreCorrupt, match="execution `e1` is damaged"):
        await written(store, batch())
    assert len(await store.events("e1")) == 1
    await store.close()


@in_loop
async def test_what_sqlite_cannot_take_is_refused_and_the_store_goes_on() -> None:
    """Lone surrogates and integers of more than 64 bits, in questions and in rows."""
    store = await SQLiteStore.open(":memory:")
    await started(store)
    for ask in (
        lambda: store.execution("\ud800"),
        lambda: store.approval("\ud800"),
        lambda: store.named("\ud800"),
        lambda: store.executions(agent_id="\udfff"),
        lambda: store.executions(limit=2**70),
        lambda: store.events("e1", after=-(2**70)),
        lambda: store.create(execution("e2", key="\ud800"), []),
        lambda: store.create(execution("e2", failure_reason="\ud800"), []),
    ):
        with pytest.raises(StoreError, match="cannot take a value"):
            await ask()
    assert [row.id for row in await store.executions()] == ["e1"]
    await store.close()
