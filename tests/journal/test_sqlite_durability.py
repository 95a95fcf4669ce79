"""What a commit costs and when it is answered: syncs counted at the file, deferral, and leases kept alive."""

import asyncio
import threading
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from benchmarks.sqlite_syncs import Counter
from rebuno.errors import LeaseSuperseded, StoreError
from rebuno.journal.chain import event_hash
from rebuno.journal.records import ExecutionWrite, Lease
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.committer import Committer
from rebuno.journal.sqlite.log import LONG
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.journal.builders import approval, asking, batch, event, execution, in_loop, started, written
from tests.kernel.served import PATIENCE, eventually


@in_loop
async def test_one_sync_before_the_answer(tmp_path: Path) -> None:
    """A batch alone costs one sync, and at the sync it is not answered yet."""
    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    await started(store)
    one = batch()
    answered_at_sync: list[bool] = []
    counter.on_sync = lambda: answered_at_sync.append(one.committed.done())
    counter.reset()
    store.write(one)
    await one.committed
    assert (counter.reset(), answered_at_sync) == (1, [False])
    await store.close()


@in_loop
async def test_one_sync_for_a_group(tmp_path: Path) -> None:
    """What 30 executions hand over while the thread waits for the disk goes into the next commit."""
    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    for n in range(31):
        await started(store, f"e{n}")
    loop, syncing, handed = threading.get_ident(), threading.Event(), threading.Event()

    def on_sync() -> None:
        syncing.set()
        # The event loop commits what it finds alone, and hands nothing over meanwhile.
        if threading.get_ident() != loop:
            assert handed.wait(PATIENCE)

    async def waits() -> bool:
        return syncing.is_set()

    counter.on_sync = on_sync
    counter.reset()
    made = [batch(f"e{n}") for n in range(31)]
    store.write(made[0])
    await eventually(waits)
    for one in made[1:]:
        store.write(one)
    handed.set()
    await asyncio.gather(*(one.committed for one in made))
    assert counter.reset() == 2
    await store.close()


@in_loop
async def test_a_deferred_batch_shares_the_next_commit_of_its_execution(tmp_path: Path) -> None:
    """The outcome of one step and the intent of the next cost one sync together, in order."""
    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    await started(store)
    counter.reset()
    outcome, intent = batch("e1", event("step.succeeded"), deferred=True), batch("e1", event("step.executing"))
    store.write(outcome)
    store.write(intent)
    assert [await outcome.committed, await intent.committed] == [2, 3]
    assert counter.reset() == 1
    await store.close()


@in_loop
async def test_a_deferred_batch_waits_for_nobody(tmp_path: Path) -> None:
    """Another execution's commits neither carry nor delay it."""
    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    await started(store, "e1")
    await started(store, "e2")
    late, other = batch("e1", deferred=True), batch("e2")
    counter.reset()
    store.write(late)
    store.write(other)
    # It comes by itself, although nothing else of its execution does, and in a commit of its own.
    assert [await other.committed, await late.committed] == [2, 2]
    assert counter.reset() == 2
    await store.close()


@in_loop
async def test_events_carry_the_clock_even_where_it_is_set_back(tmp_path: Path) -> None:
    """Times are what the clock said at the write; the order is the number's."""
    clock = FixedClock("2026-05-01T12:00:00Z")
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    await started(store)
    clock.advance(-3600.5)
    await written(store, batch())
    assert store.now() == clock.now()
    assert [e.occurred_at for e in await store.events("e1")] == [
        "2026-05-01T12:00:00.000000Z",
        "2026-05-01T10:59:59.500000Z",
    ]
    await store.close()


async def _renewed(store: SQLiteStore, clock: FixedClock, id: str = "e1") -> None:
    """Waits until the lease of this execution runs for 30 s from now."""

    async def renewed() -> bool:
        return (await store.execution(id)).lease_until == clock.now() + 30

    await eventually(renewed)


