"""The served kernel: one replica's work for clients, agents and operators, over a store that others share."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from rebuno.journal.records import Agent, ApiKey, Approval, Counts, Event, Execution, Step
from rebuno.journal.served import ServedStore
from rebuno.model.answer import Answer, Submission
from rebuno.policy.decide import Policy
from rebuno.policy.source import Source


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Which delivery an agent acts under: the dispatch's id and its attempt, as the webhook told them."""

    id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Webhook:
    """One delivery to an agent: where to, signed with what, and what it says. `lease` is in seconds."""

    url: str
    secret: str
    execution_id: str
    dispatch_id: str
    dispatch_attempt: int
    lease: float


# Posts a webhook and returns the HTTP status; raises `NetworkError` where there was none.
Send = Callable[[Webhook], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a replica works. `max_attempts` deliveries without a new outcome end an execution; `deliveries` webhooks are
    on their way at once at most; `lease` is an agent's where it names none; the rest is in seconds too (`retention`
    None: ended executions are kept for ever)."""

    max_attempts: int = 5
    deliveries: int = 32
    lease: float = 120.0
    poll: float = 0.5
    sweep: float = 2.0
    retention: float | None = None


class Outcome(StrEnum):
    """What became of a reported outcome; the values are those of the wire."""

    RECORDED = "recorded"
    REPLAY = "replay"
    EXECUTION_TERMINAL = "execution_terminal"


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer to a reported outcome; `result` and `error` are canonical JSON texts and belong to `replay`."""

    outcome: Outcome
    result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a blocked execution waits for: `type` is `approval` or `execution` (a subagent), `id` its id."""

    type: str
    id: str
    step_id: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a step's output on its way; `data` is any text, `seq` counts from 0."""

    step_id: str
    seq: int
    data: str


class Observer:
    """Learns what a replica does, for metrics; every method may be overridden, and none may raise."""

    def judged(self, seconds: float) -> None:
        """A submission was identified, decided and settled, without the store's share."""

    def settled(self, step: Step) -> None:
        """A body's outcome was recorded."""

    def delivered(self, webhook: Webhook, status: int) -> None:
        """A webhook was answered (0: it was not)."""

    def resolved(self, approval: Approval) -> None:
        """A question has its answer."""


