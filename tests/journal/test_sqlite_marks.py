"""A log of writes that belongs to another file, and a file that is changed under an open store: noticed, not merged."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from rebuno.errors import StoreError, StoreForeign
from rebuno.journal.chain import verify
from rebuno.journal.records import Batch
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import batch, event, in_loop, started, written
from tests.journal.processes import line, process

TEXT = "x" * 3000


def big(n: int = 0) -> Batch:
    """A batch that takes a page."""
    return batch("e1", event(n=n, text=TEXT))


async def fill(path: Path, count: int = 20) -> None:
    """Adds events to a store, and closes it."""
    store = await SQLiteStore.open(path)
    with suppress(Exception):
        await started(store)
    for n in range(count):
        await written(store, big(n))
    await store.close()


def kill(path: Path, answers: int = 5) -> None:
    """A process that writes to a store and is killed, so that its log of writes is left."""
    with process("more", path) as other:
        for _ in range(answers):
            assert line(other).isdecimal()
        other.send_signal(signal.SIGKILL)
        other.wait(10)
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


def files(folder: Path) -> dict[str, bytes]:
    """What the files of a store hold, the index apart, which every reader may make anew."""
    return {
        each.name: each.read_bytes()
        for each in sorted(folder.iterdir())
        if each.is_file() and not each.name.endswith("-shm")
    }


def copied(source: Path, target: Path) -> None:
    """`cp`: written in place."""
    shutil.copyfile(source, target)


def moved(source: Path, target: Path) -> None:
    """`mv`: another file under the name."""
    spare = source.with_name("spare.db")
    shutil.copyfile(source, spare)
    os.replace(spare, target)


def vacuumed(source: Path, target: Path) -> None:
    connection = apsw.Connection(str(source))
    connection.execute("VACUUM INTO ?", (str(target),))
    connection.close()


def backed_up(source: Path, target: Path) -> None:
    one, other = sqlite3.connect(source), sqlite3.connect(target)
    one.backup(other)
    one.close()
    other.close()


Way = Callable[[Path, Path], None]


async def sound(path: Path) -> int:
    """The number of events of a store that opens, whose log and rows are whole."""
    store = await SQLiteStore.open(path)
    events = await store.events("e1", limit=10_000)
    head = (await store.execution("e1")).head_seq
    await store.close()
    assert verify(events).fault == ""
    assert len(events) == head
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return len(events)


# ---------------------------------------------------------------- what goes on without questions


@pytest.mark.parametrize("answers", [1, 3, 40])
@in_loop
async def test_a_killed_process_costs_nothing(tmp_path: Path, answers: int) -> None:
    """However often it is killed, the next opens what it left."""
    path = tmp_path / "agent.db"
    await fill(path, 3)
    for _ in range(3):
        kill(path, answers)
        assert await sound(path) >= 4 + answers


@in_loop
async def test_a_process_that_is_killed_in_its_first_run_costs_nothing(tmp_path: Path) -> None:
    """All of the store may stand in its log."""
    path = tmp_path / "agent.db"
    kill(path)
    assert await sound(path) >= 6


@pytest.mark.parametrize("way", [copied, moved])
@in_loop
async def test_a_file_with_its_own_log_goes_anywhere(tmp_path: Path, way: Way) -> None:
    """Both are copied away after a crash, opened there, and put back together."""
    path = tmp_path / "agent.db"
    await fill(path, 3)
    kill(path)
    there = tmp_path / "there"
    there.mkdir()
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{there / 'agent.db'}{end}")
    kept = tmp_path / "kept"
    shutil.copytree(there, kept)
    assert await sound(there / "agent.db") >= 9
    for end in ("", "-wal"):
        way(kept / f"agent.db{end}", Path(f"{path}{end}"))
    assert await sound(path) >= 9


@in_loop
async def test_a_crash_while_the_log_is_copied_costs_nothing(tmp_path: Path) -> None:
    """Some of the log's pages are in the file, at any moment of the copying, and a page is torn."""
    path = tmp_path / "agent.db"
    await fill(path, 3)
    before = path.read_bytes()
    store = await SQLiteStore.open(path)
    for n in range(20):
        await written(store, big(n))
    store._writer._marks.seal()
    log = path.with_name("agent.db-wal").read_bytes()
    await store.close()
    after = path.read_bytes()
    assert len(after) > len(before)
    pages = len(after) // 4096
    for cut in range(0, pages + 1, 2):
        for torn in (False, True):
            mixed = after[: cut * 4096] + before[cut * 4096 :]
            # Only a page of the log is written.
            if torn and cut < pages and after[cut * 4096 :][:4096] != before[cut * 4096 :][:4096]:
                mixed = mixed[: cut * 4096 + 512] + os.urandom(512) + mixed[cut * 4096 + 1024 :]
            here = tmp_path / f"cut{cut}{torn}"
            here.mkdir()
            (here / "agent.db").write_bytes(mixed)
            (here / "agent.db-wal").write_bytes(log)
            assert await sound(here / "agent.db") == 24


