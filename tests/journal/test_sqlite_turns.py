"""Two threads at one connection, the event loop's and the store's own: neither waits in vain, nothing is done twice."""

import asyncio
import dis
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest

from rebuno.errors import NotFoundError, StoreError
from rebuno.journal.chain import verify
from rebuno.journal.records import Copied, Lease, Tombstone
from rebuno.journal.sqlite import SQLiteStore, log, writer
from rebuno.journal.sqlite.committer import Committer
from rebuno.journal.sqlite.jobs import ReadJob
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.journal.builders import batch, ending, event, execution, in_loop, started, written
from tests.kernel.served import eventually


async def at_work(path: Path, **options: Any) -> SQLiteStore:
    """A store whose thread looks for jobs by itself, and whose disk is taken for swift."""
    store = await SQLiteStore.open(path, **options)
    await started(store)
    store._writer._committer.seconds = 0.0
    return store


# ---------------------------------------------------------------- whose turn it is


@in_loop
async def test_a_read_behind_a_change_of_the_same_turn_is_not_left_to_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller that wakes the thread is served by it, even while the loop is to come."""
    store = await at_work(tmp_path / "store.db")
    await store.execution("e1")
    monkeypatch.setattr(writer, "DEFER_SECONDS", 60.0)
    monkeypatch.setattr(writer, "BUSY_SECONDS", 60.0)

    async def written_and_read() -> int:
        store._writer._committer.seconds = 0.0
        store.write(batch())
        return (await store.execution("e1")).head_seq

    for n in range(2, 12):
        reading = asyncio.create_task(written_and_read())
        # Between the question and the commit.
        asyncio.get_running_loop().call_soon(hold_up)
        assert await asyncio.wait_for(reading, 10) == n
    await store.close()


@in_loop
async def test_what_is_to_be_written_one_by_one_waits_for_another_process_with_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of several that fails lets go of the lock; who takes it then fails nobody, and holds up no loop."""
    store = await at_work(tmp_path / "store.db")
    await started(store, "e2")
    other = apsw.Connection(str(tmp_path / "store.db"))
    give_up, came = Committer.give_up, asyncio.Event()

    def let_in(self: Committer) -> None:
        give_up(self)
        if not came.is_set():
            other.execute("BEGIN IMMEDIATE")
            came.set()

    monkeypatch.setattr(Committer, "give_up", let_in)
    made = [batch(), batch("nowhere"), batch("e2")]
    store._writer._committer.seconds = 0.0
    # All three are there before the thread looks.
    with store._writer._turn:
        for one in made:
            store.write(one)
    await came.wait()
    await asyncio.sleep(0)
    assert not any(one.committed.done() for one in made)
    other.execute("COMMIT")
    found = await asyncio.gather(*(one.committed for one in made), return_exceptions=True)
    assert [end if isinstance(end, int) else type(end) for end in found] == [2, NotFoundError, 2]
    other.close()
    await store.close()


def hold_up() -> None:
    """Keeps the loop for so long that the thread looks meanwhile."""
    time.sleep(0.003)


@in_loop
async def test_leases_are_renewed_however_busy_the_loop_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is always at work when the thread looks does not keep it from what is due."""
    clock = FixedClock()
    store = await at_work(tmp_path / "store.db", clock=clock, renew_seconds=0.02)
    store.keep(Lease("e1", 1, store.holder.owner))
    await store.execution("e1")
    clock.advance(100)
    renewed = 0

    def renew(lease: Lease, until: float) -> bool:
        nonlocal renewed
        renewed += until == clock.now() + 30
        return True

    monkeypatch.setattr(store._changes, "renew", renew)

    async def was_renewed() -> bool:
        store._writer._here = True
        return renewed > 2

    await eventually(was_renewed)
    await store.close()


@in_loop
async def test_what_takes_long_is_left_to_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The removal of an execution, and one that begins with another's history, do not stop the loop."""
    store = await at_work(tmp_path / "store.db")
    await written(store, ending())
    threads: list[str] = []
    for owner, name in ((store._upkeep, "bury"), (store._changes, "create")):
        monkeypatch.setattr(owner, name, noting(threads, getattr(owner, name)))
    store._writer._committer.seconds = 0.0
    assert await store.bury(Tombstone("e1", "agent", None, ExecutionStatus.COMPLETED, "", bytes(32), 0.0))
    store._writer._committer.seconds = 0.0
    assert await store.create(execution("e2"), [event()], Copied())
    assert threads == ["rebuno-sqlite", "rebuno-sqlite"]
    await store.close()


