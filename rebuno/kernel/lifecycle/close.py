"""What any end of an execution does to what it leaves open."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rebuno.journal.records import ApprovalRow, ApprovalWrite, ExecutionRow, StepRow, StepWrite
from rebuno.journal.store import Store
from rebuno.kernel.core import events
from rebuno.kernel.core.ask import refuse
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.model.execution import ExecutionStatus
from rebuno.model.raised import checked
from rebuno.model.step import StepStatus


def close(steps: Iterable[StepRow], approvals: Iterable[ApprovalRow], status: ExecutionStatus) -> ExecutionChanges:
    """What any end of an execution does to what it leaves open: nobody is asked any more, nothing starts any more."""
    changes = ExecutionChanges()
    for question in approvals:
        if question.status == "pending":
            changes.add(
                (events.approval("withdrawn", question),),
                (),
                (ApprovalWrite(replace(question, status="withdrawn"), resolved=0),),
            )
    for step in steps:
        if step.status is StepStatus.EXECUTING:
            row = replace(step, status=StepStatus.CANCELLED)
            changes.add((events.cancelled(row),), (StepWrite(row, settled=0),))
        elif not step.status.terminal:
            reason = f"execution_{status.value}"
            changes.add((events.refused(step, reason),), (StepWrite(refuse(step, reason), settled=0),))
    return changes


async def failure(store: Store, execution: ExecutionRow) -> dict[str, Any] | None:
    """What is kept of the exception that an execution's handler ended with, as `rebuno.model.raised` tells it; None
    where there is none. Raises a `StoreError` where the store does."""
    if execution.status is not ExecutionStatus.FAILED:
        return None
    last = await store.events(execution.id, after=execution.head_seq - 1, limit=1)
    return checked(last[0].payload.get("raised")) if last else None