class Serving:
    """One replica. Every method may raise a `StoreError`."""

    def __init__(
        self,
        store: ServedStore,
        *,
        layers: Sequence[Source] = (),
        permissive: bool = False,
        settings: Settings | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`layers` are bundles for all agents, the outermost first. An agent without a bundle of its own may do what
        the layers allow where `permissive`, else nothing. Raises `BundleError`."""

    # client

    async def create(
        self,
        *,
        agent_id: str,
        input: str,
        session: str = "",
        parent_execution_id: str = "",
        key: str = "",
        spawned_by: tuple[str, str] | None = None,
        on_behalf_of: str = "",
        created_by: str = "",
    ) -> Execution:
        """Begins an execution of canonical JSON `input`, or returns the one that has this key or this parent step
        already. `spawned_by` is an execution and its step.

        Raises:
            NotFoundError: no such agent, parent or step's execution.
            ConflictError: the key has another input, or the parent is not as it must be.
            ValidationError: a blank or overlong name, a foreign step, or a session that may not be used.
        """
        raise NotImplementedError

    async def execution(self, execution_id: str) -> Execution:
        """The execution, else `NotFoundError`."""
        raise NotImplementedError

    async def executions(
        self,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> tuple[list[Execution], str | None]:
        """A page, newest first, and the cursor of the next one (None: it was the last). `ValidationError` for an
        unknown cursor or status."""
        raise NotImplementedError

    async def blocked_on(self, execution: Execution) -> list[Waiting]:
        """What a blocked execution waits for; nothing of another one."""
        raise NotImplementedError

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 100) -> list[Event]:
        """A page of events, else `NotFoundError`."""
        raise NotImplementedError

    async def steps(self, execution_id: str, *, terminal: bool = False) -> list[Step]:
        """Every step in the order of decisions, or only those that have ended; else `NotFoundError`."""
        raise NotImplementedError

    async def step(self, execution_id: str, step_id: str) -> Step:
        """One step of this execution, else `NotFoundError`."""
        raise NotImplementedError

    async def previous(self, execution_id: str) -> str | None:
        """The state, else the output, of the execution that this one continues, as canonical JSON; None without one."""
        raise NotImplementedError

    async def cancel(self, execution_id: str) -> None:
        """Cancels it. `NotFoundError`; `ConflictError` where it has ended."""
        raise NotImplementedError

    async def fork(
        self, execution_id: str, *, at_seq: int, session: str = "", bundle: str | None = None, created_by: str = ""
    ) -> Execution:
        """A new execution that begins where this one stood at an event; `bundle` is the text of a policy of its own.

        Raises:
            NotFoundError, ConflictError (the session is not new), ValidationError (no such event), BundleError
        """
        raise NotImplementedError

    async def fork_points(self, execution_id: str) -> int:
        """The number of its newest event."""
        raise NotImplementedError

    # agent

    async def submit(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, submission: Submission, number: int = 0
    ) -> Answer:
        """Answers a submission; `number` (from 1; 0: none) repeated gets the first answer again.

        Raises:
            NotFoundError, ForbiddenError, LeaseSuperseded, ValidationError
        """
        raise NotImplementedError

    async def complete_step(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, step_id: str, result: str
    ) -> Settled:
        """Records the result of a body, canonical JSON. Raises as `submit`, and `ConflictError` where the step does not
        execute."""
        raise NotImplementedError

    async def fail_step(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, step_id: str, error: str
    ) -> Settled:
        """Records the failure of a body, canonical JSON of an object. Raises as `complete_step`."""
        raise NotImplementedError

    async def heartbeat(self, agent_id: str, execution_id: str, dispatch: Dispatched) -> None:
        """Renews the lease. Raises as `submit`; a lost lease before an ended execution (`Terminated`)."""
        raise NotImplementedError

    async def suspend(self, agent_id: str, execution_id: str, dispatch: Dispatched) -> bool:
        """Blocks the execution where it waits for a child or a person; False where nothing is waited for. Raises as
        `submit`, and `Terminated`."""
        raise NotImplementedError

    async def complete(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, output: str, state: str | None = None
    ) -> None:
        """Ends the execution with an output, canonical JSON. Raises as `submit`, `Terminated`, and `ConflictError`
        where it is blocked."""
        raise NotImplementedError

    async def fail(self, agent_id: str, execution_id: str, dispatch: Dispatched, reason: str) -> None:
        """Ends the execution as failed. Raises as `complete`."""
        raise NotImplementedError

    async def publish(self, agent_id: str, execution_id: str, dispatch: Dispatched, delta: Delta) -> None:
        """Hands a piece of output to whoever listens. Raises as `complete_step`; `ValidationError` where it is too
        long."""
        raise NotImplementedError

    async def previous_of(self, agent_id: str, execution_id: str) -> str | None:
        """`previous`, for its agent: `ForbiddenError` for another's."""
        raise NotImplementedError

    # operators

    async def approvals(self, *, status: str | None = "pending", execution_id: str | None = None) -> Sequence[Approval]:
        """Questions, oldest first."""
        raise NotImplementedError

    async def approval(self, approval_id: str) -> Approval:
        """One question, else `NotFoundError`."""
        raise NotImplementedError

    async def resolve(
        self,
        approval_id: str,
        *,
        granted: bool,
        decided_by: str,
        asserted_by: str = "",
        rationale: str = "",
        scope: str = "once",
    ) -> Approval:
        """One person's answer; raises as `rebuno.kernel.approvals.resolve`."""
        raise NotImplementedError

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float = 0.0) -> Agent:
        """Registers an agent, or changes where it is and its secret; `lease` is in seconds, at least 10 (0: the usual).

        Raises:
            ValidationError
        """
        raise NotImplementedError

    async def agents(self) -> list[Agent]:
        """Every agent by its id."""
        raise NotImplementedError

    async def agent(self, agent_id: str) -> Agent:
        """The agent, as it was a second ago at most; else `NotFoundError`."""
        raise NotImplementedError

    async def delete_agent(self, agent_id: str, *, force: bool = False) -> None:
        """Forgets an agent; with `force` its live executions are cancelled. `NotFoundError`; `ConflictError` where it
        has live ones."""
        raise NotImplementedError

    async def set_metadata(
        self, agent_id: str, *, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> None:
        """What an agent says of itself; the schemas are canonical JSON."""
        raise NotImplementedError

    async def set_policy(self, agent_id: str, text: str) -> None:
        """The bundle of an agent from now on, `.rbp` or YAML. `NotFoundError`; `BundleError` with all diagnostics."""
        raise NotImplementedError

    async def bundle(self, agent_id: str) -> str | None:
        """The text of an agent's bundle."""
        raise NotImplementedError

    async def policy(self, agent_id: str, bundle: str | None = None) -> Policy:
        """The policy that an agent is judged by, with the layers of this server; `bundle` in the place of its own."""
        raise NotImplementedError

    async def create_key(self, name: str, scopes: Sequence[str]) -> tuple[ApiKey, str]:
        """A new key and its token, which nobody can be told again."""
        raise NotImplementedError

    async def keys(self) -> list[ApiKey]:
        """Every key, oldest first, revoked ones too."""
        raise NotImplementedError

    async def key(self, token: str) -> ApiKey | None:
        """The key that a token belongs to, as it was a second ago at most; None for an unknown or a revoked one."""
        raise NotImplementedError

    async def rotate_key(self, key_id: str) -> tuple[ApiKey, str]:
        """A new token in the place of the old. `NotFoundError`; `ConflictError` for a revoked key."""
        raise NotImplementedError

    async def revoke_key(self, key_id: str) -> None:
        """Makes a key useless. `NotFoundError`."""
        raise NotImplementedError

    async def counts(self) -> Counts:
        """What there is, for metrics."""
        raise NotImplementedError

    def listen(self, execution_id: str) -> AbstractContextManager[asyncio.Queue[Delta]]:
        """What the execution's steps publish while the context is open; a slow listener loses the oldest."""
        raise NotImplementedError

    async def run(self, send: Send) -> None:
        """Delivers what is due and sweeps, until it is cancelled."""
        raise NotImplementedError
