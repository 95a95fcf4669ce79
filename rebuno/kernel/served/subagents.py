"""Subagents: the end of a child settles its parent's step, and wakes the parent where it waited for nothing else."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from rebuno.errors import ConflictError, LeaseSuperseded, NotFoundError, SealErased, Stale, Terminated
from rebuno.journal.records import ExecutionRow, StepRow, StepWrite
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.sealed import opened, plain
from rebuno.kernel.core.settle import ERASED
from rebuno.kernel.core.transact import PATIENCE, lease_of, transact, write
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.dispatch import resumed
from rebuno.kernel.lifecycle.waiting import awaited
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus

PARENT_TERMINAL: Final = "parent_terminal"


async def tell_parent(store: ServedStore, child: ExecutionRow) -> ExecutionRow | None:
    """Tells the parent of a subagent of its end, once; the parent, where that let it run again. To be repeated until it
    has returned: it may be done twice without harm."""
    store = plain(store)
    woken: ExecutionRow | None = None
    with suppress(NotFoundError, Terminated):
        woken = await _tell(store, child)
    await store.told(child.id)
    return woken


async def _tell(store: ServedStore, child: ExecutionRow) -> ExecutionRow | None:
    told = await _came_to(store, child)

    async def one_try(tried: int) -> ExecutionRow | None:
        parent = await store.execution(child.spawned_execution_id)
        if parent.status.terminal:
            # It may have been erased, too.
            return None
        view = await opened(store, parent)
        step = await view.step(child.spawned_step_id)
        waits = parent.status is not ExecutionStatus.BLOCKED or await _waits(store, parent, besides=child)
        settles = step.status is StepStatus.EXECUTING
        if not (settles or not waits):
            return None
        # INVARIANT: an attempt that writes all the time does not outrun what settles the step, which settles once; the
        # next look tells whether nothing else is waited for. Waking the parent alone rests on the newest event: of two
        # subagents that end at once, both would.
        lease = lease_of(parent) if tried >= PATIENCE and settles else None
        changes, row = ExecutionChanges(), None
        if settles:
            settled = _settled(step, told)
            said = new_event.failed(settled) if settled.error is not None else new_event.succeeded(settled)
            changes.add((said,), (StepWrite(settled, settled=0),))
        if not waits:
            events, row = resumed(parent)
            changes.add(events)
        await write(view, parent.id, changes, row, base=parent.head_seq if lease is None else None, lease=lease)
        if row is None and lease is not None:
            raise Stale("it rested on an older log, by which the parent may wait for nothing else")
        return parent if row is not None else None

    return await transact(one_try, retried=(Stale, LeaseSuperseded))


async def _came_to(store: ServedStore, child: ExecutionRow) -> ExecutionRow | None:
    """The subagent with what it came to, which goes to the parent in clear; None where that was erased."""
    if not child.seal:
        return child
    try:
        return await (await opened(store, child)).execution(child.id)
    except SealErased:
        return None


def _settled(step: StepRow, child: ExecutionRow | None) -> StepRow:
    if child is None:
        return replace(step, status=StepStatus.FAILED, error=ERASED)
    if child.status is ExecutionStatus.COMPLETED:
        return replace(step, status=StepStatus.SUCCEEDED, result=child.output)
    reason = "subagent_cancelled" if child.status is ExecutionStatus.CANCELLED else "subagent_failed"
    error = {"reason": reason, "execution_id": child.id, "failure_reason": child.failure_reason}
    return replace(step, status=StepStatus.FAILED, error=identity.canonical(error))


async def _waits(store: ServedStore, parent: ExecutionRow, *, besides: ExecutionRow) -> bool:
    if await store.approvals(execution_id=parent.id, status="pending", limit=1):
        return True
    return any(child.id != besides.id for child in await awaited(store, parent.id))


async def cancel_all(store: ServedStore, children: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    """Cancels subagents whose parents have ended; those that had not ended."""
    ended = []
    for child in children:
        if not child.status.terminal:
            # Somebody may be faster.
            with suppress(ConflictError, NotFoundError):
                ended.append(await cancel(store, child.id, reason=PARENT_TERMINAL))
    return ended
