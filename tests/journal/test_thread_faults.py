"""Faults of our own in a store's threads and in what answers call: everybody is told with a typed error, and nobody
waits for ever."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from rebuno.errors import StoreError
from rebuno.journal import wakeups
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.postgres.changes import Changes as PostgresChanges
from rebuno.journal.postgres.queue import Queue
from rebuno.journal.records import Commit, Lease
from rebuno.journal.sqlite import SQLiteStore, writer
from rebuno.journal.sqlite.committer import Committer
from rebuno.journal.sqlite.file_watch import Place
from rebuno.journal.sqlite.log import Log
from rebuno.journal.sqlite.writer import Writer
from tests.journal.builders import batch, event, execution, in_loop, started, written

# Longer than anything here may take, in seconds: anyone who is not answered by then waits for ever.
HANGS = 30.0

Asked = Callable[[Any, Lease], Any]


def fails(*args: object, **kwargs: object) -> Any:
    """What a line of ours with a fault in it does."""
    raise RuntimeError("a fault of ours")


def cannot(*args: object, **kwargs: object) -> Any:
    """What SQLite does where it cannot even take back a transaction."""
    raise apsw.IOError("disk I/O error")


async def all_told(store: Any, lease: Lease) -> list[object]:
    """What becomes of everything that can be asked at once; fails where somebody is left waiting."""
    waiting = [batch("e1", event(n=n), lease=lease, deferred=n % 2 == 0) for n in range(4)]
    for one in waiting:
        try:
            store.write(one)
        except StoreError as refused:
            one.committed.set_exception(refused)
    async with asyncio.timeout(HANGS):
        return await asyncio.gather(
            *(one.committed for one in waiting),
            store.execution("e1"),
            store.create(execution("e9"), [event("execution.created")]),
            store.lead("sweeps", 1.0),
            return_exceptions=True,
        )


# ---------------------------------------------------------------- SQLite's thread


SQLITE: dict[str, tuple[type, str, Any]] = {
    "waiting for a job": (Writer, "_await_job", fails),
    "taking the jobs": (Writer, "_take", fails),
    "letting deferred ones go": (Writer, "_release_deferred", fails),
    "looking for the file": (Place, "check", fails),
    "renewing the leases": (Committer, "renew", fails),
    "beginning a transaction": (Committer, "begin", fails),
    "committing one by one": (Committer, "one_by_one", fails),
    "committing together": (Committer, "commit", fails),
    "reading": (Writer, "_read", fails),
    "tending the log": (Log, "tend", fails),
}


@pytest.mark.parametrize(("owner", "name", "fault"), SQLITE.values(), ids=list(SQLITE))
def test_a_fault_in_the_thread_of_a_file_is_told_to_every_caller(
    tmp_path: Path, owner: type, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who wait, those who come later, and the attempt whose lease nobody renews any more."""

    async def body() -> None:
        store = await SQLiteStore.open(tmp_path / "store.db", renew_seconds=0.0)
        lease = await started(store)
        # Everything is left to the thread.
        monkeypatch.setattr(writer, "SWIFT_SECONDS", 0.0)
        monkeypatch.setattr(writer, "BRIEF_SECONDS", 0.0)
        monkeypatch.setattr(writer, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(Log, "due", True)
        store.keep(lease)
        monkeypatch.setattr(owner, name, fault)
        async with asyncio.timeout(HANGS):
            # What comes alone goes another way than several together.
            while not store._writer._ended:
                await all_told(store, lease)
                await asyncio.gather(store.lead("sweeps", 1.0), return_exceptions=True)
        later = await all_told(store, lease)
        assert all(isinstance(one, StoreError) for one in later)
        assert any("a fault of ours" in str(one) for one in later)
        assert isinstance(lease.poison, StoreError)
        async with asyncio.timeout(HANGS):
            with pytest.raises(StoreError, match="ended by a fault"):
                await store.close()
        monkeypatch.undo()
        # Its locks are nobody's any more.
        other = await SQLiteStore.open(tmp_path / "store.db", busy_timeout=0.1)
        await written(other, batch("e1"))
        await other.close()

    asyncio.run(body())


@in_loop
async def test_a_transaction_that_cannot_be_taken_back_is_told_to_every_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change that failed, and the one after it."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    lease = await started(store)
    monkeypatch.setattr(writer, "SWIFT_SECONDS", 0.0)
    monkeypatch.setattr(Committer, "commit", cannot)
    monkeypatch.setattr(Committer, "give_up", cannot)
    told = await all_told(store, lease)
    assert all(isinstance(one, StoreError) for one in told[:4])
    with pytest.raises(StoreError):
        await store.close()


# ---------------------------------------------------------------- PostgreSQL's threads


@in_loop
async def test_a_fault_in_one_unit_of_work_is_told_and_ends_nothing(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller gets a typed error that names it; the next unit is done, on a connection of its own."""
    store = await PostgresStore.open(postgres)
    await started(store)
    async with asyncio.timeout(HANGS):
        with pytest.raises(StoreError, match="a fault of ours"):
            await store._ask(fails)
        with monkeypatch.context() as patch:
            patch.setattr(PostgresChanges, "write", fails)
            patch.setattr(PostgresChanges, "offered", lambda *args: None)
            with pytest.raises(StoreError, match="a fault of ours"):
                await written(store, batch("e1"))
        assert await written(store, batch("e1")) == 2
    await store.close()


POSTGRES: dict[str, tuple[str, str]] = {
    "a worker takes its work": ("take", "rebuno-postgres"),
    "a worker is done with it": ("done", "rebuno-postgres"),
    "the watch lets deferred changes go": ("release", "rebuno-postgres-time"),
}


@pytest.mark.parametrize(("name", "where"), POSTGRES.values(), ids=list(POSTGRES))
def test_a_fault_in_the_threads_of_a_database_is_told_to_every_caller(
    postgres: str, name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who wait and those who come later; and closing ends."""
    sound = getattr(Queue, name)

    def faulty(*args: Any) -> Any:
        return fails() if threading.current_thread().name == where else sound(*args)

    async def body() -> None:
        store = await PostgresStore.open(postgres, patience=0.5, silence=0.5)
        store._workers._express._closed = True
        lease = await started(store)
        store.keep(lease)
        monkeypatch.setattr(Queue, name, faulty)
        # Alone it waits for the watch.
        alone = batch("e1", deferred=True)
        store.write(alone)
        async with asyncio.timeout(HANGS):
            await asyncio.gather(alone.committed, return_exceptions=True)
        with suppress(StoreError):
            await all_told(store, lease)
        told = await all_told(store, lease)
        assert all(isinstance(one, StoreError) for one in told)
        async with asyncio.timeout(HANGS):
            await store.close()

    asyncio.run(body())


# ---------------------------------------------------------------- callbacks


@in_loop
async def test_a_fault_in_what_a_commit_tells_keeps_nobody_waiting(complaints: list[str]) -> None:
    """Who is told after it, who listens, and the next answer of the same group; the loop is told of the fault."""
    loop = asyncio.get_running_loop()
    for error in (None, StoreError("away")):
        first, second = Commit(loop=loop), Commit(loop=loop)
        heard: list[Commit] = []
        first.tell(fails)
        first.tell(heard.append)
        listening = first.wait()
        wakeups.settle([(first, 1, error), (second, 2, None)])
        assert heard == [first]
        assert listening.done()
        assert second.done()
        assert listening.exception() is error
        assert [said.splitlines()[0] for said in complaints] == ["a callback of a commit failed"]
        complaints.clear()


@in_loop
async def test_a_fault_in_setting_one_answer_keeps_no_other_from_it(complaints: list[str]) -> None:
    """Of one group the others are answered."""

    class Broken(asyncio.Future[int]):
        set_result = fails

    loop = asyncio.get_running_loop()
    broken, sound = Broken(loop=loop), loop.create_future()
    wakeups.settle([(broken, 1, None), (sound, 2, None)])
    assert await sound == 2
    assert [said.splitlines()[0] for said in complaints] == ["a callback of an answer failed"]
    complaints.clear()


def test_an_event_loop_that_complains_fails_its_test(pytester: pytest.Pytester) -> None:
    """A fault in a callback, and an exception that nobody fetched, fail the test that they happen in."""
    pytester.makeconftest("from tests.conftest import complaints  # noqa: F401")
    pytester.makepyfile(
        """
        import asyncio, gc
        import pytest, uvloop

        LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])

        @LOOPS
        def test_callback(loop):
            async def body():
                asyncio.get_running_loop().call_soon(lambda: 1 / 0)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(body())

        @LOOPS
        def test_unfetched(loop):
            async def body():
                asyncio.get_running_loop().create_future().set_exception(ValueError("nobody looks"))
                gc.collect()
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(body())

        @LOOPS
        def test_sound(loop):
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(asyncio.sleep(0))
        """
    )
    ran = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=6, errors=4)
