"""Short rows for those who look at many executions at once, and at long ones: without their large texts."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from rebuno.journal.records import ApprovalRow, Dispatch, EventRow

# Characters that are kept of an input, an error or arguments.
SHORTEST: Final = 300
# How many executions, from the newest on, are looked through for those that a filter takes.
LOOKED_AT: Final = 20_000
# The same of steps, and of executions where steps have no order of their own.
STEPS_LOOKED_AT: Final = 50_000
RUNS_LOOKED_AT: Final = 5_000


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


@dataclass(frozen=True, slots=True)
class AgentCount:
    """How many executions of an agent have this status, and when the newest of them changed last."""

    agent_id: str
    status: str
    count: int
    updated_at: float


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """How many steps of the newest executions a rule has decided with this verdict."""

    bundle: str
    rule_id: str
    verdict: str
    count: int


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """How many questions of a rule have this status, by who decided them (empty: nobody did)."""

    bundle: str
    rule_id: str
    status: str
    decided_by: str
    count: int


@dataclass(frozen=True, slots=True)
class UsageCount:
    """What the model calls of an agent used on a day (in days since 1970)."""

    agent_id: str
    model: str
    day: int
    calls: int
    input_tokens: int
    output_tokens: int


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

    async def agent_counts(self) -> list[AgentCount]:
        """How many executions of each agent there are in each status, by the agents' ids."""
        ...

    async def dispatch_lines(self, *, limit: int = 100) -> list[Dispatch]:
        """Dispatches, those first whose last delivery came to nothing, then the most overdue."""
        ...

    async def rule_counts(self, since: float) -> list[VerdictCount]:
        """What rules have decided since a time, in steps that are among the newest 50,000 or so."""
        ...

    async def answer_counts(self, since: float) -> list[AnswerCount]:
        """What became of the questions that were asked since a time."""
        ...

    async def answers_before(self, bundle: str, rule_id: str, *, limit: int = 5) -> list[ApprovalRow]:
        """The newest questions of a rule that people have answered, newest first."""
        ...

    async def usage_counts(self, since: float) -> list[UsageCount]:
        """What model calls used since a time, in steps that are among the newest 50,000 or so."""
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


def agent_count(row: tuple[Any, ...]) -> AgentCount:
    """A row of `agent-counts`."""
    return AgentCount(*row)


def rule_count(row: tuple[Any, ...]) -> VerdictCount:
    """A row of `rule-counts`."""
    return VerdictCount(*row)


def answer_count(row: tuple[Any, ...]) -> AnswerCount:
    """A row of `answer-counts`."""
    return AnswerCount(*row)


def usage_count(row: tuple[Any, ...]) -> UsageCount:
    """A row of `usage-counts`."""
    return UsageCount(*row[:2], *map(int, row[2:]))
