"""Implements `Overview`, which documents the methods."""

import json

from rebuno.journal import rows
from rebuno.journal.overview import (
    LOOKED_AT,
    RunFilter,
    RunLine,
    StepCount,
    StepLine,
    run_line,
    step_count,
    step_line,
)
from rebuno.journal.records import EventRow
from rebuno.journal.sqlite.reading import SQLiteReading


class SQLiteOverview(SQLiteReading):
    """The part of the store that tells of many rows at once."""

    async def run_lines(self, wanted: RunFilter, *, before: str | None = None, limit: int = 50) -> list[RunLine]:
        """Newest first, those older than `before`."""
        agents = None if wanted.agents is None else json.dumps(wanted.agents)
        first = (agents, wanted.status, wanted.session, wanted.person, wanted.since, wanted.until)
        last = (wanted.verdict, wanted.rule_id, before, limit, LOOKED_AT)
        return await self._rows(run_line, "run-lines", *first, *last)

    async def child_lines(self, execution_id: str, *, limit: int = 200) -> list[RunLine]:
        """The subagents of an execution, oldest first."""
        return await self._rows(run_line, "child-lines", execution_id, limit)

    async def step_lines(self, execution_id: str, *, offset: int = 0, limit: int = 100) -> list[StepLine]:
        """A page of an execution's steps."""
        return await self._rows(step_line, "step-lines", execution_id, offset, limit)

    async def step_counts(self, execution_id: str) -> list[StepCount]:
        """How many steps of an execution there are of each sort."""
        return await self._rows(step_count, "step-counts", execution_id)

    async def steps_before(self, execution_id: str, decided_seq: int) -> int:
        """How many steps of an execution were decided before this event."""
        ((count,),) = await self._rows(tuple, "steps-before", execution_id, decided_seq)
        return int(count)

    async def attempt_events(self, execution_id: str, *, limit: int = 1000) -> list[EventRow]:
        """The newest events of an execution itself, in order."""
        return (await self._rows(rows.event, "attempt-events", execution_id, limit))[::-1]
