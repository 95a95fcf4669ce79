"""Opening a store on PostgreSQL: what is refused and why, and what is never said."""

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg import sql

from rebuno.errors import SchemaTooNew, StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.migrate import migrations
from rebuno.journal.opening import open_store
from rebuno.journal.postgres import PostgresStore, piece_rows
from rebuno.journal.postgres.connection import connect, migrate, target
from rebuno.journal.records import Copied
from rebuno.journal.resource_records import ResourceChanges, ResourceRow, ResourceRows, ResourceWrite
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.stops import StopRow
from tests.journal.builders import approval, asking, batch, event, execution, in_loop, started, starting, step, written
from tests.postgres.server import Server, database, named

SECRET = "correct-horse"


def refused(url: str, **options: Any) -> StoreError:
    with pytest.raises(StoreError) as caught:
        asyncio.run(PostgresStore.open(url, **options))
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.path)
    return caught.value


@pytest.fixture(scope="module")
def guarded(postgres_server: str) -> Any:
    """A server that asks for a password."""
    with Server(fsync=False) as server:
        yield server


def test_wrong_names_and_passwords_are_told_without_them(guarded: Server) -> None:
    """Password, user, database, host: unreachable, with the server's own reason."""
    cases = [
        (guarded.url(password=SECRET), "password authentication failed"),
        (guarded.url(user="nobody-here"), "nobody-here"),
        (guarded.url("no-such-database"), "no-such-database"),
        (f"postgresql://rebuno:{SECRET}@127.0.0.1:1/postgres", "refused"),
        (f"postgresql://rebuno:{SECRET}@/postgres?host=/nowhere", "/nowhere"),
        (f"postgresql://rebuno:{SECRET}@host/database?no_such_option=1", "malformed"),
        (f"postgresql://rebuno:{SECRET}@host:port/database", "malformed"),
        (f"postgresql://rebuno:an@{SECRET}@host/database", "%40"),
        (f"postgresql://rebuno:{SECRET}/half@host/database", "%2F"),
        (f"postgresql://rebuno:12/{SECRET}@host/database", "%2F"),
    ]
    for url, why in cases:
        error = refused(url)
        assert type(error) is StoreUnreachable, url
        assert why in str(error), str(error)


