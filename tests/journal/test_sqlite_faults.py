"""Disks that fill up, locks held by others, files taken away, clocks that jump: each is told, and nothing is lost."""

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from rebuno.errors import StoreBusy, StoreError, StoreFull, StoreUnreachable
from rebuno.journal.chain import verify
from rebuno.journal.records import Lease, Spend
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.clock import FixedClock
from tests.journal.builders import batch, event, execution, in_loop, started, written
from tests.journal.processes import line, process
from tests.journal.small_disk import SmallDisk, small_disk


@pytest.fixture(params=["full", "limited"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk on which little fits, or files of a limited size."""
    with small_disk(tmp_path / "disk", limited=request.param == "limited") as made:
        yield made


# ---------------------------------------------------------------- a full disk


@in_loop
async def test_a_full_disk_fails_what_does_not_fit_and_nothing_else(disk: SmallDisk) -> None:
    """The error is of its kind, nothing of the write is kept, and the store goes on once there is room."""
    store = await SQLiteStore.open(disk.folder / "store.db")
    lease, other = await started(store, "e1"), await started(store, "e2")
    disk.fill()
    full = batch("e1", event(text="x" * 400_000), lease=lease)
    with pytest.raises(StoreFull if disk.mounted else StoreError, match="disk"):
        await written(store, full)
    assert isinstance(lease.poison, StoreError)
    assert [len(await store.events(id)) for id in ("e1", "e2")] == [1, 1], "what is there can be read"
    disk.free()
    with pytest.raises(StoreError, match="disk"):
        await written(store, batch("e1", lease=lease))
    assert await written(store, batch("e2", event(text="x" * 400_000), lease=other)) == 2
    assert await written(store, batch("e1", event(text="x" * 400_000))) == 2
    await store.close()
    assert await chains(disk.folder / "store.db", "e1", "e2") == [2, 2]


async def chains(path: Path, *ids: str) -> list[int]:
    """How many events the executions have, each log whole up to its head."""
    store = await SQLiteStore.open(path, create=False)
    found = []
    for id in ids:
        checked, read = verify(await store.events(id)), await store.execution(id)
        assert (checked.fault, checked.seq, checked.hash) == ("", read.head_seq, read.head_hash)
        found.append(checked.seq)
    await store.close()
    return found


# More writes than any fault here lets through.
_TRIES: Final = 20_000


async def until_it_fails(
    store: SQLiteStore, lease: Lease | None = None, text: str = "x" * 20_000
) -> tuple[int, object]:
    """Writes until that fails, but not for ever; the number of the last event that was answered, and the error."""
    answered = 1
    for _ in range(_TRIES):
        one = batch("e1", event(text=text), lease=lease)
        store.write(one)
        (answer,) = await asyncio.gather(one.committed, return_exceptions=True)
        if not isinstance(answer, int):
            return answered, answer
        answered = answer
    return answered, None


@in_loop
async def test_writes_until_the_disk_is_full_keep_what_was_answered(disk: SmallDisk) -> None:
    """Small ones, through some checkpoints, until nothing fits: what was answered is there, what was not is not."""
    path = disk.folder / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    disk.fill(leaving=6_000_000)
    answered, error = await until_it_fails(store)
    assert isinstance(error, StoreFull if disk.mounted else StoreError)
    assert answered > 100
    await store.close()
    assert await chains(path, "e1") == [answered]
    disk.free()
    store = await SQLiteStore.open(path)
    assert await written(store, batch()) == answered + 1
    await store.close()


@in_loop
async def test_a_store_cannot_be_made_on_a_full_disk(disk: SmallDisk) -> None:
    """The error says so; once there is room the same file is opened."""
    (disk.folder / "other").write_bytes(b"")
    disk.fill()
    with pytest.raises(StoreError, match="disk"):
        await SQLiteStore.open(disk.folder / "store.db")
    disk.free()
    store = await SQLiteStore.open(disk.folder / "store.db")
    await started(store)
    await store.close()


# ---------------------------------------------------------------- locks


@in_loop
async def test_a_process_that_keeps_the_lock_is_waited_for_as_long_as_told(tmp_path: Path) -> None:
    """The error comes after that time, and says that another process has it."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path, busy_timeout=0.3)
    lease = await started(store)
    with process("lock", path) as other:
        assert line(other) == "locked"
        with pytest.raises(StoreBusy, match=r"locked by another process; try again") as caught:
            await written(store, batch("e1", lease=lease))
        assert caught.value.path == str(path)
        assert len(await store.events("e1")) == 1, "readers are not kept out"
        with pytest.raises(StoreBusy):
            await written(store, batch("e1", lease=lease))
    assert await written(store, batch()) == 2
    await store.close()


@in_loop
async def test_a_writer_that_waits_goes_on_when_the_lock_goes(tmp_path: Path) -> None:
    """Whether its holder lets go or is killed; nothing is asked twice."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path, busy_timeout=60)
    await started(store)
    for n, killed in enumerate((False, True)):
        with process("lock", path) as other:
            assert line(other) == "locked"
            waiting = batch("e1", event(n=n))
            store.write(waiting)
            await asyncio.wait([waiting.committed], timeout=0.05)
            assert not waiting.committed.done()
            if killed:
                other.send_signal(signal.SIGKILL)
            elif other.stdin is not None:
                other.stdin.write("\n")
                other.stdin.flush()
            assert await asyncio.wait_for(waiting.committed, 10) == n + 2
    await store.close()


# ---------------------------------------------------------------- files taken away


def delete_the_file(path: Path) -> None:
    path.unlink()


def move_the_file(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def replace_the_file(path: Path) -> None:
    shutil.copyfile(path, path.with_name("copy.db"))
    os.replace(path.with_name("copy.db"), path)


def delete_the_log_of_writes(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def delete_the_index(path: Path) -> None:
    path.with_name(f"{path.name}-shm").unlink()


def put_a_link_in_its_place(path: Path) -> None:
    """Who opens the store through it finds no log beside the file."""
    path.rename(path.with_name("moved.db"))
    path.symlink_to(path.with_name("moved.db"))


def delete_the_owners(path: Path) -> None:
    shutil.rmtree(f"{path}-owners")


TAKEN = [
    delete_the_file,
    move_the_file,
    replace_the_file,
    delete_the_log_of_writes,
    delete_the_index,
    put_a_link_in_its_place,
    delete_the_owners,
]


@pytest.mark.parametrize("take", TAKEN)
@in_loop
async def test_a_file_taken_away_is_noticed_by_who_writes(tmp_path: Path, take: Callable[[Path], None]) -> None:
    """Within a moment, by an error that names it; afterwards every write and read has that error."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    lease = await started(store)
    take(path)
    _, error = await until_it_fails(store, lease, "")
    assert isinstance(error, StoreUnreachable)
    assert re.search(r"moved or deleted while it was open: `.*store\.db", str(error))
    assert lease.poison is error
    for call in (store.execution("e1"), store.create(execution("e2"), [])):
        with pytest.raises(StoreUnreachable):
            await call
    await store.close()


def poison_of(lease: Lease) -> Exception | None:
    """What the store's thread says of a lease, as soon as it does."""
    until = time.monotonic() + 5
    while lease.poison is None and time.monotonic() < until:
        time.sleep(0.01)
    return lease.poison


@in_loop
async def test_a_file_taken_away_is_noticed_by_who_only_holds_a_lease(tmp_path: Path) -> None:
    """With the next renewal, without a write; a lease taken later has no chance either."""
    store = await SQLiteStore.open(tmp_path / "store.db", renew_seconds=0.02)
    lease = await started(store)
    store.keep(lease)
    delete_the_file(tmp_path / "store.db")
    assert isinstance(await asyncio.to_thread(poison_of, lease), StoreUnreachable)
    store.keep(Lease("e1", 2, store.holder.owner))
    with pytest.raises(StoreUnreachable):
        await store.events("e1")
    await store.close()


@in_loop
async def test_a_store_in_the_place_of_one_that_was_deleted_is_left_alone(tmp_path: Path) -> None:
    """Who still has the old one open neither writes to the new one nor takes its files away when it closes."""
    path = tmp_path / "store.db"
    old = await SQLiteStore.open(path)
    await started(old)
    for file in (path, path.with_name("store.db-wal"), path.with_name("store.db-shm")):
        file.unlink()
    new = await SQLiteStore.open(path)
    assert await new.executions() == []
    await started(new, "e9")
    await old.close()
    assert await written(new, batch("e9")) == 2
    await new.close()
    assert await chains(path, "e9") == [2]


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize("jump", [-3600.0, 3600.0], ids=["back", "forward"])
@in_loop
async def test_a_clock_that_jumps_kills_no_holder_and_keeps_none_alive(tmp_path: Path, jump: float) -> None:
    """On one machine the lock alone says who lives, whatever the lease says; the log goes on in its order."""
    path = tmp_path / "store.db"
    clock = FixedClock(time.time())
    store = await SQLiteStore.open(path, clock=clock)
    with process("hold", path) as other:
        assert line(other) == "held"
        held = await store.execution("e1")
        clock.advance(jump)
        assert (held.lease_until > clock.now()) is (jump < 0)
        assert await store.alive(held)
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert not await store.alive(held)
    assert await written(store, batch()) == 2
    await store.close()
    assert await chains(path, "e1") == [2]


@pytest.mark.parametrize(
    ("jump", "places"),
    [
        (-3600.0, 0),  # the places taken are still in the window, as they would be without the jump
        (3600.0, 2),  # the clock says that an hour went by
    ],
    ids=["back", "forward"],
)
@in_loop
async def test_a_clock_that_jumps_back_gives_no_place_in_a_limit(tmp_path: Path, jump: float, places: int) -> None:
    """A limit is never exceeded within any window of the clock that it is counted by."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    limit = Spend("k", 2, 60)
    assert [await store.spend(f"s{n}", [limit]) for n in range(2)] == [None, None]
    clock.advance(jump)
    answers = [await store.spend(f"t{n}", [limit]) for n in range(3)]
    assert answers.count(None) == places
    await store.close()
