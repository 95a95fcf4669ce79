"""The rows of the journal, and the batch in which all writes of one execution travel."""

import asyncio
from collections.abc import Callable
from dataclasses import field, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final

from rebuno.errors import LeaseSuperseded, Stale
from rebuno.journal.data_keys import DataKeyRow, SealedText
from rebuno.journal.pot_records import CopiedTake, Take, WindowPlace
from rebuno.journal.resource_records import ResourceChanges, ResourceRows
from rebuno.journal.words import RootRow, TurnRow, TurnWrite
from rebuno.model.dataclass import dataclass
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus


@dataclass(frozen=True, slots=True)
class EventRow:
    """One immutable record; `occurred_at` is RFC 3339 UTC, `hash` (32 bytes) chains `stored`, else the payload."""

    execution_id: str
    event_seq: int
    type: str
    payload: dict[str, Any]
    occurred_at: str
    hash: bytes
    stored: dict[str, Any] | None = None


# Made for every step, as are `StepRow` and `StepWrite`. A frozen dataclass takes several times as long to make:
# treat them as frozen.
@dataclass(slots=True)
class NewEvent:
    """An event that the store has yet to number, stamp with the time of the write, and chain. Its payload is a JSON
    object, or the canonical text of one. A copied event keeps the time that it had, `occurred_at`."""

    type: str
    payload: dict[str, Any] | str
    occurred_at: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that runs an execution: `owner` names one open store, on `host`, in process `pid`."""

    owner: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One run. `input` and `output` are canonical JSON texts (`output` None until it completes), `key` the caller's
    own id (None: none given), `digest` that of the policy it started under, by which it is judged to its end if it is
    `pinned`; `attempt` counts its runs from 1 (0: none yet), `lease_until` is seconds since 1970, `head_seq` and
    `head_hash` are those of its newest event. It is cancelled at `deadline_at` (0: never); `forked_from` is the
    execution whose first `fork_seq` events it took over, or empty: with a `fork_seq` from itself, in another store.
    A `served` one is run by an agent that it is dispatched to. `continues` is the execution whose `state` (canonical
    JSON, None: none was given) it goes on from, in a `session` or not; `spawned_execution_id` and `spawned_step_id` are
    the step whose subagent it is; `created_by` and `on_behalf_of` say who asked for it, `seal` which key of the ring
    wraps its data key. Empty where there is none."""

    id: str
    agent_id: str
    key: str | None
    status: ExecutionStatus
    input: str
    digest: str
    output: str | None = None
    failure_reason: str = ""
    attempt: int = 0
    holder: Holder | None = None
    lease_until: float = 0.0
    head_seq: int = 0
    head_hash: bytes = bytes(32)
    created_at: float = 0.0
    updated_at: float = 0.0
    deadline_at: float = 0.0
    pinned: bool = False
    forked_from: str = ""
    fork_seq: int = 0
    served: bool = False
    session: str = ""
    continues: str = ""
    spawned_execution_id: str = ""
    spawned_step_id: str = ""
    created_by: str = ""
    on_behalf_of: str = ""
    state: str | None = None
    seal: str = ""


