"""Writes to an execution whose attempt may write without a pause: it outruns neither who answers nor who ends it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from rebuno.errors import LeaseSuperseded, Stale, Terminated
from rebuno.journal.records import Approval, ApprovalWrite, Batch, Execution, ExecutionWrite, Lease
from rebuno.journal.store import Store
from rebuno.kernel.core.effects import Changes
from rebuno.model.execution import ExecutionStatus

# How often an attempt that writes all the time may be faster, before what is written rests on less than the newest
# event, or the attempt loses its lease.
PATIENCE: Final = 3


async def answer(
    store: Store,
    execution: Execution,
    approvals: Iterable[Approval],
    changes: Changes,
    write: ExecutionWrite | None,
    *,
    tried: int,
) -> bool:
    """Writes what settles or votes on questions of an execution, and what follows from it; False where that has to be
    judged anew. `approvals` are all of its, as they will be; `tried` is how often it was tried before.

    Raises:
        Terminated: the execution has ended.
        StoreError
    """
    lease = None
    if tried >= PATIENCE and write is not None and write.status.terminal:
        await fence(store, execution)
    elif tried >= PATIENCE:
        lease = _of_attempt(execution)
    questions = list(changes.approvals)
    if lease is not None and write is None and execution.status is ExecutionStatus.BLOCKED:
        questions += _witness(approvals, questions)
    batch = Batch(
        execution.id,
        tuple(changes.events),
        tuple(changes.steps),
        tuple(questions),
        write,
        base=execution.head_seq if lease is None else None,
        lease=lease,
    )
    store.write(batch)
    try:
        await batch.committed
    except (Stale, LeaseSuperseded):
        return False
    return True


def _of_attempt(execution: Execution) -> Lease | None:
    """The lease under which an answer need not rest on the newest event; None where it must.

    INVARIANT: an execution that is not served runs while an attempt has its lease, and a served one with an open
    question is blocked until the last is answered. So it is as it was read for as long as the attempt is the same one
    and, which the store sees to, the question is open with the same votes.
    """
    stays = ExecutionStatus.BLOCKED if execution.served else ExecutionStatus.RUNNING
    return lease_of(execution) if execution.status is stays else None


def lease_of(execution: Execution) -> Lease | None:
    """The lease of the attempt that runs an execution, as it was read; None without one."""
    if execution.holder is None:
        return None
    return Lease(execution.id, execution.attempt, execution.holder.owner)


def _witness(approvals: Iterable[Approval], questions: Iterable[ApprovalWrite]) -> list[ApprovalWrite]:
    """A question that keeps the execution waiting, to be written as it is: who answers it meanwhile makes this stale,
    or of two answers at once neither would be the last."""
    if any(write.approval.status == "pending" for write in questions):
        return []
    return [ApprovalWrite(next(question for question in approvals if question.status == "pending"))]


async def fence(store: Store, execution: Execution) -> None:
    """Takes the lease from its holder, whatever the holder writes meanwhile: from here on the log stands still."""
    lease = lease_of(execution)
    if lease is None or execution.status.terminal:
        return
    # Under the lease itself: one that was given up meanwhile says that the execution blocked, or ended, and stays so.
    nobody = Batch(execution.id, (), execution=ExecutionWrite(execution.status, attempt=execution.attempt), lease=lease)
    store.write(nobody)
    with suppress(LeaseSuperseded, Terminated):
        await nobody.committed
