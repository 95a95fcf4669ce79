"""How a served execution begins: for a client, in a session, or as the subagent of a step."""

from contextlib import suppress
from dataclasses import dataclass, replace

import uuid_utils

from rebuno.errors import ConflictError, NotFoundError, Stale, Terminated, ValidationError
from rebuno.journal.records import Copied, ExecutionRow, ExecutionWrite, NewEvent
from rebuno.journal.resource_records import ResourceChanges, ResourceRows, ResourceWrite
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import resources
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.names import check_name, check_workdir
from rebuno.kernel.core.origins import CLIENT, NO_USER, check_same_folder, of_child
from rebuno.kernel.core.sealed import has_other_input, inherit, sealed_start, with_parent
from rebuno.kernel.core.transact import write
from rebuno.kernel.lifecycle.dispatch import queued
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.policy import Policy


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """What a client asks for; empty where it says nothing. `input` is canonical JSON, `spawned_by` an execution and its
    step."""

    agent_id: str
    input: str
    session: str = ""
    continues: str = ""
    key: str = ""
    spawned_by: tuple[str, str] | None = None
    on_behalf_of: str = ""
    created_by: str = ""
    # Whether the key is bound to an agent, so that no user has written the input.
    by_agent: bool = False
    # The folder that it works in.
    workdir: str = ""
    # After how many seconds it is cancelled; None: never.
    deadline: float | None = None


async def create(store: ServedStore, request: CreateRequest, policy: Policy) -> tuple[ExecutionRow, bool]:
    """Begins an execution under a policy, or finds the one that has this key or this parent step already; and whether
    it is new. It is `pending` where its session is busy, else due at once.

    Raises:
        ValidationError, NotFoundError, ConflictError: as `Serving.create` says.
        StoreError
    """
    check_name("session", request.session)
    check_name("idempotency key", request.key)
    check_workdir(request.workdir)
    while True:
        found = await _before(store, request)
        if found is not None:
            return found, False
        parent = await _parent(store, request)
        await _check_spawn(store, request)
        busy = bool(request.session) and await store.session(request.agent_id, request.session, live=True) is not None
        execution = _new(store, request, parent, policy.digest, busy)
        origin = CLIENT if not request.by_agent else NO_USER
        above, began, step = store, None, None
        if request.spawned_by is not None:
            above, began, step = await with_parent(store, *request.spawned_by)
            origin = await of_child(above, *request.spawned_by)
        before = await _before_it(store, request, parent, busy)
        view, execution = await sealed_start(store, execution, policy, parent=began, step=step, before=before)
        by_host = not request.by_agent and request.spawned_by is None
        origin = origin.in_folder(request.workdir, by_host=by_host)
        events: list[NewEvent] = [new_event.created(execution, origin.said)]
        copied = Copied(root=origin.of(execution.id))
        if not busy and request.session and parent and not request.continues:
            told, writes = await _inherited(store, parent, execution.id)
            rows = [replace(one.row, registered_seq=len(events) + 1 + (one.registered or 0)) for one in writes]
            events += told
            copied = replace(copied, external=ResourceRows(tuple(rows)) if rows else None)
        if not busy:
            due, dispatch = queued(execution)
            events.append(due)
            copied = replace(copied, dispatch=dispatch)
        if await view.create(execution, events, copied):
            return await store.execution(execution.id), True


async def _inherited(store: ServedStore, parent: str, execution_id: str) -> tuple[list[NewEvent], list[ResourceWrite]]:
    """The resources of the execution before this one in its session, without their checkpoints."""
    return resources.inherited(execution_id, await store.resources(parent))


async def _before_it(store: ServedStore, request: CreateRequest, parent: str, busy: bool) -> list[ExecutionRow]:
    """The executions of a session, or that it goes on from, of which the new one may be handed something."""
    found = [await store.execution(parent)] if parent else []
    running = await store.session(request.agent_id, request.session, live=True) if busy else None
    return found if running is None else [*found, running]


