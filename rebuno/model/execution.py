"""An execution: one run of an agent's handler on an input, and its states."""

from enum import StrEnum
from typing import Final


class ExecutionStatus(StrEnum):
    """The states of an execution."""

    PENDING = "pending"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether the state is final."""
        return not EXECUTION_TRANSITIONS[self]


_ENDS = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED})

# INVARIANT: a state without successors is never overwritten.
EXECUTION_TRANSITIONS: Final[dict[ExecutionStatus, frozenset[ExecutionStatus]]] = {
    ExecutionStatus.PENDING: frozenset({ExecutionStatus.RUNNING}) | _ENDS,
    ExecutionStatus.RUNNING: frozenset({ExecutionStatus.BLOCKED}) | _ENDS,
    ExecutionStatus.BLOCKED: frozenset({ExecutionStatus.RUNNING}) | _ENDS,
    ExecutionStatus.COMPLETED: frozenset(),
    ExecutionStatus.FAILED: frozenset(),
    ExecutionStatus.CANCELLED: frozenset(),
}
