"""A PostgreSQL that goes away, cuts the line, gives way or refuses: each a typed error, and nothing lost or doubled."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rebuno.errors import LeaseSuperseded, Stale, StoreBusy, StoreCorrupt, StoreError, StoreReadOnly, StoreUnreachable
from rebuno.journal.chain import verify
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.postgres.group import ChangeGroup
from rebuno.journal.postgres.sender import PipelineSender
from rebuno.journal.records import Batch, ExecutionWrite, Lease, Spend, StepWrite, Tombstone
from rebuno.journal.store import Store
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.journal.builders import batch, ending, event, execution, in_loop, started, starting, step, written
from tests.postgres.proxy import Proxy
from tests.postgres.server import Server, database


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, **options)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(scope="module")
def own_server(postgres_server: str) -> Iterator[Server]:
    """A server that a test may kill; without it where the tests are to speak to none."""
    with Server() as server:
        yield server


@pytest.fixture
def own(own_server: Server) -> Iterator[str]:
    """The URL of a new database there."""
    with database(own_server.url()) as url:
        yield url


@pytest.fixture
def proxy(own: str) -> Iterator[Proxy]:
    # Below pytest's folders the socket's path would be too long.
    with tempfile.TemporaryDirectory() as folder, Proxy(own, Path(folder)) as made:
        yield made


def do(url: str, statement: str) -> list[tuple[Any, ...]]:
    """A statement from outside the store."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


