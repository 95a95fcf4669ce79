"""Where a commit is made: in the event loop's thread while the disk is swift, in the store's own while it is not."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from benchmarks.sqlite_syncs import Counter
from rebuno.errors import StoreError
from rebuno.journal.chain import verify
from rebuno.journal.records import Batch
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.writer import BRIEF_SECONDS, SWIFT_SECONDS
from tests.journal.builders import batch, event, in_loop, started, starting, step, written

HERE = "MainThread"


@asynccontextmanager
async def swift(path: Path, where: list[str], slow: list[float]) -> AsyncIterator[SQLiteStore]:
    """A store on a disk that is as swift as memory, and takes `slow[0]` seconds longer if it is set. `where` gets the
    name of the thread of each sync."""

    def synced() -> None:
        where.append(threading.current_thread().name)
        if slow:
            time.sleep(slow[0])

    store = await SQLiteStore.open(path, vfs=Counter(synced).vfs)
    try:
        await started(store)
        # However busy the machine was until now.
        store._writer._committer.seconds = 0.0
        yield store
    finally:
        await store.close()


@in_loop
async def test_a_swift_commit_is_made_where_it_is_awaited(tmp_path: Path) -> None:
    """While the store is at work, the loop's own thread syncs; what runs side by side shares the sync."""
    where: list[str] = []
    async with swift(tmp_path / "store.db", where, []) as store:
        for n in range(2, 9):
            await started(store, f"e{n}")
        # Where the machine holds the loop up, the thread is faster.
        for _ in range(50):
            store._writer._committer.seconds = 0.0
            where.clear()
            made = [batch(f"e{n}") for n in range(1, 9)]
            for one in made:
                store.write(one)
            await asyncio.gather(*(one.committed for one in made))
            if where == [HERE]:
                break
        else:
            pytest.fail("no commit was made here")


@in_loop
async def test_a_slow_disk_is_left_to_the_thread(tmp_path: Path) -> None:
    """Some slow commits, and the loop waits for none any more; it goes on beside them."""
    where: list[str] = []
    slow: list[float] = []
    async with swift(tmp_path / "store.db", where, slow) as store:
        slow.append(20 * SWIFT_SECONDS)
        await written(store, batch())
        where.clear()
        for _ in range(5):
            await written(store, batch())
        assert HERE not in where
        assert len(where) == 5
        slow.clear()


@in_loop
async def test_a_long_text_is_left_to_the_thread(tmp_path: Path) -> None:
    """However swift the disk is, megabytes take their time."""
    where: list[str] = []
    async with swift(tmp_path / "store.db", where, []) as store:
        await written(store, batch())
        where.clear()
        for n in range(5):
            await written(store, starting(step(f"s{n}", args=f'"{"x" * 4_000_000}"')))
            store._writer._committer.seconds = 0.0
        assert len(where) >= 5
        assert HERE not in where


@in_loop
async def test_the_loop_does_not_wait_for_another_process(tmp_path: Path) -> None:
    """While the file is locked the loop turns; the write comes through once it is free."""
    where: list[str] = []
    async with swift(tmp_path / "store.db", where, []) as store:
        await written(store, batch())
        other = apsw.Connection(str(tmp_path / "store.db"))
        other.set_busy_timeout(5000)
        other.execute("BEGIN IMMEDIATE")
        late = batch()
        store.write(late)
        turns, until = 0, time.monotonic() + 0.1
        while time.monotonic() < until:
            turns += 1
            await asyncio.sleep(0)
        # A lock that was waited for here would be one turn.
        assert turns > 20
        assert not late.committed.done()
        other.execute("ROLLBACK")
        other.close()
        assert await late.committed == 3


@in_loop
async def test_a_row_is_read_where_it_is_awaited_until_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After what was written before it; a list, and whatever a slow disk gives, is read in the store's thread."""
    where: list[str] = []
    async with swift(tmp_path / "store.db", [], []) as store:
        read = store._read

        def noted(*asked: Any) -> list[Any]:
            where.append(threading.current_thread().name)
            return read(*asked)

        monkeypatch.setattr(store, "_read", noted)
        # Where the machine holds the loop up, the thread is faster.
        for n in range(50):
            where.clear()
            made = batch()
            store.write(made)
            assert (await store.execution("e1")).head_seq == n + 2
            assert made.committed.done()
            if where == [HERE]:
                break
        else:
            pytest.fail("nothing was read here")
        where.clear()
        await store.executions()
        store._writer._read_seconds = 2 * BRIEF_SECONDS
        await store.execution("e1")
        assert HERE not in where


def hold_up() -> None:
    """Keeps the loop for so long that the thread looks meanwhile."""
    time.sleep(0.003)


@in_loop
async def test_deferred_and_waited_for_changes_keep_their_order(tmp_path: Path) -> None:
    """Whichever thread commits, the log is in the order of the writes."""
    where: list[str] = []
    async with swift(tmp_path / "store.db", where, []) as store:
        made: list[Batch] = []
        for n in range(300):
            one = batch("e1", event(n=n), deferred=n % 3 == 0)
            made.append(one)
            store.write(one)
            if n % 7 == 0:
                await one.committed
            elif n % 5 == 0:
                hold_up()
        assert [await one.committed for one in made] == list(range(2, 302))
        log = await store.events("e1")
        assert [e.payload["n"] for e in log[1:]] == list(range(300))
        assert verify(log).fault == ""


@in_loop
async def test_a_signal_within_a_commit_loses_nothing_and_leaves_the_store_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write fails with a typed error, for nobody knows what became of it, and its lease writes nothing more."""
    async with swift(tmp_path / "store.db", [], []) as store:
        keep, cut_off = store._changes.keep, False

        def interrupted() -> None:
            if threading.current_thread().name == HERE:
                raise KeyboardInterrupt
            keep()

        number = 1
        # Until the loop is faster than the thread.
        while not cut_off:
            number += 1
            lease = await started(store, f"e{number}")
            cut = batch(f"e{number}", lease=lease)
            with monkeypatch.context() as patched:
                patched.setattr(store._changes, "keep", interrupted)
                store.write(cut)
                try:
                    store._writer._work_here()
                except KeyboardInterrupt:
                    cut_off = True
        with pytest.raises(StoreError, match="interrupted"):
            await cut.committed
        with pytest.raises(StoreError, match="interrupted"):
            await written(store, batch(f"e{number}", lease=lease))
        # It had reached the disk, and the next attempt builds on it.
        assert await written(store, batch(f"e{number}")) == 3