@dataclass(slots=True, unsafe_hash=True)
class StepRow:
    """One effect. `args`, `result` and `error` are canonical JSON texts; `parent_id` is the step in whose body it was
    submitted, or empty; `verdict`, `rule_id`, `bundle`, `digest` and `reason` are those of its first decision. The
    three numbers are those of the events that decided, first started and settled it (0: not yet), the three times those
    when it was decided, last started and settled, in seconds since 1970; `attempt` is the run that last started it;
    `approval_id` its newest approval, or the one whose scope covered it. `input_tokens` and `output_tokens` are what an
    `llm_call` used (None: not known). Of a served execution `visited` is the run that last came to the step, and
    `submission` the number of the request in which it did (0: neither; below 0: one that had no number).
    The last seven are no columns. Four are said by the step's events; they have their resting values where nobody has
    looked them up (`rebuno.kernel.core.step_facts`). `definition` and `doubt` are those of the first event, as
    canonical JSON and in words; `nothing_done` says that its tool did nothing before it failed; `began_at` is when it
    first started, in seconds since 1970 (0: as `decided_at` or `started_at` says). Three stand in the grant that let it
    in: `ran_args` are the arguments that an approver wrote in the place of `args`, or empty, by the event `edited_seq`
    at `edited_at` (`rebuno.kernel.core.edited`)."""

    step_id: str
    execution_id: str
    parent_id: str
    kind: Kind
    target: str
    args: str
    args_hash: str
    occurrence: int
    idempotency: Idempotency
    status: StepStatus
    verdict: str
    rule_id: str
    bundle: str
    digest: str
    reason: str
    attempt: int = 0
    result: str | None = None
    error: str | None = None
    approval_id: str = ""
    decided_seq: int = 0
    started_seq: int = 0
    outcome_seq: int = 0
    decided_at: float = 0.0
    started_at: float = 0.0
    completed_at: float = 0.0
    input_tokens: int | None = None
    output_tokens: int | None = None
    visited: int = 0
    submission: int = 0
    definition: str = ""
    doubt: str = ""
    nothing_done: bool = False
    began_at: float = 0.0
    ran_args: str = ""
    edited_seq: int = 0
    edited_at: float = 0.0

    @property
    def call_args(self) -> str:
        """The arguments that its body gets: those of the grant, else those that were submitted."""
        return self.ran_args or self.args

    def ended(self, status: StepStatus, *, result: str | None = None, error: str | None = None) -> "StepRow":
        """The step as it is once it has ended so; several times as fast as `replace`."""
        step = StepRow(*_FIELDS(self))
        step.status, step.result, step.error = status, result, error
        return step


# What the events of a step and its grant say besides.
NO_COLUMNS: Final = ("definition", "doubt", "nothing_done", "began_at", "ran_args", "edited_seq", "edited_at")
_FIELDS: Final = attrgetter(*(field.name for field in fields(StepRow)))


