"""Has an execution delivered to its agent: what is written with whatever makes that due."""

import uuid_utils

from rebuno.journal.records import Dispatch, DispatchState, ExecutionRow, ExecutionWrite, NewEvent
from rebuno.kernel.core import events
from rebuno.model.execution import ExecutionStatus


def queued(execution: ExecutionRow, *, due: float = 0.0) -> tuple[NewEvent, Dispatch]:
    """A new dispatch, not tried before `due` (seconds since 1970), and the event that tells of it."""
    dispatch = Dispatch(str(uuid_utils.uuid7()), execution.id, execution.agent_id, due_at=due)
    return NewEvent("dispatch.queued", {"dispatch_id": dispatch.id}), dispatch


def resumed(execution: ExecutionRow) -> tuple[tuple[NewEvent, ...], ExecutionWrite]:
    """What lets a blocked execution run again; a served one is delivered as soon as no body of its last run is left."""
    event = events.execution("resumed")
    if not execution.served:
        return (event,), ExecutionWrite(ExecutionStatus.RUNNING, attempt=execution.attempt)
    told, dispatch = queued(execution)
    return (event, told), ExecutionWrite(ExecutionStatus.RUNNING, dispatch=dispatch)


def discarded(dispatch: Dispatch | None) -> tuple[NewEvent, ...]:
    """What tells that a dispatch that nobody has taken is not needed any more."""
    if dispatch is None or dispatch.state is not DispatchState.QUEUED:
        return ()
    return (NewEvent("dispatch.discarded", {"dispatch_id": dispatch.id}),)
