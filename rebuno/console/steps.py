"""One step of a run: its call, what came of it, who was asked, and its events with their hashes."""

from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.errors import NotFoundError
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow
from rebuno.model import identity
from rebuno.server.auth import KeyScope

# Events on a page.
EVENTS: Final = 60


@dataclass(frozen=True, slots=True)
class StepDetail:
    """A step with what belongs to it. `events` are the ones that decided, started and settled it, with their texts;
    `forks` are where a fork may begin: before the step, and behind it."""

    step: StepRow
    events: tuple[tuple[EventRow, str], ...]
    approvals: tuple[ApprovalRow, ...]
    fork_before: int
    fork_behind: int


async def detail(visit: Visit, run: ExecutionRow, seq: int) -> StepDetail:
    """The step that an event has decided. Raises `NotFoundError`."""
    store = visit.console.store
    found = await store.steps(run.id, after=seq - 1, limit=1)
    if not found or found[0].decided_seq != seq:
        raise NotFoundError("this run has no such step")
    [step] = found
    numbers = sorted({step.decided_seq, step.started_seq, step.outcome_seq} - {0})
    events = await store.events_at(run.id, numbers)
    asked: list[ApprovalRow] = []
    if visit.may(KeyScope.APPROVALS_READ):
        asked = [one for one in await store.approvals(execution_id=run.id) if one.step_id == step.step_id]
        if step.approval_id and step.approval_id not in {one.id for one in asked}:
            asked.append(await store.approval(step.approval_id))
    told = tuple((event, identity.canonical(event.payload)) for event in events)
    return StepDetail(step, told, tuple(asked), seq - 1, step.outcome_seq)


async def one(visit: Visit) -> Response:
    """The part of a run's page that shows a step."""
    run = await visit.execution(visit.id)
    seq = int(visit.request.path_params["seq"])
    if not visit.partial:
        return see_other(f"{ROOT}/runs/{run.id}?step={seq}")
    return visit.page("_step.html", run=run, **_shared(visit), detail=await detail(visit, run, seq))


async def events(visit: Visit) -> Response:
    """The log of a run, a page at a time, as it is hashed."""
    run = await visit.execution(visit.id)
    after = visit.number("after")
    found = await visit.console.store.events(run.id, after=after, limit=EVENTS + 1)
    told = [(event, identity.canonical(event.payload)) for event in found[:EVENTS]]
    more = told[-1][0].event_seq if len(found) > EVENTS else 0
    return visit.page("events.html", run=run, events=told, more=more, after=after)


def _shared(visit: Visit) -> dict[str, Any]:
    return {
        "may_write": visit.may(KeyScope.EXECUTIONS_WRITE),
        "may_read_questions": visit.may(KeyScope.APPROVALS_READ),
        "may_trace": visit.may(KeyScope.AGENTS_READ) and not visit.caller.agents,
    }


_READ: Final = (KeyScope.EXECUTIONS_READ,)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/steps/{{seq:int}}", one, _READ),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/events", events, _READ),
)
