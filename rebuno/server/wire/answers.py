"""The answers that are given: what is written of each record, beside the model that describes it."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from rebuno.journal.records import Agent, ApiKey, Approval, Event, Execution, Step
from rebuno.kernel.serving import Delta, Settled, Waiting
from rebuno.model.answer import Answer, Say
from rebuno.server.wire.requests import (
    ApprovalStatusName,
    ExecutionStatusName,
    IdempotencyName,
    KindName,
    SpawnedBy,
)
from rebuno.server.wire.writing import Json, array, number, obj, raw, time

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


def execution(row: Execution, waiting: list[Waiting]) -> Json:
    spawned = row.spawned_execution_id
    return obj(
        id=row.id,
        agent_id=row.agent_id,
        status=row.status.value,
        input=raw(row.input),
        output=raw(row.output),
        failure_reason=row.failure_reason,
        session=row.session,
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
    )


class ExecutionsOut(Out):
    """A page of executions, newest first."""

    executions: list[ExecutionOut]
    next_cursor: str | None = None


def executions(rows: list[Json], cursor: str | None) -> Json:
    return obj(executions=array(rows)) if cursor is None else obj(executions=array(rows), next_cursor=cursor)


class EventOut(Out):
    """One record of the log."""

    execution_id: str
    event_seq: int
    type: str
    payload: dict[str, Any]
    occurred_at: str
    hash: str


def event(row: Event) -> Json:
    return obj(
        execution_id=row.execution_id,
        event_seq=row.event_seq,
        type=row.type,
        payload=row.payload,
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


class VoteOut(Out):
    """One person's word."""

    decided_by: str
    decision: Literal["grant", "deny"]
    at: str


class ApprovalOut(Out):
    """A question to people about a step."""

    id: str
    step_id: str
    execution_id: str
    status: ApprovalStatusName
    message: str
    approvers: list[str]
    quorum: int
    votes: list[VoteOut]
    rule_id: str
    scope: str
    decided_by: str
    asserted_by: str
    rationale: str
    timeout_at: str
    decided_at: str | None = None
    created_at: str
    kind: KindName
    target: str
    args: Any


def approval(row: Approval, about: Step) -> Json:
    decided = {"decided_at": time(row.decided_at)} if row.decided_at else {}
    return obj(
        id=row.id,
        step_id=row.step_id,
        execution_id=row.execution_id,
        status=row.status,
        message=row.message,
        approvers=list(row.approvers),
        quorum=row.quorum,
        votes=[{"decided_by": v.decided_by, "decision": v.decision, "at": time(v.at)} for v in row.votes],
        rule_id=row.rule_id,
        scope=row.scope,
        decided_by=row.decided_by,
        asserted_by=row.asserted_by,
        rationale=row.rationale,
        timeout_at=time(row.timeout_at) or "",
        created_at=time(row.created_at),
        kind=about.kind.value,
        target=about.target,
        args=raw(about.args),
        **decided,
    )


class AgentOut(Out):
    """Who runs executions."""

    id: str
    webhook_url: str
    registered_at: str
    policy_bundle: str | None = None
    lease_timeout_seconds: float | None = None
    description: str | None = None
    input_schema: Any = None
    output_schema: Any = None


def agent(row: Agent, bundle: str | None) -> Json:
    known: dict[str, Any] = {
        "policy_bundle": bundle,
        "lease_timeout_seconds": number(row.lease) if row.lease else None,
        "description": row.description,
        "input_schema": None if row.input_schema is None else raw(row.input_schema),
        "output_schema": None if row.output_schema is None else raw(row.output_schema),
    }
    return obj(
        id=row.id,
        webhook_url=row.webhook_url,
        registered_at=time(row.registered_at),
        **{name: value for name, value in known.items() if value is not None},
    )


class KeyOut(Out):
    """An API key; `token` is told once, when it is made."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    revoked_at: str | None = None
    token: str | None = None


def key(row: ApiKey, token: str = "") -> Json:
    more = {"token": token} if token else {}
    if row.revoked_at:
        more["revoked_at"] = time(row.revoked_at) or ""
    return obj(id=row.id, name=row.name, scopes=list(row.scopes), created_at=time(row.created_at), **more)


class CaseOut(BaseModel):
    """A case with what the policy says to it; the case's own fields stand beside these."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    name: str
    decision: Literal["allow", "deny", "require_approval"]
    rule_id: str
    reason: str
    failure: str | None = None


class TestedOut(Out):
    """A policy against cases and recorded steps."""

    __test__ = False

    results: list[CaseOut]
    failed: int
    unexercised_rules: list[str]


class HealthOut(Out):
    """That the server answers, or that its store does."""

    status: Literal["ok"]


def delta(piece: Delta) -> Json:
    return obj(step_id=piece.step_id, seq=piece.seq, data=piece.data)