def noting(threads: list[str], run: Callable[..., Any]) -> Callable[..., Any]:
    """Runs it, and says in which thread."""

    def noted(*args: Any) -> Any:
        threads.append(threading.current_thread().name)
        return run(*args)

    return noted


def until_it_sleeps(store: SQLiteStore, other: threading.Thread) -> None:
    """The other has handed a job over, has come round in vain, and waits."""
    until = time.monotonic() + 10
    while not store._writer._jobs and time.monotonic() < until:
        time.sleep(0.001)
    other.join(0.05)


@in_loop
async def test_one_loop_commits_for_another_that_sleeps(tmp_path: Path) -> None:
    """The other's thread is woken for its answer."""
    store = await at_work(tmp_path / "store.db")
    answers: list[int] = []

    async def elsewhere() -> None:
        answers.append(await written(store, batch()))

    other = threading.Thread(target=asyncio.run, args=(elsewhere(),), daemon=True)
    with store._writer._turn:
        other.start()
        until_it_sleeps(store, other)
        store._writer._work_here()
    other.join(10)
    assert answers == [2]
    await store.close()


@in_loop
async def test_a_loop_that_a_child_has_got_by_a_fork_commits_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its parent was about to commit is the parent's."""
    store = await at_work(tmp_path / "store.db")
    one = batch()
    with store._writer._turn:
        store.write(one)
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda: -1)
            store._writer._work_here()
        assert len(store._writer._jobs) == 1
    assert await one.committed == 2
    await store.close()


@in_loop
async def test_a_loop_that_is_gone_takes_nothing_along(tmp_path: Path) -> None:
    """A commit that it was to make is made by the thread, and the store goes on in the next loop."""
    store = await at_work(tmp_path / "store.db")

    async def leaving() -> None:
        store.write(batch())
        # Before what it is to do next.
        asyncio.get_running_loop().stop()

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(leaving())
        loop.close()

    other = threading.Thread(target=elsewhere)
    other.start()
    other.join()

    async def is_taken() -> bool:
        return not store._writer._jobs and not store._writer._coming

    await eventually(is_taken)
    assert await written(store, batch()) == 3
    await store.close()


# ---------------------------------------------------------------- signals


class Interruption:
    """Raises `KeyboardInterrupt` in this thread at the point numbered `at` of those, in the files that commit, at which
    a signal may be heard: where a function begins, and after each call and each jump back."""

    FILES = ("sqlite/writer.py", "journal/answers.py", "sqlite/changes.py")
    AFTER = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")

    def __init__(self, at: int) -> None:
        self._left = at

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, _what: str, _arg: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.endswith(self.FILES):
            return None
        frame.f_trace_opcodes = True
        self._point()
        last = ""

        def traced(frame: FrameType, what: str, _arg: object) -> Callable[..., Any]:
            nonlocal last
            if what == "opcode":
                if last in self.AFTER:
                    self._point()
                last = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            return traced

        return traced

    def _point(self) -> None:
        self._left -= 1
        if self._left == 0:
            sys.settrace(None)
            raise KeyboardInterrupt


