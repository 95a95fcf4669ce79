"""Implements `ServedStore`, which documents the methods."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial

import apsw

from rebuno.journal import rows
from rebuno.journal.broadcast import Broadcast
from rebuno.journal.json_lists import names_text
from rebuno.journal.records import (
    AgentRow,
    ApiKeyRow,
    Dispatch,
    DispatchState,
    ExecutionRow,
    Lease,
)
from rebuno.journal.rows import Row
from rebuno.journal.served_records import AgentPolicy, Counts
from rebuno.journal.sqlite.changes import SQLiteChanges
from rebuno.journal.sqlite.overview import SQLiteOverview
from rebuno.journal.sqlite.reading import T
from rebuno.journal.sqlite.sql import SQL


class SQLiteServed(SQLiteOverview):
    """The part of the store that only a served kernel uses."""

    _connection: apsw.Connection
    _changes: SQLiteChanges
    _broadcast: Broadcast

    async def _change(self, run: Callable[[], T]) -> T:
        raise NotImplementedError

    def now(self) -> float:
        """The time by the clock that this store stamps its rows with, in seconds since 1970."""
        raise NotImplementedError

    async def lead(self, role: str, seconds: float) -> bool:
        """Whether this open store does the work of `role` for so many seconds."""
        raise NotImplementedError

    # ---------------------------------------------------------------- dispatches

    async def dispatches_due(self, now: float, again: float, *, limit: int) -> list[Dispatch]:
        """Dispatches whose time has come; this caller's until `again`."""
        found = await self._do("dispatches-due", now, again, limit)
        return [rows.dispatch(row) for row in found]

    async def dispatch(self, execution_id: str) -> Dispatch | None:
        """The dispatch of an execution, if it has one."""
        return await self._one(rows.dispatch, "dispatch", execution_id)

    async def extend(self, lease: Lease, until: float) -> bool:
        """Moves the end of an attempt's lease; False where the attempt has none any more."""
        return await self._change(partial(self._changes.renew, lease, until))

    async def mark(self, lease: Lease, step_id: str, submission: int) -> bool:
        """Notes that this attempt has come to a step; False where it had already, under another number."""
        return await self._change(partial(self._changes.mark, lease, step_id, submission))

    # ---------------------------------------------------------------- sessions and subagents

    async def session(self, agent_id: str, session: str, *, live: bool) -> ExecutionRow | None:
        """The oldest execution of a session that has not ended (`live`), or the newest that has completed."""
        return await self._one(rows.execution, "session-live" if live else "session-last", agent_id, session)

    async def sessions_free(self, *, limit: int = 100) -> list[ExecutionRow]:
        """The oldest pending execution of each session that has nothing running or blocked."""
        return await self._rows(rows.execution, "sessions-free", limit)

    async def child(self, step_id: str) -> ExecutionRow | None:
        """The subagent of a step."""
        return await self._one(rows.execution, "child", step_id)

    async def children(self, execution_id: str) -> list[ExecutionRow]:
        """The subagents of an execution whose end it has not been told yet."""
        return await self._rows(rows.execution, "children", execution_id)

    async def children_ended(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Subagents that have ended, whose parents have not been told."""
        return await self._rows(rows.execution, "children-ended", limit)

    async def told(self, child_id: str) -> None:
        """The parent of this subagent has been told of its end."""
        await self._do("tell", child_id)

    async def orphans(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Subagents that have not ended, whose parents have."""
        return await self._rows(rows.execution, "orphans", limit)

    # ---------------------------------------------------------------- agents, bundles, keys

    async def put_agent(self, agent: AgentRow) -> AgentRow:
        """Adds an agent, or changes its URL, secret and lease; as it is then."""
        await self._do("put-agent", agent.id, agent.webhook_url, agent.secret, agent.lease, self.now())
        found = await self.agent(agent.id)
        return found if found is not None else replace(agent, registered_at=self.now())

    async def describe_agent(
        self, agent_id: str, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> bool:
        """Keeps what an agent says of itself. False where there is no such agent."""
        return await self._count("describe-agent", agent_id, description, input_schema, output_schema) == 1

    async def agents(self) -> list[AgentRow]:
        """Every agent by its id."""
        return await self._rows(rows.agent, "agents")

    async def agent(self, agent_id: str) -> AgentRow | None:
        """The agent with this id."""
        return await self._one(rows.agent, "agent", agent_id)

    async def delete_agent(self, agent_id: str) -> bool:
        """Removes an agent and its bundle. False where there is none."""
        await self._do("drop-policy", agent_id)
        return await self._count("drop-agent", agent_id) == 1

    async def put_policy(self, agent_id: str, text: str) -> int:
        """Keeps the text of an agent's bundle; the number of its version."""
        ((version,),) = await self._do("put-policy", agent_id, text)
        return int(version)

    async def policy(self, agent_id: str) -> AgentPolicy | None:
        """An agent's bundle."""
        return await self._one(rows.policy, "policy", agent_id)

    async def put_key(self, key: ApiKeyRow) -> None:
        """Adds an API key, or changes it."""
        scopes = names_text(key.scopes)
        await self._do("put-key", key.id, key.name, scopes, key.token_hash, key.created_at, key.revoked_at)

    async def keys(self) -> list[ApiKeyRow]:
        """Every API key, oldest first."""
        return await self._rows(rows.key, "keys")

    async def api_key(self, token_hash: bytes) -> ApiKeyRow | None:
        """The API key whose token has this hash."""
        return await self._one(rows.key, "key", token_hash)

    async def counts(self) -> Counts:
        """What there is."""
        executions = await self._rows(_pair, "count-executions")
        dispatches = dict(await self._rows(_pair, "count-dispatches"))
        queued, claimed = (dispatches.get(state.value, 0) for state in (DispatchState.QUEUED, DispatchState.CLAIMED))
        return Counts(tuple(executions), queued, claimed)

    async def ready(self) -> None:
        """Writes something, by the writer's own way."""
        await self.lead("ready", 0.0)

    # ---------------------------------------------------------------- streams

    async def notify(self, text: str) -> None:
        """Passes a text to the current listeners in this process."""
        self._broadcast.say(text)

    def listen(self) -> AsyncGenerator[str, None]:
        """The texts handed over from now on."""
        return self._broadcast.listen()

    # ---------------------------------------------------------------- the way to the thread

    async def _one(self, record: Callable[[Row], T], query: str, *values: str | float | bytes | None) -> T | None:
        found = await self._rows(record, query, *values)
        return found[0] if found else None

    async def _do(self, query: str, *values: str | float | bytes | None) -> list[Row]:
        return await self._change(lambda: self._connection.execute(SQL[query], values).fetchall())

    async def _count(self, query: str, *values: str | float | bytes | None) -> int:
        def run() -> int:
            self._connection.execute(SQL[query], values)
            return self._connection.changes()

        return await self._change(run)


def _pair(row: Row) -> tuple[str, int]:
    return row[0], row[1]
