"""What is due in a store is done: deadlines, questions, dead holders, executions that are not kept any more."""

import asyncio
import logging
from pathlib import Path

import pytest

import rebuno
from rebuno.embedded import Kernel
from rebuno.journal.records import ExecutionRow, Tombstone
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.lifecycle.sweep import Swept, keep_sweeping, sweep
from rebuno.model import identity
from rebuno.model.clock import FixedClock
from rebuno.policy.compile import compile_text
from tests.embedded.support import bundle, in_loop, line, process

ACT = rebuno.tool("act")(lambda: "acted")


class Place:
    """A store with a clock of its own and a kernel on it."""

    def __init__(self, store: SQLiteStore, clock: FixedClock) -> None:
        self.store = store
        self.clock = clock
        self.kernel = Kernel(store, compile_text(bundle("ask")), strict=False)

    @classmethod
    async def open(cls, path: Path) -> "Place":
        clock = FixedClock()
        return cls(await SQLiteStore.open(path, clock=clock), clock)

    async def done(self, id: str) -> rebuno.Execution:
        """An execution that has ended."""
        return await self.kernel.run(lambda: id, id=id, agent="agent")


@in_loop
async def test_what_is_overdue_is_ended(tmp_path: Path) -> None:
    """Executions past their deadlines are cancelled; those before stay as they are."""
    place = await Place.open(tmp_path / "store.db")
    for n in range(3):
        await place.kernel.run(ACT, id=f"run-{n}", agent="agent", deadline=10 * (n + 1))
    assert await sweep(place.store) == Swept()
    place.clock.advance(21)
    assert await sweep(place.store) == Swept(overdue=2)
    found = {row.key: (row.status.value, row.failure_reason) for row in await place.store.executions()}
    assert found == {
        "run-0": ("cancelled", "deadline_exceeded"),
        "run-1": ("cancelled", "deadline_exceeded"),
        "run-2": ("blocked", ""),
    }
    await place.store.close()


@in_loop
async def test_overdue_questions_expire(tmp_path: Path) -> None:
    """As the rule says; the execution may go on and is told so."""
    place = await Place.open(tmp_path / "store.db")
    rule = 'bundle b\ndefault allow\nrule act { require approval for tool "act" expires 1h }\n'
    kernel = Kernel(place.store, compile_text(rule), strict=False)
    await kernel.run(ACT, id="run", agent="agent")
    place.clock.advance(3601)
    assert await sweep(place.store) == Swept(expired=1)
    ended = await kernel.run(ACT, id="run", agent="agent")
    assert ended.output == "act not allowed. reason: approval_timeout"
    await place.store.close()


@in_loop
async def test_what_a_dead_process_ran_is_let_go_and_what_a_live_one_runs_is_not(tmp_path: Path) -> None:
    """So that nobody is said to run it; the next run takes it up as before."""
    path = tmp_path / "store.db"
    with process("hold", path) as other:
        assert line(other) == "held"
        async with rebuno.operate(path) as operator:
            assert (await operator.sweep()).released == 0
            other.kill()
            other.wait()
            assert (await operator.sweep()).released == 1
            assert (await operator.execution("run")).holder is None
            assert (await operator.sweep()).released == 0


@in_loop
async def test_retention_leaves_a_tombstone(tmp_path: Path) -> None:
    """Only of what ended long enough ago; it keeps the hashes of the output and of the log, and its key for ever."""
    place = await Place.open(tmp_path / "store.db")
    old = await place.done("old")
    await place.kernel.run(ACT, id="waits", agent="agent")
    place.clock.advance(100)
    await place.done("new")
    assert await sweep(place.store, retention=101) == Swept()
    assert await sweep(place.store, retention=99) == Swept(removed=1)
    assert {row.key for row in await place.store.executions()} == {"waits", "new"}
    gone = await place.store.tombstone("agent", "old")
    assert isinstance(gone, Tombstone)
    assert (gone.id, gone.status, gone.head_hash.hex()) == (old.id, "completed", old.head_hash)
    assert gone.output_hash == identity.args_hash('"old"')
    with pytest.raises(rebuno.ExecutionExpired, match="has completed and was removed"):
        await place.done("old")
    assert not await place.store.events(old.id)
    assert not await place.store.steps(old.id)
    await place.store.close()


@in_loop
async def test_many_are_removed_batch_by_batch(tmp_path: Path) -> None:
    """However many there are."""
    place = await Place.open(tmp_path / "store.db")
    for n in range(130):
        await place.done(f"run-{n}")
    place.clock.advance(1)
    assert await sweep(place.store, retention=0) == Swept(removed=130)
    await place.store.close()


class Damaged(SQLiteStore):
    """A store that cannot remove one of its executions."""

    key = "run-1"

    async def bury(self, tombstone: Tombstone) -> bool:
        """Raises for that one."""
        if tombstone.key == self.key:
            raise rebuno.StoreCorrupt("the row is damaged")
        return await super().bury(tombstone)


@in_loop
async def test_one_execution_that_cannot_be_swept_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named in the log and counted."""
    store = await Damaged.open(tmp_path / "store.db")
    kernel = Kernel(store, compile_text(bundle("ask")), strict=False)
    for n in range(3):
        await kernel.run(lambda: "done", id=f"run-{n}", agent="agent")
    assert await sweep(store, retention=0) == Swept(removed=2, failed=1)
    (left,) = await store.executions()
    (said,) = caplog.messages
    assert left.id in said
    assert "damaged" in said
    await store.close()


class Counted(SQLiteStore):
    """A store that tells when it was swept."""

    swept: "asyncio.Queue[str]"

    async def executions_due(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """What every sweep asks first."""
        self.swept.put_nowait(self.holder.owner)
        return await super().executions_due(before, limit=limit)


@in_loop
async def test_of_several_processes_one_sweeps(tmp_path: Path) -> None:
    """And another one after it has closed."""
    swept: asyncio.Queue[str] = asyncio.Queue()
    stores = [await Counted.open(tmp_path / "store.db") for _ in range(3)]
    for store in stores:
        store.swept = swept
    tasks = [asyncio.create_task(keep_sweeping(store, every=0.002)) for store in stores]
    owners = {store.holder.owner: (store, task) for store, task in zip(stores, tasks, strict=True)}
    first = await swept.get()
    assert {await swept.get() for _ in range(20)} == {first}
    store, task = owners[first]
    task.cancel()
    await asyncio.wait({task})
    await store.close()
    while (second := await swept.get()) == first:
        pass
    assert {await swept.get() for _ in range(5)} == {second}
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for store in stores:
        await store.close()


@in_loop
async def test_a_store_that_fails_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The loop goes on, and says what went wrong."""
    caplog.set_level(logging.WARNING)
    store = await SQLiteStore.open(tmp_path / "store.db")
    await store.close()
    task = asyncio.create_task(keep_sweeping(store, every=0.001))
    for _ in range(1000):
        await asyncio.sleep(0.002)
        if len(caplog.messages) >= 2:
            break
    assert len(caplog.messages) >= 2
    assert not task.done()
    assert "is closed" in caplog.messages[0]
    task.cancel()
    await asyncio.wait({task})