@in_loop
async def test_a_kept_lease_is_renewed_until_it_is_dropped(tmp_path: Path) -> None:
    """The row's `lease_until` moves to 30 s from now by itself."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock, renew_seconds=0.02)
    lease, other = await started(store, "e1"), await started(store, "e2")
    store.keep(lease)
    store.keep(other)
    clock.advance(100)
    await _renewed(store, clock, "e1")
    store.drop(lease)
    clock.advance(100)
    # One commit renews all that are kept. A first one may have begun before this one was dropped.
    await _renewed(store, clock, "e2")
    then = (await store.execution("e1")).lease_until
    clock.advance(100)
    await _renewed(store, clock, "e2")
    assert (await store.execution("e1")).lease_until == then
    assert not lease.lost
    await store.close()


@in_loop
async def test_a_kept_lease_that_another_took_is_lost(tmp_path: Path) -> None:
    """Its holder learns of it without writing."""
    store = await SQLiteStore.open(tmp_path / "store.db", renew_seconds=0.02)
    leases = [await started(store, f"e{n}") for n in range(2)]
    for lease in leases:
        store.keep(lease)
    taken = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=store.holder, lease_until=9e9)
    await written(store, batch("e1", execution=taken))

    async def noticed() -> bool:
        return leases[1].lost

    await eventually(noticed)
    assert not leases[0].lost
    await store.close()


@in_loop
async def test_a_busy_file_is_no_verdict_about_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renewal that fails is tried again."""
    renew = Committer.renew
    failed = threading.Event()

    def renewing(self: Committer, leases: Iterable[Lease], now: float) -> list[Lease]:
        try:
            return renew(self, leases, now)
        except apsw.BusyError:
            failed.set()
            raise

    monkeypatch.setattr(Committer, "renew", renewing)
    clock = FixedClock()
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path, clock=clock, renew_seconds=0.02, busy_timeout=0.01)
    lease = await started(store)
    store.keep(lease)
    other = apsw.Connection(str(path))
    other.set_busy_timeout(5000)
    other.execute("BEGIN IMMEDIATE")

    async def tried() -> bool:
        return failed.is_set()

    await eventually(tried)
    other.execute("ROLLBACK")
    other.close()
    clock.advance(7)
    await _renewed(store, clock)
    assert not lease.lost
    await store.close()


@in_loop
async def test_another_process_s_writes_are_built_on(tmp_path: Path) -> None:
    """A head known here is an offer: the row decides, and a lease taken elsewhere is noticed."""
    path = tmp_path / "store.db"
    here, there = await SQLiteStore.open(path), await SQLiteStore.open(path)
    lease = await started(here)
    assert await written(here, batch("e1", lease=lease)) == 2
    assert await written(there, batch("e1")) == 3
    assert await written(here, batch("e1", lease=lease)) == 4
    claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=there.holder, lease_until=9e9)
    await written(there, batch("e1", execution=claim))
    late = batch("e1", lease=lease)
    here.write(late)
    assert isinstance((await asyncio.gather(late.committed, return_exceptions=True))[0], LeaseSuperseded)
    assert lease.lost
    assert await written(there, batch("e1", lease=Lease("e1", 2, there.holder.owner))) == 6
    await here.close()
    await there.close()


@in_loop
async def test_a_head_of_the_same_number_and_another_hash_is_read_again(tmp_path: Path) -> None:
    """A file put in the place of another: the next event is chained to what the row says."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    other = apsw.Connection(str(path))
    other.execute("UPDATE executions SET head_hash = ?", (bytes(31) + b"\1",))
    other.close()
    await written(store, batch())
    newest = (await store.events("e1"))[-1]
    expected = event_hash(bytes(31) + b"\1", "e1", 2, newest.type, newest.payload, newest.occurred_at)
    assert newest.hash == expected
    await store.close()


@in_loop
async def test_rows_belong_to_rows_that_exist(tmp_path: Path) -> None:
    """An approval of a step that is not there is refused by the schema."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    await started(store)
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await written(store, asking(approval()))
    assert len(await store.events("e1")) == 1
    await store.close()


def test_a_store_may_outlive_its_event_loop(tmp_path: Path) -> None:
    """An answer for a loop that is gone is dropped; the next loop goes on."""
    path = tmp_path / "store.db"

    async def first() -> SQLiteStore:
        store = await SQLiteStore.open(path)
        await store.create(execution(), [event("execution.created")])
        store.write(batch("e1", deferred=True))
        return store

    async def second(store: SQLiteStore) -> int:
        await asyncio.sleep(0.02)
        number = await written(store, batch())
        await store.close()
        return number

    assert asyncio.run(second(asyncio.run(first()))) == 3


def size_of(file: Path) -> int | None:
    return file.stat().st_size if file.exists() else None


@in_loop
async def test_a_busy_log_is_grown_ahead_and_a_long_one_begins_anew(tmp_path: Path) -> None:
    """Most commits leave the end of the log where it is; once it is long and copied, it is written from its start on,
    and nothing is lost."""
    path = tmp_path / "store.db"
    log = Path(f"{path}-wal")
    store = await SQLiteStore.open(path)
    await started(store)
    sizes = []
    for _ in range(100):
        await written(store, batch("e1", event(text="x" * 20_000)))
        sizes.append(size_of(log))
    assert sum(size == next for size, next in pairwise(sizes)) > 50

    async def began_anew() -> bool:
        await written(store, batch("e1", event(text="x" * 200_000)))
        return first_bytes() != beginning

    def first_bytes() -> bytes:
        # They count how often the log has begun anew.
        with log.open("rb") as file:
            return file.read(16)

    beginning = first_bytes()
    await eventually(began_anew)
    assert (size_of(log) or 0) < 2 * LONG * 4120
    kept = await store.execution("e1")
    await store.close()
    assert size_of(log) is None
    again = await SQLiteStore.open(path, create=False)
    assert (await again.execution("e1")).head_hash == kept.head_hash
    await again.close()
