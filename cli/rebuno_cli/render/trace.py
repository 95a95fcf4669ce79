"""Shows the trace of a decision: the rules in order, and each test with its values."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.model.decision import Verdict
from rebuno.model.obligation import Limit, LimitScope, Obligation
from rebuno.policy import CaseSubmission, Measured, RuleOutcome, RuleTrace, Trace, TraceAnswer, TraceNode
from rebuno_cli.render.escape import escape, spelled, value
from rebuno_cli.render.layout import hanging
from rebuno_cli.render.records import window

VERDICT_STYLE: Final = {Verdict.ALLOW: "bold green", Verdict.APPROVAL: "bold yellow", Verdict.DENY: "bold red"}
_ANSWER_STYLE: Final = {TraceAnswer.YES: "green", TraceAnswer.NO: "red", TraceAnswer.MAYBE: "yellow"}
# Deeper tests stay at this margin, so that a narrow terminal keeps room for words.
_DEEPEST: Final = 5
_WORD: Final = len("maybe  ")
_PER: Final = {
    LimitScope.EXECUTION: "for each execution",
    LimitScope.SESSION: "for each session",
    LimitScope.AGENT: "for each agent",
    LimitScope.GLOBAL: "for all agents together",
}
_PASSED_OVER: Final = {RuleOutcome.OTHER_SUBJECT: "about other steps", RuleOutcome.NOT_REACHED: "not reached"}


def trace(told: Trace, *, every: bool = False) -> Iterator[RenderableType]:
    """The whole explanation. Rules about other steps and those after the deciding one are summed up in a line each,
    unless `every` asks for all."""
    yield from decision(told)
    taken = told.measured or (None,) * len(told.decision.obligations)
    for obligation, amount in zip(told.decision.obligations, taken, strict=True):
        if asked := _asked(obligation, amount):
            by = f" (rule {obligation.rule_id} of bundle {obligation.bundle})" if told.layers else ""
            yield Text(f"asks for {escape(asked + by, 400)}", "magenta")
    for layer in told.layers:
        yield Text()
        yield from decision(layer)
        yield from _rules(layer, every)
    if not told.layers:
        yield Text()
        yield from _rules(told, every)


def _rules(told: Trace, every: bool) -> Iterator[RenderableType]:
    for rules in _runs(told.rules):
        if every or rules[0].outcome not in _PASSED_OVER or len(rules) == 1:
            for rule in rules:
                yield from _rule(rule)
        else:
            first, last = rules[0].line, rules[-1].line
            text = f"{len(rules)} rules {_PASSED_OVER[rules[0].outcome]} (lines {first} to {last})"
            yield hanging("-  ", Text(text, "dim"), margin=2)
    if not any(rule.outcome is RuleOutcome.DECIDED for rule in told.rules):
        yield hanging("=> ", Text(f"no rule matched: {_named(told.decision.rule_id)} decides", "bold"), margin=2)


def unexpected(told: Trace, expect: str) -> Text:
    """The line under a trace that ends otherwise than the caller said."""
    return Text(f"expected {expect}, it is {told.decision.verdict.value}", "bold red")


def submission(step: CaseSubmission) -> Text:
    """What was asked: kind, target and arguments on a line."""
    line = Text(f"{step.kind.value} ")
    line.append(spelled(step.target), "bold")
    line.append(f" {value(step.args)}", "not bold")
    if step.agent_id:
        line.append(f" by {escape(step.agent_id)}", "not bold")
    if step.history:
        line.append(f", after {len(step.history)} earlier step{'s' if len(step.history) > 1 else ''}", "not bold")
    return line


def decision(told: Trace) -> Iterator[RenderableType]:
    """The verdict, the rule, the reason, and the deciding line of the bundle."""
    made = told.decision
    head = Text(made.verdict.value, VERDICT_STYLE[made.verdict])
    head.append(f"  by {_named(made.rule_id)}", "bold")
    if made.bundle:
        head.append(f" of bundle {escape(made.bundle)}", "not bold default")
    yield head
    if made.reason:
        yield Text(f"because {escape(made.reason)}")
    if made.line:
        where = f"{escape(told.path, None)}:{made.line}" if told.path else f"line {made.line}"
        yield Text(f"{where}: {escape(told.source.strip())}", "cyan")


def limit_text(limit: Limit, amount: Measured | None) -> str:
    """A limit as it counts, and what it measures of the submission."""
    over = f"in {window(limit.window)}" if limit.window is not None else f"in the whole {limit.scope.value}"
    each = f"for each {limit.key.text}" if limit.key is not None else _PER[limit.scope]
    measure = ", ".join(path.text for path in limit.measure)
    of = f" of {measure}" if measure else ""
    name = f" named {limit.name}" if limit.name else ""
    said = f"a limit{name} of {limit.number:,}{of} {over} {each}, else {limit.otherwise.value}"
    if amount is None or not measure:
        return said
    return f"{said}, of which it takes {amount.amount}" if amount.amount else f"{said}, which it is over: no amount"


def _asked(obligation: Obligation, amount: Measured | None) -> str:
    said = []
    if limit := obligation.limit:
        said.append(limit_text(limit, amount))
    if budget := obligation.budget:
        each = " in the session" if budget.scope is LimitScope.SESSION else ""
        said.append(f"a budget of {budget.tokens:,} tokens{each}, else {budget.otherwise.value}")
    asking = obligation.asking
    if asking and (asking.approvers or asking.quorum > 1 or asking.expires is not None):
        names = ", ".join(asking.approvers)
        plural = "s" if asking.quorum > 1 else ""
        who = f"{asking.quorum} approval{plural}" + (f" of {names}" if names else "")
        said.append(who if asking.expires is None else f"{who}, within {window(asking.expires)}")
    return "; ".join(said)


def _named(rule_id: str) -> str:
    fixed = {"default": "the default", "local": "the default for local steps"}
    return fixed.get(rule_id) or f"rule {escape(rule_id)}"


def _runs(rules: Iterable[RuleTrace]) -> Iterator[list[RuleTrace]]:
    run: list[RuleTrace] = []
    for rule in rules:
        if run and rule.outcome is not run[0].outcome:
            yield run
            run = []
        run.append(rule)
    if run:
        yield run


def _rule(rule: RuleTrace) -> Iterator[RenderableType]:
    decided = rule.outcome is RuleOutcome.DECIDED
    line = Text(escape(rule.rule_id), "bold")
    line.append(f" (line {rule.line}, {rule.verdict.replace('_', ' ')} {escape(rule.subject)}): ", "not bold")
    line.append(_became(rule), "bold" if decided else "not bold")
    yield hanging("=> " if decided else "-  ", line, margin=2, style="bold" if decided else "")
    for node in rule.tests:
        yield from _test(node, 1)


def _became(rule: RuleTrace) -> str:
    if rule.outcome is RuleOutcome.OTHER_SUBJECT:
        return "about other steps"
    if rule.doubt:
        return f"fired on maybe, because of `{escape(rule.doubt)}`"
    answer = "" if rule.answer is None or not rule.tests else f", its conditions came to {rule.answer.value}"
    return f"{rule.outcome.value}{answer}"


def _test(node: TraceNode, depth: int, *, settled: bool = False) -> Iterator[RenderableType]:
    line = Text(escape(node.text))
    if not node.counted and not settled:
        line.append(" (settled before)", "dim")
    margin = 2 + 3 * min(depth, _DEEPEST)
    yield hanging(f"{node.answer.value:<{_WORD}}", line, margin=margin, style=_ANSWER_STYLE[node.answer])
    if not node.children and node.why:
        yield hanging("", Text(f"{escape(node.why, 400)}{_unsaid(node)}", "dim"), margin=margin + _WORD)
    for child in node.children:
        yield from _test(child, depth + 1, settled=not node.counted)


def _unsaid(node: TraceNode) -> str:
    seen = [shown for shown in map(value, node.seen) if shown not in node.why]
    return f"; saw {', '.join(seen)}" if seen else ""
