"""What a served kernel says over HTTP, as models: what it says beyond these fields is left out."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

from rebuno.model.execution import ExecutionStatus

__all__ = [
    "Agent",
    "ApiKey",
    "Approval",
    "BlockedOn",
    "Delta",
    "Event",
    "Execution",
    "ExecutionStatus",
    "Failure",
    "NewApiKey",
    "Page",
    "SpawnedBy",
    "Step",
    "Tested",
    "TestedCase",
    "Vote",
]


# A time, or None where there is none: an answer says so by null, by an empty text or by silence.
Moment: TypeAlias = Annotated[datetime | None, BeforeValidator(lambda said: said or None)]


class SpawnedBy(BaseModel):
    """The step whose subagent an execution is."""

    execution_id: str
    step_id: str


class BlockedOn(BaseModel):
    """What a blocked execution waits for: `type` is `approval` or `execution` (a subagent), `id` its id."""

    type: str
    id: str
    step_id: str = ""


class Failure(BaseModel):
    """The exception that a handler ended with; where it was raised, as far as that is known."""

    type: str = ""
    message: str = ""
    file: str = ""
    line: int = 0
    function: str = ""


class Execution(BaseModel):
    """One run of an agent. `head_hash` is the hex hash of its newest event, `blocked_on` what it waits for, `failure`
    what its handler raised."""

    id: str
    agent_id: str = ""
    status: ExecutionStatus = ExecutionStatus.PENDING
    input: Any = None
    output: Any = None
    failure_reason: str = ""
    session: str = ""
    idempotency_key: str = ""
    parent_execution_id: str | None = None
    forked_from: str | None = None
    fork_seq: int = 0
    spawned_by: SpawnedBy | None = None
    created_by: str = ""
    on_behalf_of: str = ""
    subject_groups: list[str] = Field(default_factory=list)
    restoration: dict[str, dict[str, Any]] | None = None
    created_at: Moment = None
    updated_at: Moment = None
    deadline_at: Moment = None
    blocked_on: list[BlockedOn] = Field(default_factory=list)
    head_hash: str = ""
    failure: Failure | None = None


class Page(BaseModel):
    """Executions, newest first; `next_cursor` asks for the ones after them, and is None where there are none."""

    executions: list[Execution] = Field(default_factory=list)
    next_cursor: str | None = None


class Step(BaseModel):
    """One effect of an execution."""

    step_id: str
    execution_id: str = ""
    kind: str = ""
    target: str = ""
    args_hash: str = ""
    occurrence: int = 0
    status: str = ""
    idempotency: str = ""
    args: Any = None
    result: Any = None
    error: Any = None
    started_at: Moment = None
    completed_at: Moment = None


class Event(BaseModel):
    """One record of an execution's log; `occurred_at` is RFC 3339, `hash` the hex hash that chains it to the last."""

    execution_id: str = ""
    event_seq: int = 0
    type: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)
    occurred_at: str = ""
    hash: str = ""


class Vote(BaseModel):
    """One person's word on a question; `decision` is `grant` or `deny`."""

    decided_by: str = ""
    decision: str = ""
    at: Moment = None


class Approval(BaseModel):
    """A question to people about a step. `quorum` of the `approvers` (none: anyone) must grant."""

    id: str
    step_id: str = ""
    execution_id: str = ""
    status: str = ""
    message: str = ""
    approvers: list[str] = Field(default_factory=list)
    quorum: int = 1
    votes: list[Vote] = Field(default_factory=list)
    rule_id: str = ""
    scope: str = "once"
    decided_by: str = ""
    asserted_by: str = ""
    rationale: str = ""
    timeout_at: Moment = None
    decided_at: Moment = None
    created_at: Moment = None
    kind: str = ""
    target: str = ""
    args: Any = None


class Delta(BaseModel):
    """A piece of a step's output while it comes."""

    step_id: str
    seq: int
    data: str


class Agent(BaseModel):
    """Who runs executions. `policy_bundle` is the text of its bundle, where it has one."""

    id: str
    webhook_url: str = ""
    policy_bundle: str | None = None
    registered_at: Moment = None
    lease_timeout_seconds: float | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None


class ApiKey(BaseModel):
    """A key of the HTTP interface, without its token."""

    id: str
    name: str = ""
    scopes: list[str] = Field(default_factory=list)
    created_at: Moment = None
    revoked_at: Moment = None


class NewApiKey(ApiKey):
    """A key with its token, which is told once."""

    token: str


class TestedCase(BaseModel):
    """What a policy said of one case, or of one recorded step; `passed` is None where the case expects nothing."""

    name: str = ""
    target: str = ""
    decision: str = ""
    rule_id: str = ""
    reason: str = ""
    passed: bool | None = Field(default=None, alias="pass")
    failure: str = ""


class Tested(BaseModel):
    """What came of a policy test."""

    results: list[TestedCase] = Field(default_factory=list)
    failed: int = 0
    unexercised_rules: list[str] = Field(default_factory=list)