@in_loop
async def test_a_log_that_was_torn_by_a_power_cut_costs_its_end_only(tmp_path: Path) -> None:
    """Cut off or damaged anywhere, at its first change too."""
    path = tmp_path / "agent.db"
    await fill(path, 3)
    kill(path, 3)
    main, log = path.read_bytes(), path.with_name("agent.db-wal").read_bytes()
    for length in [*range(0, 12_500, 1033), len(log) - 1000]:
        for damage in (b"", bytes(700)):
            here = tmp_path / f"at{length}{len(damage)}"
            here.mkdir()
            (here / "agent.db").write_bytes(main)
            (here / "agent.db-wal").write_bytes(log[:length] + damage)
            assert await sound(here / "agent.db") >= 4


@in_loop
async def test_several_processes_share_a_store_whose_log_begins_anew(tmp_path: Path) -> None:
    """Each copies the log and goes on; no one takes another's work for a stranger's."""
    path = tmp_path / "agent.db"
    stores = [await SQLiteStore.open(path) for _ in range(3)]
    await started(stores[0])
    for n in range(60):
        store = stores[n % 3]
        await written(store, big(n))
        if n % 7 == 0:
            store._writer._log._copy_at = 0
            await written(store, big(n))
        if n % 10 == 0:
            await stores[(n + 1) % 3].close()
            stores[(n + 1) % 3] = await SQLiteStore.open(path)
    for store in stores:
        await store.close()
    assert await sound(path) >= 61


@in_loop
async def test_another_programs_checkpoint_is_no_stranger(tmp_path: Path) -> None:
    """Anyone who looks into the file with SQLite's own tools, or backs it up, may copy the log."""
    path = tmp_path / "agent.db"
    store = await SQLiteStore.open(path)
    await started(store)
    for n, mode in enumerate(("PASSIVE", "FULL", "RESTART", "TRUNCATE")):
        await written(store, big(n))
        # In a process of its own: SQLite's other copy in this one would take the store's locks away.
        program = f"import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint({mode})')"
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(path)], check=True)
        await written(store, big(n))
    await store.close()
    assert await sound(path) == 9


# ---------------------------------------------------------------- what is noticed when it is opened


async def base(path: Path) -> None:
    await fill(path, 10)


async def older(path: Path) -> None:
    """The copy is made, and the store goes on and is closed."""
    await fill(path, 10)


@pytest.mark.parametrize("way", [copied, moved])
@pytest.mark.parametrize("made", ["closed", "vacuumed", "backed up", "of another store", "of an older state"])
@in_loop
async def test_a_foreign_log_is_not_copied_into_a_copy(tmp_path: Path, made: str, way: Way) -> None:
    """A killed process left its log, and a copy is put in the place of the file: it stays as it is, and so does the
    log; with the log moved away the copy is a store."""
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    await fill(path, 10)
    match made:
        case "closed" | "of an older state":
            shutil.copyfile(path, copy)
        case "vacuumed":
            vacuumed(path, copy)
        case "backed up":
            backed_up(path, copy)
        case _:
            await fill(copy, 10)
    if made == "of an older state":
        await fill(path, 5)
    kill(path)
    way(copy, path)
    before = files(tmp_path)
    for _ in range(2):
        with pytest.raises(StoreForeign, match="do not belong together"):
            await SQLiteStore.open(path)
        assert files(tmp_path) == before
    path.with_name("agent.db-wal").unlink()
    path.with_name("agent.db-shm").unlink(missing_ok=True)
    assert await sound(path) == 11


@pytest.mark.parametrize("take", [vacuumed, backed_up])
@in_loop
async def test_a_copy_of_a_live_store_is_not_merged_with_the_log_that_was_written_on(tmp_path: Path, take: Way) -> None:
    """The copy was made within the life of the very log that is left."""
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    await fill(path, 3)
    with process("more", path) as other:
        for _ in range(4):
            line(other)
        take(path, copy)
        for _ in range(4):
            line(other)
        other.send_signal(signal.SIGKILL)
        other.wait(10)
    shutil.copyfile(copy, path)
    before = files(tmp_path)
    with pytest.raises(StoreForeign, match="do not belong together"):
        await SQLiteStore.open(path)
    assert files(tmp_path) == before


@in_loop
async def test_the_log_of_another_store_is_noticed(tmp_path: Path) -> None:
    """Only the log is put there."""
    path, other = tmp_path / "agent.db", tmp_path / "other.db"
    await fill(path, 10)
    await fill(other, 10)
    kill(other)
    shutil.copyfile(f"{other}-wal", f"{path}-wal")
    before = path.read_bytes()
    with pytest.raises(StoreForeign):
        await SQLiteStore.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("first", [False, True])
