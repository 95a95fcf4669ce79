"""What a served kernel asks of the store besides: see `ServedStore` for what the methods promise."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any, Final

import psycopg

from rebuno.errors import LeaseSuperseded, NotFoundError, Terminated
from rebuno.journal import rows
from rebuno.journal.postgres.pipeline import Connection
from rebuno.journal.postgres.reading import Reading, T
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, held, row_told, told
from rebuno.journal.records import Agent, AgentPolicy, ApiKey, Counts, Dispatch, DispatchState, Execution, Lease
from rebuno.journal.rows import Row
from rebuno.journal.texts import names_text

# How long to wait before the server is asked again for what was said meanwhile, in seconds.
_AGAIN: Final = 0.5


class Served(Reading):
    """The part of the store that only a served kernel uses."""

    _conninfo: str

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        raise NotImplementedError

    # ---------------------------------------------------------------- dispatches

    async def dispatches_due(self, now: float, again: float, *, limit: int) -> list[Dispatch]:
        """Dispatches whose time has come; this caller's until `again`."""
        return await self._free(rows.dispatch, "dispatches-due", now=now, again=again, limit=limit)

    async def dispatch(self, execution_id: str) -> Dispatch | None:
        """The dispatch of an execution, if it has one."""
        found = await self._rows(rows.dispatch, "dispatch", execution_id, id=execution_id)
        return found[0] if found else None

    async def extend(self, lease: Lease, until: float) -> bool:
        """Moves the end of an attempt's lease; False where the attempt has none any more."""
        return await self._ask(lambda connection: self._changes.renew(connection, lease, until), lease.execution_id)

    async def mark(self, lease: Lease, step_id: str, submission: int) -> bool:
        """Notes that this attempt has come to a step; False where it had already, under another number."""
        values = {
            "id": lease.execution_id,
            "attempt": lease.attempt,
            "owner": lease.owner,
            "step_id": step_id,
            "submission": submission,
            "now": self.now(),
        }
        (marked,) = await self._ask(lambda connection: _mark(connection, values), lease.execution_id)
        return bool(marked)

    # ---------------------------------------------------------------- sessions and subagents

    async def session(self, agent_id: str, session: str, *, live: bool) -> Execution | None:
        """The oldest execution of a session that has not ended (`live`), or the newest that has completed."""
        query = "session-live" if live else "session-last"
        found = await self._free(rows.execution, query, agent_id=agent_id, session=session)
        return found[0] if found else None

    async def sessions_free(self, *, limit: int = 100) -> list[Execution]:
        """The oldest pending execution of each session that has nothing running or blocked."""
        return await self._free(rows.execution, "sessions-free", limit=limit)

    async def child(self, step_id: str) -> Execution | None:
        """The subagent of a step."""
        found = await self._free(rows.execution, "child", id=step_id)
        return found[0] if found else None

    async def children(self, execution_id: str) -> list[Execution]:
        """The subagents of an execution whose end it has not been told yet."""
        return await self._free(rows.execution, "children", id=execution_id)

    async def children_ended(self, *, limit: int = 100) -> list[Execution]:
        """Subagents that have ended, whose parents have not been told."""
        return await self._free(rows.execution, "children-ended", limit=limit)

    async def told(self, child_id: str) -> None:
        """The parent of this subagent has been told of its end."""
        await self._count("tell", id=child_id)

    async def orphans(self, *, limit: int = 100) -> list[Execution]:
        """Subagents that have not ended, whose parents have."""
        return await self._free(rows.execution, "orphans", limit=limit)

    # ---------------------------------------------------------------- agents, bundles, keys

    async def put_agent(self, agent: Agent) -> Agent:
        """Adds an agent, or changes its URL, secret and lease; as it is then."""
        now = self.now()
        await self._count(
            "put-agent",
            id=agent.id,
            webhook_url=agent.webhook_url,
            secret=agent.secret,
            lease=agent.lease,
            registered_at=now,
        )
        found = await self.agent(agent.id)
        return found if found is not None else replace(agent, registered_at=now)

    async def describe_agent(
        self, agent_id: str, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> bool:
        """Keeps what an agent says of itself. False where there is no such agent."""
        count = await self._count(
            "describe-agent",
            id=agent_id,
            description=description,
            input_schema=input_schema,
            output_schema=output_schema,
        )
        return count == 1

    async def agents(self) -> list[Agent]:
        """Every agent by its id."""
        return await self._free(rows.agent, "agents")

    async def agent(self, agent_id: str) -> Agent | None:
        """The agent with this id."""
        found = await self._free(rows.agent, "agent", id=agent_id)
        return found[0] if found else None

    async def delete_agent(self, agent_id: str) -> bool:
        """Removes an agent and its bundle. False where there is none."""
        await self._count("drop-policy", agent_id=agent_id)
        return await self._count("drop-agent", id=agent_id) == 1

    async def put_policy(self, agent_id: str, text: str) -> int:
        """Keeps the text of an agent's bundle; the number of its version."""
        (version,) = await self._free(_first, "put-policy", agent_id=agent_id, text=text)
        return version

    async def policy(self, agent_id: str) -> AgentPolicy | None:
        """An agent's bundle."""
        found = await self._free(rows.policy, "policy", agent_id=agent_id)
        return found[0] if found else None

    async def put_key(self, key: ApiKey) -> None:
        """Adds an API key, or changes it."""
        await self._count(
            "put-key",
            id=key.id,
            name=key.name,
            scopes=names_text(key.scopes),
            token_hash=key.token_hash,
            created_at=key.created_at,
            revoked_at=key.revoked_at,
        )

    async def keys(self) -> list[ApiKey]:
        """Every API key, oldest first."""
        return await self._free(rows.key, "keys")

    async def api_key(self, token_hash: bytes) -> ApiKey | None:
        """The API key whose token has this hash."""
        found = await self._free(rows.key, "key", token_hash=token_hash)
        return found[0] if found else None

    async def counts(self) -> Counts:
        """What there is."""
        executions = await self._free(_pair, "count-executions")
        dispatches = dict(await self._free(_pair, "count-dispatches"))
        queued, claimed = (dispatches.get(state.value, 0) for state in (DispatchState.QUEUED, DispatchState.CLAIMED))
        return Counts(tuple(executions), queued, claimed)

    # ---------------------------------------------------------------- streams

    async def notify(self, text: str) -> None:
        """Hands a text to whoever listens now, in any process of this database."""
        await self._count("notify", text=text)

    async def listen(self) -> AsyncGenerator[str, None]:
        """The texts handed over from now on; those of a moment in which the server was away are lost."""
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                    await connection.execute(SQL["listen"])
                    async for notified in connection.notifies():
                        yield told(notified.payload)
            except psycopg.OperationalError:
                await asyncio.sleep(_AGAIN)

    # ---------------------------------------------------------------- the way to a worker

    async def _free(self, record: Callable[[Row], T], query: str, **values: Any) -> list[T]:
        """The rows of a statement that is about no execution's changes."""
        return await self._rows(record, query, "", **values)

    async def _count(self, query: str, **values: Any) -> int:
        return await self._ask(lambda connection: connection.execute(SQL[query], asked(values)).rowcount, "")


def _mark(connection: Connection, values: dict[str, Any]) -> Row:
    row: Row | None = connection.execute(SQL["mark-step"], asked(values)).fetchone()
    if row is not None:
        return row
    found = connection.execute(SQL["head"], {"id": held(values["id"])}).fetchone()
    if found is None:
        raise NotFoundError(f"there is no execution `{values['id']}`")
    _, _, status, attempt, owner = row_told(found)
    if status in ("completed", "failed", "cancelled"):
        raise Terminated(f"execution `{values['id']}` has ended: it is {status}")
    if (attempt, owner) != (values["attempt"], values["owner"]):
        raise LeaseSuperseded
    return (0,)


def _pair(row: Row) -> tuple[str, int]:
    return row[0], row[1]


def _first(row: Row) -> int:
    return int(row[0])