async def _before(store: ServedStore, request: CreateRequest) -> ExecutionRow | None:
    if request.spawned_by is not None:
        child = await store.child(request.spawned_by[1])
        if child is not None:
            if child.spawned_execution_id != request.spawned_by[0]:
                raise ValidationError(f"the execution `{request.spawned_by[0]}` has no step `{request.spawned_by[1]}`")
            if child.agent_id != request.agent_id:
                raise ConflictError(f"the step has a subagent already: `{child.agent_id}`; call one from a step")
            return child
    if not request.key:
        return None
    found = await store.find(request.agent_id, request.key)
    if found is not None:
        if await has_other_input(store, found, request.input):
            raise ConflictError(f"the key `{request.key}` belongs to an execution with another input; use another key")
        begun_by = found.spawned_execution_id, found.spawned_step_id
        if request.by_agent and request.spawned_by is not None and begun_by != request.spawned_by:
            # It may be another agent's, of which the key shows nothing.
            raise ConflictError(f"the key `{request.key}` belongs to another execution; use another key")
        await check_same_folder(store, found, request.workdir)
        return found
    gone = await store.tombstone(request.agent_id, request.key)
    if gone is not None and gone.key == request.key:
        raise ConflictError(f"the key `{request.key}` belongs to an execution that was removed since; use another key")
    return None


async def _parent(store: ServedStore, request: CreateRequest) -> str:
    """The id of the execution that the new one goes on from."""
    if not request.continues:
        if not request.session:
            return ""
        last = await store.session(request.agent_id, request.session, live=False)
        return last.id if last is not None else ""
    parent = await store.execution(request.continues)
    if parent.agent_id != request.agent_id or parent.status is not ExecutionStatus.COMPLETED:
        raise ConflictError(
            f"the execution `{parent.id}` is {parent.status.value} and one of `{parent.agent_id}`; name a completed one"
            f" of `{request.agent_id}`"
        )
    if request.session and await store.executions(agent_id=request.agent_id, session=request.session, limit=1):
        raise ConflictError(f"the session `{request.session}` has executions already; name a new one")
    return parent.id


async def _check_spawn(store: ServedStore, request: CreateRequest) -> None:
    if request.spawned_by is None:
        return
    parent = await store.execution(request.spawned_by[0])
    try:
        step = await store.step(request.spawned_by[1])
    except NotFoundError:
        step = None
    if step is None or step.execution_id != parent.id:
        raise ValidationError(f"the execution `{parent.id}` has no step `{request.spawned_by[1]}`")
    if request.session and (request.agent_id, request.session) == (parent.agent_id, parent.session):
        raise ValidationError(
            f"a subagent cannot run in its parent's own session `{request.session}`; name another one"
        )
    if parent.status.terminal or step.status is not StepStatus.EXECUTING:
        raise ConflictError(
            f"the step `{step.step_id}` is {step.status.value} and its execution {parent.status.value}; a subagent"
            " begins while they run"
        )


def _new(store: ServedStore, request: CreateRequest, parent: str, digest: str, busy: bool) -> ExecutionRow:
    execution_id, step_id = request.spawned_by or ("", "")
    return ExecutionRow(
        id=str(uuid_utils.uuid7()),
        agent_id=request.agent_id,
        key=request.key or None,
        status=ExecutionStatus.PENDING if busy else ExecutionStatus.RUNNING,
        input=request.input,
        digest=digest,
        served=True,
        session=request.session,
        continues=parent,
        spawned_execution_id=execution_id,
        spawned_step_id=step_id,
        deadline_at=store.now() + request.deadline if request.deadline is not None else 0.0,
        created_by=request.created_by,
        on_behalf_of=request.on_behalf_of,
    )


async def begin_pending(store: ServedStore, execution: ExecutionRow) -> bool:
    """Has a pending execution delivered, now that its session is free. False where another was faster."""
    last = await store.session(execution.agent_id, execution.session, live=False)
    continues = last.id if last is not None else execution.continues
    told, dispatch = queued(execution)
    events, writes = await _inherited(store, last.id, execution.id) if last is not None else ([], [])
    external = ResourceChanges(tuple(writes)) if writes else None
    row = ExecutionWrite(ExecutionStatus.RUNNING, dispatch=dispatch, continues=continues)
    view = await inherit(store, execution, last)
    with suppress(Stale, Terminated):
        changes = ExecutionChanges([*events, told])
        await write(view, execution.id, changes, row, base=execution.head_seq, external=external)
        return True
    return False