@in_loop
async def test_a_log_without_its_file_is_not_removed(tmp_path: Path, first: bool, known: bool, emptied: bool) -> None:
    """SQLite removes a log that stands beside no file, or an empty one; it holds the newest writes. `first`: all of the
    store stands there; `known`: its owner files are still there."""
    path = tmp_path / "agent.db"
    if not first:
        await fill(path, 3)
    kill(path)
    away = tmp_path / "away.db"
    path.rename(away)
    if emptied:
        path.touch()
    if not known:
        shutil.rmtree(tmp_path / "agent.db-owners")
    before = files(tmp_path)
    for _ in range(2):
        with pytest.raises(StoreError):
            await SQLiteStore.open(path)
        assert files(tmp_path) == before
    away.replace(path)
    assert await sound(path) >= 6


@in_loop
async def test_another_programs_log_beside_no_file_is_not_removed(tmp_path: Path) -> None:
    """Nor is it made ours."""
    program = (
        "import os, sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA journal_mode=wal')\nc.execute('CREATE TABLE t (a)')\nos._exit(0)"
    )
    other, path = tmp_path / "other.db", tmp_path / "agent.db"
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(other)], check=True)
    shutil.copyfile(f"{other}-wal", f"{path}-wal")
    before = files(tmp_path)
    with pytest.raises(StoreForeign):
        await SQLiteStore.open(path)
    assert files(tmp_path) == before


@in_loop
async def test_a_rollback_journal_beside_a_store_is_foreign(tmp_path: Path) -> None:
    """SQLite would write its pages back into the file."""
    path = tmp_path / "agent.db"
    await fill(path, 10)
    path.with_name("agent.db-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + os.urandom(5000))
    before = files(tmp_path)
    with pytest.raises(StoreForeign, match="rollback journal"):
        await SQLiteStore.open(path)
    assert files(tmp_path) == before


# ---------------------------------------------------------------- what is noticed while it is open


@pytest.mark.parametrize("idle", [True, False])
@pytest.mark.parametrize("way", [copied, moved])
@pytest.mark.parametrize("made", ["closed", "vacuumed", "backed up", "of another store", "text"])
@in_loop
async def test_a_file_that_is_written_over_takes_no_further_write(
    tmp_path: Path, made: str, way: Way, idle: bool
) -> None:
    """The next write fails, nothing is written to the copy, not by closing either, and the copy is a store by itself.
    `idle`: nothing was written since it was opened."""
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    await fill(path, 10)
    match made:
        case "closed":
            shutil.copyfile(path, copy)
        case "vacuumed":
            vacuumed(path, copy)
        case "backed up":
            backed_up(path, copy)
        case "text":
            copy.write_text("notes\n" * 3000)
        case _:
            await fill(copy, 10)
    store = await SQLiteStore.open(path)
    if not idle:
        for n in range(5):
            await written(store, big(n))
    way(copy, path)
    with pytest.raises(StoreError):
        await written(store, big())
    with pytest.raises(StoreError):
        await written(store, big())
    await store.close()
    assert path.read_bytes() == copy.read_bytes()
    if made != "text":
        for end in ("-wal", "-shm"):
            path.with_name(f"agent.db{end}").unlink(missing_ok=True)
        assert await sound(path) == 11


@in_loop
async def test_a_file_that_is_written_over_after_its_log_was_copied(tmp_path: Path) -> None:
    """Nothing is read from the log any more then, so that what was put there would be built upon."""
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    await fill(path, 10)
    shutil.copyfile(path, copy)
    store = await SQLiteStore.open(path)
    for n in range(5):
        await written(store, big(n))
    store._writer._log._copy_at = 0
    await written(store, big())
    # The log is copied once that is answered.
    for _ in range(200):
        if path.read_bytes() != copy.read_bytes():
            break
        await asyncio.sleep(0.01)
    with store._writer._turn:
        shutil.copyfile(copy, path)
    with pytest.raises(StoreError):
        await written(store, big())
    await store.close()
    assert path.read_bytes() == copy.read_bytes()


@in_loop
async def test_a_lease_is_not_renewed_in_a_strangers_file(tmp_path: Path) -> None:
    """A quiet store notices it at its next renewal, and its attempts end."""
    path, copy = tmp_path / "agent.db", tmp_path / "copy.db"
    await fill(path, 3)
    shutil.copyfile(path, copy)
    store = await SQLiteStore.open(path, renew_seconds=0.01)
    lease = await started(store, "e2")
    store.keep(lease)
    shutil.copyfile(copy, path)
    for _ in range(500):
        if lease.poison is not None:
            break
        await asyncio.sleep(0.01)
    assert isinstance(lease.poison, StoreError)
    await store.close()
    assert path.read_bytes() == copy.read_bytes()