CUT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'rebuno' AND datname = current_database()"""


async def whole(store: Store, numbers: list[int], id: str = "e1") -> None:
    """The log holds one event for each number, all of them, in an unbroken chain."""
    log = await store.events(id, limit=100_000)
    assert verify(log).fault == ""
    assert [e.payload["n"] for e in log[1:]] == numbers


# ---------------------------------------------------------------- the server goes away


@pytest.mark.parametrize("end", [Server.kill, Server.stop], ids=["kill -9", "stopped"])
def test_a_server_that_comes_back_costs_nothing(own_server: Server, own: str, end: Callable[[Server], None]) -> None:
    """Batches written before, while it is away and after: all are there once, and answered in order."""

    async def body() -> None:
        async with opened(own, patience=30.0) as store:
            lease = await started(store)
            made = [batch("e1", event(n=n), lease=lease, deferred=n % 3 == 0) for n in range(30)]
            for n, one in enumerate(made):
                if n == 10:
                    await asyncio.to_thread(end, own_server)
                if n == 20:
                    await asyncio.to_thread(own_server.start)
                store.write(one)
            assert await asyncio.gather(*(one.committed for one in made)) == list(range(2, 32))
            await whole(store, list(range(30)))

    asyncio.run(body())


async def write_on(store: Store, lease: Lease, numbers: list[int]) -> None:
    """Until it fails."""
    while True:
        numbers.append(await written(store, batch("e1", lease=lease)))


@in_loop
async def test_a_server_that_stays_away_is_an_error(own_server: Server, own: str) -> None:
    """After the patience, typed; what the lease writes later fails likewise, so that the log has no hole."""
    async with opened(own, patience=0.3) as store:
        lease = await started(store)
        await asyncio.to_thread(own_server.kill)
        try:
            # Processes of a server that was killed may answer for a moment.
            numbers: list[int] = []
            with pytest.raises(StoreUnreachable) as caught:
                await write_on(store, lease, numbers)
            assert lease.poison is caught.value
            with pytest.raises(StoreUnreachable):
                await store.execution("e1")
        finally:
            await asyncio.to_thread(own_server.start)
        after = batch("e1", lease=lease)
        with pytest.raises(StoreUnreachable) as again:
            await written(store, after)
        assert again.value is caught.value
        assert [e.event_seq for e in await store.events("e1")] == [1, *numbers]


@in_loop
async def test_cut_connections_lose_and_double_nothing(own: str) -> None:
    """The server ends all connections again and again while eight executions are written to."""
    async with opened(own) as store:
        for i in range(8):
            await started(store, f"e{i}")

        async def agent(i: int) -> None:
            lease = Lease(f"e{i}", 1, store.holder.owner)
            for n in range(25):
                await written(store, batch(f"e{i}", event(n=n), lease=lease, base=n + 1))

        async def saboteur() -> int:
            cut = 0
            while True:
                cut += len(await asyncio.to_thread(do, own, CUT))
                if running.done():
                    return cut
                await asyncio.sleep(0.01)

        running = asyncio.ensure_future(asyncio.gather(*(agent(i) for i in range(8))))
        assert await saboteur() > 0
        await running
        for i in range(8):
            await whole(store, list(range(25)), f"e{i}")


# ---------------------------------------------------------------- the answer to a commit is lost


async def _write(store: Store, lease: Lease) -> None:
    assert await written(store, batch("e1", event(n=0, mark="MARK"), lease=lease)) == 2
    await whole(store, [0])


async def _write_with_base(store: Store, lease: Lease) -> None:
    assert await written(store, batch("e1", event(n=0, mark="MARK"), lease=lease, base=1)) == 2
    await whole(store, [0])


async def _settle(store: Store, lease: Lease) -> None:
    await written(store, starting(step()))
    done = StepWrite(step(status=StepStatus.SUCCEEDED, result='"MARK"'), settled=0)
    assert await written(store, batch("e1", event("step.succeeded"), steps=(done,), lease=lease)) == 3
    assert (await store.step("s1")).result == '"MARK"'


async def _several(store: Store, lease: Lease) -> None:
    made = [batch("e1", event(n=n, mark="MARK"), lease=lease, deferred=n < 2) for n in range(3)]
    for one in made:
        store.write(one)
    assert await asyncio.gather(*(one.committed for one in made)) == [2, 3, 4]
    await whole(store, [0, 1, 2])


async def _end(store: Store, lease: Lease) -> None:
    made = ending()
    made.execution = ExecutionWrite(ExecutionStatus.COMPLETED, output='"MARK"', attempt=1)
    made.lease = lease
    assert await written(store, made) == 2
    assert (await store.execution("e1")).output == '"MARK"'


async def _release(store: Store, lease: Lease) -> None:
    # Without an event there is no hash to know it by.
    quiet = ExecutionWrite(ExecutionStatus.RUNNING, failure_reason="MARK", attempt=1)
    assert await written(store, Batch("e1", (), execution=quiet, lease=lease)) == 1
    assert (await store.execution("e1")).holder is None


async def _create(store: Store, lease: Lease) -> None:
    assert await store.create(execution("e2", key="MARK"), [event("execution.created")])
    assert not await store.create(execution("e3", key="MARK"), [event("execution.created")])


async def _spend(store: Store, lease: Lease) -> None:
    one = Spend("MARK", 1, None)
    assert await store.spend("s1", [one]) is None
    assert await store.spend("s2", [one]) is not None


async def _bury(store: Store, lease: Lease) -> None:
    await written(store, ending())
    read = await store.execution("e1")
    assert await store.bury(Tombstone("e1", "agent", None, read.status, "MARK", read.head_hash, read.updated_at))
    assert await store.tombstone("agent", "e1") is not None


LOST: list[tuple[Callable[[Store, Lease], Any], str]] = [
    (_write, "MARK"),
    (_write_with_base, "MARK"),  # the execution has moved, by ourselves: not stale
    (_settle, "MARK"),  # the step has settled, by ourselves
    (_several, "MARK"),  # in one statement
    (_end, "MARK"),  # the execution has ended, by ourselves
    (_release, "MARK"),  # the lease is nobody's any more, by ourselves
    (_create, "MARK"),  # there is one with this id, ours
    (_spend, "COMMIT"),
    (_bury, "MARK"),
]


@pytest.mark.parametrize("way", ["short", "workers"])
@pytest.mark.parametrize(("deed", "at"), LOST, ids=[deed.__name__ for deed, _ in LOST])
def test_a_commit_whose_answer_is_lost_is_read_back(
    proxy: Proxy, deed: Callable[..., Any], at: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server committed and the line was cut before it could say so: the write is answered, and is there once."""
    sent = ways(monkeypatch, short=way == "short")

    async def body() -> None:
        async with opened(proxy.url) as store:
            await warm(store, sent, short=way == "short")
            lease = await started(store)
            proxy.cut(at)
            await deed(store, lease)
            assert proxy.cuts == 1

    asyncio.run(body())


