"""The store interface of a served kernel: agents and their policies, dispatches, sessions, subagents, keys."""

from collections.abc import AsyncGenerator
from typing import Protocol

from rebuno.journal.overview import Overview
from rebuno.journal.records import AgentRow, ApiKeyRow, Dispatch, ExecutionRow, Lease
from rebuno.journal.served_records import AgentPolicy, Counts
from rebuno.journal.store import Store


class ServedStore(Store, Overview, Protocol):
    """A store that replicas share.

    An execution's dispatch is written with the change that makes it due (`ExecutionWrite.dispatch`, `Copied.dispatch`),
    and goes with the change that blocks or ends the execution: there is one at most. `create` says no, too, where the
    session has a running or blocked execution already and this one is not pending, or where the step has its child.
    """

    async def dispatches_due(self, now: float, again: float, *, limit: int) -> list[Dispatch]:
        """Due dispatches of running executions whose lease has run out, the most overdue first. They belong to this
        caller until `again`."""
        ...

    async def extend(self, lease: Lease, until: float) -> bool:
        """Moves the end of an attempt's lease (0: it is over, and never moves again). False if the attempt has no lease
        any more."""
        ...

    async def mark(self, lease: Lease, step_id: str, submission: int) -> bool:
        """Records that this attempt has submitted a step, under the number of the request. False if it submitted it
        before under another number.

        Raises:
            NotFoundError, Terminated, LeaseSuperseded
        """
        ...

    async def session(self, agent_id: str, session: str, *, live: bool) -> ExecutionRow | None:
        """The oldest unfinished execution of a session (`live`), or the newest completed one."""
        ...

    async def sessions_free(self, *, limit: int = 100) -> list[ExecutionRow]:
        """The oldest pending execution of each session without a running or blocked one."""
        ...

    async def child(self, step_id: str) -> ExecutionRow | None:
        """The subagent of a step."""
        ...

    async def children(self, execution_id: str) -> list[ExecutionRow]:
        """The subagents of an execution whose end has not been reported to it."""
        ...

    async def children_ended(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Ended subagents whose parents have not been told."""
        ...

    async def told(self, child_id: str) -> None:
        """Records that the parent of this subagent has been told of its end."""
        ...

    async def orphans(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Unfinished subagents whose parents have ended, or whose steps have failed."""
        ...

    async def put_agent(self, agent: AgentRow) -> AgentRow:
        """Adds an agent, or changes its URL, secret and lease; returns the new row."""
        ...

    async def describe_agent(
        self, agent_id: str, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> bool:
        """Stores an agent's description and schemas. False if there is no such agent."""
        ...

    async def agents(self) -> list[AgentRow]:
        """Every agent by its id."""
        ...

    async def agent(self, agent_id: str) -> AgentRow | None:
        """The agent with this id."""
        ...

    async def delete_agent(self, agent_id: str) -> bool:
        """Removes an agent and its bundle. False if there is none."""
        ...

    async def put_policy(self, agent_id: str, text: str) -> int:
        """Stores the text of an agent's bundle; returns the number of its version."""
        ...

    async def policy(self, agent_id: str) -> AgentPolicy | None:
        """An agent's bundle."""
        ...

    async def put_key(self, key: ApiKeyRow) -> None:
        """Adds an API key, or changes it."""
        ...

    async def keys(self) -> list[ApiKeyRow]:
        """Every API key, oldest first."""
        ...

    async def api_key(self, token_hash: bytes) -> ApiKeyRow | None:
        """The API key whose token has this hash."""
        ...

    async def counts(self) -> Counts:
        """The numbers of executions and dispatches."""
        ...

    async def ready(self) -> None:
        """Returns once a write was synced in the same way as changes. Raises a `StoreError` if that fails."""
        ...

    async def notify(self, text: str) -> None:
        """Passes a text of at most 7,900 bytes to the current listeners, in any process of a server. It may be lost."""
        ...

    def listen(self) -> AsyncGenerator[str, None]:
        """Yields the texts passed from now on."""
        ...
