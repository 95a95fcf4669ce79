"""Implements `Overview`, which documents the methods."""

import json

from rebuno.journal import rows
from rebuno.journal.overview import (
    LOOKED_AT,
    RUNS_LOOKED_AT,
    AgentCount,
    AnswerCount,
    RunFilter,
    RunLine,
    StepCount,
    StepLine,
    UsageCount,
    VerdictCount,
    agent_count,
    answer_count,
    rule_count,
    run_line,
    step_count,
    step_line,
    usage_count,
)
from rebuno.journal.postgres.reading import PostgresReading
from rebuno.journal.records import ApprovalRow, Dispatch, EventRow


class PostgresOverview(PostgresReading):
    """The part of the store that tells of many rows at once."""

    async def run_lines(self, wanted: RunFilter, *, before: str | None = None, limit: int = 50) -> list[RunLine]:
        """Newest first, those older than `before`."""
        return await self._rows(
            run_line,
            "run-lines",
            agents=None if wanted.agents is None else json.dumps(wanted.agents),
            status=wanted.status,
            session=wanted.session,
            person=wanted.person,
            since=wanted.since,
            until=wanted.until,
            verdict=wanted.verdict,
            rule_id=wanted.rule_id,
            before=before,
            limit=limit,
            looked_at=LOOKED_AT,
        )

    async def child_lines(self, execution_id: str, *, limit: int = 200) -> list[RunLine]:
        """The subagents of an execution, oldest first."""
        return await self._rows(run_line, "child-lines", execution_id, id=execution_id, limit=limit)

    async def step_lines(self, execution_id: str, *, offset: int = 0, limit: int = 100) -> list[StepLine]:
        """A page of an execution's steps."""
        return await self._rows(step_line, "step-lines", execution_id, id=execution_id, offset=offset, limit=limit)

    async def step_counts(self, execution_id: str) -> list[StepCount]:
        """How many steps of an execution there are of each sort."""
        return await self._rows(step_count, "step-counts", execution_id, id=execution_id)

    async def steps_before(self, execution_id: str, decided_seq: int) -> int:
        """How many steps of an execution were decided before this event."""
        ((count,),) = await self._rows(tuple, "steps-before", execution_id, id=execution_id, seq=decided_seq)
        return int(count)

    async def attempt_events(self, execution_id: str, *, limit: int = 1000) -> list[EventRow]:
        """The newest events of an execution itself, in order."""
        found = await self._rows(rows.event, "attempt-events", execution_id, id=execution_id, limit=limit)
        return found[::-1]

    async def agent_counts(self) -> list[AgentCount]:
        """How many executions of each agent there are in each status."""
        return await self._rows(agent_count, "agent-counts")

    async def dispatch_lines(self, *, limit: int = 100) -> list[Dispatch]:
        """Dispatches, those first whose last delivery came to nothing."""
        return await self._rows(rows.dispatch, "dispatch-lines", limit=limit)

    async def rule_counts(self, since: float) -> list[VerdictCount]:
        """What rules have decided since a time."""
        return await self._rows(rule_count, "rule-counts", since=since, looked_at=RUNS_LOOKED_AT)

    async def answer_counts(self, since: float) -> list[AnswerCount]:
        """What became of the questions that were asked since a time."""
        return await self._rows(answer_count, "answer-counts", since=since)

    async def usage_counts(self, since: float) -> list[UsageCount]:
        """What model calls used since a time."""
        return await self._rows(usage_count, "usage-counts", since=since, looked_at=RUNS_LOOKED_AT)

    async def answers_before(self, bundle: str, rule_id: str, *, limit: int = 5) -> list[ApprovalRow]:
        """The newest questions of a rule that people have answered."""
        return await self._rows(rows.approval, "answers-before", bundle=bundle, rule_id=rule_id, limit=limit)
