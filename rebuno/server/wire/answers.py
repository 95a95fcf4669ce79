"""The answers to clients and agents: the writer of each record beside the model that describes it."""

from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from rebuno.journal.records import Event, Execution, Step
from rebuno.kernel.served.kernel import Delta, Settled, Waiting
from rebuno.model.answer import Answer, Say
from rebuno.server.wire.requests import (
    ExecutionStatusName,
    IdempotencyName,
    KindName,
    SpawnedBy,
)
from rebuno.server.wire.writing import Json, array, obj, raw, time

# The traceback is for those who may read the events.
_FAILURE: Final = ("type", "message", "file", "line", "function")

StepStatusName: TypeAlias = Literal[
    "proposed", "awaiting_approval", "allowed", "executing", "succeeded", "failed", "denied", "cancelled"
]
DecisionName: TypeAlias = Literal[
    "proceed", "replay", "denied", "blocked", "execution_blocked", "rate_limited", "execution_terminal"
]


class Out(BaseModel):
    """An answer, whole."""

    model_config = ConfigDict(extra="forbid")


class Error(Out):
    """Why a call was refused."""

    code: Literal[
        "validation_error",
        "unauthorized",
        "forbidden",
        "policy_denied",
        "not_found",
        "conflict",
        "execution_terminal",
        "lease_superseded",
        "rate_limited",
        "internal_error",
    ]
    message: str
    details: Any = None


def error(code: str, message: str, details: Any = None) -> Json:
    return obj(code=code, message=message) if details is None else obj(code=code, message=message, details=details)


class WaitingOut(Out):
    """What a blocked execution waits for."""

    type: Literal["approval", "execution"]
    id: str
    step_id: str


class FailureOut(Out):
    """The exception that a handler ended with; where it was raised, as far as that is known."""

    type: str
    message: str
    file: str = ""
    line: int = 0
    function: str = ""


class ExecutionOut(Out):
    """One run of an agent."""

    id: str
    agent_id: str
    status: ExecutionStatusName
    input: Any
    output: Any
    failure_reason: str
    session: str
    idempotency_key: str
    parent_execution_id: str | None
    forked_from: str | None
    fork_seq: int
    spawned_by: SpawnedBy | None
    created_by: str
    on_behalf_of: str
    subject_groups: list[str]
    restoration: None
    created_at: str
    updated_at: str
    deadline_at: str | None
    blocked_on: list[WaitingOut]
    head_hash: str
    failure: FailureOut | None


def execution(row: Execution, waiting: list[Waiting], session: str, failure: dict[str, Any] | None) -> Json:
    """An execution with what it waits for, the session that it belongs to, and what its handler raised."""
    spawned = row.spawned_execution_id
    return obj(
        id=row.id,
        agent_id=row.agent_id,
        status=row.status.value,
        input=raw(row.input),
        output=raw(row.output),
        failure_reason=row.failure_reason,
        session=session,
        idempotency_key=row.key or "",
        parent_execution_id=row.continues or None,
        forked_from=row.forked_from or None,
        fork_seq=row.fork_seq,
        spawned_by={"execution_id": spawned, "step_id": row.spawned_step_id} if spawned else None,
        created_by=row.created_by,
        on_behalf_of=row.on_behalf_of,
        subject_groups=[],
        restoration=None,
        created_at=time(row.created_at),
        updated_at=time(row.updated_at),
        deadline_at=time(row.deadline_at),
        blocked_on=[{"type": one.type, "id": one.id, "step_id": one.step_id} for one in waiting],
        head_hash=row.head_hash.hex(),
        failure=None if failure is None else {key: failure[key] for key in _FAILURE if key in failure},
    )


class ExecutionsOut(Out):
    """A page of executions, newest first."""

    executions: list[ExecutionOut]
    next_cursor: str | None = None


def executions(rows: list[Json], cursor: str | None) -> Json:
    return obj(executions=array(rows)) if cursor is None else obj(executions=array(rows), next_cursor=cursor)


class EventOut(Out):
    """One record of the log. `hash` is over the recorded payload; the answer's has the documented fields besides."""

    execution_id: str
    event_seq: int
    type: str
    payload: dict[str, Any]
    occurred_at: str
    hash: str


def event(row: Event, payload: str) -> Json:
    return obj(
        execution_id=row.execution_id,
        event_seq=row.event_seq,
        type=row.type,
        payload=Json(payload),
        occurred_at=row.occurred_at,
        hash=row.hash.hex(),
    )


class StepOut(Out):
    """One effect."""

    step_id: str
    execution_id: str
    kind: KindName
    target: str
    args_hash: str
    occurrence: int
    status: StepStatusName
    idempotency: IdempotencyName
    args: Any
    result: Any
    error: Any
    started_at: str | None
    completed_at: str | None


def step(row: Step) -> Json:
    return obj(
        step_id=row.step_id,
        execution_id=row.execution_id,
        kind=row.kind.value,
        target=row.target,
        args_hash=row.args_hash,
        occurrence=row.occurrence,
        status=row.status.value,
        idempotency=row.idempotency.value,
        args=raw(row.args),
        result=raw(row.result),
        error=raw(row.error),
        started_at=time(row.started_at),
        completed_at=time(row.completed_at),
    )


class DecisionOut(Out):
    """What an agent must do now."""

    decision: DecisionName
    step_id: str | None = None
    result: Any = None
    error: Any = None
    reason: str | None = None
    rule_id: str | None = None
    approval_id: str | None = None


def decision(answer: Answer) -> Json:
    match answer.say:
        case Say.PROCEED:
            return obj(decision="proceed", step_id=answer.step_id)
        case Say.REPLAY if answer.error is not None:
            return obj(decision="replay", step_id=answer.step_id, error=raw(answer.error))
        case Say.REPLAY:
            return obj(decision="replay", step_id=answer.step_id, result=raw(answer.result))
        case Say.DENIED:
            reason = answer.reason or "policy_denied"
            return obj(decision="denied", step_id=answer.step_id, reason=reason, rule_id=answer.rule_id)
        case Say.BLOCKED:
            return obj(decision="blocked", step_id=answer.step_id, approval_id=answer.approval_id)
        case Say.PARKED:
            return obj(decision="blocked", reason=answer.reason or "rate_limit_exceeded")
        case Say.RATE_LIMITED:
            reason = answer.reason or "rate_limit_exceeded"
            return obj(decision="rate_limited", reason=reason, rule_id=answer.rule_id)
        case _:
            return obj(decision=answer.say.value)


class SettledOut(Out):
    """What became of a reported outcome."""

    decision: Literal["recorded", "replay", "execution_terminal"]
    step_id: str | None = None
    result: Any = None
    error: Any = None


def settled(said: Settled, step_id: str) -> Json:
    if said.outcome != "replay":
        return obj(decision=said.outcome.value)
    if said.error is not None:
        return obj(decision="replay", step_id=step_id, error=raw(said.error))
    return obj(decision="replay", step_id=step_id, result=raw(said.result))


class SuspendedOut(Out):
    """Whether something is waited for."""

    suspended: bool


class PreviousOut(Out):
    """What the execution continues from."""

    state: Any


class ForkPointsOut(Out):
    """Where a fork may begin: at any event up to this one."""

    latest_seq: int
    resources: dict[str, Any]
    checkpoints: list[Any]


def delta(piece: Delta) -> Json:
    return obj(step_id=piece.step_id, seq=piece.seq, data=piece.data)
