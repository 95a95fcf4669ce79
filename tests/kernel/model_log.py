"""What the log of an execution may say about its steps, one event after the other."""

from rebuno.journal.records import EventRow
from tests.kernel.model_rows import ENDS

# What may follow what in the log of a step; nothing follows an end.
FOLLOWS = {
    "": {"proposed", "executing", "denied"},
    "proposed": {"executing", "denied", "awaiting_approval"},
    "awaiting_approval": {"allowed", "denied"},
    "allowed": {"executing", "denied", "awaiting_approval"},
    "executing": {"succeeded", "failed", "cancelled", "awaiting_approval", "executing"},
} | {end: set[str]() for end in ENDS}


def follow(events: list[EventRow]) -> None:
    """Whether every step went from state to state as it may."""
    states: dict[str, str] = {}
    for event in events:
        family, _, state = event.type.partition(".")
        if family == "step" and state not in ("rate_limited", "revoked"):
            step_id = str(event.payload["step_id"])
            assert state in FOLLOWS[states.get(step_id, "")], (event, states)
            states[step_id] = state
