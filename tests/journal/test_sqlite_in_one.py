"""Batches of one execution that meet in a group are written as one; what then happens is as if each came alone. And
the thread that writes need not be woken for each."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rebuno.errors import LeaseSuperseded, Stale, StoreError
from rebuno.journal.chain import Written, verify
from rebuno.journal.records import Batch, Lease, StepWrite
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.sqlite.changes import SQLiteChanges
from rebuno.journal.sqlite.writer import BUSY_SECONDS
from rebuno.model.step import StepStatus
from tests.journal.builders import approval, asking, batch, ending, event, in_loop, started, starting, step, written

Made = Callable[[Lease], list[Batch]]


def plain(lease: Lease) -> list[Batch]:
    """The outcome of one step and the intent of the next."""
    outcome = batch(
        "e1",
        event("step.succeeded"),
        steps=(StepWrite(step("s1", status=StepStatus.SUCCEEDED), settled=0),),
        lease=lease,
        deferred=True,
    )
    intent = starting(step("s2"))
    intent.base, intent.lease = 3, lease
    return [outcome, intent]


def three(lease: Lease) -> list[Batch]:
    """Batches of several events, and one of a question."""
    two = batch("e1", event("step.proposed"), event("step.executing"), lease=lease, deferred=True)
    asked = asking(approval())
    asked.lease, asked.base = lease, 5
    return [two, batch("e1", lease=lease, deferred=True), asked]


def on_older_ground(lease: Lease) -> list[Batch]:
    """The second rests on an event that the first has made the last but one."""
    return [batch("e1", lease=lease, deferred=True), batch("e1", lease=lease, base=2)]


def settled_step(lease: Lease) -> list[Batch]:
    """The second changes a step that the first settles."""
    outcome, _ = plain(lease)
    return [outcome, batch("e1", steps=(StepWrite(step("s1", status=StepStatus.FAILED)),), lease=lease)]


def unfit(lease: Lease) -> list[Batch]:
    """The first holds what no file can; nothing more may follow it."""
    broken = batch("e1", steps=(StepWrite(step("\ud800"), 0, 0),), lease=lease, deferred=True)
    return [broken, batch("e1", lease=lease)]


def after_an_end(lease: Lease) -> list[Batch]:
    """The end is the last of them."""
    last = ending("e1")
    last.lease = lease
    return [batch("e1", lease=lease, deferred=True), last]


def of_two_attempts(lease: Lease) -> list[Batch]:
    """The second comes from an attempt that does not own the execution."""
    return [batch("e1", lease=lease, deferred=True), batch("e1", lease=Lease("e1", 2, lease.owner))]


CASES: list[tuple[Made, list[int | type[Exception]], bool]] = [
    (plain, [3, 4], True),
    (three, [4, 5, 6], True),
    (on_older_ground, [3, Stale], False),
    (settled_step, [3, Stale], False),
    (unfit, [StoreError, StoreError], False),
    (after_an_end, [3, 4], True),
    (of_two_attempts, [3, LeaseSuperseded], False),
]


@pytest.mark.parametrize(("made", "ends", "in_one"), CASES, ids=[str(case[0].__name__) for case in CASES])
@in_loop
async def test_each_batch_ends_as_if_it_came_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Made,
    ends: list[int | type[Exception]],
    in_one: bool,
) -> None:
    """The same numbers and errors, a whole chain, and the rows of those that were written."""
    alone: list[Batch] = []
    write = SQLiteChanges.write

    def counted(self: SQLiteChanges, batch: Batch, events: Sequence[Written]) -> int:
        alone.append(batch)
        return write(self, batch, events)

    store = await SQLiteStore.open(tmp_path / "store.db")
    lease = await started(store)
    first = starting(step("s1"))
    first.lease = lease
    await written(store, first)
    monkeypatch.setattr(SQLiteChanges, "write", counted)
    batches = made(lease)
    for one in batches:
        store.write(one)
    found = await asyncio.gather(*(one.committed for one in batches), return_exceptions=True)
    assert [end if isinstance(end, int) else type(end) for end in found] == ends
    assert (alone == []) == in_one
    last = max((end for end in found if isinstance(end, int)), default=2)
    execution = await store.execution("e1")
    chain = verify(await store.events("e1"))
    assert (execution.head_seq, chain.seq, chain.hash, chain.fault) == (last, last, execution.head_hash, "")
    await store.close()


@in_loop
async def test_rows_have_the_numbers_of_their_own_events(tmp_path: Path) -> None:
    """Each batch counts from its own first event."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    lease = await started(store)
    first = starting(step("s1"))
    first.lease = lease
    await written(store, first)
    for one in plain(lease):
        store.write(one)
    await one.committed
    rows = [(s.step_id, s.decided_seq, s.started_seq, s.outcome_seq) for s in await store.steps("e1")]
    assert rows == [("s1", 2, 2, 3), ("s2", 4, 4, 0)]
    await store.close()


@pytest.mark.parametrize("idle", [0.0, 0.01, 1.5 * BUSY_SECONDS])
@in_loop
async def test_a_deferred_batch_is_written_whether_or_not_the_thread_sleeps(tmp_path: Path, idle: float) -> None:
    """Right after other work, while the thread looks for more of it, and long after."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    lease = await started(store)
    for number in range(2, 5):
        await asyncio.sleep(idle)
        late = batch("e1", lease=lease, deferred=True)
        store.write(late)
        assert await asyncio.wait_for(late.committed, 5) == number
    await store.close()
