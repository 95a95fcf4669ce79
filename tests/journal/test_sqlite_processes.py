"""Several processes on one file: who lives, who writes, and what is on the disk after kill -9."""

import asyncio
import errno
import fcntl
import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rebuno.journal.chain import verify
from rebuno.journal.records import EventRow
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import in_loop, started
from tests.journal.processes import line, process


async def log_of(path: Path) -> list[EventRow]:
    store = await SQLiteStore.open(path)
    log = await store.events("e1", limit=100_000)
    await store.close()
    return log


def owners(path: Path) -> list[str]:
    return sorted(os.listdir(f"{path}-owners"))


@in_loop
async def test_a_killed_holder_is_dead_at_once(tmp_path: Path) -> None:
    """While it lives it is told so; after kill -9 the lease's remaining time does not matter, and its file goes."""
    path = tmp_path / "store.db"
    with process("hold", path) as other:
        assert line(other) == "held"
        store = await SQLiteStore.open(path)
        held = await store.execution("e1")
        assert held.holder is not None
        assert (held.holder.pid, held.holder.host) == (other.pid, store.holder.host)
        assert await store.alive(held)
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert not await store.alive(held)
        assert held.lease_until > time.time(), "the lease alone would still say that it lives"
        assert owners(path) == [store.holder.owner]
        await store.close()
    assert owners(path) == []


@in_loop
async def test_a_forked_child_does_not_keep_its_parent_alive(tmp_path: Path) -> None:
    """The lock goes with the process that opened the store."""
    path = tmp_path / "store.db"
    with process("leave", path) as other:
        assert line(other) == "child"
        other.send_signal(signal.SIGKILL)
        other.wait()
        store = await SQLiteStore.open(path)
        assert not await store.alive(await store.execution("e1"))
        await store.close()


@in_loop
async def test_a_store_on_a_disk_that_has_become_read_only_is_closed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own file stays, and is a dead store's: also for a process that asks while nothing can be removed."""

    def read_only(path: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    path = tmp_path / "store.db"
    store, other = await SQLiteStore.open(path), await SQLiteStore.open(path)
    await started(store)
    held = await other.execution("e1")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", read_only)
        assert await other.alive(held)
        await store.close()
        assert not await other.alive(held)
    assert store.holder.owner in owners(path)
    await other.close()


@in_loop
async def test_opening_clears_what_the_dead_left(tmp_path: Path) -> None:
    """Files of owners that live stay."""
    path = tmp_path / "store.db"
    first = await SQLiteStore.open(path)
    (tmp_path / "store.db-owners" / ("0" * 32)).touch()
    second = await SQLiteStore.open(path)
    assert owners(path) == sorted([first.holder.owner, second.holder.owner])
    await first.close()
    await second.close()


@in_loop
async def test_a_holder_of_this_host_without_a_file_is_dead(tmp_path: Path) -> None:
    """All who share a file keep their owner files beside it; the lease's remaining time does not matter."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    await started(store)
    held = await store.execution("e1")
    assert not await store.alive(replace(held, holder=replace(store.holder, owner="0" * 32), lease_until=9e9))
    await store.close()


@in_loop
async def test_two_that_ask_at_once_both_see_the_dead(tmp_path: Path) -> None:
    """A file that another asker has open and locked for its question is no live owner's."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    await started(store)
    dead = replace(store.holder, owner="0" * 32)
    with (tmp_path / "store.db-owners" / dead.owner).open("w") as asker:
        fcntl.flock(asker, fcntl.LOCK_SH)
        assert not await store.alive(replace(await store.execution("e1"), holder=dead))
    await store.close()


@in_loop
async def test_an_owner_cannot_point_elsewhere(tmp_path: Path) -> None:
    """A holder whose name is a path is dead, and the file that it names stays."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    await started(store)
    (tmp_path / "precious").touch()
    held = await store.execution("e1")
    assert not await store.alive(replace(held, holder=replace(store.holder, owner="../precious")))
    assert "precious" in os.listdir(tmp_path)
    await store.close()


@pytest.mark.parametrize("again", range(3))
def test_a_deferred_batch_reaches_the_disk_while_the_loop_computes(tmp_path: Path, again: int) -> None:
    """The loop does not run for 50 ms, then the process is killed: the batch is in the file."""
    path = tmp_path / "store.db"
    with process("compute", path) as other:
        assert other.wait(10) == -signal.SIGKILL
    log = asyncio.run(log_of(path))
    assert [e.type for e in log] == ["execution.created", "step.executing", "step.succeeded"]
    assert verify(log).fault == ""


@pytest.mark.parametrize("after", [1, 40, 300])
def test_what_was_answered_is_on_the_disk(tmp_path: Path, after: int) -> None:
    """Killed at any moment, the file holds every event whose number was answered, without gap."""
    path = tmp_path / "store.db"
    with process("answer", path) as other:
        assert other.stdout is not None
        for _ in range(after):
            line(other)
        other.send_signal(signal.SIGKILL)
        answered = [int(text) for text in other.stdout.read().splitlines() if text]
    log = asyncio.run(log_of(path))
    checked = verify(log)
    assert checked.fault == ""
    assert len(log) == checked.seq >= max(answered, default=after)


def test_processes_that_write_to_one_execution_lose_nothing(tmp_path: Path) -> None:
    """Each of three adds 100 events; all are there, each process's own in its order, in one unbroken chain."""
    path = tmp_path / "store.db"

    async def prepare() -> None:
        store = await SQLiteStore.open(path)
        await started(store)
        await store.close()

    asyncio.run(prepare())
    with process("append", path) as a, process("append", path) as b, process("append", path) as c:
        for other in (a, b, c):
            assert line(other) == "ready"
        for other in (a, b, c):
            assert other.stdin is not None
            other.stdin.write("\n")
            other.stdin.flush()
        assert [other.wait(20) for other in (a, b, c)] == [0, 0, 0]
    log = asyncio.run(log_of(path))
    assert verify(log).seq == len(log) == 301
    by_process = itertools.groupby(sorted(log[1:], key=lambda e: e.payload["pid"]), key=lambda e: e.payload["pid"])
    assert [[e.payload["n"] for e in own] for _, own in by_process] == [list(range(100))] * 3


@in_loop
async def test_stores_made_at_once_agree_on_the_schema(tmp_path: Path) -> None:
    """Eight connections that open one new file side by side: each succeeds, and the schema is made once."""
    for again in range(5):
        stores = await asyncio.gather(*(SQLiteStore.open(tmp_path / f"{again}.db") for _ in range(8)))
        for n, store in enumerate(stores):
            await started(store, f"e{n}")
        assert len(await stores[0].executions()) == 8
        await asyncio.gather(*(store.close() for store in stores))


# Takes, if it can, the lock that every connection of SQLite shares while it has a file open.
TAKE = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        sys.stdout.write("held")
"""


@pytest.mark.parametrize("stays", [True, False])
@in_loop
async def test_a_store_that_is_opened_twice_in_a_process_keeps_its_locks(tmp_path: Path, stays: bool) -> None:
    """Without them the next process to leave the file would delete the log of writes under it."""
    path = tmp_path / "store.db"
    await (await SQLiteStore.open(path)).close()
    store = await SQLiteStore.open(path)
    second = await SQLiteStore.open(path)
    if not stays:
        await second.close()
    command = [sys.executable, "-c", TAKE, str(path)]
    assert await asyncio.to_thread(subprocess.check_output, command) == b"held"
    await second.close()
    await store.close()
