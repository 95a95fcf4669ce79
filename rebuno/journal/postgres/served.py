"""Implements `ServedStore`, which documents the methods."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import psycopg

from rebuno.errors import LeaseSuperseded, NotFoundError, StoreBusy, Terminated
from rebuno.journal import rows
from rebuno.journal.json_lists import names_text
from rebuno.journal.postgres import upkeep
from rebuno.journal.postgres.claims import Claims
from rebuno.journal.postgres.overview import PostgresOverview
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.reading import T
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, held, row_told, told
from rebuno.journal.records import (
    AgentRow,
    ApiKeyRow,
    Dispatch,
    DispatchState,
    ExecutionRow,
    Holder,
    Lease,
)
from rebuno.journal.rows import Row
from rebuno.journal.served_records import AgentPolicy, Counts

# How long to wait before the server is asked again for what was said meanwhile, in seconds.
_AGAIN: Final = 0.5
# After so many seconds without a word the server is asked whether it is there, and must answer within so many.
_QUIET: Final = 30.0
_ANSWER: Final = 10.0
# A store that has owed the answer to a change for so long is not ready for another one, in seconds.
_OWED: Final = 2.0


class PostgresServed(PostgresOverview):
    """The part of the store that only a served kernel uses."""

    _conninfo: str
    _claims: Claims

    @property
    def holder(self) -> Holder:
        """Who this open store is, for the leases that it takes."""
        raise NotImplementedError

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        raise NotImplementedError

    # ---------------------------------------------------------------- dispatches

    async def dispatches_due(self, now: float, again: float, *, limit: int) -> list[Dispatch]:
        """Dispatches whose time has come; this caller's until `again`."""
        return await self._ask(lambda connection: self._claims.due(connection, now, again, limit), "")

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

    async def session(self, agent_id: str, session: str, *, live: bool) -> ExecutionRow | None:
        """The oldest execution of a session that has not ended (`live`), or the newest that has completed."""
        query = "session-live" if live else "session-last"
        found = await self._free(rows.execution, query, agent_id=agent_id, session=session)
        return found[0] if found else None

    async def sessions_free(self, *, limit: int = 100) -> list[ExecutionRow]:
        """The oldest pending execution of each session that has nothing running or blocked."""
        return await self._free(rows.execution, "sessions-free", limit=limit)

    async def child(self, step_id: str) -> ExecutionRow | None:
        """The subagent of a step."""
        found = await self._free(rows.execution, "child", id=step_id)
        return found[0] if found else None

    async def children(self, execution_id: str) -> list[ExecutionRow]:
        """The subagents of an execution whose end it has not been told yet."""
        return await self._free(rows.execution, "children", id=execution_id)

    async def children_ended(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Subagents that have ended, whose parents have not been told."""
        return await self._free(rows.execution, "children-ended", limit=limit)

    async def told(self, child_id: str) -> None:
        """The parent of this subagent has been told of its end."""
        await self._count("tell", id=child_id)

    async def orphans(self, *, limit: int = 100) -> list[ExecutionRow]:
        """Subagents that have not ended, whose parents have."""
        return await self._free(rows.execution, "orphans", limit=limit)

    # ---------------------------------------------------------------- agents, bundles, keys

    async def put_agent(self, agent: AgentRow) -> AgentRow:
        """Adds an agent, or changes its URL, secret and lease; as it is then."""
        now = self.now()
        await self._once(
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
        count = await self._once(
            "describe-agent",
            id=agent_id,
            description=description,
            input_schema=input_schema,
            output_schema=output_schema,
        )
        return count == 1

    async def agents(self) -> list[AgentRow]:
        """Every agent by its id."""
        return await self._free(rows.agent, "agents")

    async def agent(self, agent_id: str) -> AgentRow | None:
        """The agent with this id."""
        found = await self._free(rows.agent, "agent", id=agent_id)
        return found[0] if found else None

    async def delete_agent(self, agent_id: str) -> bool:
        """Removes an agent and its bundle. False where there is none."""
        await self._once("drop-policy", agent_id=agent_id)
        return await self._once("drop-agent", id=agent_id) == 1

    async def put_policy(self, agent_id: str, text: str) -> int:
        """Keeps the text of an agent's bundle; the number of its version."""
        return await self._once("put-policy", agent_id=agent_id, text=text)

    async def policy(self, agent_id: str) -> AgentPolicy | None:
        """An agent's bundle."""
        found = await self._free(rows.policy, "policy", agent_id=agent_id)
        return found[0] if found else None

    async def put_key(self, key: ApiKeyRow) -> None:
        """Adds an API key, or changes it."""
        await self._once(
            "put-key",
            id=key.id,
            name=key.name,
            scopes=names_text(key.scopes),
            token_hash=key.token_hash,
            created_at=key.created_at,
            revoked_at=key.revoked_at,
        )

    async def keys(self) -> list[ApiKeyRow]:
        """Every API key, oldest first."""
        return await self._free(rows.key, "keys")

    async def api_key(self, token_hash: bytes) -> ApiKeyRow | None:
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
        """Passes a text to the current listeners in any process of this database."""
        await self._count("notify", text=text)

    async def listen(self) -> AsyncGenerator[str, None]:
        """The texts handed over from now on; those of a moment in which the server was away are lost."""
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                    async with _answering(connection):
                        await connection.execute(SQL["listen"])
                    while True:
                        async for notified in connection.notifies(timeout=_QUIET):
                            yield told(notified.payload)
                        # A line that says nothing may be one that never will again.
                        async with _answering(connection):
                            await connection.execute(SQL["clock"])
            except psycopg.OperationalError:
                await asyncio.sleep(_AGAIN)

    # ---------------------------------------------------------------- readiness

    async def ready(self) -> None:
        """Writes something, by the workers; `StoreBusy` where another change has waited for its answer for long."""
        since = self._workers.owing_since
        if time.monotonic() - since > _OWED:
            raise StoreBusy(
                f"the store `{self.name}` has owed an answer for more than {_OWED:g} seconds", path=self.name
            )
        await self._ask(partial(upkeep.touch, owner=self.holder.owner, now=self.now()), "")

    # ---------------------------------------------------------------- the way to a worker

    async def _free(self, record: Callable[[Row], T], query: str, **values: Any) -> list[T]:
        """The rows of a statement that is about no execution's changes."""
        return await self._rows(record, query, "", **values)

    async def _count(self, query: str, **values: Any) -> int:
        return await self._ask(lambda connection: connection.execute(SQL[query], asked(values)).rowcount, "")

    async def _once(self, query: str, **values: Any) -> int:
        """What a change comes to that must not be carried out a second time, however often it is sent."""
        return await self._ask(upkeep.Once(query, asked(values), self.now()), "")


@asynccontextmanager
async def _answering(connection: psycopg.AsyncConnection[Any]) -> AsyncGenerator[None, None]:
    """Cuts the connection where what is asked in it is not answered in time, also where nobody waits any more: the
    library goes on waiting for the end of a statement whose task was cancelled."""
    line = os.dup(connection.pgconn.socket)

    def cut() -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(line)) as made:
            made.shutdown(socket.SHUT_RDWR)

    timer = asyncio.get_running_loop().call_later(_ANSWER, cut)
    try:
        yield
    finally:
        timer.cancel()
        os.close(line)


def _mark(connection: PreparedConnection, values: dict[str, Any]) -> Row:
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
