"""The policy of an agent: its bundle with what each rule decided, a place to try changes, and a backtest of them."""

import hashlib
import logging
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from rebuno.console.visit import ROOT, ConsolePage, Visit, see_other
from rebuno.errors import (
    BundleError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    SealErased,
    SealKeyMissing,
    StoreCorrupt,
    ValidationError,
)
from rebuno.journal.overview import RunFilter
from rebuno.kernel import beside
from rebuno.model import identity
from rebuno.policy import (
    BacktestTally,
    CaseSubmission,
    Policy,
    Trace,
    backtest_against_record,
    check_bundle,
    explain_decision,
    link_bundle,
    read_submission,
    restore_policy,
)
from rebuno.policy import Source as BundleSource
from rebuno.server.auth import KeyScope

logger: Final = logging.getLogger("rebuno.console")

DAY: Final = 86_400
# Runs of a backtest, and the longest of them, in events.
RUNS: Final = 50
LONGEST: Final = 3_000
_RULE: Final = re.compile(r"\s*(?:rule\s+|-?\s*id:\s*[\"']?)([A-Za-z_][\w-]*)")


@dataclass(frozen=True, slots=True)
class MarginLine:
    """A line of a bundle. Where a rule begins, `rule_id` is its id, with how often it decided, and was answered."""

    number: int
    text: str
    rule_id: str = ""
    verdicts: dict[str, int] | None = None
    answers: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class ShownBundle:
    """A text of a policy. `path` is that of its file; `editable` says that it is an agent's bundle on a server."""

    path: str
    text: str
    editable: bool


async def listed(visit: Visit) -> Response:
    """The agents with their policies, or the policy of one."""
    visit.check_unbound()
    agent = visit.query("agent")
    if agent:
        return await _shown(visit, agent)
    rows = await visit.serving.agents()
    known = {row.id: await visit.serving.bundle(row.id) is not None for row in rows}
    for count in await visit.console.store.agent_counts():
        known.setdefault(count.agent_id, False)
    if len(known) == 1:
        return see_other(f"{ROOT}/policy?agent={quote(next(iter(known)), safe='')}")
    return visit.page("policies.html", agents=sorted(known.items())[:500])


async def _shown(visit: Visit, agent: str) -> Response:
    days = min(max(visit.number("days", 7), 1), 90)
    bundles = await _bundles(visit, agent)
    margins = [(bundle, await _margin(visit, bundle, days)) for bundle in bundles]
    own = next((bundle.text for bundle in bundles if bundle.editable), bundles[0].text if len(bundles) == 1 else "")
    values: dict[str, Any] = {
        "agent": agent,
        "base": mark(await visit.serving.bundle(agent)),
        "may_put": visit.may(*_TRY) and await _registered(visit, agent),
        "days": days,
        "margins": margins,
        "text": own,
        "may_try": visit.may(*_TRY),
        "call": {"kind": "tool_call", "target": "", "args": "{}", "input": ""},
        "tried": None,
        "errors": [],
        "warnings": [],
        "backtest": None,
    }
    return visit.page("policy.html", **values)


async def _bundles(visit: Visit, agent: str) -> list[ShownBundle]:
    """The texts of a policy: the bundle that a server keeps, else what the newest run of the agent began under."""
    text = await visit.serving.bundle(agent)
    if text is not None:
        return [ShownBundle("bundle", text, editable=True)]
    newest = await visit.console.store.executions(agent_id=agent, limit=1)
    if not newest:
        return []
    kept = await visit.console.store.bundle(newest[0].digest) or []
    return [ShownBundle(path, text, editable=False) for path, text in kept]


async def _registered(visit: Visit, agent: str) -> bool:
    return any(row.id == agent for row in await visit.serving.agents())


async def _margin(visit: Visit, bundle: ShownBundle, days: int) -> list[MarginLine]:
    since = visit.console.store.now() - days * DAY
    verdicts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    answers: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for count in await visit.console.store.rule_counts(since):
        verdicts[count.rule_id][count.verdict] += count.count
    for answer in await visit.console.store.answer_counts(since):
        answers[answer.rule_id][answer.status] += answer.count
    lines = []
    for number, text in enumerate(bundle.text.split("\n")[:5_000], 1):
        found = _RULE.match(text)
        if found is None:
            lines.append(MarginLine(number, text))
        else:
            lines.append(MarginLine(number, text, found[1], dict(verdicts[found[1]]), dict(answers[found[1]])))
    return lines


async def attempt(visit: Visit) -> Response:
    """Checks a bundle that somebody writes, tries a call under it, and asks recorded runs what it would change."""
    visit.check_unbound()
    agent, text = visit.field("agent"), visit.fields.get("text", [""])[0]
    call = {name: visit.field(name) for name in ("kind", "target", "args", "input")}
    values: dict[str, Any] = {"base": visit.field("base"), "may_put": await _registered(visit, agent)}
    values |= {"agent": agent, "text": text, "call": call, "may_try": True, "days": 7, "margins": []}
    values |= {"tried": None, "errors": [], "warnings": [], "backtest": None}
    try:
        policy = await visit.serving.policy(agent, text)
    except BundleError as error:
        values["errors"] = error.diagnostics[:50]
    else:
        values["warnings"] = await beside(partial(_warnings, text), long=True)
        if call["target"]:
            values["tried"] = await beside(partial(_tried, policy, agent, call), long=True)
        if visit.field("do") == "backtest":
            values["backtest"] = await _backtest(visit, agent, policy)
    return visit.page("_tried.html" if visit.partial else "policy.html", **values)


