"""The public models: what an execution, a step, a question, an agent and a key look like outside the store.

The server writes them, `Client` reads them, the embedded kernel returns them and the command prints them. They are
dataclasses that pydantic reads and describes: pydantic itself is imported by the first `model_validate`, so that a
program that only runs a handler does not load it.

None says that there is no value. The wire says the same by an empty text or a missing field: `Absent` tells which.
"""

from dataclasses import field
from typing import Annotated, Any, TypeAlias

from rebuno.model.described import Described, one_of
from rebuno.model.execution import ExecutionStatus
from rebuno.model.public import Model
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.model.wire_fields import Absent, JsonValue, Moment, RawJson, Seconds

__all__ = [
    "Absent", "Agent", "ApiKey", "Approval", "BlockedOn", "CheckedHistory", "Delta", "ErasedExecutions", "Event",
    "Execution", "ExecutionStatus", "Failure", "JsonValue", "LastDelivery", "Model", "Moment", "NewApiKey", "Page",
    "Process", "RawJson", "Seconds", "SpawnedBy", "StackFrame", "Step", "SweptStore", "Tested", "TestedCase",
    "ToolDefinition", "UsedLimit", "UserTurn", "Vote",
]  # fmt: skip

Text: TypeAlias = Annotated[str | None, Absent.BLANK]


class SpawnedBy(Model):
    """The step whose subagent an execution is."""

    execution_id: str
    step_id: str


class BlockedOn(Model):
    """What a blocked execution waits for: `type` is `approval` or `execution` (a subagent), `id` its id."""

    type: Annotated[str, one_of(("approval", "execution"))]
    id: str
    step_id: str = ""


class LastDelivery(Model):
    """What became of the last delivery of an execution that waits for the next one. `error` says why the last one came
    to nothing; `attempts` counts those that reached the agent, and `unreached` those in which nobody was reached since
    `unreachable_since` (None: the last one reached it). The next one is due at `next_at`."""

    agent_id: str
    error: str = ""
    attempts: int = 0
    unreached: int = 0
    unreachable_since: Moment = Moment()
    next_at: Moment = Moment()


class StackFrame(Model):
    """A line of code that an exception came through. `line` is None where nothing is known of it."""

    file: str
    line: int | None = None
    function: str | None = None
    source: str | None = None


class Failure(Model):
    """The exception that a handler, or the body of a step, ended with; where it was raised, as far as that is known.
    `traceback` is for those who may read the events: the frames from the outermost on, None where it was not told."""

    type: str = ""
    message: str = ""
    file: Annotated[str | None, Absent.LEFT_OUT] = None
    line: Annotated[int | None, Absent.LEFT_OUT] = None
    function: Annotated[str | None, Absent.LEFT_OUT] = None
    traceback: Annotated[list[StackFrame] | None, Absent.NEVER] = None


class Process(Model):
    """Where an execution runs: a process of this number on a host."""

    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Vote(Model):
    """One person's word on a question; `decision` is `grant` or `deny`. `asserted_by` is who vouches for the name."""

    decided_by: str = ""
    decision: Annotated[str, one_of(("grant", "deny"))] = ""
    at: Annotated[Moment, Absent.BLANK] = Moment()
    asserted_by: Annotated[str | None, Absent.NEVER] = None
    rationale: Annotated[str | None, Absent.NEVER] = None


class Approval(Model):
    """A question to people about a step. `quorum` of the `approvers` (none: anyone) must grant.

    `edits` are the paths of the arguments that an approver may change, left out where none may be; `edited_args` are
    the arguments as `edited_by` has changed them, which the grants are for then. `why` says why it is asked, where one
    question is read: `rule`, `bundle`, `reason`, `tests` (those that were answered with no or maybe), `origins` (where
    each argument stands: `request`, `turn`, `result`, or `nowhere`), `before` (the last steps of the run before it),
    `done_before` (how many there are) and `last` (what the same rule was answered last time).

    The protocol does not send `cause` (`policy`: the step waits; `revoked`: it is done, and a later bundle denies it),
    the `bundle` whose rule asks, and the rule's `reason`."""

    id: str
    step_id: str = ""
    execution_id: str = ""
    status: Annotated[str, one_of(("pending", "granted", "denied", "expired", "withdrawn"))] = ""
    message: Text = None
    approvers: list[str] = field(default_factory=list)
    quorum: int = 1
    votes: list[Vote] = field(default_factory=list)
    rule_id: Text = None
    scope: str = "once"
    decided_by: Text = None
    asserted_by: Text = None
    rationale: Text = None
    timeout_at: Annotated[Moment, Absent.LEFT_OUT] = Moment()
    decided_at: Annotated[Moment, Absent.LEFT_OUT] = Moment()
    created_at: Annotated[Moment, Absent.BLANK] = Moment()
    kind: Annotated[str, one_of(Kind)] = ""
    target: str = ""
    args: JsonValue = JsonValue()
    edits: Annotated[list[str] | None, Absent.LEFT_OUT] = None
    edited_args: Annotated[JsonValue, Absent.LEFT_OUT] = JsonValue()
    edited_by: Annotated[str | None, Absent.LEFT_OUT] = None
    why: Annotated[JsonValue, Absent.LEFT_OUT, Described(type="object")] = JsonValue()
    cause: Annotated[str | None, Absent.NEVER] = None
    bundle: Annotated[str | None, Absent.NEVER] = None
    reason: Annotated[str | None, Absent.NEVER] = None


