"""What an open store does while nothing happens: counted, on a clock that only the waiting moves."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from rebuno.journal.sqlite import SQLiteStore, writer
from rebuno.journal.sqlite.committer import Committer
from rebuno.journal.sqlite.file_watch import LOOK_SECONDS, FileWatch
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.sqlite.writer import RENEW_SECONDS, Writer
from tests.journal.builders import batch, in_loop, started, written

# How long the store is quiet, in seconds of that clock.
QUIET = 3600.0


class Quiet:
    """The time that the store's thread lives in: a wait that nobody cuts short ends at once, and its seconds are over.
    What the thread does is counted until `QUIET` seconds are over; then it waits for a job, however long it asked."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.end = 0.0
        self.counts = {"waits": 0, "empty waits": 0, "renewals": 0, "looks": 0, "commits": 0, "files": 0}
        self.over = threading.Event()

    def begin(self) -> None:
        """From now on."""
        self.counts = dict.fromkeys(self.counts, 0)
        self.end = self.now + QUIET

    def count(self, what: str) -> None:
        if self.now < self.end:
            self.counts[what] += 1


@contextmanager
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Quiet]:
    time = Quiet()
    wait, renew, begin = Writer._await_wake, Committer.renew, Marks.begin
    check = FileWatch.check

    def waited(self: Writer, timeout: float | None) -> bool:
        if timeout == 0.0 or not self._wake.empty():
            return wait(self, 0.0)
        if timeout is None or not time.end or time.now + timeout > time.end:
            if time.end:
                time.over.set()
            return wait(self, None if time.end else timeout)
        time.count("waits")
        time.counts["empty waits"] += timeout <= 0
        time.now += timeout
        return False

    def renewed(self: Committer, *args: object) -> object:
        time.count("renewals")
        return renew(self, *args)  # type: ignore[arg-type]

    def began(self: Marks) -> None:
        time.count("commits")
        begin(self)

    def checked(self: FileWatch) -> None:
        time.count("looks")
        check(self)

    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: time.now, perf_counter=lambda: 0.0))
    monkeypatch.setattr(Writer, "_await_wake", waited)
    monkeypatch.setattr(Committer, "renew", renewed)
    monkeypatch.setattr(Marks, "begin", began)
    monkeypatch.setattr(FileWatch, "check", checked)
    yield time


@pytest.mark.parametrize("held", [0, 1, 5])
@in_loop
async def test_a_quiet_store_renews_its_leases_in_time_and_does_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """One commit for all leases every ten seconds, a look at the files for each, and no other wake."""
    with quiet(monkeypatch) as time:
        store = await SQLiteStore.open(tmp_path / "store.db")
        for n in range(held):
            store.keep(await started(store, f"e{n}"))
        await written(store, batch("e0")) if held else None
        # The thread comes to its rest, then the quiet begins.
        await store.executions()
        time.begin()
        store._writer._wake.put(None)
        assert await asyncio.to_thread(time.over.wait, 30)
        counts = dict(time.counts)
        await store.close()
    due = int(QUIET / RENEW_SECONDS) if held else 0
    assert due - 1 <= counts["renewals"] <= due
    assert counts["commits"] == counts["renewals"]
    assert counts["looks"] <= due + 2
    assert counts["empty waits"] == 0
    # After the last job the thread looks for the next by itself for a moment: so often at most.
    assert counts["waits"] <= due + 1 + int(writer.BUSY_SECONDS / writer.DEFER_SECONDS) + int(1 / LOOK_SECONDS)


@in_loop
async def test_a_store_that_cannot_renew_asks_again_in_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at once and for ever: another process keeps it locked."""
    import apsw

    with quiet(monkeypatch) as time:
        store = await SQLiteStore.open(tmp_path / "store.db", busy_timeout=0.0)
        store.keep(await started(store))
        other = apsw.Connection(str(tmp_path / "store.db"))
        other.execute("BEGIN IMMEDIATE")
        time.begin()
        store._writer._wake.put(None)
        assert await asyncio.to_thread(time.over.wait, 60)
        counts = dict(time.counts)
        other.execute("ROLLBACK")
        other.close()
        await store.close()
    assert QUIET * 0.9 <= counts["renewals"] <= QUIET
    assert counts["empty waits"] == 0
