"""Ends an execution from outside, in whatever process it runs, and checks the deadline that ends one."""

import sys
from contextlib import suppress
from typing import Final

from rebuno.errors import ConflictError, SealKeyMissing, Stale, Terminated, ValidationError
from rebuno.journal.records import ExecutionRow, ExecutionWrite, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import events
from rebuno.kernel.core.sealed import masked, plain
from rebuno.kernel.core.transact import PATIENCE, fence, transact, write
from rebuno.kernel.lifecycle.close import close
from rebuno.kernel.lifecycle.dispatch import discarded
from rebuno.model.execution import ExecutionStatus

# The reason of an execution that was not done in time.
DEADLINE_EXCEEDED: Final = "deadline_exceeded"
CANCELLED: Final = "cancelled"
# The reasons that no person gives.
_OWN: Final = (CANCELLED, DEADLINE_EXCEEDED, "client_cancelled", "parent_terminal")
# A thousand years, in seconds: what is more was meant otherwise.
LONGEST_DEADLINE: Final = 1000 * 366 * 86400.0


def check_deadline(seconds: object) -> None:
    """Refuses what is no number of seconds from now."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < LONGEST_DEADLINE:
        raise ValidationError(f"the deadline {seconds!r} is no number of seconds above 0")


async def cancel(store: Store, execution_id: str, *, reason: str = CANCELLED) -> ExecutionRow:
    """Cancels an execution. Committed when this returns: nobody is asked any more, started steps are `cancelled`,
    waiting ones denied, and the process that runs the handler has lost it.

    Raises:
        NotFoundError: there is no such execution.
        ConflictError: it has ended already.
        StoreError
    """
    store = plain(store)
    if reason not in _OWN:
        # What cannot be searched for sealed values is not kept, and nothing keeps anybody from stopping it.
        said, reason = reason, CANCELLED
        with suppress(SealKeyMissing):
            reason = await masked(store, await store.execution(execution_id), said)
    unsettled: dict[str, StepRow] = {}
    seen = 0

    async def one_try(tried: int) -> None:
        nonlocal unsettled, seen
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
        row = ExecutionWrite(ExecutionStatus.CANCELLED, failure_reason=reason, attempt=execution.attempt)
        await write(store, execution_id, changes, row, base=execution.head_seq)

    await transact(one_try, retried=(Stale, Terminated))
    return await store.execution(execution_id)
