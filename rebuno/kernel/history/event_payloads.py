"""The payloads of events as the protocol documents them: what is recorded, and beside it what clients of the protocol
look for. Only answers are made so; the log, and the hashes over it, keep what is recorded."""

from typing import Any, Final

from rebuno.errors import NotFoundError, StoreCorrupt
from rebuno.journal.records import EventRow, StepRow
from rebuno.journal.store import Store
from rebuno.model import identity

# What an execution, a question and a delivery are after an event.
_EXECUTION: Final = {
    "started": "running",
    "resumed": "running",
    "blocked": "blocked",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_APPROVAL: Final = {
    "requested": "pending",
    "voted": "pending",
    "granted": "granted",
    "denied": "denied",
    "expired": "expired",
    "withdrawn": "withdrawn",
}
_DISPATCH: Final = {"queued": "queued", "acked": "acked", "failed": "failed", "discarded": "discarded"}
# Where a person's answer stands; empty where no person gave one.
_ANSWERED: Final = ("decided_by", "rationale")


async def payload(store: Store, event: EventRow) -> str:
    """The documented payload of an event, as JSON text. A field that is recorded stands as it is recorded; the rest
    comes from the rows of the event's step and execution.

    Raises:
        StoreError: the store cannot be used. A damaged row only leaves its field out.
    """
    said = {**_documented(event), **event.payload}
    text = identity.canonical(said)
    added = [f'"{name}":{value}' for name, value in (await _elsewhere(store, event)).items() if name not in said]
    if not added:
        return text
    return "{" + ",".join([part for part in (text[1:-1], *added) if part]) + "}"


async def _elsewhere(store: Store, event: EventRow) -> dict[str, str]:
    """What does not stand in the log, as JSON text by field."""
    try:
        if event.type in ("step.failed", "step.denied"):
            step = await store.step(str(event.payload.get("step_id", "")))
            if step.execution_id == event.execution_id:
                return {"error": _error(step) if event.type == "step.denied" else step.error or "null"}
        if event.type == "execution.completed":
            return {"output": (await store.execution(event.execution_id)).output or "null"}
    except (NotFoundError, StoreCorrupt):
        # The log can be read even where a row beside it is damaged.
        return {}
    return {}


def _error(step: StepRow) -> str:
    refused = identity.parse(step.error) if step.error else None
    said = refused if isinstance(refused, dict) else {}
    return identity.canonical({"reason": step.reason or "policy_denied", "rule_id": step.rule_id} | said)


def _documented(event: EventRow) -> dict[str, Any]:
    family, _, type = event.type.partition(".")
    match family:
        case "execution":
            status = {"status": _EXECUTION[type]} if type in _EXECUTION else {}
            return {"execution_id": event.execution_id, **status}
        case "approval" if type in _APPROVAL:
            answered = dict.fromkeys(_ANSWERED, "") if type in ("granted", "denied") else {}
            return {"execution_id": event.execution_id, "status": _APPROVAL[type], **answered}
        case "dispatch" if type in _DISPATCH:
            attempt = event.payload.get("dispatch_attempt", 0)
            return {"execution_id": event.execution_id, "status": _DISPATCH[type], "attempt": attempt}
        case _:
            return {}
