"""Ends an execution from outside, whichever process runs it."""

import sys
from itertools import count
from typing import Final

from rebuno.errors import ConflictError, Stale, Terminated
from rebuno.journal.records import Batch, Execution, ExecutionWrite, Step
from rebuno.journal.store import Store
from rebuno.kernel.core import events
from rebuno.kernel.core.transact import PATIENCE, fence
from rebuno.kernel.lifecycle.close import close
from rebuno.kernel.lifecycle.dispatch import discarded
from rebuno.model.execution import ExecutionStatus

# The reason of an execution that was not done in time.
DEADLINE_EXCEEDED: Final = "deadline_exceeded"


async def cancel(store: Store, execution_id: str, *, reason: str = "cancelled") -> Execution:
    """Cancels an execution. Committed when this returns: nobody is asked any more, started steps are `cancelled`,
    waiting ones denied, and the process that runs the handler has lost it.

    Raises:
        NotFoundError: there is no such execution.
        ConflictError: it has ended already.
        StoreError
    """
    unsettled: dict[str, Step] = {}
    seen = 0
    for tried in count():
        if tried >= PATIENCE:
            await fence(store, await store.execution(execution_id))
        execution = await store.execution(execution_id)
        if execution.status.terminal:
            raise ConflictError(f"the execution `{execution_id}` is {execution.status.value} already")
        # Only what is new since the last try: an attempt that writes all the time must not outrun this.
        for step_id in tuple(unsettled):
            unsettled[step_id] = await store.step(step_id)
        while page := await store.steps(execution_id, after=seen):
            unsettled.update((step.step_id, step) for step in page)
            seen = page[-1].decided_seq
            unsettled = {step_id: step for step_id, step in unsettled.items() if not step.status.terminal}
        asked = await store.approvals(execution_id=execution_id, status="pending", limit=sys.maxsize)
        changes = close(unsettled.values(), asked, ExecutionStatus.CANCELLED)
        if execution.served:
            changes.add(discarded(await store.dispatch(execution_id)))
        changes.add((events.execution("cancelled", attempt=execution.attempt, reason=reason),))
        batch = Batch(
            execution_id,
            tuple(changes.events),
            tuple(changes.steps),
            tuple(changes.approvals),
            ExecutionWrite(ExecutionStatus.CANCELLED, failure_reason=reason, attempt=execution.attempt),
            base=execution.head_seq,
        )
        store.write(batch)
        try:
            await batch.committed
        except (Stale, Terminated):
            continue
        break
    return await store.execution(execution_id)
