"""Short rows for those who look at many executions at once, and at long ones: without their large texts."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from rebuno.journal.records import EventRow

# Characters that are kept of an input, an error or arguments.
SHORTEST: Final = 300
# How many executions, from the newest on, are looked through for those that a filter takes.
LOOKED_AT: Final = 20_000


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which executions are asked for; what is None takes all. `agents` are those that the caller may see, `person` who
    began them, for whom, or who answered a question in them; `verdict` and `rule_id` are those of any of their steps.
    Times are seconds since 1970."""

    agents: tuple[str, ...] | None = None
    status: str | None = None
    session: str | None = None
    person: str | None = None
    since: float = 0.0
    until: float = 1e12
    verdict: str | None = None
    rule_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunLine:
    """An execution in a line: `input` is the beginning of its input, `asked` the number of its open questions."""

    id: str
    agent_id: str
    key: str | None
    session: str
    status: str
    created_at: float
    updated_at: float
    ended_at: float
    created_by: str
    on_behalf_of: str
    failure_reason: str
    head_seq: int
    attempt: int
    forked_from: str
    spawned_execution_id: str
    spawned_step_id: str
    input: str
    asked: int


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step in a line: `args` and `error` are the beginnings of these texts. The rest as in `StepRow`."""

    step_id: str
    parent_id: str
    kind: str
    target: str
    status: str
    verdict: str
    rule_id: str
    attempt: int
    approval_id: str
    decided_seq: int
    started_seq: int
    outcome_seq: int
    decided_at: float
    started_at: float
    completed_at: float
    input_tokens: int | None
    output_tokens: int | None
    args: str
    error: str | None


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many steps of an execution have this status and this verdict."""

    status: str
    verdict: str
    count: int


class Overview(Protocol):
    """What a store tells of many rows at once. Every method may raise a `StoreError`."""

    async def run_lines(self, wanted: RunFilter, *, before: str | None = None, limit: int = 50) -> list[RunLine]:
        """Newest first, those older than the execution `before`, among the newest 20,000 from there on."""
        ...

    async def child_lines(self, execution_id: str, *, limit: int = 200) -> list[RunLine]:
        """The subagents of an execution, oldest first."""
        ...

    async def step_lines(self, execution_id: str, *, offset: int = 0, limit: int = 100) -> list[StepLine]:
        """A page of an execution's steps in the order of their decisions, without the first `offset`."""
        ...

    async def step_counts(self, execution_id: str) -> list[StepCount]:
        """How many steps of an execution there are of each sort."""
        ...

    async def steps_before(self, execution_id: str, decided_seq: int) -> int:
        """How many steps of an execution were decided before this event."""
        ...

    async def attempt_events(self, execution_id: str, *, limit: int = 1000) -> list[EventRow]:
        """The newest events of an execution itself, in order: those that are no step's and no approval's."""
        ...


def run_line(row: tuple[Any, ...]) -> RunLine:
    """A row of `run-lines`."""
    return RunLine(*row)


def step_line(row: tuple[Any, ...]) -> StepLine:
    """A row of `step-lines`."""
    return StepLine(*row)


def step_count(row: tuple[Any, ...]) -> StepCount:
    """A row of `step-counts`."""
    return StepCount(*row)
