"""What people do to runs: fork, try again, cancel; and two runs beside each other."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from starlette.responses import Response

from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.errors import ValidationError
from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.server.auth import KeyScope

# Steps of each of two runs that are compared.
COMPARED: Final = 500
# Steps that are looked through for what a fork takes along.
_LOOKED_AT: Final = 10_000


async def fork_page(visit: Visit) -> Response:
    """What a fork takes along, before it is made."""
    run = await visit.execution(visit.id)
    at = visit.number("at", run.head_seq)
    kept = open_steps = anew = 0
    for line in await visit.console.store.step_lines(run.id, limit=_LOOKED_AT):
        if line.decided_seq > at:
            anew += 1
        elif line.outcome_seq and line.outcome_seq <= at:
            kept += 1
        else:
            open_steps += 1
    values: dict[str, Any] = {"run": run, "at": at, "kept": kept, "open_steps": open_steps, "anew": anew}
    return visit.page("fork.html", **values)


async def fork(visit: Visit) -> Response:
    """Makes a fork."""
    run = await visit.execution(visit.id)
    text = visit.field("at")
    if not (text.isascii() and text.isdecimal() and len(text) < 15):
        raise ValidationError("a fork begins at the number of an event")
    if run.served:
        made = await visit.serving.fork(run.id, at_seq=int(text), created_by=visit.caller.name)
        return see_other(f"{ROOT}/runs/{made.id}")
    forked = await visit.console.operator.fork(run.id, at_seq=int(text))
    return see_other(f"{ROOT}/runs/{forked.id}")


async def retry(visit: Visit) -> Response:
    """Makes a fork from right before what made the run fail."""
    run = await visit.execution(visit.id)
    if run.served:
        made = await visit.serving.retry(run.id, created_by=visit.caller.name)
        return see_other(f"{ROOT}/runs/{made.id}")
    forked = await visit.console.operator.retry(run.id)
    return see_other(f"{ROOT}/runs/{forked.id}")


async def cancel(visit: Visit) -> Response:
    """Ends a run."""
    run = await visit.execution(visit.id)
    if run.served:
        await visit.serving.cancel(run.id)
    else:
        await visit.console.operator.cancel(run.id, reason="cancelled in the console")
    return see_other(f"{ROOT}/runs/{run.id}")


@dataclass(frozen=True, slots=True)
class Compared:
    """A step of one run beside that of the other: `what` is `same`, `changed` (the same call came to something else),
    `left` or `right` (only there)."""

    what: str
    left: StepRow | None = None
    right: StepRow | None = None


async def compare(visit: Visit) -> Response:
    """Two runs, step by step."""
    run = await visit.execution(visit.id)
    ref = visit.query("with")
    if not ref:
        return visit.page("compare.html", run=run, other=None, rows=[], size=COMPARED, same=0)
    # A beginning of an id could tell a bound key of other agents' runs.
    other = await visit.execution(ref if visit.caller.agents else (await visit.console.operator.execution(ref)).id)
    rows = compared(await _steps(visit, run), await _steps(visit, other))
    same = sum(row.what == "same" for row in rows)
    return visit.page("compare.html", run=run, other=other, rows=rows, size=COMPARED, same=same)


async def _steps(visit: Visit, run: ExecutionRow) -> list[StepRow]:
    return await visit.console.store.steps(run.id, limit=COMPARED)


def compared(left: list[StepRow], right: list[StepRow]) -> list[Compared]:
    """The steps of two runs, equal calls side by side."""
    keys = [[(step.kind, step.target, step.args_hash) for step in steps] for steps in (left, right)]
    rows: list[Compared] = []
    for what, i, j, k, m in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if what == "equal":
            rows += [_beside(a, b) for a, b in zip(left[i:j], right[k:m], strict=True)]
        else:
            rows += [Compared("left", left=step) for step in left[i:j]]
            rows += [Compared("right", right=step) for step in right[k:m]]
    return rows


def _beside(left: StepRow, right: StepRow) -> Compared:
    same = (left.status, left.verdict, left.result, left.error) == (
        right.status,
        right.verdict,
        right.result,
        right.error,
    )
    return Compared("same" if same else "changed", left, right)


_READ: Final = (KeyScope.EXECUTIONS_READ,)
_WRITE: Final = (KeyScope.EXECUTIONS_READ, KeyScope.EXECUTIONS_WRITE)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/fork", fork_page, _WRITE),
    ConsolePage("POST", f"{ROOT}/runs/{{id}}/fork", fork, _WRITE),
    ConsolePage("POST", f"{ROOT}/runs/{{id}}/retry", retry, _WRITE),
    ConsolePage("POST", f"{ROOT}/runs/{{id}}/cancel", cancel, _WRITE),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/compare", compare, _READ),
)
