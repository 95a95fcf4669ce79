"""The answers to operators: the writer of each record beside the model that describes it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from rebuno.journal.records import Agent, ApiKey, Approval, Step
from rebuno.server.wire.answers import Out
from rebuno.server.wire.requests import ApprovalStatusName, KindName
from rebuno.server.wire.writing import Json, number, obj, raw, time


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
    timeout_at: str | None = None
    decided_at: str | None = None
    created_at: str
    kind: KindName
    target: str
    args: Any


def approval(row: Approval, about: Step) -> Json:
    times = {"timeout_at": time(row.timeout_at), "decided_at": time(row.decided_at)}
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
        created_at=time(row.created_at),
        kind=about.kind.value,
        target=about.target,
        args=raw(about.args),
        **{name: at for name, at in times.items() if at},
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
    """That the server answers."""

    status: Literal["ok"]


class ReadyOut(Out):
    """Whether the server can do its work now."""

    status: Literal["ready", "unavailable"]
