"""What a blocked execution waits for."""

from contextlib import suppress

from rebuno.errors import NotFoundError
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.types import BlockedOn


async def awaited(store: ServedStore, execution_id: str) -> list[ExecutionRow]:
    """The subagents whose steps still run: of what the execution waits for."""
    found = []
    for child in await store.children(execution_id):
        with suppress(NotFoundError):
            step = await store.step(child.spawned_step_id)
            if step.status is StepStatus.EXECUTING:
                found.append(child)
    return found


async def blocked_on(store: ServedStore, execution: ExecutionRow) -> list[BlockedOn]:
    """The open questions and the subagents that a blocked execution waits for; nothing of another one."""
    if execution.status is not ExecutionStatus.BLOCKED:
        return []
    asked = await store.approvals(execution_id=execution.id, status="pending")
    # Handlers in this process have no subagents.
    children = await awaited(store, execution.id) if execution.served else []
    return [BlockedOn(type="approval", id=one.id, step_id=one.step_id) for one in asked] + [
        BlockedOn(type="execution", id=one.id, step_id=one.spawned_step_id) for one in children
    ]
