"""Optimistic writes to an execution: read, judge, write, and all of it again where the log has grown meanwhile. Its
attempt may write without a pause, and outruns neither those who answer nor those who end it."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import count
from typing import Final, TypeVar

from rebuno.errors import LeaseSuperseded, NotFoundError, Stale, Terminated
from rebuno.journal.records import ApprovalRow, ApprovalWrite, Batch, ExecutionRow, ExecutionWrite, Lease
from rebuno.journal.resource_records import ResourceChanges
from rebuno.journal.store import Store
from rebuno.journal.words import TurnWrite
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.model.execution import ExecutionStatus

# How often an attempt that writes all the time may be faster, before what is written rests on less than the newest
# event, or the attempt loses its lease.
PATIENCE: Final = 3

# What a write fails with where the execution has moved on: its log has grown, it has ended, another attempt has it, it
# is gone.
MOVED_ON: Final = (Stale, Terminated, LeaseSuperseded, NotFoundError)

T = TypeVar("T")


async def transact(
    one_try: Callable[[int], Awaitable[T]],
    *,
    retried: tuple[type[Exception], ...] = (Stale,),
    most: int | None = None,
) -> T:
    """What `one_try` comes to, which reads, judges and writes (`write`), once nothing was written between. It is told
    how often it was tried before, and tried again where it raises one of `retried`: at `most` so many times (None: as
    often as it takes), after which that is raised."""
    for tried in count():
        try:
            return await one_try(tried)
        except retried:
            if most is not None and tried + 1 >= most:
                raise
    raise AssertionError("the count has no end")


async def write(
    store: Store,
    execution_id: str,
    changes: ExecutionChanges | None = None,
    execution: ExecutionWrite | None = None,
    *,
    turns: tuple[TurnWrite, ...] = (),
    external: ResourceChanges | None = None,
    base: int | None = None,
    lease: Lease | None = None,
) -> int:
    """Writes changes to an execution's events, steps and questions, to its row, to what its user said and to its
    resources, in one transaction. Committed when it returns the number of the newest event. `base` and `lease` are as
    in a `Batch`.

    Raises:
        Stale, Terminated, LeaseSuperseded, NotFoundError: nothing was written; the execution has moved on.
        StoreError
    """
    made = changes or ExecutionChanges()
    batch = Batch(
        execution_id,
        tuple(made.events),
        tuple(made.steps),
        tuple(made.approvals),
        execution,
        turns=turns,
        external=external,
        base=base,
        lease=lease,
    )
    store.write(batch)
    return await batch.committed


async def answer(
    store: Store,
    execution: ExecutionRow,
    approvals: Iterable[ApprovalRow],
    changes: ExecutionChanges,
    row: ExecutionWrite | None,
    *,
    tried: int,
) -> None:
    """Writes what settles or votes on questions of an execution, and what follows from it. `approvals` are all of its,
    as they will be; `tried` is how often it was tried before.

    Raises:
        Stale: it has to be judged anew.
        Terminated: the execution has ended.
        StoreError
    """
    lease = None
    if tried >= PATIENCE and row is not None and row.status.terminal:
        await fence(store, execution)
    elif tried >= PATIENCE:
        lease = _of_attempt(execution)
    if lease is not None and row is None and execution.status is ExecutionStatus.BLOCKED:
        changes.approvals += _witness(approvals, changes.approvals)
    try:
        await write(store, execution.id, changes, row, base=execution.head_seq if lease is None else None, lease=lease)
    except LeaseSuperseded as error:
        raise Stale(f"another attempt of execution `{execution.id}` has begun") from error


def _of_attempt(execution: ExecutionRow) -> Lease | None:
    """The lease under which an answer need not rest on the newest event; None where it must.

    INVARIANT: an execution that is not served runs while an attempt has its lease, and a served one with an open
    question is blocked until the last is answered. So it is as it was read for as long as the attempt is the same one
    and, which the store sees to, the question is open with the same votes.
    """
    stays = ExecutionStatus.BLOCKED if execution.served else ExecutionStatus.RUNNING
    return lease_of(execution) if execution.status is stays else None


def lease_of(execution: ExecutionRow) -> Lease | None:
    """The lease of the attempt that runs an execution, as it was read; None where none does."""
    if execution.holder is None:
        return None
    return Lease(execution.id, execution.attempt, execution.holder.owner)


def _witness(approvals: Iterable[ApprovalRow], questions: Iterable[ApprovalWrite]) -> list[ApprovalWrite]:
    """A question that keeps the execution waiting, to be written as it is: who answers it meanwhile makes this stale,
    or of two answers at once neither would be the last."""
    if any(write.approval.status == "pending" for write in questions):
        return []
    return [ApprovalWrite(next(question for question in approvals if question.status == "pending"))]


async def fence(store: Store, execution: ExecutionRow) -> None:
    """Takes the lease from the attempt that has it, whatever it writes meanwhile: from here on the log stands still."""
    lease = lease_of(execution)
    if lease is None or execution.status.terminal:
        return
    # Under the lease itself: one that was given up meanwhile says that the execution blocked, or ended, and stays so.
    with suppress(LeaseSuperseded, Terminated):
        await write(store, execution.id, None, ExecutionWrite(execution.status, attempt=execution.attempt), lease=lease)
