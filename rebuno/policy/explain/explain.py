"""Why a submission gets its decision: the reference evaluator over the tree, independent of the compiled closures."""

from collections.abc import Callable, Mapping
from typing import Any

from rebuno.model.decision import DEFAULT, LOCAL, PERMISSIVE, Decision, Verdict
from rebuno.model.step import Kind
from rebuno.policy.explain.evaluator import ANSWERS, Evaluator, answer_of, combined, in_turn
from rebuno.policy.explain.trace import RuleOutcome, RuleTrace, Trace, TraceNode
from rebuno.policy.explain.wording import one_line
from rebuno.policy.facets.reading import reader_failures
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.filled import FilledDecision, filled_texts
from rebuno.policy.matcher.index import matches_any, subject_patterns
from rebuno.policy.matcher.measures import Measured, measured
from rebuno.policy.matcher.obligations import named_limits, obligation_of
from rebuno.policy.matcher.policy import Layer, Policy, strictest
from rebuno.policy.matcher.sessions import in_session
from rebuno.policy.syntax import tree


def explain_decision(policy: Policy, facts: Facts) -> Trace:
    """The decision that `policy.decide(facts)` gives, with every rule and test that led to it.

    Rules after the deciding one are listed as not reached. It counts in `facts.tests` exactly what `decide` counts. Of
    several layers the trace is that of the one whose verdict wins, with all of them in `layers`.
    """
    reader_failures().clear()
    traces = [_layer(layer, facts) for layer in policy.layers]
    if len(traces) == 1:
        return traces[0]
    decision = strictest([trace.decision for trace in traces])
    winner = next(trace for trace in traces if trace.decision.verdict is decision.verdict)
    return Trace(decision, winner.rules, winner.source, winner.path, tuple(traces), measured=_measured(decision, facts))


def known_values(policy: Policy, facts: Facts) -> dict[str, list[Any]]:
    """For each `known` of the policy its values as of the submission, at most fifty; those of several layers under
    `BUNDLE.NAME`.

    Those of lists and of earlier steps; what `input` holds cannot be told one by one.
    """
    found: dict[str, list[Any]] = {}
    for bundle in policy.bundles:
        evaluator = Evaluator(in_session(bundle, facts.workdir))
        before = f"{bundle.name}." if len(policy.bundles) > 1 else ""
        for name, known in evaluator.known.items():
            found[before + name] = evaluator.reader.listed(known, facts)
    return found


def _layer(policy: Layer, facts: Facts) -> Trace:
    facts.tests = 0
    if not policy.bundles:
        return Trace(Decision(Verdict.ALLOW, PERMISSIVE, bundle=PERMISSIVE, digest=policy.digest), ())
    bundle = policy.bundles[0]
    evaluator = Evaluator(in_session(bundle, facts.workdir))
    decision: Decision | None = None
    traces: list[RuleTrace] = []
    for rule in bundle.statements:
        if isinstance(rule, tree.Rule):
            trace = explain_rule(rule, facts, evaluator, reached=decision is None)
            traces.append(trace)
            if trace.outcome is RuleOutcome.DECIDED:
                decision = _decided(bundle, rule, policy, facts, evaluator.values)
    if decision is None:
        decision = _otherwise(bundle, facts, policy)
    lines = bundle.text.splitlines()
    source = lines[decision.line - 1].strip() if 0 < decision.line <= len(lines) else ""
    return Trace(decision, tuple(traces), source, bundle.path, measured=_measured(decision, facts))


def _measured(decision: Decision, facts: Facts) -> tuple[Measured | None, ...]:
    return tuple(measured(one.limit, facts) if one.limit is not None else None for one in decision.obligations)


def explain_rule(rule: tree.Rule, facts: Facts, evaluator: Evaluator, *, reached: bool) -> RuleTrace:
    """What one rule of the evaluator's bundle says of a submission; a rule that is not reached says nothing."""
    subject = one_line(evaluator.bundle, rule.subject.span)
    start = (rule.id.text, rule.verdict, rule.span.line)
    if not reached:
        return RuleTrace(*start, RuleOutcome.NOT_REACHED, subject)
    if not matches_any(subject_patterns(rule.subject, evaluator.values), facts.kind, facts.target):
        return RuleTrace(*start, RuleOutcome.OTHER_SUBJECT, subject)
    clauses = [clause for clause in rule.clauses if isinstance(clause, tree.When | tree.Unless)]
    nodes = in_turn([_maker(clause, facts, evaluator) for clause in clauses], facts, True, True)
    answer, _ = combined([answer_of(node) for node in nodes], True)
    matched = answer is True or (answer is None and rule.verdict != Verdict.ALLOW)
    outcome = RuleOutcome.DECIDED if matched else RuleOutcome.NO_MATCH
    return RuleTrace(*start, outcome, subject, ANSWERS[answer], tuple(nodes))


def _maker(clause: tree.When | tree.Unless, facts: Facts, evaluator: Evaluator) -> Callable[[bool], TraceNode]:
    negated = isinstance(clause, tree.Unless)
    return lambda counted: evaluator.node(clause.expr, facts, negated, counted)


def _decided(bundle: tree.Bundle, rule: tree.Rule, policy: Layer, facts: Facts, values: Mapping[str, Any]) -> Decision:
    texts = {
        type(clause): str(clause.text.value) if isinstance(clause.text, tree.Literal) else ""
        for clause in rule.clauses
        if isinstance(clause, tree.Because | tree.Message)
    }
    obligation = obligation_of(rule, policy.name, values, named_limits(bundle))
    decision = Decision(
        Verdict(rule.verdict),
        rule.id.text,
        texts.get(tree.Because, ""),
        bundle=policy.name,
        digest=policy.digest,
        message=texts.get(tree.Message, ""),
        line=rule.span.line,
        obligations=(obligation,) if obligation else (),
    )
    return FilledDecision(decision, rule).fill(facts) if filled_texts(rule) else decision


def _otherwise(bundle: tree.Bundle, facts: Facts, policy: Layer) -> Decision:
    if facts.kind == Kind.LOCAL.value:
        return Decision(Verdict.ALLOW, LOCAL, bundle=policy.name, digest=policy.digest)
    for line in bundle.statements:
        if isinstance(line, tree.Default):
            reason = str(line.because.value) if line.because else ""
            verdict = Verdict(line.verdict)
            return Decision(verdict, DEFAULT, reason, bundle=policy.name, digest=policy.digest, line=line.span.line)
    return Decision(Verdict.DENY, DEFAULT, bundle=policy.name, digest=policy.digest)
