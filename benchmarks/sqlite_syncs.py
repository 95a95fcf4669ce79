"""Counts what the disk is asked: an SQLite VFS that is the default one, and adds up its syncs.

Run as a program it measures commits: a bare loop on one connection beside the store's round trips.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import apsw

from rebuno.journal.records import Batch, ExecutionRow, Lease, NewEvent
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.execution import ExecutionStatus


class Counter:
    """How many times files were synced since the last `reset`. `vfs` is the name to open a store with, and `default`
    makes it that of every file that is opened from now on; `on_sync` is called before each."""

    def __init__(self, on_sync: Callable[[], None] | None = None, *, default: bool = False) -> None:
        self.syncs = 0
        self.vfs = f"counting-{uuid4().hex}"
        self.on_sync = on_sync
        self._registered = _CountingVFS(self, default)

    def reset(self) -> int:
        """The count so far, which then starts anew."""
        found, self.syncs = self.syncs, 0
        return found


class _CountingVFS(apsw.VFS):
    def __init__(self, counter: Counter, default: bool) -> None:
        self._counter = counter
        # By its name: "" would be this very one, once it is the default.
        self._base = apsw.vfs_names()[0]
        super().__init__(counter.vfs, base=self._base, makedefault=default)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _CountingFile(self._counter, self._base, name, flags)


class _CountingFile(apsw.VFSFile):
    def __init__(self, counter: Counter, base: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._counter = counter
        super().__init__(base, name, flags)

    def xSync(self, flags: int) -> None:
        if self._counter.on_sync is not None:
            self._counter.on_sync()
        super().xSync(flags)
        self._counter.syncs += 1


def bare(path: Path, commits: int) -> float:
    """Commits a second of the bare loop: one connection, one row, one synced commit after another."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
    start = time.perf_counter()
    for _ in range(commits):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (text) VALUES (?)", ("x" * 300,))
        connection.execute("COMMIT")
    seconds = time.perf_counter() - start
    connection.close()
    return commits / seconds


def commit_syncs(path: Path, journal_mode: str) -> float:
    """The syncs of files that a synced commit costs in this journal mode; those of folders are not seen."""
    counter = Counter()
    connection = apsw.Connection(str(path), vfs=counter.vfs)
    connection.pragma("journal_mode", journal_mode)
    connection.pragma("synchronous", "full")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
    counter.reset()
    for _ in range(10):
        connection.execute("INSERT INTO t (text) VALUES (?)", ("x" * 300,))
    connection.close()
    return counter.reset() / 10


async def round_trips(path: Path, executions: int, batches: int) -> dict[str, float]:
    """Batches a second, each awaited, of so many executions side by side; and the syncs that a batch cost."""
    counter = Counter()
    store = await SQLiteStore.open(path, vfs=counter.vfs)

    async def one(id: str) -> None:
        running = ExecutionRow(id, "bench", None, ExecutionStatus.RUNNING, "{}", "d", attempt=1, holder=store.holder)
        await store.create(running, [NewEvent("execution.created", {})])
        lease = Lease(id, 1, store.holder.owner)
        for n in range(batches):
            batch = Batch(id, (NewEvent("step.executing", {"step_id": f"{n:064}", "target": "t"}),), lease=lease)
            store.write(batch)
            await batch.committed

    counter.reset()
    start = time.perf_counter()
    await asyncio.gather(*(one(f"e{n}") for n in range(executions)))
    seconds, syncs = time.perf_counter() - start, counter.reset()
    await store.close()
    total = executions * batches
    return {"batches_per_second": round(total / seconds), "syncs_per_batch": round(syncs / total, 3)}


async def measure(commits: int) -> dict[str, object]:
    """The three measurements, each on a fresh file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return {
            "bare_commits_per_second": round(bare(place / "bare.db", commits)),
            "store_1": await round_trips(place / "one.db", 1, commits),
            "store_32": await round_trips(place / "many.db", 32, commits // 16),
        }


def main() -> None:
    """Prints the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--commits", type=int, default=2000)
    arguments = parser.parse_args()
    found = asyncio.run(measure(arguments.commits))
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:26} {value}")


if __name__ == "__main__":
    main()