@dataclass(frozen=True, slots=True)
class VoteRow:
    """One person's answer to a question at `at`, seconds since 1970; `asserted_by` (a key, a login) vouches for it."""

    decided_by: str
    decision: str
    at: float
    asserted_by: str = ""
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A question to a person about a step. `cause` is `policy` (the step waits) or `revoked` (it succeeded or failed,
    and today's bundle, `digest`, denies it). `status` is pending, granted, denied, expired or withdrawn;
    `requested_seq` and `resolved_seq` are event numbers (0: not yet). `scope` is what a grant covers: `once`,
    `execution` or `rule`. `quorum` of the `approvers` (none: anyone) must grant, each has one of the `votes`;
    unanswered, the question expires at `timeout_at` (0: never). `bundle` is the name of the bundle whose rule asks.
    `edits` are the paths of the arguments that an approver may change, none where the attempt that asked runs no edited
    arguments. `edited` are the step's arguments as `edited_by` has changed them, as canonical JSON: what the grants are
    for; empty where they are for the step as it was submitted."""

    id: str
    execution_id: str
    step_id: str
    cause: str
    status: str
    message: str
    rule_id: str
    digest: str
    scope: str = "once"
    decided_by: str = ""
    rationale: str = ""
    created_at: float = 0.0
    decided_at: float = 0.0
    requested_seq: int = 0
    resolved_seq: int = 0
    bundle: str = ""
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    votes: tuple[VoteRow, ...] = ()
    timeout_at: float = 0.0
    asserted_by: str = ""
    edits: tuple[str, ...] = ()
    edited: str = ""
    edited_by: str = ""


@dataclass(frozen=True, slots=True)
class Spend:
    """One place in a sliding window: at most `number` spends under `key` within `window` seconds (None: ever)."""

    key: str
    number: int
    window: int | None


@dataclass(frozen=True, slots=True)
class Full:
    """The answer where there is no room: `spend` is what found none, `due` when there will be, in seconds since 1970
    (None: never). `asks`: there is room, but not for another unanswered question of this execution."""

    spend: Spend | Take
    due: float | None
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The data that retention keeps of an execution, so that its key never starts a second run. `output_hash` is the
    hex SHA-256 of its output, or empty; `ended_at` is seconds since 1970."""

    id: str
    agent_id: str
    key: str | None
    status: ExecutionStatus
    output_hash: str
    head_hash: bytes
    ended_at: float


@dataclass(slots=True)
class Lease:
    """The right of one attempt to write to its execution. `lost` and `poison` are set by the store's own thread: the
    row says that another attempt owns the execution, or a write failed and everything after it must fail likewise."""

    execution_id: str
    attempt: int
    owner: str
    lost: bool = False
    poison: Exception | None = None


@dataclass(slots=True)
class StepWrite:
    """A step's whole new row. `decided`, `started` and `settled` say which event of the batch (from 0) gives
    the number and the time; where they are None those that the store has stand, whatever `step` says."""

    step: StepRow
    decided: int | None = None
    started: int | None = None
    settled: int | None = None

    def moved(self, by: int) -> "StepWrite":
        """The same, where so many events come before those of this change."""
        if not by:
            return self
        decided, started, settled = self.decided, self.started, self.settled
        return StepWrite(
            self.step,
            None if decided is None else decided + by,
            None if started is None else started + by,
            None if settled is None else settled + by,
        )


@dataclass(frozen=True, slots=True)
class ApprovalWrite:
    """An approval's whole new row; `requested` and `resolved` are events of the batch, as in `StepWrite`."""

    approval: ApprovalRow
    requested: int | None = None
    resolved: int | None = None


class DispatchState(StrEnum):
    """`queued`: an agent is to be told of an execution; `claimed`: a replica has told it, or is about to."""

    QUEUED = "queued"
    CLAIMED = "claimed"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One delivery of an execution to its agent, for as long as it lives: until the execution ends, waits, or is
    delivered anew. `attempt` counts its tries, `failures` those that reached a handler (one that is under way counts);
    it is not tried before `due_at`. `unreached` counts the tries since `since` in which nobody was reached, all in a
    row, and `error` says what came of the last one. Times are in seconds since 1970."""

    id: str
    execution_id: str
    agent_id: str
    state: DispatchState = DispatchState.QUEUED
    attempt: int = 0
    failures: int = 0
    due_at: float = 0.0
    unreached: int = 0
    since: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """Who runs executions, told of them at `webhook_url`. `lease` is how many seconds it may be silent (0: as the
    server says); the schemas are canonical JSON. `secret` signs both ways and is shown to nobody."""

    id: str
    webhook_url: str
    secret: str = field(repr=False)
    lease: float = 0.0
    registered_at: float = 0.0
    description: str | None = None
    input_schema: str | None = None
    output_schema: str | None = None


# How a scope begins that binds a key to an agent, and how the others of such a key begin: an old replica that does not
# know what it means to be bound finds no scope that it knows, and lets the key do nothing.
BOUND: Final = "agent:"
OF_BOUND: Final = "bound:"


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key of the HTTP interface: its scopes, and the SHA-256 of its token. `revoked_at` is 0 for a valid key. Among
    the scopes `agent:NAME` binds it to an agent, and `bound:SCOPE` is one of a key that is bound."""

    id: str
    name: str
    scopes: tuple[str, ...]
    token_hash: bytes = field(repr=False)
    created_at: float = 0.0
    revoked_at: float = 0.0

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it is bound to."""
        return tuple(scope.removeprefix(BOUND) for scope in self.scopes if scope.startswith(BOUND))

    @property
    def granted(self) -> tuple[str, ...]:
        """What it may do there, or everywhere where it is bound to none."""
        return tuple(scope.removeprefix(OF_BOUND) for scope in self.scopes if not scope.startswith(BOUND))


@dataclass(frozen=True, slots=True)
class ExecutionWrite:
    """What becomes of the execution's row, besides its head. `attempt` None leaves it, `holder` and `lease_until`.
    `dispatch` takes the place of the one that it has; one that has ended or is blocked has none. `continues` and
    `state` are set where they are given."""

    status: ExecutionStatus
    output: str | None = None
    failure_reason: str = ""
    attempt: int | None = None
    holder: Holder | None = None
    lease_until: float = 0.0
    dispatch: Dispatch | None = None
    continues: str = ""
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """What an execution brings with its first events: rows as they must be, numbers and times included, its places in
    limits, its `dispatch`, what was said to it and to its root, its resources and its data key."""

    steps: tuple[StepRow, ...] = ()
    approvals: tuple[ApprovalRow, ...] = ()
    dispatch: Dispatch | None = None
    places: tuple[WindowPlace, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    root: RootRow | None = None
    takes: tuple[CopiedTake, ...] = ()
    external: ResourceRows | None = None
    data_key: DataKeyRow | None = None
    sealed: tuple[SealedText, ...] = ()


class Commit(asyncio.Future[int]):
    """The result of a batch, independent of its waiters: they await `heard`, or register a callback."""

    _told: tuple[Callable[["Commit"], None], ...] = ()
    _listener: asyncio.Future[int] | None = None

    def wait(self) -> asyncio.Future[int]:
        """What one waiter may await, and be cancelled meanwhile: set together with the commit, while a shield would be
        a turn of the event loop later."""
        if self._listener is not None or self.done():
            return asyncio.shield(self)
        self._listener = self.get_loop().create_future()
        return self._listener

    def tell(self, told: Callable[["Commit"], None]) -> None:
        """Has this called as soon as it is known, before anybody who waits goes on: a callback of a future is called a
        turn of the event loop later."""
        if self.done():
            told(self)
        else:
            self._told = (*self._told, told)

    def set_result(self, result: int) -> None:
        """As a future's; the listener hears of it."""
        super().set_result(result)
        self._call()
        if self._listener is not None and not self._listener.done():
            self._listener.set_result(result)

    def set_exception(self, exception: type | BaseException) -> None:
        """As a future's; the listener hears of it."""
        super().set_exception(exception)
        self._call()
        if self._listener is not None and not self._listener.done():
            self._listener.set_exception(exception)

    def cancel(self, msg: object = None) -> bool:
        """As a future's: a task that awaits this itself takes it along."""
        cancelled = super().cancel(msg)
        if cancelled:
            self._call()
        return cancelled

    def _call(self) -> None:
        # INVARIANT: a fault in one keeps nobody else waiting: as with a future's callbacks, the loop is told of it.
        for told in self._told:
            try:
                told(self)
            except Exception as fault:
                said = {"message": "a callback of a commit failed", "exception": fault, "future": self}
                self.get_loop().call_exception_handler(said)


@dataclass(slots=True)
class Basis:
    """The state of the log when a writer decided; `overtaken` once the log was found to have grown since."""

    overtaken: bool = False


@dataclass(slots=True)
class Batch:
    """All changes of one execution in one transaction.
    `base` is the number of the newest event that the writer's judgement rests on (None: it rests on none, the batch
    holds whatever came between); with it may come the `basis` that batches judged on the same knowledge share: once one
    of them is `Stale`, so are those after it, whatever their numbers. With a `lease` the row must still say that this
    attempt owns the execution. `deferred` allows the commit to wait for the next batch of the execution, 2 ms at most.
    `committed` becomes the number of the batch's last event, or the error."""

    execution_id: str
    events: tuple[NewEvent, ...]
    steps: tuple[StepWrite, ...] = ()
    approvals: tuple[ApprovalWrite, ...] = ()
    execution: ExecutionWrite | None = None
    base: int | None = None
    lease: Lease | None = None
    deferred: bool = False
    basis: Basis | None = None
    turns: tuple[TurnWrite, ...] = ()
    external: ResourceChanges | None = None
    sealed: tuple[SealedText, ...] = ()
    committed: Commit = field(init=False)

    def __post_init__(self) -> None:
        self.committed = Commit(loop=asyncio.get_running_loop())

    def refusal(self) -> Exception | None:
        """Why a store may not write it, for what became of those before it; None where it may."""
        if self.lease is not None and self.lease.poison is not None:
            return self.lease.poison
        if self.basis is not None and self.basis.overtaken:
            return Stale(f"what was judged about execution `{self.execution_id}` rests on an older log")
        return None

    def failed(self, error: Exception) -> None:
        """Tells the later batches that it was not written."""
        # INVARIANT: after a lost write nothing more is written under its lease, or the log would have a hole.
        if isinstance(error, Stale):
            if self.basis is not None:
                self.basis.overtaken = True
        elif self.lease is not None:
            self.lease.poison = self.lease.poison or error
            self.lease.lost = self.lease.lost or isinstance(error, LeaseSuperseded)
