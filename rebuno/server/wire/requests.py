"""The bodies and queries of requests. An optional field may be null; an unknown field is refused."""

import re
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def uuid(text: str) -> str:
    """An id as it is stored: in small letters. `ValueError` where the text is no UUID."""
    small = text.lower()
    if not _UUID.fullmatch(small):
        raise ValueError("it is no UUID")
    return small


def _uuid_or_none(text: str) -> str:
    return uuid(text) if text else ""


# An id in small or capital letters.
Id: TypeAlias = Annotated[str, AfterValidator(uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
# The same where an empty text says that there is none.
OptionalId: TypeAlias = Annotated[
    str,
    AfterValidator(_uuid_or_none),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "uuid"}, {"const": ""}]}),
]

Name: TypeAlias = Annotated[str, Field(max_length=256)]
KindName: TypeAlias = Literal["tool_call", "llm_call", "local"]
IdempotencyName: TypeAlias = Literal["safe_to_retry", "at_most_once"]
ExecutionStatusName: TypeAlias = Literal["pending", "running", "blocked", "completed", "failed", "cancelled"]
ApprovalStatusName: TypeAlias = Literal["pending", "granted", "denied", "expired", "withdrawn"]


class Body(BaseModel):
    """A body. Values are taken as they are: text is no number, and a number no text."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Body):
    """No body, or an empty object."""


class SpawningStep(Body):
    """The step whose subagent an execution is."""

    execution_id: Id
    step_id: Annotated[str, AfterValidator(str.lower)]


class CreateExecution(Body):
    """A new execution. `workdir` is the folder that it works in, an absolute path."""

    agent_id: str
    input: Any = None
    session: str | None = None
    parent_execution_id: OptionalId | None = None
    idempotency_key: str | None = None
    spawned_by: SpawningStep | None = None
    on_behalf_of: str | None = None
    workdir: str | None = None


class SayTurn(Body):
    """What the user wrote into a run after it began: a text of at most 65,536 bytes."""

    text: str


class Fork(Body):
    """From which event on, in which session, and under which bundle of its own, or (`keep_policy`) the one that the
    source began under. It is cancelled after so many seconds."""

    at_seq: int = Field(ge=1)
    session: str | None = None
    policy_bundle: str | None = None
    keep_policy: bool | None = None
    deadline_seconds: float | None = Field(default=None, gt=0)


class Retry(Body):
    """Under which policy a failed execution is tried again (as `Fork`), and after how many seconds it is cancelled."""

    keep_policy: bool | None = None
    deadline_seconds: float | None = Field(default=None, gt=0)


class ImportHistory(Body):
    """What `export` answers, as one text."""

    history: str


class Sweep(Body):
    """Ended executions are removed that are older than this; without it those that the server removes by itself."""

    older_than_seconds: float | None = Field(default=None, ge=0)


class Erase(Body):
    """Whether an execution that has not ended is cancelled first."""

    cancel: bool | None = None


class ErasePerson(Body):
    """Whose executions are erased, and whether those that have not ended are cancelled first."""

    on_behalf_of: str
    cancel: bool | None = None


class Submit(Body):
    """What an agent wants to do. Without `args` they are null, without `idempotency` the step is `safe_to_retry`.
    `submission` counts the requests of one attempt from 1: repeated, it gets the first answer again. `definition` is
    that of the tool: its server, its name and its digest, with its description where the kernel may not have it.
    `resources` are the keys of those that the step may change. `edits` says that the step runs with the arguments
    that `proceed` brings, where an approver has changed them."""

    kind: KindName
    target: str
    args: Any = None
    idempotency: IdempotencyName | None = None
    resources: list[str] | None = None
    submission: int | None = Field(default=None, ge=1, lt=2**31)
    parent_step_id: Annotated[str, AfterValidator(str.lower)] | None = None
    definition: dict[str, Any] | None = None
    edits: bool | None = None


class CaptureBody(Body):
    """A checkpoint that a driver has made of a generation of a resource."""

    key: str
    generation: int
    checkpoint_ref: str | None = None


class CaptureFailureBody(Body):
    """Why a driver could make no checkpoint of a generation of a resource."""

    key: str
    generation: int
    error: str | None = None


# So many checkpoints in one request.
Captures: TypeAlias = Annotated[list[CaptureBody], Field(max_length=1000)]
CaptureFailures: TypeAlias = Annotated[list[CaptureFailureBody], Field(max_length=1000)]


class RegisterResource(Body):
    """State outside the journal that the execution works on. Without `every_steps` there are no checkpoints; with them
    there is one at the end of the handler too, unless `on_completion` is false."""

    key: str
    driver_id: str
    configuration: Any = None
    coverage_reuse: bool | None = None
    every_steps: int | None = None
    on_completion: bool | None = None


class BindResource(Body):
    """What a resource is bound to, as its driver opens it again; not null."""

    binding: Any = None


class PublishCheckpoints(Body):
    """Checkpoints of the newest event, and those that could not be made."""

    captures: Captures | None = None
    capture_failures: CaptureFailures | None = None


class StepResult(Body):
    """What a step's body gave; null where it is left out."""

    result: Any = None
    captures: Captures | None = None
    capture_failures: CaptureFailures | None = None


