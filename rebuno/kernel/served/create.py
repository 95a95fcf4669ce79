"""How a served execution begins: for a client, in a session, or as the subagent of a step."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import uuid_utils

from rebuno.errors import ConflictError, NotFoundError, Stale, Terminated, ValidationError
from rebuno.journal.records import Copied, Execution, ExecutionWrite, NewEvent
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import events as words
from rebuno.kernel.core.effects import Changes
from rebuno.kernel.core.transact import write
from rebuno.kernel.lifecycle.dispatch import queued
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus

# What the protocol allows a session, a key and an agent's id, in bytes.
LONGEST_NAME: Final = 256
# A thousand years, in seconds: what is more was meant otherwise.
LONGEST_DEADLINE: Final = 1000 * 366 * 86400.0


@dataclass(frozen=True, slots=True)
class Wanted:
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


async def create(store: ServedStore, wanted: Wanted, digest: str) -> tuple[Execution, bool]:
    """Begins an execution, or finds the one that has this key or this parent step already; and whether it is new. It is
    `pending` where its session is busy, else due at once.

    Raises:
        ValidationError, NotFoundError, ConflictError: as `Serving.create` says.
        StoreError
    """
    check_name("session", wanted.session)
    check_name("idempotency key", wanted.key)
    while True:
        found = await _before(store, wanted)
        if found is not None:
            return found, False
        parent = await _parent(store, wanted)
        await _check_spawn(store, wanted)
        busy = bool(wanted.session) and await store.session(wanted.agent_id, wanted.session, live=True) is not None
        execution = _new(wanted, parent, digest, busy)
        events: list[NewEvent] = [words.created(execution)]
        copied = Copied()
        if not busy:
            told, dispatch = queued(execution)
            events.append(told)
            copied = Copied(dispatch=dispatch)
        if await store.create(execution, events, copied):
            return await store.execution(execution.id), True


async def _before(store: ServedStore, wanted: Wanted) -> Execution | None:
    if wanted.spawned_by is not None:
        child = await store.child(wanted.spawned_by[1])
        if child is not None:
            if child.spawned_execution_id != wanted.spawned_by[0]:
                raise ValidationError(f"the execution `{wanted.spawned_by[0]}` has no step `{wanted.spawned_by[1]}`")
            if child.agent_id != wanted.agent_id:
                raise ConflictError(f"the step has a subagent already: `{child.agent_id}`; call one from a step")
            return child
    if not wanted.key:
        return None
    found = await store.find(wanted.agent_id, wanted.key)
    if found is not None:
        if found.input != wanted.input:
            raise ConflictError(f"the key `{wanted.key}` belongs to an execution with another input; use another key")
        return found
    gone = await store.tombstone(wanted.agent_id, wanted.key)
    if gone is not None and gone.key == wanted.key:
        raise ConflictError(f"the key `{wanted.key}` belongs to an execution that was removed since; use another key")
    return None


async def _parent(store: ServedStore, wanted: Wanted) -> str:
    """The id of the execution that the new one goes on from."""
    if not wanted.continues:
        if not wanted.session:
            return ""
        last = await store.session(wanted.agent_id, wanted.session, live=False)
        return last.id if last is not None else ""
    parent = await store.execution(wanted.continues)
    if parent.agent_id != wanted.agent_id or parent.status is not ExecutionStatus.COMPLETED:
        raise ConflictError(
            f"the execution `{parent.id}` is {parent.status.value} and one of `{parent.agent_id}`; name a completed one"
            f" of `{wanted.agent_id}`"
        )
    if wanted.session and await store.executions(agent_id=wanted.agent_id, session=wanted.session, limit=1):
        raise ConflictError(f"the session `{wanted.session}` has executions already; name a new one")
    return parent.id


async def _check_spawn(store: ServedStore, wanted: Wanted) -> None:
    if wanted.spawned_by is None:
        return
    parent = await store.execution(wanted.spawned_by[0])
    try:
        step = await store.step(wanted.spawned_by[1])
    except NotFoundError:
        step = None
    if step is None or step.execution_id != parent.id:
        raise ValidationError(f"the execution `{parent.id}` has no step `{wanted.spawned_by[1]}`")
    if wanted.session and (wanted.agent_id, wanted.session) == (parent.agent_id, parent.session):
        raise ValidationError(f"a subagent cannot run in its parent's own session `{wanted.session}`; name another one")
    if parent.status.terminal or step.status is not StepStatus.EXECUTING:
        raise ConflictError(
            f"the step `{step.step_id}` is {step.status.value} and its execution {parent.status.value}; a subagent"
            " begins while they run"
        )


def _new(wanted: Wanted, parent: str, digest: str, busy: bool) -> Execution:
    execution_id, step_id = wanted.spawned_by or ("", "")
    return Execution(
        id=str(uuid_utils.uuid7()),
        agent_id=wanted.agent_id,
        key=wanted.key or None,
        status=ExecutionStatus.PENDING if busy else ExecutionStatus.RUNNING,
        input=wanted.input,
        digest=digest,
        served=True,
        session=wanted.session,
        continues=parent,
        spawned_execution_id=execution_id,
        spawned_step_id=step_id,
        created_by=wanted.created_by,
        on_behalf_of=wanted.on_behalf_of,
    )


async def begin_pending(store: ServedStore, execution: Execution) -> bool:
    """Has a pending execution delivered, now that its session is free. False where another was faster."""
    last = await store.session(execution.agent_id, execution.session, live=False)
    continues = last.id if last is not None else execution.continues
    told, dispatch = queued(execution)
    row = ExecutionWrite(ExecutionStatus.RUNNING, dispatch=dispatch, continues=continues)
    with suppress(Stale, Terminated):
        await write(store, execution.id, Changes([told]), row, base=execution.head_seq)
        return True
    return False


def check_name(what: str, text: str) -> None:
    """Refuses a name that the protocol does not allow; an empty one is none."""
    if not text:
        return
    if not text.strip():
        raise ValidationError(f"the {what} is blank; leave it out, or name it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError(f"the {what} is not valid Unicode") from None
    if size > LONGEST_NAME or "\0" in text:
        raise ValidationError(f"the {what} must be at most {LONGEST_NAME} bytes without NUL")


def check_deadline(seconds: object) -> None:
    """Refuses what is no number of seconds from now."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < LONGEST_DEADLINE:
        raise ValidationError(f"the deadline {seconds!r} is no number of seconds above 0")
