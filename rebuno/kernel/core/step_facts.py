"""What a step's events say of it and its row does not: read only where a policy asks about it."""

from collections.abc import Iterable, Sequence
from typing import Final

from rebuno.journal.records import EventRow, StepRow
from rebuno.journal.store import Store
from rebuno.model import definition
from rebuno.model.clock import from_rfc3339
from rebuno.model.step import StepStatus
from rebuno.policy import ALL_STEP_FACTS, StepFactsNeeded

# Events asked for at once.
_PAGE: Final = 1000


async def look_up(
    store: Store, execution_id: str, steps: Iterable[StepRow], needed: StepFactsNeeded = ALL_STEP_FACTS
) -> None:
    """Adds to the rows of one execution's steps what their events say, as far as it is needed.

    Raises:
        StoreError
    """
    about = _about(steps, needed)
    numbers = sorted(about)
    for first in range(0, len(numbers), _PAGE):
        for event in await store.events_at(execution_id, numbers[first : first + _PAGE]):
            _add(about[event.event_seq], event)


def of_events(steps: Iterable[StepRow], events: Iterable[EventRow]) -> None:
    """The same from a log that is at hand."""
    about = _about(steps, ALL_STEP_FACTS)
    for event in events:
        if event.event_seq in about:
            _add(about[event.event_seq], event)


def _about(steps: Iterable[StepRow], needed: StepFactsNeeded) -> dict[int, StepRow]:
    """The steps by the numbers of the events that say more of them."""
    about: dict[int, StepRow] = {}
    for step in steps:
        about |= dict.fromkeys(_numbers(step, needed), step)
    return about


def _numbers(step: StepRow, needed: StepFactsNeeded) -> Sequence[int]:
    numbers = []
    if needed.definitions:
        numbers.append(step.decided_seq)
    # One that waited may have started again since, and its row tells the last time only.
    if needed.times and step.started_seq > step.decided_seq:
        numbers.append(step.started_seq)
    if needed.failures and step.status is StepStatus.FAILED:
        numbers.append(step.outcome_seq)
    return numbers


def _add(step: StepRow, event: EventRow) -> None:
    said = event.payload
    if said.get("step_id") != step.step_id:
        return
    if event.event_seq == step.decided_seq:
        found = definition.recorded(said.get("definition"))
        step.definition = "" if found is None else found.said
        doubt = said.get("doubt", "")
        step.doubt = doubt if isinstance(doubt, str) else ""
    if event.event_seq == step.started_seq:
        step.began_at = from_rfc3339(event.occurred_at)
    if event.event_seq == step.outcome_seq:
        step.nothing_done = event.type == "step.failed" and said.get("nothing_done") is True
