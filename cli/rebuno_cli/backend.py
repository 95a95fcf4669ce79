"""The operations of commands on a kernel: a store on this machine, or a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rebuno.journal.records import Approval, Event, Execution, Step

if TYPE_CHECKING:
    from rebuno.kernel.core.quorum import Panel
    from rebuno.kernel.history.timeline import Story
    from rebuno.types import Agent, ApiKey, NewApiKey, Tested

# A question with the step that it is about, as far as that is known.
Question: TypeAlias = tuple[Approval, Step | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What an execution waits for: `type` is `approval` or `execution` (a subagent), `id` its id."""

    type: str
    id: str
    step_id: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """An execution to be begun; `input` is a JSON value."""

    agent_id: str
    input: Any
    session: str = ""
    key: str = ""
    parent: str = ""
    on_behalf_of: str = ""


@dataclass(frozen=True, slots=True)
class Fork:
    """What a fork is to be: from the event `at_seq` on (None: the newest), under the caller's own id `key`, in a new
    `session`, under the policy that its source began under, for so many seconds (None: as long as it takes)."""

    at_seq: int | None = None
    key: str | None = None
    session: str = ""
    keep_policy: bool = False
    deadline: float | None = None


class Desk(Protocol):
    """Where a command works. An execution, a question or a key is named by its id, or by a beginning of it of at least
    4 characters that no other shares; an execution by its caller's own id too.

    Every method may raise `NotFoundError`, `ConflictError` (several have such a name, or it is decided already), a
    `StoreError` or a `NetworkError`.
    """

    def now(self) -> float:
        """The time, in seconds since 1970."""
        ...

    async def execution(self, ref: str) -> Execution:
        """One execution; a server does not say everything of it."""
        ...

    async def again(self, execution_id: str) -> Execution:
        """One execution, its id known, as it is now."""
        ...

    async def waits_for(self, execution: Execution) -> Sequence[Waiting]:
        """What it waits for."""
        ...

    async def executions(self, *, agent_id: str | None, status: str | None, limit: int) -> Sequence[Execution]:
        """The newest ones, newest first."""
        ...

    async def steps(self, execution_id: str) -> Sequence[Step]:
        """Its steps in the order of decisions."""
        ...

    async def events(self, execution_id: str, *, after: int = 0) -> Sequence[Event]:
        """Its log, from the event after this number on."""
        ...

    async def story(self, ref: str) -> "Story":
        """What happened in it."""
        ...

    async def changed_files(self, executions: Sequence[Execution]) -> Sequence[str]:
        """Bundle files that have changed since; only a store on this machine can tell."""
        ...

    async def create(self, wanted: Wanted) -> Execution:
        """Begins an execution, which its agent is told of."""
        ...

    async def cancel(self, ref: str, *, reason: str | None) -> Execution:
        """Ends it."""
        ...

    async def fork(self, ref: str, wanted: Fork) -> Execution:
        """A new execution that begins where this one stood."""
        ...

    async def approvals(self, *, status: str | None, execution: str | None) -> Sequence[Question]:
        """Questions, oldest first; None: in every state, and of every execution."""
        ...

    async def approval(self, ref: str) -> Question:
        """One question."""
        ...

    async def panels(self, approval: Approval) -> "Sequence[Panel]":
        """Who must agree."""
        ...

    async def resolve(self, ref: str, *, granted: bool, decided_by: str, rationale: str, scope: str) -> Question:
        """Answers a question; returns the question as it is then. `decided_by` defaults to the login name, or to the
        server's key."""
        ...

    async def agents(self) -> "Sequence[Agent]":
        """Every agent."""
        ...

    async def agent(self, agent_id: str) -> "Agent":
        """One agent."""
        ...

    async def put_agent(self, agent_id: str, *, webhook_url: str, secret: str, lease: float | None) -> "Agent":
        """Registers an agent, or changes it."""
        ...

    async def delete_agent(self, agent_id: str, *, force: bool) -> None:
        """Forgets an agent."""
        ...

    async def set_policy(self, agent_id: str, text: str) -> None:
        """Puts a bundle in force."""
        ...

    async def test_policy(
        self, agent_id: str, *, bundle: str, cases: Sequence[dict[str, Any]], execution_ids: Sequence[str]
    ) -> "Tested":
        """Asks a bundle (empty: the agent's own) about cases and recorded steps."""
        ...

    async def keys(self) -> "Sequence[ApiKey]":
        """Every key."""
        ...

    async def create_key(self, name: str, scopes: Sequence[str]) -> "NewApiKey":
        """A new key."""
        ...

    async def rotate_key(self, ref: str) -> "NewApiKey":
        """A new token for a key."""
        ...

    async def revoke_key(self, ref: str) -> "ApiKey":
        """Makes a key useless; the key."""
        ...