@pytest.mark.parametrize("locked", [False, True])
@in_loop
async def test_a_signal_at_any_point_of_a_commit_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, locked: bool
) -> None:
    """Each change is answered; what was answered with a number is there, once, and after an error no other of its
    lease is written. The turn is free again."""
    path = tmp_path / "store.db"
    store = await at_work(path)
    other = apsw.Connection(str(path))
    other.set_busy_timeout(5000)
    at, past = 1, 0
    # Past the last point a few times: the thread may have been faster.
    while past < 30:
        lease = await started(store, f"{at}-{past}")
        made = [batch(lease.execution_id, event(n=n), lease=lease, deferred=n in (0, 3)) for n in range(4)]
        if locked:
            other.execute("BEGIN IMMEDIATE")
        with store._writer._turn:
            for one in made[:2]:
                store.write(one)
            store.write(made[3])
            question = ReadJob(lambda: "answer", asyncio.get_running_loop().create_future(), brief=True)
            store._writer.submit(question)
        interrupted = False
        with Interruption(at):
            try:
                store._writer._work_here()
            except KeyboardInterrupt:
                interrupted = True
        if locked:
            other.execute("ROLLBACK")
        store.write(made[2])
        changes = [made[0], made[1], made[3], made[2]]
        told = asyncio.gather(*(one.committed for one in changes), return_exceptions=True)
        said = await asyncio.wait_for(told, 10)
        assert await asyncio.wait_for(question.answer, 10) == "answer"
        rows = await store.events(lease.execution_id)
        assert verify(rows).fault == ""
        numbers = [row.payload["n"] for row in rows[1:]]
        assert len(numbers) == len(set(numbers))
        failed = [isinstance(one, StoreError) for one in said]
        assert failed == sorted(failed)
        assert all(one == rows[one - 1].event_seq for one in said if isinstance(one, int))
        assert numbers[: failed.count(False)] == [0, 1, 3, 2][: failed.count(False)]
        at, past = (at + 1, 0) if interrupted else (at, past + 1)
    assert at > 20
    other.close()
    await store.close()


# ---------------------------------------------------------------- the log's room


@in_loop
async def test_a_log_is_grown_only_while_nobody_has_the_file_locked(tmp_path: Path) -> None:
    """Who reads meanwhile does not wait for the lock."""
    path = tmp_path / "store.db"
    store = await at_work(path, busy_timeout=60)
    other = apsw.Connection(str(path))
    other.set_busy_timeout(5000)
    other.execute("BEGIN IMMEDIATE")
    size = path.with_name("store.db-wal").stat().st_size
    store._writer._log._pages = 100
    for _ in range(3):
        await asyncio.wait_for(store.execution("e1"), 10)
    assert path.with_name("store.db-wal").stat().st_size == size
    other.execute("ROLLBACK")
    other.close()
    await store.close()


@pytest.mark.parametrize("why", ["no fdatasync", "no room", "too long", "gone"])
@in_loop
async def test_a_log_that_cannot_be_grown_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """On systems without `fdatasync`, on a disk with little room, or beyond what a file may have, the store works as
    well without."""
    path = tmp_path / "store.db"
    if why == "no fdatasync":
        monkeypatch.delattr(os, "fdatasync")
    elif why == "no room":
        monkeypatch.setattr(log, "_SPARE", math.inf)
    elif why == "gone":
        monkeypatch.setattr(log, "open", refused, raising=False)
    else:
        monkeypatch.setattr(os, "pwrite", cut_short)
    store = await at_work(path)
    number = await written(store, batch())
    while store._writer._log._grows:
        number = await written(store, batch("e1", event(text="x" * 20_000)))
    assert number < 100
    assert path.with_name("store.db-wal").stat().st_size < (store._writer._log._pages + 1) * 4120
    await store.close()
    store = await SQLiteStore.open(path, create=False)
    assert verify(await store.events("e1")).seq == number
    await store.close()


def refused(*_args: object, **_options: object) -> int:
    raise PermissionError


def cut_short(file: int, text: bytes, offset: int) -> int:
    """Half of it fits."""
    os.ftruncate(file, offset + len(text) // 2)
    raise OSError(27, "File too large")
