"""What an execution waits for: a blocked one for people and subagents, a running one for its agent."""

from contextlib import suppress

from rebuno.errors import NotFoundError
from rebuno.journal.records import DispatchState, ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.types import BlockedOn, LastDelivery


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


async def delivery(store: ServedStore, execution: ExecutionRow) -> LastDelivery | None:
    """Why a running execution waits for its agent: what became of its last delivery. None where a handler is at work,
    or was not called yet."""
    if execution.status is not ExecutionStatus.RUNNING or not execution.served:
        return None
    # One that was never delivered waits where its key is missing.
    if not execution.attempt and not execution.seal:
        return None
    found = await store.dispatch(execution.id)
    if found is None or not found.error or (found.state is DispatchState.CLAIMED and await at_work(store, execution)):
        return None
    return LastDelivery(
        agent_id=found.agent_id,
        error=found.error,
        attempts=found.failures - (found.state is DispatchState.CLAIMED),
        unreached=found.unreached,
        unreachable_since=found.since,
        next_at=found.due_at if found.state is DispatchState.QUEUED else 0.0,
    )


async def at_work(store: ServedStore, execution: ExecutionRow) -> bool:
    """Whether the newest attempt is known to have reached a handler: its start is not all that there is of it."""
    newest = await store.events(execution.id, after=execution.head_seq - 1, limit=1)
    return not newest or newest[0].type != "execution.started"
