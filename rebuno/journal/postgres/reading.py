"""The reads of the journal: a worker runs each query and returns its rows as records."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from rebuno.errors import NotFoundError
from rebuno.journal import resource_rows, rows, success_page
from rebuno.journal.chain import Head
from rebuno.journal.pieces import PIECES
from rebuno.journal.postgres import piece_rows
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.failures import UNFIT, damaged
from rebuno.journal.postgres.pipeline import PreparedConnection
from rebuno.journal.postgres.sql import SQL
from rebuno.journal.postgres.texts import asked, row_told
from rebuno.journal.postgres.work import ReadRequest
from rebuno.journal.postgres.workers import Workers
from rebuno.journal.pot_records import PotState
from rebuno.journal.pots import states
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow, Tombstone
from rebuno.journal.resource_records import CheckpointRow, ResourceRow
from rebuno.journal.standing import StandingGrantRow, standing_grant
from rebuno.journal.stops import Restoration, StopRow, restoration, stop
from rebuno.journal.success_page import SuccessPage
from rebuno.journal.words import RootRow, TurnRow

T = TypeVar("T")
# What gives rows of steps.
_STEPS: Final = frozenset({"step", "steps"})
Value = str | float | bytes | list[int] | None


class PostgresReading:
    """The half of the store that only reads; see `Store` for what the methods promise."""

    name: str
    _changes: PostgresChanges
    _workers: Workers

    def _check(self) -> None:
        raise NotImplementedError

    def now(self) -> float:
        """The server's time, in seconds since 1970."""
        raise NotImplementedError

    async def execution(self, execution_id: str) -> ExecutionRow:
        """The execution with this id, else `NotFoundError`."""
        found = await self._rows(rows.execution, "execution", execution_id, id=execution_id)
        read = _only(found, "execution", execution_id)
        # Who reads an execution is often about to write to it.
        self._changes.offer(read.id, Head(read.head_seq, read.head_hash))
        return read

    async def find(self, agent_id: str, key: str) -> ExecutionRow | None:
        """The agent's execution under the caller's own id."""
        found = await self._rows(rows.execution, "execution-by-key", agent_id=agent_id, key=key)
        return found[0] if found else None

    async def named(self, key: str) -> list[ExecutionRow]:
        """Every agent's execution under the caller's own id."""
        return await self._rows(rows.execution, "executions-by-key", key=key)

    async def beginning(self, prefix: str) -> list[ExecutionRow]:
        """The executions whose ids begin so, ten at most."""
        return await self._rows(rows.execution, "executions-by-prefix", prefix=prefix)

    async def executions(
        self,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[ExecutionRow]:
        """Newest first, those older than the execution `before`; none where that does not exist."""
        values: dict[str, Value] = {"agent_id": agent_id, "session": session, "status": status}
        return await self._rows(rows.execution, "executions", None, **values, before=before, limit=limit)

    async def steps(
        self, execution_id: str, *, after: int = 0, limit: int = 1000, unread: bool = False
    ) -> list[StepRow]:
        """A page of an execution's steps in the order of `decided_seq`, those decided after event `after`. With
        `unread` nobody looks whether the arguments and the result of a success are damaged."""
        record = rows.unread_step if unread else rows.step
        return await self._rows(record, "steps", execution_id, id=execution_id, after=after, limit=limit)

    async def successes(self, execution_id: str, *, after: int, limit: int) -> SuccessPage | None:
        """The page that `steps` gives in fewer values; None where not all of its steps succeeded under one bundle."""
        values: dict[str, Value] = {"id": execution_id, "after": after, "limit": limit, "end": success_page.END}
        (found,) = await self._rows(success_page.read, "successes", execution_id, **values)
        return found

    async def step(self, step_id: str) -> StepRow:
        """The step with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.step, "step", id=step_id), "step", step_id)

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        """A page of an execution's events, those numbered above `after`."""
        return await self._rows(rows.event, "events", execution_id, id=execution_id, after=after, limit=limit)

    async def events_at(self, execution_id: str, numbers: Sequence[int]) -> list[EventRow]:
        """The events of an execution that have these numbers, in their order."""
        return await self._rows(rows.event, "events-at", execution_id, id=execution_id, numbers=list(numbers))

    async def approvals(
        self, *, execution_id: str | None = None, status: str | None = None, after: str | None = None, limit: int = 1000
    ) -> list[ApprovalRow]:
        """Approvals, oldest first, those asked for after the approval `after`; one that is not known has none."""
        values: dict[str, Value] = {"id": execution_id, "status": status, "after": after, "limit": limit}
        return await self._rows(rows.approval, "approvals", execution_id, **values)

    async def approval(self, approval_id: str) -> ApprovalRow:
        """The approval with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.approval, "approval", id=approval_id), "approval", approval_id)

    async def approvals_due(self, before: float, *, limit: int = 100) -> list[ApprovalRow]:
        """Pending approvals whose `timeout_at` is before this time, the most overdue first."""
        return await self._rows(rows.approval, "approvals-due", before=before, limit=limit)

    async def executions_due(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that have not ended and whose `deadline_at` is before this time, the most overdue first."""
        return await self._rows(rows.execution, "executions-due", before=before, limit=limit)

    async def executions_ended(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that ended before this time, oldest first."""
        return await self._rows(rows.execution, "executions-ended", before=before, limit=limit)

    async def tombstone(self, agent_id: str, key: str) -> Tombstone | None:
        """What is left of the agent's execution under this key, or else of any agent's with this id."""
        found = await self._rows(rows.tombstone, "tombstone", agent_id=agent_id, key=key)
        return found[0] if found else None

    async def removed(self, ref: str) -> list[Tombstone]:
        """What is left of the executions whose ids begin so, or that any agent had under this key, ten at most."""
        return await self._rows(rows.tombstone, "removed", ref=ref)

    async def turns(self, execution_id: str) -> list[TurnRow]:
        """What the user wrote into an execution after it began, in order."""
        return await self._rows(rows.turn, "turns", execution_id, id=execution_id)

    async def root(self, execution_id: str) -> RootRow | None:
        """What the user wrote to the root of an execution that another one began, if that is recorded."""
        found = await self._rows(rows.root, "root", execution_id, id=execution_id)
        return found[0] if found else None

    async def resources(self, execution_id: str) -> list[ResourceRow]:
        """The resources of an execution, in the order in which they were registered."""
        return await self._rows(resource_rows.resource, "resources", execution_id, id=execution_id)

    async def checkpoints(self, execution_id: str) -> list[CheckpointRow]:
        """The checkpoints of an execution's resources, in the order of the events that they cover."""
        return await self._rows(resource_rows.checkpoint, "checkpoints", execution_id, id=execution_id)

    async def bundle(self, digest: str) -> list[tuple[str, str]] | None:
        """The sources kept under a digest, or None."""
        return await self._rows(rows.source, "sources", digest=digest) or None

    async def pots(self, *, after: str = "", limit: int = 1000) -> list[PotState]:
        """A page of the pots, those whose keys come after this one."""
        return states(await self._rows(tuple, "pots", after=after, limit=limit), self.now())

    async def session_tokens(self, agent_id: str, session: str, but: str) -> int:
        """The tokens that a session's executions used, without those of the execution `but`."""
        values: dict[str, Value] = {"agent_id": agent_id, "session": session, "but": but}
        ((tokens,),) = await self._rows(tuple, "session-tokens", **values)
        return int(tokens)

    async def definition(self, digest: str) -> str | None:
        """What a server says of a tool, under its digest, or None."""
        found = await self._rows(rows.source, "definition", digest=digest)
        return found[0][1] if found else None

    async def definitions(self, *, after: str = "", limit: int = 1000) -> list[tuple[str, str]]:
        """A page of what servers say of tools, digest and text, in the order of the digests."""
        return await self._rows(rows.source, "definitions", after=after, limit=limit)

    async def restored(self) -> Restoration | None:
        """The newest restoration of the store that nobody has accepted."""
        found = await self._rows(restoration, "restorations", "")
        return found[0] if found else None

    async def last_answer(self, question: ApprovalRow, agent_id: str) -> ApprovalRow | None:
        """The newest other question of the same rule in an execution of this agent that was granted or denied."""
        values = {"rule_id": question.rule_id, "bundle": question.bundle, "id": question.id, "agent_id": agent_id}
        found = await self._rows(rows.approval, "last-answer", **values)
        return found[0] if found else None

    async def standing_grants(
        self,
        *,
        agent_id: str | None = None,
        kind: str | None = None,
        target: str = "",
        now: float | None = None,
    ) -> list[StandingGrantRow]:
        """The grants that outlive their executions, oldest first: those of an agent, for steps of this `kind` and
        `target`, and that stand `now`; each where it is given."""
        values = {"agent_id": agent_id, "kind": kind, "target": target, "now": now}
        return await self._rows(standing_grant, "standing-grants", **values)

    async def pieces_in_use(self) -> bool:
        """Whether long arguments are stored in pieces."""
        return bool(await self._rows(tuple, "has-feature", name=PIECES))

    async def stops(self, *, lifted: bool = False) -> list[StopRow]:
        """The standing denials, oldest first; with `lifted` those that were ended too."""
        return await self._rows(stop, "stops", "", lifted=lifted)

    async def _rows(
        self, record: Callable[[rows.Row], T], query: str, about: str | None = None, /, **values: Value
    ) -> list[T]:
        return await self._ask(lambda connection: self._read(connection, record, query, values), about)

    async def _ask(self, run: Callable[[PreparedConnection], T], about: str | None = None) -> T:
        """Has a worker do a unit of work, after what was handed over before about this execution (None: any)."""
        self._check()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._workers.ask(ReadRequest(run, answer, about))
        return await answer

    def _read(
        self, connection: PreparedConnection, record: Callable[[rows.Row], T], query: str, values: dict[str, Any]
    ) -> list[T]:
        try:
            if query in _STEPS:
                found = piece_rows.whole(connection, query, asked(values))
            else:
                found = connection.execute(SQL[query], asked(values)).fetchall()
            return [record(row_told(row)) for row in found]
        except UNFIT as error:
            raise damaged(error, self.name) from error


def _only(found: list[T], noun: str, identity: str) -> T:
    if not found:
        raise NotFoundError(f"there is no {noun} `{identity}`")
    return found[0]