async def put(visit: Visit) -> Response:
    """Puts a bundle in force, if the one that it was made from still is. The reason goes to the server's log."""
    visit.check_unbound()
    agent, text, reason = visit.field("agent"), visit.fields.get("text", [""])[0], visit.field("reason")
    if not reason:
        raise ValidationError("say why the bundle is put in force")
    before = await visit.serving.bundle(agent)
    if mark(before) != visit.field("base"):
        raise ConflictError("the bundle was changed by somebody else meanwhile; load the page again")
    await visit.serving.set_policy(agent, text)
    more = {"agent_id": agent, "by": visit.caller.name, "reason": reason[:1000], "before": mark(before)}
    logger.warning("a bundle was put in force in the console", extra=more)
    return see_other(f"{ROOT}/policy?agent={quote(agent, safe='')}")


def mark(text: str | None) -> str:
    """What tells the text of a bundle from every other one; empty for none."""
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _warnings(text: str) -> list[Any]:
    """What the checker says besides errors, of a bundle as it is written here; one in YAML gets no warnings."""
    bundle, _ = link_bundle(BundleSource(text, "bundle.rbp"))
    return [found for found in check_bundle(bundle) if found.severity.value == "warning"][:50]


def _tried(policy: Policy, agent: str, call: dict[str, str]) -> tuple[CaseSubmission, Trace]:
    fields: dict[str, Any] = {"kind": call["kind"] or "tool_call", "target": call["target"], "agent": agent}
    for name in ("args", "input"):
        if call[name]:
            try:
                fields[name] = identity.parse(call[name])
            except ValidationError as error:
                raise ValidationError(f"the field `{name}` is no JSON: {error.message}") from None
    step = read_submission(fields)
    return step, explain_decision(policy, step.facts())


async def _backtest(visit: Visit, agent: str, policy: Policy) -> dict[str, Any]:
    tally = BacktestTally()
    runs = left_out = 0
    for line in await visit.console.store.run_lines(RunFilter(agents=(agent,)), limit=RUNS):
        if line.head_seq > LONGEST:
            left_out += 1
            continue
        try:
            steps = await visit.console.operator.judged(line.id)
        except (SealErased, SealKeyMissing):
            left_out += 1
            continue
        await beside(partial(backtest_against_record, tally, policy, steps), long=True)
        runs += 1
    return {"result": tally.result(), "runs": runs, "left_out": left_out}


async def trace(visit: Visit) -> Response:
    """Why a recorded step was decided as it was: its facts of then, under the policy of then and that of today."""
    # A trace tells the rules, which a bound key does not get to see.
    visit.check_unbound()
    run = await visit.execution(visit.id)
    if run.head_seq > LONGEST * 4:
        raise ForbiddenError("the run is too long to judge a step of it again here; `rebuno policy explain` can")
    step = await visit.console.store.step(str(visit.request.path_params["step"]).lower())
    if step.execution_id != run.id:
        raise NotFoundError("this run has no such step")
    where = f"{run.id} {step.step_id[:12]}"
    try:
        found = [one for one in await visit.console.operator.judged(run.id) if one.where == where]
    except (SealErased, SealKeyMissing) as error:
        return visit.page("_trace.html", traces=[], why=str(error))
    if not found or found[0].by_kernel:
        return visit.page("_trace.html", traces=[], why="The kernel itself decided this step, and no rule.")
    traces, faults = [], []
    for name, digest in (("then", step.digest), ("today", "")):
        try:
            policy = await _policy(visit, run.agent_id, digest)
        except (BundleError, StoreCorrupt) as error:
            faults.append(f"{name}: {error}")
            continue
        if policy is not None and (name == "then" or policy.digest != step.digest):
            traces.append((name, await beside(partial(explain_decision, policy, found[0].facts), long=True)))
    return visit.page("_trace.html", traces=traces, why="; ".join(faults))


async def _policy(visit: Visit, agent: str, digest: str) -> Policy | None:
    if not digest:
        return await visit.serving.policy(agent) if await visit.serving.bundle(agent) is not None else None
    kept = await visit.console.store.bundle(digest)
    return await beside(partial(restore_policy, digest, kept or ()), long=True)


_READ: Final = (KeyScope.AGENTS_READ, KeyScope.EXECUTIONS_READ)
_TRY: Final = (KeyScope.POLICIES_WRITE, KeyScope.EXECUTIONS_READ)
PAGES: Final = (
    ConsolePage("GET", f"{ROOT}/policy", listed, _READ),
    ConsolePage("POST", f"{ROOT}/policy", attempt, _TRY),
    ConsolePage("POST", f"{ROOT}/policy/put", put, _TRY),
    ConsolePage("GET", f"{ROOT}/runs/{{id}}/trace/{{step}}", trace, _READ),
)
