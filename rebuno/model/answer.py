"""The kernel's answer to one submission: what the caller must do now."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Say(StrEnum):
    """The answers; the values are those of the wire, where `parked` is `blocked` without an approval."""

    PROCEED = "proceed"
    REPLAY = "replay"
    DENIED = "denied"
    BLOCKED = "blocked"
    EXECUTION_BLOCKED = "execution_blocked"
    RATE_LIMITED = "rate_limited"
    PARKED = "parked"
    EXECUTION_TERMINAL = "execution_terminal"


# Made for every step, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class Answer:
    """`result` and `error` are canonical JSON texts, and belong to `replay`; `reason` is never empty on `denied`
    and `rate_limited`. An answer that was not recorded has no `step_id`. `due` is when a parked step tries again, in
    seconds since 1970. `read` holds what `result` reads as, where it has been read."""

    say: Say
    step_id: str = ""
    result: str | None = None
    error: str | None = None
    reason: str = ""
    rule_id: str = ""
    approval_id: str = ""
    due: float | None = None
    read: tuple[Any] | None = field(default=None, compare=False)


@dataclass(slots=True)
class Submission:
    """What an agent wants to do. `args` is canonical JSON text; `parent_id` the step in whose body it is submitted."""

    kind: str
    target: str
    args: str
    idempotency: str
    parent_id: str = ""
