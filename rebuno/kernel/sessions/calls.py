"""Which call of a host is which step. The events of the step say it, so that it lasts as long as the log does."""

from dataclasses import replace
from typing import Any, Final

from rebuno.journal.records import NewEvent
from rebuno.journal.store import Store
from rebuno.kernel.core.effects import Effects
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.model.step import StepStatus

# A call as its host wrote it is kept up to this size, in characters of JSON.
LONGEST_CALL: Final = 256 * 1024
_FAMILY: Final = "step."


def named(effects: Effects, call_id: str, raw: Any) -> Effects:
    """The effects with the call in the first event of its step: its id, and the call as the host wrote it. A step that
    starts though it was not let in says so too."""
    first = effects.events[0]
    if not _of_recorded(first.type):
        return effects
    said: dict[str, Any] = {"id": call_id}
    if raw is not None:
        text = identity.canonical(raw, "call")
        said |= {"raw": raw} if len(text) <= LONGEST_CALL else {"raw_hash": identity.args_hash(text)}
    more: dict[str, Any] = {"call": said}
    step = effects.steps[0].step if effects.steps else None
    if step is not None and step.status is StepStatus.EXECUTING and first.type == "step.executing":
        more |= observed(step.verdict, step.approval_id)
    events = (NewEvent(first.type, {**payload_of(first), **more}, first.occurred_at), *effects.events[1:])
    return replace(effects, events=events)


def _of_recorded(type: str) -> bool:
    # What a limit or a stop kept out is no step: asked again, the call is judged anew.
    return type.startswith(_FAMILY) and type != "step.rate_limited"


def observed(verdict: str, approval_id: str) -> dict[str, str]:
    """What a starting step says of a verdict that would have kept it from starting."""
    return {} if verdict == Verdict.ALLOW or approval_id else {"observed": verdict}


def payload_of(event: NewEvent) -> dict[str, Any]:
    """The payload as an object."""
    said = identity.parse(event.payload) if isinstance(event.payload, str) else event.payload
    assert isinstance(said, dict)
    return said


async def read(store: Store, execution_id: str) -> dict[str, str]:
    """The step of each call that the log names; of a step that several calls had, the newest call.

    Raises:
        StoreError
    """
    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    after = 0
    while page := await store.events(execution_id, after=after):
        for event in page:
            call = event.payload.get("call") if _of_recorded(event.type) else None
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                step_id = str(event.payload.get("step_id"))
                found[call["id"]], owners[step_id] = step_id, call["id"]
        after = page[-1].event_seq
    return {call_id: step_id for call_id, step_id in found.items() if owners[step_id] == call_id}
