"""Several processes on one database: who lives, who writes, and what is there after kill -9."""

import asyncio
import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rebuno.errors import StoreError
from rebuno.journal import liveness
from rebuno.journal.chain import verify
from rebuno.journal.opening import open_store
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import EventRow, ExecutionWrite, Holder, Lease
from rebuno.model.execution import ExecutionStatus
from tests.journal.builders import batch, event, execution, in_loop, started, written
from tests.journal.processes import line, process


async def log_of(url: str) -> list[EventRow]:
    store = await open_store(url)
    log = await store.events("e1", limit=100_000)
    await store.close()
    return log


@in_loop
async def test_a_killed_holder_is_dead_at_once_and_replaced(postgres: str) -> None:
    """While it lives it is told so; after kill -9 another takes over without waiting for the lease to end."""
    with process("hold", postgres) as other:
        assert line(other) == "held"
        store = await open_store(postgres)
        held = await store.execution("e1")
        assert held.holder is not None
        assert (held.holder.pid, held.holder.host) == (other.pid, store.holder.host)
        assert await store.alive(held)
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert not await store.alive(held)
        assert not await store.alive(held), "and stays dead, however often it is asked"
        assert held.lease_until > store.now() + 1, "the lease alone would still say that it lives"
        claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=store.holder, lease_until=store.now() + 30)
        await written(store, batch("e1", event("dispatch.acked"), execution=claim, base=1))
        assert held.lease_until > store.now(), "nobody waited for the lease to end"
        await store.close()


@in_loop
async def test_a_forked_child_does_not_keep_its_parent_alive(postgres: str) -> None:
    """The lock goes with the process that opened the store, and the child's end leaves the parent's connections."""
    with process("leave", postgres) as other:
        assert line(other) == "child"
        other.send_signal(signal.SIGKILL)
        other.wait()
        store = await open_store(postgres)
        assert not await store.alive(await store.execution("e1"))
        await store.close()


@in_loop
async def test_who_keeps_no_file_here_lives_until_its_lease_ends(postgres: str) -> None:
    """Another container may have this host's name: that a file is missing says nothing."""
    store = await open_store(postgres)
    stranger = Holder("0" * 32, store.holder.host, 1)
    held = execution(holder=stranger)
    assert await store.alive(replace(held, lease_until=store.now() + 5))
    assert not await store.alive(replace(held, lease_until=store.now() - 5))
    await store.close()


@in_loop
async def test_without_a_folder_of_its_own_the_lease_decides(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another may write to the folder, nothing in it is believed; the store works without."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        assert liveness.own_folder("postgres") is not None
        (Path(folder) / f"rebuno-{os.getuid()}").chmod(0o777)
        assert liveness.own_folder("postgres") is None
        store = await open_store(postgres)
        await started(store)
        held = await store.execution("e1")
        assert await store.alive(held)
        assert not await store.alive(replace(held, holder=replace(store.holder, owner="0" * 32), lease_until=1.0))
        await store.close()


@in_loop
async def test_the_lease_of_a_store_is_renewed_and_can_be_lost(postgres: str) -> None:
    """By a thread of its own; once another attempt owns the execution the lease is lost."""
    store = await PostgresStore.open(postgres, renew_seconds=0.05)
    lease = await started(store)
    first = (await store.execution("e1")).lease_until
    store.keep(lease)
    while (await store.execution("e1")).lease_until <= first:
        pass
    claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=store.holder, lease_until=9e9)
    await written(store, batch("e1", event("dispatch.acked"), execution=claim))
    without_the_loop(lambda: lease.lost)
    await store.close()


def without_the_loop(happens: Callable[[], bool]) -> None:
    """Waits so that no task of the event loop runs."""
    until = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("again", range(2))
def test_a_deferred_batch_is_committed_while_the_loop_computes(postgres: str, again: int) -> None:
    """The loop does not run for 50 ms, then the process is killed: the batch is in the database."""
    with process("compute", postgres) as other:
        assert other.wait(20) == -signal.SIGKILL
    log = asyncio.run(log_of(postgres))
    assert [e.type for e in log] == ["execution.created", "step.executing", "step.succeeded"]
    assert verify(log).fault == ""


@pytest.mark.parametrize("after", [1, 100])
def test_what_was_answered_is_there(postgres: str, after: int) -> None:
    """Killed at any moment, the log holds every event whose number was answered, without gap."""
    with process("answer", postgres) as other:
        assert other.stdout is not None
        for _ in range(after):
            line(other)
        other.send_signal(signal.SIGKILL)
        answered = [int(text) for text in other.stdout.read().splitlines() if text]
    log = asyncio.run(log_of(postgres))
    checked = verify(log)
    assert checked.fault == ""
    assert len(log) == checked.seq >= max(answered, default=after)


def test_processes_that_write_to_one_execution_lose_nothing(postgres: str) -> None:
    """Each of two adds 100 events; all are there, each process's own in its order, in one unbroken chain."""

    async def prepare() -> None:
        store = await open_store(postgres)
        await started(store)
        await store.close()

    asyncio.run(prepare())
    with process("append", postgres) as a, process("append", postgres) as b:
        for other in (a, b):
            assert line(other) == "ready"
        for other in (a, b):
            assert other.stdin is not None
            other.stdin.write("\n")
            other.stdin.flush()
        assert [other.wait(60) for other in (a, b)] == [0, 0]
    log = asyncio.run(log_of(postgres))
    assert verify(log).seq == len(log) == 201
    by_process = itertools.groupby(sorted(log[1:], key=lambda e: e.payload["pid"]), key=lambda e: e.payload["pid"])
    assert [[e.payload["n"] for e in own] for _, own in by_process] == [list(range(100))] * 2


@in_loop
async def test_a_store_is_not_carried_over_a_fork(postgres: str) -> None:
    """The child is told so, and what it closes is not the parent's."""
    store = await open_store(postgres)
    lease = await started(store)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = "nothing was raised"
        try:
            store.keep(lease)
        except StoreError as error:
            text = str(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    await asyncio.to_thread(os.waitpid, child, 0)
    assert "before this process was forked" in os.read(reading, 1000).decode()
    os.close(reading)
    assert await written(store, batch("e1", lease=Lease("e1", 1, store.holder.owner))) == 2
    await store.close()
