"""The operations of commands on a kernel: a store on this machine, or a server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rebuno.kernel import Panel, Recording, Timeline
    from rebuno.types import (
        Agent,
        ApiKey,
        Approval,
        CheckedHistory,
        ErasedExecutions,
        Event,
        Execution,
        ForkPoints,
        NewApiKey,
        StandingGrant,
        Step,
        Stop,
        SweptStore,
        Tested,
        ToolDefinition,
        UsedLimit,
    )


class Backend(Protocol):
    """Where a command works. An execution, a question or a key is named by its id, or by a beginning of it of at least
    4 characters that no other shares; an execution by its caller's own id too.

    Every method may raise `NotFoundError`, `ConflictError` (several have such a name, or it is decided already), a
    `StoreError` or a `NetworkError`.
    """

    def now(self) -> float:
        """The time, in seconds since 1970."""
        ...

    async def execution(self, ref: str) -> "Execution":
        """One execution, with the questions that it waits for; a server does not say which process runs it."""
        ...

    async def again(self, execution_id: str) -> "Execution":
        """One execution, its id known, as it is now."""
        ...

    async def executions(self, *, agent_id: str | None, status: str | None, limit: int) -> "Sequence[Execution]":
        """The newest ones, newest first. A server says nothing there of attempts and policies."""
        ...

    async def steps(self, execution_id: str) -> "Sequence[Step]":
        """Its steps in the order of decisions."""
        ...

    async def events(self, execution_id: str, *, after: int = 0) -> "Sequence[Event]":
        """Its log, from the event after this number on."""
        ...

    async def story(self, ref: str) -> "Timeline":
        """What happened in it."""
        ...

    async def as_rule(self, ref: str) -> dict[str, Any]:
        """The narrowest rule that would have allowed the call of a question, as a change of the bundle."""
        ...

    async def explain(self, ref: str, step_id: str) -> dict[str, Any]:
        """Why a step was decided so, then and today."""
        ...

    async def rules(self, digests: Sequence[str]) -> Sequence[tuple[str, str, str]]:
        """The bundle, the id and the verdict of each rule of the policies with these digests, as far as they are to be
        had: a server knows the bundles of its agents."""
        ...

    async def changed_files(self, executions: "Sequence[Execution]") -> Sequence[str]:
        """Bundle files that have changed since; only a store on this machine can tell."""
        ...

    async def create(
        self, agent_id: str, input: Any, *, session: str, key: str, parent: str, on_behalf_of: str, workdir: str
    ) -> "Execution":
        """Begins an execution, which its agent is told of. `input` is a JSON value, `key` the caller's own id, `parent`
        the execution that it continues, `workdir` the folder that it works in; all empty where there is none."""
        ...

    async def say(self, ref: str, text: str, *, by: str) -> "Execution":
        """Adds what the user wrote; `by` is who says it, empty for the login's own name. A server goes by its key."""
        ...

    async def cancel(self, ref: str, *, reason: str | None) -> "Execution":
        """Ends it."""
        ...

    async def fork(
        self,
        ref: str,
        *,
        at_seq: int | None,
        key: str | None,
        session: str,
        keep_policy: bool,
        deadline: float | None,
    ) -> "Execution":
        """A new execution that begins where this one stood at its event `at_seq` (None: the newest), under the caller's
        own id `key`, in a new `session`, under the policy that its source began under, for so many seconds (None: as
        long as it takes)."""
        ...

    async def fork_points(self, ref: str) -> "ForkPoints":
        """Its newest event, its resources and their checkpoints."""
        ...

    async def retry(self, ref: str, *, key: str | None, keep_policy: bool, deadline: float | None) -> "Execution":
        """A fork of a failed or cancelled execution from right before what made it fail; the rest as in `fork`."""
        ...

    async def verify(self, ref: str, *, head: str) -> "CheckedHistory":
        """Checks its log; `head` is the hash that its newest event must have, if it is not empty."""
        ...

    async def record(self, ref: str) -> "Recording":
        """It with all that belongs to it, its hashes found sound."""
        ...

    async def restore(self, recording: "Recording") -> None:
        """Adds a recorded execution."""
        ...

    async def sweep(self, *, older_than: float | None) -> "SweptStore":
        """Ends what is overdue, and removes executions that ended so many seconds ago. Without a number a server goes
        by its settings, and a store removes none."""
        ...

    async def erase(self, ref: str, *, person: str, end: bool) -> "ErasedExecutions":
        """Destroys the data key of an execution, or those of all on behalf of a person; with `end` they are cancelled
        first where they have not ended."""
        ...

    async def approvals(self, *, status: str | None, execution: str | None) -> "Sequence[Approval]":
        """Questions, oldest first; None: in every state, and of every execution."""
        ...

    async def limits(self) -> "Sequence[UsedLimit]":
        """What is taken from limits."""
        ...

    async def stop(self, *, agent: str, tool: str, everything: bool, reason: str, by: str) -> "Stop":
        """Stops an agent, tools or everything; `by` is who does so, empty for the login's own name. A server goes by
        its key."""
        ...

    async def stops(self, *, lifted: bool) -> "Sequence[Stop]":
        """What is stopped, oldest first."""
        ...

    async def lift(self, ref: str, *, by: str) -> "Stop":
        """Ends a stop."""
        ...

    async def approval(self, ref: str) -> "Approval":
        """One question."""
        ...

    async def panels(self, approval: "Approval") -> "Sequence[Panel]":
        """Who must agree."""
        ...

    async def resolve(
        self,
        ref: str,
        *,
        granted: bool,
        decided_by: str,
        rationale: str,
        scope: str,
        edit: dict[str, Any] | None = None,
        lasts: float | None = None,
        known: dict[str, str] | None = None,
        free: Sequence[str] | None = None,
    ) -> "Approval":
        """Answers a question; the question as it is then. Without `decided_by` it is the one who is logged in here, or
        the server's key. `edit` are new values of arguments. With the scope `agent` it stands for `lasts` seconds, with
        `known` and `free` as in `Operator.grant`."""
        ...

    async def standing_grants(self, *, agent_id: str, over: bool) -> "Sequence[StandingGrant]":
        """The grants that outlive their executions, of an agent (empty: of all); with `over` those that have ended."""
        ...

    async def revoke_grant(self, ref: str, *, by: str) -> "StandingGrant":
        """Ends such a grant; `by` is who does so, empty for the login's own name. A server goes by its key."""
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

    async def tools(self) -> "Sequence[ToolDefinition]":
        """What servers say of their tools, by server, name and digest."""
        ...

    async def keys(self) -> "Sequence[ApiKey]":
        """Every key."""
        ...

    async def create_key(self, name: str, scopes: Sequence[str], agents: Sequence[str]) -> "NewApiKey":
        """A new key."""
        ...

    async def rotate_key(self, ref: str) -> "NewApiKey":
        """A new token for a key."""
        ...

    async def revoke_key(self, ref: str) -> "ApiKey":
        """Makes a key useless; the key."""
        ...