def ways(monkeypatch: pytest.MonkeyPatch, *, short: bool) -> list[bool]:
    """Takes the short way where it is open, or never; the list says for each group whether it was taken."""
    sent: list[bool] = []
    original = PipelineSender.send

    def send(express: PipelineSender, group: ChangeGroup) -> bool:
        sent.append(short and original(express, group))
        return sent[-1]

    monkeypatch.setattr(PipelineSender, "send", send)
    return sent


async def warm(store: Store, sent: list[bool], *, short: bool) -> None:
    """Writes elsewhere until changes go the way that they are to go."""
    await started(store, "warm")
    async with asyncio.timeout(10):
        while not sent or sent[-1] is not short:
            await written(store, batch("warm"))


@in_loop
async def test_a_step_that_is_there_can_be_decided_once_more_on_the_short_way(postgres: str) -> None:
    """It is put while it has not settled, and then the change is stale, as on the long way."""
    with pytest.MonkeyPatch.context() as patch:
        async with opened(postgres) as store:
            sent = ways(patch, short=True)
            await warm(store, sent, short=True)
            await started(store)
            await written(store, starting(step()))
            await written(store, starting(step(status=StepStatus.SUCCEEDED, result="1")))
            with pytest.raises(Stale):
                await written(store, starting(step(result="2")))
            assert sent[-3:] == [True] * 3
            assert (await store.step("s1")).result == "1"
            assert (await store.execution("e1")).head_seq == 3


@in_loop
async def test_a_deferred_batch_does_not_wait_for_a_loop_that_computes(postgres: str) -> None:
    """Not even behind a batch whose answer the loop has no time to take."""
    with pytest.MonkeyPatch.context() as patch:
        async with opened(postgres) as store:
            sent = ways(patch, short=True)
            await warm(store, sent, short=True)
            lease = await started(store)
            first, deferred = batch("e1", event(n=0), lease=lease), batch("e1", event(n=1), lease=lease, deferred=True)
            store.write(first)
            store.write(deferred)
            assert sent[-1]
            without_the_loop(lambda: do(postgres, "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1'")[2:] != [])
            assert [await first.committed, await deferred.committed] == [2, 3]


def without_the_loop(happens: Callable[[], bool]) -> None:
    """Waits so that no task of the event loop runs."""
    until = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < until


@in_loop
async def test_a_lost_answer_does_not_hide_that_another_wrote(proxy: Proxy, own: str) -> None:
    """A batch whose statement never arrived, where another attempt owns the execution by now, is refused."""
    async with opened(proxy.url) as store, opened(own) as other:
        lease = await started(store)
        do(own, CUT)
        claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=other.holder, lease_until=9e9)
        await written(other, batch("e1", event("dispatch.acked"), execution=claim))
        with pytest.raises(LeaseSuperseded):
            await written(store, batch("e1", event(n=0), lease=lease))
        assert [e.type for e in await other.events("e1")] == ["execution.created", "dispatch.acked"]


# ---------------------------------------------------------------- the server gives way, or refuses


