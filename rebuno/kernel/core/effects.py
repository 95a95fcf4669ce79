"""What a submission is once it is identified, and what an answer to it writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rebuno.journal.records import ApprovalWrite, NewEvent, StepWrite
from rebuno.model.step import Idempotency, Kind


# Both are made for every step: treat them as frozen.
@dataclass(slots=True)
class Identified:
    """A submission and who it is. `scope` is the step in whose body it was submitted, or else the execution."""

    scope: str
    kind: Kind
    target: str
    args: str
    args_hash: str
    occurrence: int
    step_id: str
    idempotency: Idempotency
    parent_id: str


@dataclass(slots=True)
class Change:
    """What an answer writes before it is given. A `held` one is given at once, and written with what comes next."""

    events: tuple[NewEvent, ...]
    steps: tuple[StepWrite, ...]
    approvals: tuple[ApprovalWrite, ...] = ()
    held: bool = False


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
