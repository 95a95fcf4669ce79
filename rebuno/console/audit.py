"""Audit: what rules decided and people answered, whether logs are sound, what models used, and exports."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from starlette.responses import Response

from rebuno.console.visit import ROOT, ConsolePage, Visit
from rebuno.errors import ConflictError, StoreCorrupt, ValidationError
from rebuno.journal.overview import AnswerCount, UsageCount, VerdictCount
from rebuno.kernel import beside, recording_lines
from rebuno.server.auth import KeyScope

DAY: Final = 86_400
MOST_DAYS: Final = 90
_MODELS: Final = 8
# The height and the width of a plot in its own units.
_HEIGHT, _WIDE = 120, 720


@dataclass(slots=True)
class RuleLine:
    """A rule: what it decided, and what became of its questions."""

    bundle: str
    rule_id: str
    verdicts: dict[str, int]
    answers: dict[str, int]


@dataclass(frozen=True, slots=True)
class PlotBar:
    """A part of a day's bar: of the model number `model`."""

    x: int
    y: int
    width: int
    height: int
    model: int


@dataclass(frozen=True, slots=True)
class UsagePlot:
    """Tokens a day, a colour a model. `peak` is the number at the top."""

    bars: tuple[PlotBar, ...]
    names: tuple[str, ...]
    peak: int
    first_day: int
    days: int


@dataclass(slots=True)
class UsageLine:
    """What an agent used of a model."""

    agent_id: str
    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None


async def page(visit: Visit) -> Response:
    """The page of the audit."""
    visit.check_unbound()
    days = min(max(visit.number("days", 7), 1), MOST_DAYS)
    since = visit.console.store.now() - days * DAY
    store = visit.console.store
    answers = await store.answer_counts(since)
    rules = by_rule(await store.rule_counts(since), answers)
    usage = await store.usage_counts(since)
    prices = _price(visit, "in"), _price(visit, "out")
    values: dict[str, Any] = {
        "days": days,
        "rules": rules[:300],
        "people": by_person(answers)[:100],
        "usage": by_model(usage, *prices)[:100],
        "plot": plotted(usage, int(since // DAY), days + 1),
        "prices": {"in": visit.query("in"), "out": visit.query("out")},
        "verified": None,
        "run": visit.query("run"),
        "head": visit.query("head"),
        "may_export": visit.may(*_EXPORT),
    }
    if values["run"]:
        row = await visit.execution((await visit.console.operator.execution(values["run"])).id)
        values["verified"] = (await visit.console.operator.verify(row.id, head=values["head"])).view()
    return visit.page("audit.html", **values)


def _price(visit: Visit, name: str) -> Decimal | None:
    text = visit.query(name, 12)
    if not text:
        return None
    if not text.isascii() or not text.replace(".", "", 1).isdecimal():
        raise ValidationError("a price is a decimal number, of a million tokens")
    return Decimal(text)


def by_rule(counts: list[VerdictCount], answers: list[AnswerCount]) -> list[RuleLine]:
    """What each rule decided and was answered, the busiest first."""
    lines: dict[tuple[str, str], RuleLine] = {}

    def line(bundle: str, rule_id: str) -> RuleLine:
        return lines.setdefault((bundle, rule_id), RuleLine(bundle, rule_id, defaultdict(int), defaultdict(int)))

    for one in counts:
        line(one.bundle, one.rule_id).verdicts[one.verdict] += one.count
    for answer in answers:
        line(answer.bundle, answer.rule_id).answers[answer.status] += answer.count
    return sorted(lines.values(), key=lambda found: -sum(found.verdicts.values()))


def by_person(answers: list[AnswerCount]) -> list[tuple[str, dict[str, int]]]:
    """What each person answered."""
    people: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for one in answers:
        if one.decided_by:
            people[one.decided_by][one.status] += one.count
    return sorted(people.items(), key=lambda found: -sum(found[1].values()))


def by_model(usage: list[UsageCount], price_in: Decimal | None, price_out: Decimal | None) -> list[UsageLine]:
    """What each agent used of each model; what it cost at prices of a million tokens, where they are given."""
    lines: dict[tuple[str, str], UsageLine] = {}
    for one in usage:
        line = lines.setdefault((one.agent_id, one.model), UsageLine(one.agent_id, one.model))
        line.calls += one.calls
        line.input_tokens += one.input_tokens
        line.output_tokens += one.output_tokens
    if price_in is not None or price_out is not None:
        for line in lines.values():
            paid = line.input_tokens * (price_in or 0) + line.output_tokens * (price_out or 0)
            line.cost = (Decimal(paid) / 1_000_000).quantize(Decimal("0.01"))
    return sorted(lines.values(), key=lambda found: -(found.input_tokens + found.output_tokens))


def plotted(usage: list[UsageCount], first_day: int, days: int) -> UsagePlot:
    """Tokens a day as bars, the largest models at the bottom; those beyond the first eight share a colour."""
    totals: dict[str, int] = defaultdict(int)
    by_day: dict[tuple[int, str], int] = defaultdict(int)
    for one in usage:
        tokens = one.input_tokens + one.output_tokens
        totals[one.model] += tokens
        by_day[one.day, one.model] += tokens
    names = sorted(totals, key=lambda name: -totals[name])
    heights = [sum(by_day[day, name] for name in names) for day in range(first_day, first_day + days)]
    peak = max([*heights, 1])
    width = _WIDE / days
    bars: list[PlotBar] = []
    for number, day in enumerate(range(first_day, first_day + days)):
        top = float(_HEIGHT)
        for rank, name in enumerate(names):
            height = _HEIGHT * by_day[day, name] / peak
            if height > 0:
                bars.append(
                    PlotBar(
                        round(number * width) + 1,
                        round(top - height),
                        max(round(width) - 2, 1),
                        max(round(height), 1),
                        min(rank, _MODELS - 1),
                    )
                )
                top -= height
    return UsagePlot(tuple(bars), tuple(names[:_MODELS]), peak, first_day, days)


async def export(visit: Visit) -> Response:
    """A run with all that belongs to it, as a file."""
    run = await visit.execution(visit.id)
    try:
        recording = await visit.console.operator.record(run.id)
    except StoreCorrupt as error:
        raise ConflictError(str(error)) from None
    text = await beside(lambda: "".join(recording_lines(recording)), long=True)
    headers = {"Content-Disposition": f'attachment; filename="{run.id}.jsonl"'}
    return Response(text, 200, headers, "application/x-ndjson")


_READ: Final = (KeyScope.EXECUTIONS_READ, KeyScope.APPROVALS_READ)
_EXPORT: Final = (KeyScope.EXECUTIONS_READ, KeyScope.APPROVALS_READ, KeyScope.AGENTS_READ)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/audit", page, _READ),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/export", export, _EXPORT),
)
