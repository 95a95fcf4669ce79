"""A store on a primary with a standby: what is answered is on both, and the store finds the new primary."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from rebuno.errors import StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.chain import verify
from rebuno.journal.opening import open_store
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.postgres.connection import target
from tests.acceptance.replicating.killer import free_ports
from tests.journal.builders import batch, event, execution, in_loop, started, written
from tests.postgres import pooler
from tests.postgres.pair import Pair

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'rebuno'"

# The loop's line is told by what it says when it is made: workers ask for no plan. It has answered since.
LINES = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rebuno' AND query LIKE '%moved AS%'"


@pytest.fixture
def pair(postgres_server: str) -> Iterator[Pair]:
    """Two servers, of which one confirms what the other commits."""
    yield from _pair()


@pytest.fixture(scope="module")
def lasting(postgres_server: str) -> Iterator[Pair]:
    """The same, of which none is killed."""
    yield from _pair()


def _pair() -> Iterator[Pair]:
    first, second = free_ports(2)
    with Pair((first, second)) as made:
        yield made


@pytest.mark.parametrize("way", ["a new execution", "by a worker", "by the loop's own line"])
@in_loop
async def test_a_change_that_was_cut_off_is_answered_once_the_standby_has_it(pair: Pair, way: str) -> None:
    """It is in the primary's log, and would be gone with it: finding it there is no answer yet."""
    assert pair.standby is not None
    store = await PostgresStore.open(pair.url("postgres"), silence=60.0)
    await started(store)
    written_before = 1
    with psycopg.connect(pair.primary.url(), autocommit=True) as admin:
        while way == "by the loop's own line" and admin.execute(LINES).fetchone() == (0,):
            # The first change has the line made, and goes by it only later.
            written_before = await written(store, batch())
            await asyncio.sleep(0.02)
        pair.standby.kill()
        change: asyncio.Future[Any] = asyncio.ensure_future(
            store.create(execution("e2", store.holder), [event("execution.created")])
            if way == "a new execution"
            else written(store, batch())
        )
        (first,) = await _waiting(admin, change, set())
        admin.execute("SELECT pg_terminate_backend(%s)", [first])
        await _waiting(admin, change, {first})
        assert not change.done()
        admin.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        admin.execute("SELECT pg_reload_conf()")
        assert await change == (True if way == "a new execution" else written_before + 1)
    log = await store.events("e2" if way == "a new execution" else "e1")
    assert (len(log), verify(log).fault) == (int(await change), "")
    await store.close()


async def _waiting(
    admin: "psycopg.Connection[tuple[int]]", change: "asyncio.Future[Any]", known: set[int]
) -> "tuple[int, ...]":
    """The server's processes besides the known ones that wait for the standby; returns too where the change is done."""
    while not change.done():
        found = tuple(pid for (pid,) in admin.execute(WAITING).fetchall() if pid not in known)
        if found:
            return found
        await asyncio.sleep(0.02)
    return ()


@in_loop
async def test_a_store_follows_its_primary(pair: Pair) -> None:
    """The URL names both, in any order; what was answered is there."""
    store = await PostgresStore.open(pair.url("postgres", options=""))
    await started(store)
    await asyncio.to_thread(pair.fail_over)
    assert await written(store, batch()) == 2
    assert [one.id for one in await store.executions()] == ["e1"]
    await store.close()


@in_loop
async def test_a_standby_alone_is_refused(lasting: Pair) -> None:
    """At once, and nothing is written to it."""
    assert lasting.standby is not None
    with pytest.raises(StoreReadOnly, match="name the primary"):
        await PostgresStore.open(lasting.standby.url())


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://a,b/d", "read-write"),
        ("postgresql://u@a:1,b:2/d?target_session_attrs=primary", "primary"),
        ("postgresql://a/d", None),
    ],
)
def test_of_several_servers_the_primary_is_looked_for(url: str, wanted: str | None) -> None:
    """Unless the URL says which one."""
    assert conninfo_to_dict(target(url, 1.0, 1.0).conninfo).get("target_session_attrs") == wanted


def test_the_environment_may_name_the_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As libpq takes it; and which of them is wanted."""
    monkeypatch.setenv("PGHOST", "a,b")
    assert "target_session_attrs=read-write" in target("postgresql:///d", 1.0, 1.0).conninfo
    monkeypatch.setenv("PGTARGETSESSIONATTRS", "primary")
    assert "target_session_attrs" not in target("postgresql:///d", 1.0, 1.0).conninfo


@pytest.fixture
def program() -> str:
    """The pooler, where it is installed."""
    try:
        return pooler.program()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("mode", ["transaction", "statement"])
@in_loop
async def test_a_pooler_that_lends_connections_is_refused(lasting: Pair, program: str, mode: str) -> None:
    """Also where its pool has one connection; and no table is made."""
    for size in (10, 1):
        (port,) = free_ports(1)
        with _pooled(lasting, port, mode, size) as pooled:
            with pytest.raises(StoreError, match="pool_mode = session") as caught:
                await PostgresStore.open(pooled.url, patience=0.5, silence=0.5)
            assert lasting.primary.password not in str(caught.value)
    with psycopg.connect(lasting.primary.url()) as connection:
        assert connection.execute("SELECT to_regnamespace('rebuno')").fetchone() == (None,)


@in_loop
async def test_a_pooler_of_sessions_holds(lasting: Pair, program: str) -> None:
    """Changes, and what is said to all who listen."""
    (port,) = free_ports(1)
    with _pooled(lasting, port, "session", 20) as pooled:
        store = await open_store(pooled.url)
        await started(store)
        assert await written(store, batch()) == 2
        async with aclosing(store.listen()) as texts:
            heard = asyncio.ensure_future(anext(texts))
            while not heard.done():
                # It listens a moment after it was asked to.
                await store.notify("something")
                await asyncio.wait({heard}, timeout=0.1)
            assert await heard == "something"
        await store.close()


@in_loop
async def test_a_pooler_without_a_second_connection_is_told_as_it_is(lasting: Pair, program: str) -> None:
    """Nobody can tell how it pools: it is not said that it does so wrongly."""
    (port,) = free_ports(1)
    with (
        _pooled(lasting, port, "session", 20, clients=1) as pooled,
        pytest.raises(StoreUnreachable, match="no more connections"),
    ):
        await PostgresStore.open(pooled.url)


def _pooled(pair: Pair, port: int, mode: str, size: int, clients: int = 200) -> pooler.Pooler:
    return pooler.Pooler(
        port,
        mode,
        database="postgres",
        password=pair.primary.password,
        server_port=pair.primary.port,
        size=size,
        clients=clients,
    )