class StandingGrant(Model):
    """A grant that outlives the execution whose question it answered: every step of the agent may start that is of this
    `kind`, `target` and rule, and whose arguments are as `matches` says, until `expires_at`. It is void while the text
    of the rule, or of what it uses, is another one.

    `matches` has `args` (arguments with the values that they must have), `known` (arguments with the names of the
    `known` sets that they must be in for sure) and `free` (arguments that may be anything); there may be no others."""

    id: str
    agent_id: str = ""
    kind: Annotated[str, one_of(Kind)] = ""
    target: str = ""
    bundle: str = ""
    rule_id: str = ""
    matches: JsonValue = JsonValue()
    approval_id: str = ""
    granted_by: list[str] = field(default_factory=list)
    asserted_by: Text = None
    rationale: Text = None
    created_at: Annotated[Moment, Absent.BLANK] = Moment()
    expires_at: Annotated[Moment, Absent.BLANK] = Moment()
    revoked_at: Annotated[Moment, Absent.LEFT_OUT] = Moment()
    revoked_by: Annotated[str | None, Absent.LEFT_OUT] = None


class UserTurn(Model):
    """What the user wrote into a run after it began; `by` is the key or the person who said it."""

    number: int
    text: str
    by: str = ""
    at: Annotated[Moment, Absent.BLANK] = Moment()
    event_seq: int = 0


class UsedLimit(Model):
    """What a limit by amount, by value, by session or with a name counts in: `taken` of `number`, decimal numbers, by
    so many `steps`, of which unanswered questions hold `asked`.

    `name` is that of the limit, None where it is the rule's own (`rule_id`); `of` are the paths of the amount, empty
    where steps are counted. `owner` is the execution, the session or the agent that it is of, or the SHA-256 digest of
    the value that it is for. `window` is in seconds, None for the whole execution or session; the oldest step leaves it
    at `frees_at`."""

    id: str
    bundle: str = ""
    name: Text = None
    rule_id: Text = None
    of: list[str] = field(default_factory=list)
    scope: str = ""
    owner: Text = None
    number: str = ""
    window: int | None = None
    taken: str = ""
    asked: str = ""
    steps: int = 0
    frees_at: Annotated[Moment, Absent.LEFT_OUT] = Moment()


class Stop(Model):
    """A standing denial: nothing of the agent `agent_id`, or of the tools that the pattern `tool` matches, starts until
    it is lifted; where both are None, nothing at all. `lifted_at` is None while it stands."""

    id: str
    agent_id: Text = None
    tool: Text = None
    reason: Text = None
    created_by: str = ""
    created_at: Moment = Moment()
    lifted_by: Text = None
    lifted_at: Moment = Moment()


class CheckedHistory(Model):
    """A check of an execution's log: whether it is `valid`, else the first `fault` in words; how many `events` and
    `steps` it has, and the hash of its newest event. `seal_key` is the key of the ring that it is sealed under;
    `erased` counts its payloads that were erased."""

    execution_id: str
    valid: bool = False
    fault: Annotated[str | None, Absent.BLANK] = None
    events: int = 0
    steps: int = 0
    head_hash: str = ""
    seal_key: Annotated[str | None, Absent.BLANK] = None
    erased: int = 0


class ErasedExecutions(Model):
    """What an erasure did: the executions whose data keys it destroyed, those that had been `erased_before`, those that
    are `not_sealed`, so that nothing can be erased in them, and those that hold `copies` and were not erased: forks,
    subagents, and executions that continue one."""

    erased: list[str] = field(default_factory=list)
    erased_before: list[str] = field(default_factory=list)
    not_sealed: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)