class StepError(Body):
    """Why a step's body failed, null where it is left out. What is no object is kept as the `message` of one.
    `nothing_done` says that the tool itself knows that it failed before it did anything."""

    error: Any = None
    nothing_done: bool | None = None
    captures: Captures | None = None
    capture_failures: CaptureFailures | None = None


class DeltaBody(Body):
    """A piece of a step's output, at most 7,000 bytes of UTF-8; `seq` counts from 0."""

    seq: int = Field(ge=0, lt=2**53)
    data: str


class Complete(Body):
    """The output of an execution, null where it is left out, and the state that the next one of its session begins
    with."""

    output: Any = None
    state: Any = None


class Fail(Body):
    """Why an execution failed, `agent_error` where nothing says why, and what its handler raised: type, message, file,
    line, function and traceback."""

    error: str | None = None
    raised: Any = None


class Metadata(Body):
    """What an agent says of itself; the schemas are JSON Schemas."""

    description: str | None = None
    input_schema: Any = None
    output_schema: Any = None


class PutAgent(Body):
    """An agent: where it is told of executions, and the secret that signs both ways."""

    id: str
    webhook_url: str
    secret: str
    lease_timeout_seconds: float | None = None


class PutPolicy(Body):
    """A bundle's text: rules, or a YAML bundle."""

    bundle: str


class Executions(Body):
    """The executions of an agent whose recorded steps are judged; `since` is an RFC 3339 time."""

    session: str | None = None
    since: str | None = None
    limit: int | None = Field(default=None, ge=1, le=200)


class TestPolicy(Body):
    """A bundle (else the agent's own) against cases, recorded steps, or both."""

    __test__ = False

    bundle: str | None = None
    cases: list[Any] | None = None
    execution_id: OptionalId | None = None
    executions: Executions | None = None


class Resolution(Body):
    """A person's answer. Without `decided_by` it is the key's own; `scope` is what a grant covers. A grant may have
    `edits`: new values of arguments, by their names. With the scope `agent` it also covers later steps of the agent for
    `for_seconds`: with these arguments, but for those in `known` (each must be in the `known` set of that name) and
    those in `free`."""

    decided_by: str | None = None
    rationale: str | None = None
    scope: str | None = None
    edits: dict[str, Any] | None = None
    for_seconds: float | None = None
    known: dict[str, str] | None = None
    free: list[str] | None = Field(default=None, max_length=256)


class CreateKey(Body):
    """A key with the scopes that it has. One that is bound to agents reaches their executions and questions only."""

    name: str = Field(min_length=1, max_length=256)
    scopes: list[str] = Field(min_length=1, max_length=32)
    agents: list[Name] | None = Field(default=None, max_length=32)


class Query(BaseModel):
    """A query. Texts of digits are numbers here; what is unknown is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ExecutionsQuery(Query):
    """Which executions, and how many of them at once: at most 200, and 50 where the number is 0 or below."""

    agent_id: str = ""
    session: str = ""
    status: ExecutionStatusName | Literal[""] = ""
    cursor: OptionalId = ""
    limit: int = 50


class EventsQuery(Query):
    """The events after this number, and how many of them at once: at most 1,000, and 100 where the number is 0 or
    below."""

    after_seq: int = Field(default=0, ge=0, lt=2**63)
    limit: int = 100


class StepsQuery(Query):
    """All steps, or only those that have ended."""

    status: Literal["", "terminal"] = ""


class ApprovalsQuery(Query):
    """Which questions."""

    status: ApprovalStatusName | Literal["", "all"] = ""
    execution_id: OptionalId = ""
    cursor: OptionalId = ""
    limit: int = 200


class GrantsQuery(Query):
    """Those of an agent; with `over` those that have ended, too."""

    agent_id: str = ""
    over: bool = False


class LimitsQuery(Query):
    """Which pots: those after this one in the order of their ids."""

    cursor: str = ""
    limit: int = 1000


class CreateStop(Body):
    """What to stop: exactly one of the agent, the tools that a pattern matches, and `all`."""

    agent_id: Name | None = None
    tool: str | None = Field(default=None, max_length=256)
    all: bool | None = None
    reason: str | None = Field(default=None, max_length=1000)


class VerifyQuery(Query):
    """The hash that the newest event must have, 64 hexadecimal digits; empty: any."""

    head: str = ""


class StopsQuery(Query):
    """Those that stand, or with `lifted` all of them."""

    lifted: bool = False


class DeleteQuery(Query):
    """`force` cancels what is alive first."""

    force: bool = False
