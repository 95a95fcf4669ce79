"""The list of runs with its filters, and one run as a timeline."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from starlette.responses import Response

from rebuno.console import drawing
from rebuno.console.live import stream
from rebuno.console.steps import detail
from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.errors import NotFoundError, ValidationError
from rebuno.journal.overview import RunFilter, RunLine
from rebuno.kernel import session_of
from rebuno.model.decision import Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.server.auth import KeyScope

RUNS: Final = 50
STEPS: Final = 100
_DEEPEST: Final = 6
_MOST_CHILDREN: Final = 60


async def listed(visit: Visit) -> Response:
    """The newest runs that the filters take."""
    wanted, given = _filter(visit)
    before = visit.query("before") or None
    if before is not None:
        await visit.execution(before)
    found = await visit.console.store.run_lines(wanted, before=before, limit=RUNS + 1)
    values: dict[str, Any] = {
        "runs": found[:RUNS],
        "more": found[RUNS - 1].id if len(found) > RUNS else "",
        "given": given,
        "statuses": [status.value for status in ExecutionStatus],
        "verdicts": [verdict.value for verdict in Verdict],
        "before": before or "",
    }
    return visit.page("runs.html", **values)


def _filter(visit: Visit) -> tuple[RunFilter, dict[str, str]]:
    names = ("agent", "status", "session", "person", "since", "until", "verdict", "rule")
    given = {name: visit.query(name) for name in names}
    if given["status"] and given["status"] not in set(ExecutionStatus):
        raise ValidationError(f"`{given['status']}` is no status of a run")
    if given["verdict"] and given["verdict"] not in set(Verdict):
        raise ValidationError(f"`{given['verdict']}` is no verdict")
    agents: tuple[str, ...] | None = (given["agent"],) if given["agent"] else None
    if visit.caller.agents:
        seen = tuple(sorted(visit.caller.agents))
        agents = tuple(agent for agent in agents if agent in seen) if agents is not None else seen
    wanted = RunFilter(
        agents=agents,
        status=given["status"] or None,
        session=given["session"] or None,
        person=given["person"] or None,
        since=_time("since", given["since"], 0.0),
        until=_time("until", given["until"], 1e12),
        verdict=given["verdict"] or None,
        rule_id=given["rule"] or None,
    )
    return wanted, given


def _time(name: str, text: str, usual: float) -> float:
    """Seconds since 1970 of a time as a form writes it, in UTC."""
    if not text:
        return usual
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationError(f"the field `{name}` is no time; write it like 2026-01-31T08:30") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class Branch:
    """A subagent in the tree of a run."""

    run: RunLine
    depth: int


async def one(visit: Visit) -> Response:
    """A run: what it is, and a page of its steps in time."""
    store = visit.console.store
    row = await visit.execution(visit.id)
    counts = await store.step_counts(row.id)
    total = sum(one.count for one in counts)
    chosen = visit.number("step")
    start = visit.number("from")
    if chosen and "from" not in visit.request.query_params:
        start = await store.steps_before(row.id, chosen) // STEPS * STEPS
    if start >= total:
        start = 0
    lines = await store.step_lines(row.id, offset=start, limit=STEPS)
    events = await store.attempt_events(row.id)
    children = await store.child_lines(row.id)
    now = row.updated_at if row.status.terminal else store.now()
    attempts = drawing.attempts_of(events)
    picture = drawing.drawn(attempts, lines, children, began=row.created_at, now=now, first=start)
    values: dict[str, Any] = {
        "run": row,
        "session": await session_of(store, row),
        "picture": picture,
        "attempts": attempts,
        "counts": counts,
        "total": total,
        "start": start,
        "size": STEPS,
        "chosen": chosen,
        "tree": await _tree(visit, children),
        "live": not row.status.terminal,
        "may_write": visit.may(KeyScope.EXECUTIONS_WRITE),
        "may_read_questions": visit.may(KeyScope.APPROVALS_READ),
        "may_trace": visit.may(KeyScope.AGENTS_READ) and not visit.caller.agents,
    }
    if visit.partial:
        return visit.page("_run.html", **values)
    if chosen:
        values["detail"] = await detail(visit, row, chosen)
    return visit.page("run.html", **values)


async def _tree(visit: Visit, children: list[RunLine]) -> list[Branch]:
    """The subagents below a run, each before its own."""
    found: list[Branch] = []

    async def grow(lines: list[RunLine], depth: int) -> None:
        for line in lines:
            if len(found) >= _MOST_CHILDREN:
                return
            if not visit.sees(line.agent_id):
                continue
            found.append(Branch(line, depth))
            if depth < _DEEPEST:
                await grow(await visit.console.store.child_lines(line.id, limit=_MOST_CHILDREN), depth + 1)

    await grow(children, 0)
    return found


async def by_step_id(visit: Visit) -> Response:
    """Leads from the id of a step to its place in the timeline."""
    row = await visit.execution(visit.id)
    step = await visit.console.store.step(str(visit.request.path_params["step"]).lower())
    if step.execution_id != row.id:
        raise NotFoundError("this run has no such step")
    return see_other(f"{ROOT}/runs/{row.id}?step={step.decided_seq}#s{step.decided_seq}")


async def live(visit: Visit) -> Response:
    """Tells a page when the run has gone on."""
    row = await visit.execution(visit.id)

    async def state() -> object:
        found = await visit.console.store.execution(row.id)
        return found.head_seq, found.status

    return stream(visit, state)


_READ: Final = (KeyScope.EXECUTIONS_READ,)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/runs", listed, _READ),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}", one, _READ),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/step/{{step}}", by_step_id, _READ),
    ConsolePage("GET", f"{ROOT}/live/runs/{{id}}", live, _READ),
)
