"""The store interface of a served kernel: agents and their policies, dispatches, sessions, subagents, keys."""

from collections.abc import AsyncGenerator
from typing import Protocol

from rebuno.journal.records import Agent, AgentPolicy, ApiKey, Counts, Dispatch, Execution, Lease
from rebuno.journal.store import Store


class ServedStore(Store, Protocol):
    """A store that replicas share.

    An execution's dispatch is written with the change that makes it due (`ExecutionWrite.dispatch`, `Copied.dispatch`),
    and goes with the change that blocks or ends the execution: there is one at most. `create` says no, too, where the
    session has a running or blocked execution already and this one is not pending, or where the step has its child.
    """

    async def dispatches_due(self, now: float, again: float, *, limit: int) -> list[Dispatch]:
        """Dispatches whose time has come, of running executions whose lease has run out, the most overdue first. They
        are this caller's until `again`: nobody is told of them before."""
        ...

    async def extend(self, lease: Lease, until: float) -> bool:
        """Moves the end of an attempt's lease (0: it is over, and is never moved again). False where the attempt has
        none any more."""
        ...

    async def mark(self, lease: Lease, step_id: str, submission: int) -> bool:
        """Notes that this attempt has come to a step, under the number of the request. False where it had come there
        already, under another number.

        Raises:
            NotFoundError, Terminated, LeaseSuperseded
        """
        ...

    async def session(self, agent_id: str, session: str, *, live: bool) -> Execution | None:
        """The oldest execution of a session that has not ended (`live`), or the newest that has completed."""
        ...

    async def sessions_free(self, *, limit: int = 100) -> list[Execution]:
        """The oldest pending execution of each session that has nothing running or blocked."""
        ...

    async def child(self, step_id: str) -> Execution | None:
        """The subagent of a step."""
        ...

    async def children(self, execution_id: str) -> list[Execution]:
        """The subagents of an execution whose end it has not been told yet."""
        ...

    async def children_ended(self, *, limit: int = 100) -> list[Execution]:
        """Subagents that have ended, whose parents have not been told."""
        ...

    async def told(self, child_id: str) -> None:
        """The parent of this subagent has been told of its end."""
        ...

    async def orphans(self, *, limit: int = 100) -> list[Execution]:
        """Subagents that have not ended, whose parents have, or whose steps have failed."""
        ...

    async def put_agent(self, agent: Agent) -> Agent:
        """Adds an agent, or changes its URL, secret and lease; as it is then."""
        ...

    async def describe_agent(
        self, agent_id: str, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> bool:
        """Keeps what an agent says of itself. False where there is no such agent."""
        ...

    async def agents(self) -> list[Agent]:
        """Every agent by its id."""
        ...

    async def agent(self, agent_id: str) -> Agent | None:
        """The agent with this id."""
        ...

    async def delete_agent(self, agent_id: str) -> bool:
        """Removes an agent and its bundle. False where there is none."""
        ...

    async def put_policy(self, agent_id: str, text: str) -> int:
        """Keeps the text of an agent's bundle; the number of its version."""
        ...

    async def policy(self, agent_id: str) -> AgentPolicy | None:
        """An agent's bundle."""
        ...

    async def put_key(self, key: ApiKey) -> None:
        """Adds an API key, or changes it."""
        ...

    async def keys(self) -> list[ApiKey]:
        """Every API key, oldest first."""
        ...

    async def api_key(self, token_hash: bytes) -> ApiKey | None:
        """The API key whose token has this hash."""
        ...

    async def counts(self) -> Counts:
        """What there is."""
        ...

    async def ready(self) -> None:
        """Returns once something was written and synced, by the way that changes take. Raises a `StoreError` where that
        cannot be."""
        ...

    async def notify(self, text: str) -> None:
        """Passes a text of at most 7,900 bytes to the current listeners, in any process of a server. It may be lost."""
        ...

    def listen(self) -> AsyncGenerator[str, None]:
        """The texts handed over from now on."""
        ...