def test_serialization_conflicts_are_repeated(postgres: str) -> None:
    """Two stores in the strictest isolation write to one execution at once; every batch is there once."""

    async def body() -> None:
        strict = f"{postgres}&options=-c%20default_transaction_isolation%3Dserializable"
        async with opened(strict) as a, opened(strict) as b:
            await started(a)
            made = [batch("e1", event(n=n)) for n in range(60)]
            for n, one in enumerate(made):
                (a if n % 2 else b).write(one)
            await asyncio.gather(*(one.committed for one in made))
            log = await a.events("e1")
            assert verify(log).seq == 61
            assert sorted(e.payload["n"] for e in log[1:]) == list(range(60))

    asyncio.run(body())


@in_loop
async def test_a_locked_execution_is_busy_after_the_patience(postgres: str) -> None:
    """Nothing is written, reads and other executions go on, and after the lock is gone so does this one."""
    async with opened(postgres, patience=0.3) as store:
        await started(store)
        await started(store, "e2")
        with psycopg.connect(postgres) as stranger:
            stranger.execute("SELECT FROM rebuno.executions WHERE id = 'e1' FOR UPDATE")
            waiting = batch("e1")
            store.write(waiting)
            assert await written(store, batch("e2")) == 2
            with pytest.raises(StoreBusy, match="locked by another transaction"):
                await waiting.committed
        assert await written(store, batch("e1")) == 2


@in_loop
async def test_one_connection_is_enough_where_there_are_no_more(own_server: Server, own: str) -> None:
    """A server without a free one: opening is refused with the reason, an open store goes on with what it has."""
    async with opened(own, patience=0.5) as store:
        for i in range(6):
            await started(store, f"e{i}")
        with ExitStack() as stack:
            with suppress(psycopg.OperationalError):
                while True:
                    stack.enter_context(psycopg.connect(own))
            with pytest.raises(StoreBusy, match="no connection left"):
                await PostgresStore.open(own)
            made = [batch(f"e{i % 6}") for i in range(60)]
            for one in made:
                store.write(one)
            await asyncio.gather(*(one.committed for one in made))
        assert [len(await store.events(f"e{i}")) for i in range(6)] == [11] * 6


@in_loop
async def test_a_store_that_becomes_read_only_says_so(postgres: str) -> None:
    """Its connections are ended and the new ones may not write; nothing is half written."""
    async with opened(postgres) as store:
        lease = await started(store)
        name = do(postgres, "SELECT current_database()")[0][0]
        do(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        do(postgres, CUT)
        with pytest.raises(StoreReadOnly):
            await written(store, batch("e1", lease=lease))
        assert type(lease.poison) is StoreReadOnly


@in_loop
async def test_a_lost_table_is_a_damaged_store(postgres: str) -> None:
    """Typed, and it says what to do."""
    async with opened(postgres) as store:
        await started(store)
        do(postgres, "DROP TABLE rebuno.events")
        with pytest.raises(StoreCorrupt, match="restore a copy"):
            await store.events("e1")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE rebuno.executions SET status = 'gone'", "gone"),  # no such state
        ("UPDATE rebuno.contents SET input = '{'", "damaged"),  # no JSON
        ("UPDATE rebuno.executions SET created_at = 'NaN'", "no time"),
    ],
)
def test_a_damaged_row_is_a_typed_error(postgres: str, change: str, why: str) -> None:
    """It names what cannot be read."""

    async def body() -> None:
        async with opened(postgres) as store:
            await started(store)
            do(postgres, change)
            with pytest.raises(StoreCorrupt, match=why):
                await store.execution("e1")

    asyncio.run(body())


@in_loop
async def test_numbers_that_do_not_fit_are_refused_alone(postgres: str) -> None:
    """The server takes no integer of more than eight bytes; the batch beside it is written."""
    async with opened(postgres) as store:
        await started(store)
        await started(store, "e2")
        large, other = starting(step(occurrence=2**64)), batch("e2")
        store.write(large)
        store.write(other)
        assert await other.committed == 2
        with pytest.raises(StoreError, match="cannot take a value"):
            await large.committed
        assert len(await store.events("e1")) == 1
