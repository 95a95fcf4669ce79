"""A third evaluator of the rule language, written from the contract alone, as plain as it can be.

It takes the syntax tree of a bundle and the facts of a submission and gives the verdict, the deciding rule and the
answer of each rule. It keeps nothing: each test of the past goes through all earlier steps again, and each `known` set
is made anew. The facets `key`, `word`, `text` and `size` are in it, the others are not, nor are `during`, the bounds of
a decision, and what is no test (limits, budgets, approvers).

A new construct is written here from the contract, gets a generator in `bundle_texts.py` behind a switch in
`constructs.py`, and its examples become a table in `contract.py` or beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri
from tests.policy.naive.expressions import evaluate, literals
from tests.policy.naive.logic import all_of
from tests.policy.naive.scope import Names, Scope, is_about, outermost

STRICTNESS = ("allow", "require_approval", "deny")


@dataclass(frozen=True)
class Judgement:
    """`verdict` is `allow`, `deny` or `require_approval`. `answers` are those of each rule; no, if it is about other
    steps."""

    verdict: str
    rule: str
    answers: dict[str, Tri]


def judge(bundle: tree.Bundle, facts: Facts) -> Judgement:
    """The first rule that matches decides, else `local` or the default."""
    scope = outermost(names_of(bundle), facts)
    rules = [one for one in bundle.statements if isinstance(one, tree.Rule)]
    answers = {rule.id.text: _matches(rule, facts, scope) for rule in rules}
    for rule in rules:
        answer = answers[rule.id.text]
        # An allow rule needs certainty, the others suspicion.
        if answer or (answer is None and rule.verdict != "allow"):
            return Judgement(rule.verdict, rule.id.text, answers)
    if facts.kind == "local":
        return Judgement("allow", "local", answers)
    defaults = [one.verdict for one in bundle.statements if isinstance(one, tree.Default)]
    return Judgement(defaults[0] if defaults else "deny", "default", answers)


def judge_layers(bundles: Sequence[tree.Bundle], facts: Facts) -> Judgement:
    """The strictest of several layers."""
    found = [judge(bundle, facts) for bundle in bundles]
    return max(found, key=lambda one: STRICTNESS.index(one.verdict))


def _matches(rule: tree.Rule, facts: Facts, scope: Scope) -> Tri:
    if not is_about(rule.subject, facts.kind, facts.target, scope.names):
        return False
    conditions: list[Tri] = []
    for clause in rule.clauses:
        if isinstance(clause, tree.When | tree.Unless):
            conditions.append(evaluate(clause.expr, scope, negated=isinstance(clause, tree.Unless)))
    return all_of(conditions)


def names_of(bundle: tree.Bundle) -> Names:
    """What the bundle defines."""
    lets: dict[str, Any] = {}
    for one in bundle.statements:
        if isinstance(one, tree.Let):
            assert isinstance(one.value, tree.Literal | tree.ListLiteral)
            lets[one.name.text] = literals(one.value) if isinstance(one.value, tree.ListLiteral) else one.value.value
    knowns = {one.name.text: one for one in bundle.statements if isinstance(one, tree.Known)}
    conditions = {one.name.text: one for one in bundle.statements if isinstance(one, tree.Condition)}
    return Names(lets, knowns, conditions)
