"""Events of a sealed execution: what they are about stays in the clear, and all else is sealed as one text."""

from typing import Any, Final

from rebuno.journal.records import EventRow, NewEvent
from rebuno.journal.sealed.seal import WORDS, Seal
from rebuno.model import identity

# The fields that stay: who, which, when, how it was decided, and counts. What a later version adds is sealed.
CLEAR: Final = frozenset(
    {
        *("step_id", "step_type", "target", "parent_step_id", "occurrence", "idempotency", "attempt", "args_hash"),
        *("rule_id", "bundle", "digest", "observed", "approval_id", "definition", "limits", "usage", "nothing_done"),
        *("stop_id", "until", "cause", "quorum", "approvers", "panels", "timeout_at", "decided_by", "decision"),
        *("asserted_by", "scope", "at", "by", "number", "status", "votes"),
        *("agent_id", "key", "pinned", "deadline_at", "parent", "parent_agent", "parent_seq", "delegated", "hosted"),
        *("root", "root_input_at", "root_turn_times", "seal_key", "session", "on_behalf_of"),
        *("host", "pid", "replayed", "dispatch_id", "dispatch_attempt", "source", "at_seq", "head_hash"),
        *("source_head_seq", "source_head_hash"),
        *("driver_id", "coverage_reuse", "every_steps", "on_completion", "resources", "generation", "generations"),
        *("covered_seq", "invalidated_seq", "edits", "edited_by"),
    }
)
# Where the sealed fields stand, and the hashes of what the rows hold: by the name of the field.
SEALED: Final = "sealed"
# Which field of an event of a resource is sealed: where it cannot be opened, it is what the rows show in its place.
_RESOURCES: Final = {
    "resource.registered": "configuration",
    "resource.bound": "binding",
    "resource.initialized": "checkpoint_ref",
    "resource.checkpointed": "checkpoint_ref",
}
KEPT: Final = "kept"


def sealed_event(event: NewEvent, seal: Seal, kept: dict[str, str]) -> NewEvent:
    """An event as the store holds it, with the hashes `kept` of what its rows hold. Raises as `Seal.opened_key`."""
    payload = identity.parse(event.payload) if isinstance(event.payload, str) else event.payload
    # A copied event brings what spoke of its source's rows.
    clear = {name: value for name, value in payload.items() if stays(name, value)}
    rest = {name: value for name, value in payload.items() if name not in clear}
    if rest:
        clear[SEALED] = seal.text(identity.canonical(rest, "payload"), _place(event.type, clear))
    if kept:
        clear[KEPT] = dict(kept)
    return NewEvent(event.type, clear, event.occurred_at)


def stays(name: str, value: object) -> bool:
    """Whether a field of a payload stays in the clear."""
    return name in CLEAR or (name == "reason" and isinstance(value, str) and value in WORDS)


def opened_event(event: EventRow, seal: Seal) -> EventRow:
    """An event with what it says; `stored` is its payload as it stands in the store. What cannot be opened is left
    out."""
    stored = event.payload
    clear = {name: value for name, value in stored.items() if name not in (SEALED, KEPT)}
    sealed = stored.get(SEALED)
    opened: dict[str, Any] = {}
    if isinstance(sealed, str) and seal.key is not None:
        opened = identity.parse(seal.key.unseal(sealed, _place(event.type, clear)))
    elif isinstance(sealed, str) and (name := _RESOURCES.get(event.type)):
        shown = seal.placeholder if name == "checkpoint_ref" else identity.parse(seal.json_placeholder)
        opened = {name: shown}
    return EventRow(
        event.execution_id, event.event_seq, event.type, {**clear, **opened}, event.occurred_at, event.hash, stored
    )


def _place(type: str, clear: dict[str, Any]) -> str:
    return f"event:{type}:{clear.get('step_id', '')}"
