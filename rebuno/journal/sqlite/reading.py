"""The reads of the journal: the connection's thread runs each query and returns its rows as records."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import apsw

from rebuno.errors import NotFoundError, StoreCorrupt
from rebuno.journal import resource_rows, rows, success_page
from rebuno.journal.pieces import PIECES, joined
from rebuno.journal.pot_records import PotState
from rebuno.journal.pots import states
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow, Tombstone
from rebuno.journal.resource_records import CheckpointRow, ResourceRow
from rebuno.journal.sqlite.failures import UNFIT, unfit
from rebuno.journal.sqlite.jobs import ReadJob
from rebuno.journal.sqlite.sql import SQL
from rebuno.journal.sqlite.writer import Writer
from rebuno.journal.standing import StandingGrantRow, standing_grant
from rebuno.journal.stops import Restoration, StopRow, restoration, stop
from rebuno.journal.success_page import SuccessPage
from rebuno.journal.words import RootRow, TurnRow

T = TypeVar("T")
# What gives rows of steps.
_STEPS: Final = frozenset({"step", "steps"})
Value = str | float | bytes | None
# What is answered with a row, or with a page for a handler that is resumed.
_BRIEF: Final = frozenset({"execution", "execution-by-key", "step", "approval", "successes", "steps"})


class SQLiteReading:
    """The half of the store that only reads; see `Store` for what the methods promise."""

    path: str
    _connection: apsw.Connection
    _writer: Writer

    def _check(self) -> None:
        raise NotImplementedError

    def now(self) -> float:
        """The time by the clock that this store stamps its rows with, in seconds since 1970."""
        raise NotImplementedError

    async def execution(self, execution_id: str) -> ExecutionRow:
        """The execution with this id, else `NotFoundError`."""
        found = await self._rows(rows.execution, "execution", execution_id)
        return _only(found, "execution", execution_id)

    async def find(self, agent_id: str, key: str) -> ExecutionRow | None:
        """The agent's execution under the caller's own id."""
        found = await self._rows(rows.execution, "execution-by-key", agent_id, key)
        return found[0] if found else None

    async def named(self, key: str) -> list[ExecutionRow]:
        """Every agent's execution under the caller's own id."""
        return await self._rows(rows.execution, "executions-by-key", key)

    async def beginning(self, prefix: str) -> list[ExecutionRow]:
        """The executions whose ids begin so, ten at most."""
        return await self._rows(rows.execution, "executions-by-prefix", prefix)

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
        return await self._rows(rows.execution, "executions", agent_id, session, status, before, limit)

    async def steps(
        self, execution_id: str, *, after: int = 0, limit: int = 1000, unread: bool = False
    ) -> list[StepRow]:
        """A page of an execution's steps in the order of `decided_seq`, those decided after event `after`. With
        `unread` nobody looks whether the arguments and the result of a success are damaged."""
        return await self._rows(rows.unread_step if unread else rows.step, "steps", execution_id, after, limit)

    async def successes(self, execution_id: str, *, after: int, limit: int) -> SuccessPage | None:
        """The page that `steps` gives in fewer values; None where not all of its steps succeeded under one bundle."""
        (found,) = await self._rows(success_page.read, "successes", execution_id, after, limit, success_page.END)
        return found

    async def step(self, step_id: str) -> StepRow:
        """The step with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.step, "step", step_id), "step", step_id)

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        """A page of an execution's events, those numbered above `after`."""
        return await self._rows(rows.event, "events", execution_id, after, limit)

    async def events_at(self, execution_id: str, numbers: Sequence[int]) -> list[EventRow]:
        """The events of an execution that have these numbers, in their order."""
        return await self._rows(rows.event, "events-at", execution_id, json.dumps(list(numbers)))

    async def approvals(
        self, *, execution_id: str | None = None, status: str | None = None, after: str | None = None, limit: int = 1000
    ) -> list[ApprovalRow]:
        """Approvals, oldest first, those asked for after the approval `after`; one that is not known has none."""
        if execution_id is not None:
            return await self._rows(rows.approval, "approvals-by-execution", execution_id, status, limit, after)
        if status is not None:
            return await self._rows(rows.approval, "approvals-by-status", status, limit, after)
        return await self._rows(rows.approval, "approvals", limit, after)

    async def approval(self, approval_id: str) -> ApprovalRow:
        """The approval with this id, else `NotFoundError`."""
        return _only(await self._rows(rows.approval, "approval", approval_id), "approval", approval_id)

    async def approvals_due(self, before: float, *, limit: int = 100) -> list[ApprovalRow]:
        """Pending approvals whose `timeout_at` is before this time, the most overdue first."""
        return await self._rows(rows.approval, "approvals-due", before, limit)

    async def executions_due(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that have not ended and whose `deadline_at` is before this time, the most overdue first."""
        return await self._rows(rows.execution, "executions-due", before, limit)

    async def executions_ended(self, before: float, *, limit: int = 100) -> list[ExecutionRow]:
        """Executions that ended before this time, oldest first."""
        return await self._rows(rows.execution, "executions-ended", before, limit)

    async def tombstone(self, agent_id: str, key: str) -> Tombstone | None:
        """What is left of the agent's execution under this key, or else of any agent's with this id."""
        found = await self._rows(rows.tombstone, "tombstone", agent_id, key)
        return found[0] if found else None

    async def removed(self, ref: str) -> list[Tombstone]:
        """What is left of the executions whose ids begin so, or that any agent had under this key, ten at most."""
        return await self._rows(rows.tombstone, "removed", ref)

    async def turns(self, execution_id: str) -> list[TurnRow]:
        """What the user wrote into an execution after it began, in order."""
        return await self._rows(rows.turn, "turns", execution_id)

    async def root(self, execution_id: str) -> RootRow | None:
        """What the user wrote to the root of an execution that another one began, if that is recorded."""
        found = await self._rows(rows.root, "root", execution_id)
        return found[0] if found else None

    async def resources(self, execution_id: str) -> list[ResourceRow]:
        """The resources of an execution, in the order in which they were registered."""
        return await self._rows(resource_rows.resource, "resources", execution_id)

    async def checkpoints(self, execution_id: str) -> list[CheckpointRow]:
        """The checkpoints of an execution's resources, in the order of the events that they cover."""
        return await self._rows(resource_rows.checkpoint, "checkpoints", execution_id)

    async def bundle(self, digest: str) -> list[tuple[str, str]] | None:
        """The sources kept under a digest, or None."""
        return await self._rows(rows.source, "sources", digest) or None

    async def pots(self, *, after: str = "", limit: int = 1000) -> list[PotState]:
        """A page of the pots, those whose keys come after this one."""
        return states(await self._rows(tuple, "pots", after, limit), self.now())

    async def session_tokens(self, agent_id: str, session: str, but: str) -> int:
        """The tokens that a session's executions used, without those of the execution `but`."""
        ((tokens,),) = await self._rows(tuple, "session-tokens", agent_id, session, but)
        return int(tokens)

    async def definition(self, digest: str) -> str | None:
        """What a server says of a tool, under its digest, or None."""
        found = await self._rows(rows.source, "definition", digest)
        return found[0][1] if found else None

    async def definitions(self, *, after: str = "", limit: int = 1000) -> list[tuple[str, str]]:
        """A page of what servers say of tools, digest and text, in the order of the digests."""
        return await self._rows(rows.source, "definitions", after, limit)

    async def restored(self) -> Restoration | None:
        """The newest restoration of the store that nobody has accepted."""
        found = await self._rows(restoration, "restorations")
        return found[0] if found else None

    async def last_answer(self, question: ApprovalRow, agent_id: str) -> ApprovalRow | None:
        """The newest other question of the same rule in an execution of this agent that was granted or denied."""
        values = (question.rule_id, question.bundle, question.id, agent_id)
        found = await self._rows(rows.approval, "last-answer", *values)
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
        return await self._rows(standing_grant, "standing-grants", agent_id, kind, target, now)

    async def pieces_in_use(self) -> bool:
        """Whether long arguments are stored in pieces."""
        return bool(await self._rows(tuple, "has-feature", PIECES))

    async def stops(self, *, lifted: bool = False) -> list[StopRow]:
        """The standing denials, oldest first; with `lifted` those that were ended too."""
        return await self._rows(stop, "stops", int(lifted))

    async def _rows(self, record: Callable[[rows.Row], T], query: str, *values: Value) -> list[T]:
        self._check()
        answer: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        self._writer.submit(ReadJob(lambda: self._read(record, query, values), answer, query in _BRIEF))
        return await answer

    def _read(self, record: Callable[[rows.Row], T], query: str, values: tuple[Value, ...]) -> list[T]:
        # In the thread whose turn it is.
        try:
            found: Iterable[rows.Row] = self._connection.execute(SQL[query], values)
        except UNFIT as error:
            raise unfit(error, self.path) from None
        try:
            if query in _STEPS:
                found = joined(lambda: self._connection.execute(SQL[query], values).fetchall(), self._pieces)
            return [record(row) for row in found]
        except UNFIT as error:
            message = f"the store `{self.path}` is damaged: a row cannot be read: {error}; restore a copy"
            raise StoreCorrupt(message, path=self.path) from error

    def _pieces(self, execution_id: str, first: int, last: int) -> Sequence[rows.Row]:
        return self._connection.execute(SQL["pieces"], (execution_id, first, last)).fetchall()


def _only(found: list[T], noun: str, identity: str) -> T:
    if not found:
        raise NotFoundError(f"there is no {noun} `{identity}`")
    return found[0]
