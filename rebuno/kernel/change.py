"""What a submission is once it is identified, and what an answer to it writes."""

from dataclasses import dataclass

from rebuno.journal.records import ApprovalWrite, NewEvent, StepWrite
from rebuno.model.step import Idempotency, Kind


@dataclass(frozen=True, slots=True)
class Identified:
    scope: str
    kind: Kind
    target: str
    args: str
    args_hash: str
    occurrence: int
    step_id: str
    idempotency: Idempotency
    parent_id: str


@dataclass(frozen=True, slots=True)
class Change:
    """What an answer writes before it is given. A `held` one is given at once, and written with what comes next."""

    events: tuple[NewEvent, ...]
    steps: tuple[StepWrite, ...]
    approvals: tuple[ApprovalWrite, ...] = ()
    held: bool = False