class SweptStore(Model):
    """What a sweep did: executions past their deadlines that it cancelled, questions that it let expire, executions of
    dead processes that it let go, ended ones that it removed, and how many it failed to sweep."""

    overdue: int = 0
    expired: int = 0
    released: int = 0
    removed: int = 0
    failed: int = 0


class Restored(Model):
    """A store was restored from a copy, and nobody has accepted that yet: a person is asked before anything runs in it
    that may not run twice."""

    restored_at: Moment = Moment()
    restored_by: str = ""


class StoreInfo(Model):
    """A store as a whole: how many executions are in each state, what is stopped, whether it was restored, and whether
    what the calls of an execution repeat is stored once, in `pieces`."""

    executions: dict[str, int] = field(default_factory=dict)
    stops: list[Stop] = field(default_factory=list)
    restored: Restored | None = None
    pieces: bool = True


class Checkpoint(Model):
    """What holds the state of the resource `key` as of event `covered_seq`, until event `invalidated_seq` (None: it
    still does). `generation` counts the steps before it that may have changed the resource."""

    key: str
    generation: int = 0
    checkpoint_ref: str = ""
    covered_seq: int = 0
    invalidated_seq: Annotated[int | None, Absent.LEFT_OUT] = None


class ForkPoints(Model):
    """Where a fork of an execution may begin: at any event from 1 to `latest_seq`. `resources` are the numbers of the
    events that registered them, by their keys."""

    latest_seq: int
    resources: dict[str, int] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)


class Execution(Model):
    """One run of an agent. `head_hash` is the hex hash of its newest event, `blocked_on` what it waits for, `failure`
    what its handler raised. A list of executions does not tell `turns` (what the user wrote after it began), `workdir`
    (the folder that it works in) and `delivery` (why a running one waits for its agent): they are None there.

    The protocol does not send `attempt` (how often it was begun), `digest` (that of the policy it began under),
    `pinned` (whether that one judges it to its end), `served` (whether an agent runs it that it is delivered to),
    `holder` (the process that runs it now) and `head_seq` (the number of its newest event): they are None where a
    client of HTTP has no other source. Nor does it send the open `approvals` themselves, which the embedded kernel and
    the operator tell (over HTTP `Client.list_approvals` does), and `replayed`, how many recorded steps this call of
    `Kernel.run` answered from the journal."""

    id: str
    agent_id: str = ""
    status: ExecutionStatus = ExecutionStatus.PENDING
    input: JsonValue = JsonValue()
    output: JsonValue = JsonValue()
    failure_reason: Text = None
    session: Text = None
    idempotency_key: Text = None
    parent_execution_id: str | None = None
    forked_from: str | None = None
    fork_seq: int = 0
    spawned_by: SpawnedBy | None = None
    created_by: Text = None
    on_behalf_of: Text = None
    subject_groups: list[str] = field(default_factory=list)
    restoration: dict[str, dict[str, Any]] | None = None
    created_at: Annotated[Moment, Absent.BLANK] = Moment()
    updated_at: Annotated[Moment, Absent.BLANK] = Moment()
    deadline_at: Moment = Moment()
    blocked_on: list[BlockedOn] = field(default_factory=list)
    head_hash: str = ""
    failure: Failure | None = None
    turns: Annotated[list[UserTurn] | None, Absent.LEFT_OUT] = None
    workdir: Annotated[str | None, Absent.LEFT_OUT] = None
    delivery: Annotated[LastDelivery | None, Absent.LEFT_OUT] = None
    attempt: Annotated[int | None, Absent.NEVER] = None
    digest: Annotated[str | None, Absent.NEVER] = None
    pinned: Annotated[bool | None, Absent.NEVER] = None
    served: Annotated[bool | None, Absent.NEVER] = None
    holder: Annotated[Process | None, Absent.NEVER] = None
    head_seq: Annotated[int | None, Absent.NEVER] = None
    approvals: Annotated[list[Approval], Absent.NEVER] = field(default_factory=list)
    replayed: Annotated[int | None, Absent.NEVER] = None


class Page(Model):
    """Executions, newest first; `next_cursor` asks for the ones after them, and is None where there are none."""

    executions: list[Execution] = field(default_factory=list)
    next_cursor: Annotated[str | None, Absent.LEFT_OUT] = None


