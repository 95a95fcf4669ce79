"""The `.sql` files: every query fits the schema and is used, and a schema moves forward whole or not at all."""

import re
from pathlib import Path

import apsw
import pytest

from rebuno.errors import StoreError
from rebuno.journal.migrate import Migration, migrations, queries
from rebuno.journal.sqlite import SQLiteStore, connection
from rebuno.journal.sqlite.sql import SQL
from tests.journal.builders import batch, in_loop, started, written

PACKAGE = Path(connection.__file__).parent
WRITTEN = {
    name: query
    for file in (
        *("queries.sql", "served.sql", "facts.sql", "pots.sql", "resources.sql", "sealing.sql", "overview.sql"),
        "notices.sql",
    )
    for name, query in queries(connection.__package__, file).items()
}
# What both stores count in the same way names its statements beside them.
CODE = "\n".join(file.read_text(encoding="utf-8") for file in (*PACKAGE.glob("*.py"), PACKAGE.parent / "pots.py"))


@pytest.mark.parametrize("name", sorted(SQL))
def test_a_query_is_explained_fits_the_schema_and_is_used(name: str) -> None:
    """One sentence stands above it, SQLite can prepare it, and the code names it."""
    comment = re.match(r"(?:--.*\n)+", WRITTEN[name])
    assert comment is not None
    assert re.fullmatch(r"-- [A-Z](?:[^\n]|\n-- )*\.\n", comment[0])
    statement = SQL[name]
    assert f'"{name}"' in CODE
    store = connection.connect(":memory:", patience=connection.Patience(0), create=True, vfs=None)
    if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")):
        parameters = len(set(re.findall(r'\?\d+|(?<!"):[a-z_]+', statement)))
        store.execute(f"EXPLAIN {statement}", (None,) * parameters)
    store.close()


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("advance", "sqlite_autoindex_executions_1"),  # every write
        ("steps", "steps_in_order"),
        ("events", "events_in_order"),
        ("execution-by-key", "executions_by_key"),
        ("executions-by-key", "executions_by_name"),
        ("executions-by-prefix", "sqlite_autoindex_executions_1"),
        ("approvals-by-status", "approvals_by_status"),
        ("approvals-by-execution", "approvals_by_execution"),
        ("approvals-due", "approvals_by_timeout"),
        ("executions-due", "executions_by_deadline"),
        ("executions-ended", "executions_by_end"),
        ("tombstone", "tombstones_by_key"),
        ("oldest-place", "spends_in_order"),
        ("drop-steps", "steps_in_order"),
        ("drop-events", "events_in_order"),
    ],
)
def test_a_query_goes_by_its_index(name: str, index: str) -> None:
    """None of them reads a whole table."""
    store = connection.connect(":memory:", patience=connection.Patience(0), create=True, vfs=None)
    parameters = len(set(re.findall(r"\?\d+", SQL[name])))
    plan = [row[3] for row in store.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", (None,) * parameters)]
    store.close()
    assert any(f"USING INDEX {index} " in line or f"USING COVERING INDEX {index} " in line for line in plan), plan
    assert not any(line.startswith("SCAN") for line in plan), plan


def test_migrations_are_numbered_without_a_gap() -> None:
    """From 1."""
    found = [migration.number for migration in migrations("rebuno.journal.sqlite")]
    assert found == list(range(1, len(found) + 1))


@in_loop
async def test_a_store_of_an_older_schema_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it holds stays; a migration that fails leaves everything as it was."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    await store.close()
    known = connection._MIGRATIONS
    next_one = len(known) + 1

    broken = Migration(next_one, "CREATE TABLE extra (x); CREATE TABLE extra (x)")
    monkeypatch.setattr(connection, "_MIGRATIONS", (*known, broken))
    with pytest.raises(StoreError, match="already exists"):
        await SQLiteStore.open(path)
    assert state(path) == (next_one - 1, 0)

    monkeypatch.setattr(connection, "_MIGRATIONS", (*known, Migration(next_one, "CREATE TABLE extra (x)")))
    store = await SQLiteStore.open(path)
    assert await written(store, batch()) == 2
    await store.close()
    assert state(path) == (next_one, 1)


def state(path: Path) -> tuple[int, int]:
    """The schema's version, and how many tables are called `extra`."""
    other = apsw.Connection(str(path))
    (count,) = next(other.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"))
    version = other.pragma("user_version")
    other.close()
    return version, count