@pytest.mark.parametrize(
    ("setting", "kind", "why"),
    [
        ("synchronous_commit = off", StoreError, "synchronous_commit"),  # what is answered might be lost
        ("default_transaction_read_only = on", StoreReadOnly, "read_only"),
    ],
)
def test_a_server_that_is_not_fit_is_refused(postgres: str, setting: str, kind: type[StoreError], why: str) -> None:
    """At once, and it says which setting to change."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchone()
        assert name is not None
        connection.execute(f"ALTER DATABASE {name[0]} SET {setting}")
    error = refused(postgres)
    assert type(error) is kind
    assert why in str(error)


def test_a_database_that_cannot_hold_all_texts_is_refused(postgres_server: str) -> None:
    """Only UTF-8 holds whatever an agent says."""
    name = "rebuno_ascii"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING SQL_ASCII TEMPLATE template0 STRATEGY file_copy LOCALE 'C'"
        )
        try:
            assert "UTF8" in str(refused(named(postgres_server, name)))
        finally:
            connection.execute(f"DROP DATABASE {name}")


def test_a_newer_schema_is_refused(postgres: str) -> None:
    """It says both versions, and nothing is changed."""
    asyncio.run(opened_once(postgres))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("INSERT INTO rebuno.schema_version (number) VALUES (99)")
    error = refused(postgres)
    assert isinstance(error, SchemaTooNew)
    assert (error.found, error.known) == (99, len(migrations("rebuno.journal.postgres")))


def made_earlier(postgres: str) -> None:
    """A store that an earlier version has made."""
    to = target(postgres, 10.0, 2.0)
    with connect(to) as connection:
        migrate(connection, to, create=True, known=migrations("rebuno.journal.postgres")[:2])


@pytest.mark.parametrize("made", ["by an earlier version", "by this one"])
def test_an_earlier_version_is_refused_once_there_are_pieces(postgres: str, made: str) -> None:
    """It cannot read them. A store that it has made has none until somebody says that the upgrade is finished."""
    known = migrations("rebuno.journal.postgres")
    assert "CREATE TABLE rebuno.pieces" in known[piece_rows.NEEDED - 1].sql
    to = target(postgres, 10.0, 2.0)

    async def body() -> None:
        if made == "by an earlier version":
            made_earlier(postgres)
        store = await PostgresStore.open(postgres)
        if made == "by an earlier version":
            assert not await store.pieces_in_use()
            with connect(to) as connection:
                migrate(connection, to, create=False, known=known[: piece_rows.NEEDED - 1])
            await store.use_pieces()
        assert await store.pieces_in_use()
        await store.close()
        await opened_once(postgres)

    asyncio.run(body())
    with connect(to) as connection, pytest.raises(SchemaTooNew) as caught:
        migrate(connection, to, create=False, known=known[: piece_rows.NEEDED - 1])
    assert caught.value.found == piece_rows.NEEDED


def test_an_earlier_version_starts_beside_a_newer_one(postgres: str) -> None:
    """Migrations only add since the second, so one that knows less is not refused; nor is this one, on a store that has
    what it does not know."""
    made_earlier(postgres)
    asyncio.run(opened_once(postgres))
    known = migrations("rebuno.journal.postgres")
    to = target(postgres, 10.0, 2.0)
    with connect(to) as connection:
        migrate(connection, to, create=False, known=known[:2])
        connection.execute("INSERT INTO rebuno.schema_additions (number) VALUES (99)")
    asyncio.run(opened_once(postgres))


@pytest.mark.parametrize("write", ["a stop", "a restoration"])
def test_an_earlier_version_is_refused_where_it_would_disobey(postgres: str, write: str) -> None:
    """It knows no stops, and asks nobody in a copy; this version goes on."""
    made_earlier(postgres)

    async def body() -> None:
        store = await PostgresStore.open(postgres)
        if write == "a stop":
            await store.add_stop(StopRow("s1", "", "", "too fast", "ana", 1.0))
        else:
            await store.mark_restored("ana")
        await store.close()
        await opened_once(postgres)

    asyncio.run(body())
    known = migrations("rebuno.journal.postgres")
    to = target(postgres, 10.0, 2.0)
    with connect(to) as connection:
        migrate(connection, to, create=False, known=known[:5])
        with pytest.raises(SchemaTooNew) as caught:
            migrate(connection, to, create=False, known=known[:4])
    assert (caught.value.found, caught.value.known) == (5, 4)


@pytest.mark.parametrize("written_by", ["create", "a batch"])
def test_an_earlier_version_is_refused_once_there_are_resources(postgres: str, written_by: str) -> None:
    """It would begin steps that change one, and leave its checkpoints as if they still held."""
    made_earlier(postgres)
    row = ResourceRow("e1", "box", "test", "null", False, 1, True, 1)

    async def body() -> None:
        store = await PostgresStore.open(postgres)
        if written_by == "create":
            held = Copied(external=ResourceRows((row,)))
            assert await store.create(execution("e1"), [event("resource.registered")], held)
        else:
            await started(store)
            external = ResourceChanges((ResourceWrite(row, registered=0),))
            await written(store, batch("e1", event("resource.registered"), external=external))
        await store.close()
        await opened_once(postgres)

    asyncio.run(body())
    known = migrations("rebuno.journal.postgres")
    to = target(postgres, 10.0, 2.0)
    with connect(to) as connection:
        migrate(connection, to, create=False, known=known[:7])
        with pytest.raises(SchemaTooNew) as caught:
            migrate(connection, to, create=False, known=known[:6])
    assert (caught.value.found, caught.value.known) == (7, 6)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_store_of_an_earlier_version_is_brought_up_to_date(postgres: str, number: int) -> None:
    """In the way that its version noted its migrations, all in one place."""
    known = migrations("rebuno.journal.postgres")
    to = target(postgres, 10.0, 2.0)
    with connect(to) as connection:
        connection.execute("CREATE SCHEMA rebuno")
        connection.execute("CREATE TABLE rebuno.schema_version (number bigint NOT NULL PRIMARY KEY)")
        for migration in known[:number]:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO rebuno.schema_version (number) VALUES (%s)", [migration.number])
    asyncio.run(opened_once(postgres))
    with psycopg.connect(postgres) as connection:
        assert connection.execute("SELECT max(number) FROM rebuno.schema_version").fetchone() == (max(2, number),)
        assert connection.execute("SELECT max(number) FROM rebuno.schema_additions").fetchone() == (len(known),)


async def opened_once(url: str, **options: Any) -> None:
    await (await PostgresStore.open(url, **options)).close()


def test_a_store_is_not_made_where_one_is_to_be_there(postgres: str) -> None:
    """Looking at a database leaves nothing in it."""
    assert "there is no store" in str(refused(postgres, create=False))
    with psycopg.connect(postgres) as connection:
        assert connection.execute("SELECT to_regnamespace('rebuno')").fetchone() == (None,)
    asyncio.run(opened_once(postgres))
    asyncio.run(opened_once(postgres, create=False))


def test_a_role_that_may_not_make_a_schema_is_told(postgres: str) -> None:
    """Where there is a store already, its rights on the tables are enough."""
    role = sql.Identifier("rebuno_guest")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'guest'").format(role))
        try:
            user, rest = postgres.split("@", 1)
            guest = f"postgresql://rebuno_guest:guest@{rest}"
            assert user
            assert type(refused(guest)) is StoreReadOnly
            asyncio.run(opened_once(postgres))
            connection.execute(sql.SQL("GRANT USAGE ON SCHEMA rebuno TO {}").format(role))
            connection.execute(
                sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rebuno TO {}").format(role)
            )
            asyncio.run(opened_once(guest))
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


@in_loop
async def test_stores_made_at_once_agree_on_the_schema(postgres_server: str) -> None:
    """Eight that open one new database side by side: each succeeds, and the schema is made once."""
    with database(postgres_server) as url:
        stores = await asyncio.gather(*(PostgresStore.open(url) for _ in range(8)))
        for n, store in enumerate(stores):
            await started(store, f"e{n}")
        assert len(await stores[0].executions()) == 8
        await asyncio.gather(*(store.close() for store in stores))


@in_loop
async def test_a_url_says_which_store_it_is(postgres: str, tmp_path: Any) -> None:
    """A path and `sqlite:` are a file; other schemes are refused by name."""
    cases = [
        (postgres, PostgresStore),
        (postgres.replace("postgresql://", "postgres://"), PostgresStore),
        (tmp_path / "a.db", SQLiteStore),
        (str(tmp_path / "a.db"), SQLiteStore),
        (f"sqlite:{tmp_path}/b.db", SQLiteStore),
        (f"sqlite://{tmp_path}/b.db", SQLiteStore),
    ]
    for where, kind in cases:
        store = await open_store(where)
        assert type(store) is kind, where
        await store.close()
    with pytest.raises(StoreUnreachable, match="`mysql`") as caught:
        await open_store(f"mysql://user:{SECRET}@host/database")
    assert SECRET not in str(caught.value)


@in_loop
async def test_every_text_comes_back(postgres: str) -> None:
    """NUL too, which the server's own texts cannot hold, and what stands for it."""
    odd = "a\0b\x1ac\x1a0\x1a1\0\0 \\u0000 \U0010ffff"
    store = await PostgresStore.open(postgres)
    assert await store.create(
        execution("e1", store.holder, key=odd, agent_id=odd), [event("execution.created", odd=odd)]
    )
    await written(store, starting(step(target=odd, reason=odd, result=None)))
    made = approval()
    await written(store, asking(made))
    await store.save_bundle("d", [("p", odd)])
    found = await store.find(odd, odd)
    assert found is not None
    assert (found.key, found.agent_id) == (odd, odd)
    assert [e.id for e in await store.named(odd)] == ["e1"]
    assert [e.id for e in await store.executions(agent_id=odd)] == ["e1"]
    assert (await store.step("s1")).target == odd
    assert (await store.events("e1"))[0].payload == {"odd": odd}
    assert await store.bundle("d") == [("p", odd)]
    assert not await store.create(execution("e2", key=odd, agent_id=odd), [event("execution.created")])
    assert await written(store, batch("e1")) == 4
    await store.close()