class Step(Model):
    """One effect of an execution. `nothing_done` is true where its tool itself said that it did nothing before it
    failed, and `definition` is what its tool's server called it: `server`, `name` and `digest`; left out otherwise.
    `ran_args` are the arguments that an approver wrote in the place of `args`, and that it runs with; left out where it
    runs as it was submitted.

    The protocol does not send the rest: `parent_step_id` (the step in whose body it was submitted), its first
    `decision` (`allow`, `deny` or `require_approval`) with `rule_id`, `bundle`, `digest` and `reason`, `approval_id`
    (its newest question, or the one whose grant covered it), the tokens that a model call used, the time of its
    decision, the `attempt` that started it last, and the numbers of the events that decided, first started and settled
    it (0: not yet, or not known)."""

    step_id: str
    execution_id: str = ""
    kind: Annotated[str, one_of(Kind)] = ""
    target: str = ""
    args_hash: str = ""
    occurrence: int = 0
    status: Annotated[str, one_of(StepStatus)] = ""
    idempotency: Annotated[str, one_of(Idempotency)] = ""
    args: JsonValue = JsonValue()
    ran_args: Annotated[JsonValue, Absent.LEFT_OUT] = JsonValue()
    result: JsonValue = JsonValue()
    error: JsonValue = JsonValue()
    nothing_done: Annotated[bool | None, Absent.LEFT_OUT] = None
    definition: Annotated[dict[str, str] | None, Absent.LEFT_OUT] = None
    started_at: Moment = Moment()
    completed_at: Moment = Moment()
    parent_step_id: Annotated[str | None, Absent.NEVER] = None
    decision: Annotated[str | None, Absent.NEVER] = None
    rule_id: Annotated[str | None, Absent.NEVER] = None
    bundle: Annotated[str | None, Absent.NEVER] = None
    digest: Annotated[str | None, Absent.NEVER] = None
    reason: Annotated[str | None, Absent.NEVER] = None
    approval_id: Annotated[str | None, Absent.NEVER] = None
    attempt: Annotated[int, Absent.NEVER] = 0
    input_tokens: Annotated[int | None, Absent.NEVER] = None
    output_tokens: Annotated[int | None, Absent.NEVER] = None
    decided_at: Annotated[Moment, Absent.NEVER] = Moment()
    decided_seq: Annotated[int, Absent.NEVER] = 0
    started_seq: Annotated[int, Absent.NEVER] = 0
    outcome_seq: Annotated[int, Absent.NEVER] = 0


class Event(Model):
    """One record of an execution's log; `occurred_at` is RFC 3339, `hash` the hex hash that chains it to the last."""

    execution_id: str = ""
    event_seq: int = 0
    type: str = ""
    payload: Annotated[JsonValue, Described(type="object")] = JsonValue()
    occurred_at: str = ""
    hash: str = ""


class Delta(Model):
    """A piece of a step's output while it comes."""

    step_id: str
    seq: int
    data: str


class Agent(Model):
    """Who runs executions. `policy_bundle` is the text of its bundle, where it has one."""

    id: str
    webhook_url: str = ""
    registered_at: Annotated[Moment, Absent.BLANK] = Moment()
    policy_bundle: Annotated[str | None, Absent.LEFT_OUT] = None
    lease_timeout_seconds: Annotated[float | None, Absent.LEFT_OUT] = None
    description: Annotated[str | None, Absent.LEFT_OUT] = None
    input_schema: Annotated[JsonValue, Absent.LEFT_OUT] = JsonValue()
    output_schema: Annotated[JsonValue, Absent.LEFT_OUT] = JsonValue()


class ApiKey(Model):
    """A key of the HTTP interface, without its token. `agents` are those that it is bound to, if it is bound."""

    id: str
    name: str = ""
    scopes: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    created_at: Annotated[Moment, Absent.BLANK] = Moment()
    revoked_at: Annotated[Moment, Absent.LEFT_OUT] = Moment()


class ToolDefinition(Model):
    """What a server says of a tool, as agents have told it: `server` is empty for a tool of an agent itself, `digest`
    the SHA-256 of the canonical JSON of the rest, in hex digits."""

    digest: str
    server: str = ""
    name: str = ""
    description: str = ""
    input_schema: JsonValue = JsonValue()
    output_schema: JsonValue = JsonValue()


class NewApiKey(ApiKey):
    """A key with its token, which is told once."""

    token: str


class TestedCase(Model):
    """What a policy said of one case, or of one recorded step; `passed` is None where the case expects nothing."""

    __test__ = False

    name: str = ""
    target: str = ""
    decision: str = ""
    rule_id: str = ""
    reason: str = ""
    passed: bool | None = field(default=None, metadata={"alias": "pass"})
    failure: Annotated[str | None, Absent.LEFT_OUT] = None


class Tested(Model):
    """What came of a policy test."""

    __test__ = False

    results: list[TestedCase] = field(default_factory=list)
    failed: int = 0
    unexercised_rules: list[str] = field(default_factory=list)
