"""Agents: whether they do their work, what became of deliveries, keys, limits, and what is stopped."""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from starlette.responses import Response

from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.journal.pot_records import OWN, PotState
from rebuno.journal.records import AgentRow
from rebuno.server.auth import KeyScope

_MOST_POTS: Final = 200
_MOST_DISPATCHES: Final = 100


@dataclass(slots=True)
class AgentLine:
    """An agent: its registration (None: it runs in a program of its own), its runs by status, and the time of the
    newest change of one."""

    id: str
    row: AgentRow | None = None
    counts: dict[str, int] = field(default_factory=dict)
    updated_at: float = 0.0
    failing: int = 0


@dataclass(frozen=True, slots=True)
class PotLine:
    """A limit and how full it is, in hundredths."""

    pot: PotState
    name: str
    full: int


async def listed(visit: Visit) -> Response:
    """The page of agents."""
    visit.check_unbound()
    store = visit.console.store
    lines: dict[str, AgentLine] = defaultdict(lambda: AgentLine(""))
    for row in await visit.serving.agents():
        lines[row.id].row = row
    for count in await store.agent_counts():
        line = lines[count.agent_id]
        line.counts[count.status] = count.count
        line.updated_at = max(line.updated_at, count.updated_at)
    dispatches = await store.dispatch_lines(limit=_MOST_DISPATCHES)
    for one in dispatches:
        lines[one.agent_id].failing += bool(one.error)
    for id, line in lines.items():
        line.id = id
    reads_runs = visit.may(KeyScope.EXECUTIONS_READ)
    values: dict[str, Any] = {
        "agents": sorted(lines.values(), key=lambda line: line.id)[:500],
        "dispatches": dispatches if reads_runs else [],
        "stops": await visit.serving.stops() if reads_runs else [],
        "pots": [_pot(one) for one in await visit.serving.pots(limit=_MOST_POTS)] if reads_runs else [],
        "grants": await visit.serving.standing_grants() if visit.may(KeyScope.APPROVALS_READ) else [],
        "may_answer": visit.may(KeyScope.APPROVALS_WRITE),
        "keys": await visit.serving.keys() if visit.may(KeyScope.API_KEYS_MANAGE) else None,
        "may_stop": visit.may(KeyScope.POLICIES_WRITE),
        "reads_runs": reads_runs,
    }
    return visit.page("agents.html", **values)


def _pot(pot: PotState) -> PotLine:
    full = 0
    with suppress(InvalidOperation, ZeroDivisionError, ValueError, OverflowError):
        full = min(100, max(0, round(100 * Decimal(pot.taken) / Decimal(pot.number))))
    return PotLine(pot, pot.name.removeprefix(OWN), full)


async def stop(visit: Visit) -> Response:
    """Stops an agent, tools, or everything."""
    visit.check_unbound()
    what = visit.field("what")
    name = visit.field("name")
    await visit.serving.stop(
        agent=name if what == "agent" else "",
        tool=name if what == "tool" else "",
        everything=what == "everything",
        reason=visit.field("reason"),
        by=visit.caller.name,
    )
    return see_other(f"{ROOT}/agents#stops")


async def revoke(visit: Visit) -> Response:
    """Ends a grant that outlives its run."""
    visit.check_unbound()
    await visit.serving.revoke_grant(visit.id, by=visit.caller.name)
    return see_other(f"{ROOT}/agents#grants")


async def lift(visit: Visit) -> Response:
    """Ends a stop."""
    visit.check_unbound()
    await visit.serving.lift(visit.id, by=visit.caller.name)
    return see_other(f"{ROOT}/agents#stops")


_WRITE: Final = (KeyScope.AGENTS_READ, KeyScope.POLICIES_WRITE)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/agents", listed, (KeyScope.AGENTS_READ,)),
    ConsolePage("POST", f"{ROOT}/stops", stop, _WRITE),
    ConsolePage("POST", f"{ROOT}/stops/{{id}}/lift", lift, _WRITE),
    ConsolePage("POST", f"{ROOT}/grants/{{id}}/revoke", revoke, (KeyScope.APPROVALS_READ, KeyScope.APPROVALS_WRITE)),
)
