"""A step: one effect of an agent, and its states."""

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """The kind of a step; the values are those of the wire."""

    TOOL = "tool_call"
    LLM = "llm_call"
    LOCAL = "local"


class Idempotency(StrEnum):
    """Whether a body may run again if its outcome is unknown."""

    SAFE = "safe_to_retry"
    ONCE = "at_most_once"

    def stricter(self, other: "Idempotency") -> "Idempotency":
        """The stricter of the two."""
        return Idempotency.ONCE if Idempotency.ONCE in (self, other) else Idempotency.SAFE


class StepStatus(StrEnum):
    """The states of a step."""

    PROPOSED = "proposed"
    AWAITING = "awaiting_approval"
    ALLOWED = "allowed"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DENIED = "denied"
    CANCELLED = "cancelled"

    # Whether the state is final. Set below: a property would cost a look-up for every step.
    terminal: bool


# INVARIANT: a state without successors is never overwritten.
STEP_TRANSITIONS: Final[dict[StepStatus, frozenset[StepStatus]]] = {
    StepStatus.PROPOSED: frozenset({StepStatus.EXECUTING, StepStatus.DENIED, StepStatus.AWAITING}),
    StepStatus.AWAITING: frozenset({StepStatus.ALLOWED, StepStatus.DENIED}),
    StepStatus.ALLOWED: frozenset({StepStatus.EXECUTING, StepStatus.DENIED, StepStatus.AWAITING}),
    StepStatus.EXECUTING: frozenset(
        {StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.AWAITING, StepStatus.EXECUTING}
    ),
    StepStatus.SUCCEEDED: frozenset(),
    StepStatus.FAILED: frozenset(),
    StepStatus.DENIED: frozenset(),
    StepStatus.CANCELLED: frozenset(),
}
for _status in StepStatus:
    _status.terminal = not STEP_TRANSITIONS[_status]
