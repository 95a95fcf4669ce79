"""What a submission is once it is identified, what it comes to, and what that writes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rebuno.journal.records import ApprovalWrite, NewEvent, StepWrite
from rebuno.journal.resource_records import ResourceChanges
from rebuno.model.answer import Answer
from rebuno.model.definition import Definition
from rebuno.model.step import Idempotency, Kind

if TYPE_CHECKING:
    from rebuno.journal.standing import StandingGrantRow
    from rebuno.kernel.core.attempt import Attempt
    from rebuno.kernel.core.heavy import Foreseen
    from rebuno.kernel.core.limits import LimitState


# This and the two after it are made for every step: treat them as frozen.
@dataclass(slots=True)
class Identified:
    """A submission and who it is. `scope` is the step in whose body it was submitted, or else the execution;
    `definition` is that of its tool, and `edits` says that its body runs with the arguments that an approver writes.

    The fields with defaults hold what was found out for this one submission, beside the log, by what `route` needed:
    the test that was maybe when a rule fired on doubt (`doubt`), what the limits said (`turn`), what the policy said in
    another thread (`foreseen`), whether other branches of the handler had their turn, whether a subagent of the step
    still runs (None: that was not looked up), what the bundles beside the policy say of the step (`shadow`), whether
    what an operator has stopped was read for it, which grants that outlive their executions may be about it (None: they
    were not read), and the one that covers it. `resources` are the
    keys of those that its body may change, as it was submitted.
    """

    scope: str
    kind: Kind
    target: str
    args: str
    args_hash: str
    occurrence: int
    step_id: str
    idempotency: Idempotency
    parent_id: str
    definition: Definition | None = None
    doubt: str = ""
    turn: "LimitState | None" = None
    foreseen: "Foreseen | None" = None
    others_came: bool = False
    child_runs: bool | None = None
    shadow: Sequence[dict[str, Any]] = ()
    stops_read: bool = False
    resources: tuple[str, ...] = ()
    edits: bool = False
    standing: "tuple[StandingGrantRow, ...] | None" = None
    covered_by: "StandingGrantRow | None" = None


@dataclass(slots=True)
class Effects:
    """What is written before an answer is given. A `held` one is given at once, and written with what comes next."""

    events: tuple[NewEvent, ...]
    steps: tuple[StepWrite, ...]
    approvals: tuple[ApprovalWrite, ...] = ()
    held: bool = False
    external: ResourceChanges | None = None


@dataclass(slots=True)
class Routed:
    """What a submission comes to: the answer, and what it rests on (None: on what is recorded already)."""

    answer: Answer
    effects: Effects | None = None


class Need:
    """What must be known before a submission can be routed: it is found out here, and then `route` is asked again."""

    __slots__ = ()

    async def meet(self, attempt: "Attempt") -> None:
        """Finds it out.

        Raises:
            Terminated, LeaseSuperseded, StoreError
        """
        raise NotImplementedError


@dataclass(slots=True)
class PageNeeded(Need):
    """Not enough of the log was read to say what it knows of a step."""

    step_id: str

    async def meet(self, attempt: "Attempt") -> None:
        """Reads as many pages as that takes."""
        await attempt.read(self.step_id)


@dataclass(slots=True)
class ExecutionChanges:
    """What is about to be written to one execution, gathered piece by piece."""

    events: list[NewEvent] = field(default_factory=list)
    steps: list[StepWrite] = field(default_factory=list)
    approvals: list[ApprovalWrite] = field(default_factory=list)

    def add(
        self, events: Iterable[NewEvent], steps: Iterable[StepWrite] = (), approvals: Iterable[ApprovalWrite] = ()
    ) -> None:
        """Adds changes whose event numbers count from the first of their own events."""
        base = len(self.events)

        def moved(position: int | None) -> int | None:
            return None if position is None else position + base

        self.events.extend(events)
        self.steps.extend(step.moved(base) for step in steps)
        self.approvals.extend(replace(a, requested=moved(a.requested), resolved=moved(a.resolved)) for a in approvals)


def with_held(
    held: Iterable[tuple[NewEvent, StepWrite]], events: tuple[NewEvent, ...], steps: tuple[StepWrite, ...]
) -> tuple[tuple[NewEvent, ...], tuple[StepWrite, ...]]:
    """A change together with what was kept back before it, each step once."""
    first = list(held)
    changes = {change.step.step_id: change for _, change in first}
    for change in steps:
        moved = change.moved(len(first))
        kept = changes.get(change.step.step_id)
        if kept is not None:
            moved = replace(moved, decided=kept.decided, started=kept.started)
        changes[change.step.step_id] = moved
    return (*(event for event, _ in first), *events), tuple(changes.values())
