"""Conditions: connectives, quantifiers, predicates and blocks."""

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op, Quantifier
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, given, has_type
from tests.policy.naive import history, known, options
from tests.policy.naive.logic import all_of, one_of, opposite
from tests.policy.naive.options import Doubted, Named
from tests.policy.naive.paths import follow, left_out, through
from tests.policy.naive.scope import Scope
from tests.policy.naive.values import holds

# The facets that give a set.
SETS = ("key", "word", "text", "command", "option")


def evaluate(expr: tree.Expr, scope: Scope, negated: bool = False) -> Tri:
    """The answer of a condition, or of its negation: `not` goes down to the tests."""
    if isinstance(expr, tree.Not):
        return evaluate(expr.item, scope, not negated)
    if isinstance(expr, tree.And | tree.Or):
        answers = [evaluate(item, scope, negated) for item in expr.items]
        return all_of(answers) if isinstance(expr, tree.And) is not negated else one_of(answers)
    if isinstance(expr, tree.ConditionRef):
        return evaluate(scope.names.conditions[expr.name.text].expr, scope, negated)
    if isinstance(expr, tree.Test):
        return _test(expr, scope, negated)
    if isinstance(expr, tree.After):
        return history.after(expr, scope, negated)
    if isinstance(expr, tree.Count):
        return history.count(expr, scope, negated)
    if isinstance(expr, tree.Sum):
        return history.total(expr, scope, negated)
    raise NotImplementedError(type(expr))


def _test(test: tree.Test, scope: Scope, negated: bool) -> Tri:
    op, quantifier, inner = test.op, test.operand.quantifier, test.negated
    if op in (Op.NE, Op.MISSING):
        op, inner = (Op.EQ if op is Op.NE else Op.GIVEN), not inner
    values = elements(test.operand, scope)
    if quantifier is None:
        if op is Op.GIVEN:
            found = one_of(map(_there, values))
            return opposite(found) if inner is not negated else found
        return _ask(test, op, values[0], inner is not negated, scope)
    if quantifier is Quantifier.NO:
        quantifier, inner = Quantifier.EVERY, not inner
    every = (quantifier is Quantifier.EVERY) is not negated
    answers = [_ask_for_one(test, op, value, inner is not negated, scope, every) for value in values]
    return all_of(answers) if every else one_of(answers)


def elements(operand: tree.Operand, scope: Scope) -> list[Any]:
    """The values that a test looks at. Under a quantifier a list is taken apart."""
    facets = [facet.text for facet in operand.facets]
    several = len(operand.paths) > 1
    # The keys are those of one object: `key of` a list cannot be read.
    apart = (operand.quantifier is not None or several) and facets[-1:] != ["key"]
    found: list[Any] = []
    for path in operand.paths:
        root = scope.roots.get(path.root, UNREADABLE)
        if several and left_out(root, path.parts):
            continue
        values = follow(root, path.parts)
        if apart and not path.many and type(values[0]) is list:
            values = values[0] or [MISSING]
        found += values
    return through(facets, found or [MISSING])


def _ask_for_one(test: tree.Test, op: Op, value: Any, negated: bool, scope: Scope, every: bool) -> Tri:
    """The answer for an element: one that may not be there settles nothing."""
    if not isinstance(value, Doubted):
        return _ask(test, op, value, negated, scope)
    found = _ask(test, op, value.value, negated, scope)
    return None if found is (not every) else found


def _ask(test: tree.Test, op: Op, value: Any, negated: bool, scope: Scope) -> Tri:
    """The predicate about one element, or its negation."""
    if op is Op.HAS:
        assert test.block is not None
        return evaluate(test.block, scope.block(value), negated)
    if op is Op.GIVEN:
        return opposite(_there(value)) if negated else _there(value)
    if op is Op.IS:
        if negated and value is MISSING:
            return None
        found = _is(test, value)
        return opposite(found) if negated else found
    is_known, right = _right(test.right, scope)
    if absent(value) or (not is_known and right is MISSING):
        return None if negated else False
    if is_known:
        facets = [facet.text for facet in test.operand.facets]
        found = known.look(op, right, value, scope, fold=test.ignoring_case, facets=facets)
    elif isinstance(value, Named):
        found = options.holds(op, value, right, test.ignoring_case)
    else:
        found = None if value is UNREADABLE else holds(op, value, right, test.ignoring_case)
    return opposite(found) if negated else found


def _there(value: Any) -> Tri:
    return None if isinstance(value, Doubted) else isinstance(value, Named) or given(value)


def _is(test: tree.Test, value: Any) -> Tri:
    if isinstance(test.right, tree.NullLiteral):
        return has_type(value, "null")
    assert isinstance(test.right, tree.Literal)
    return has_type(value, str(test.right.value))


def _right(right: tree.Right | None, scope: Scope) -> tuple[bool, Any]:
    """The right side: whether it is a `known`, and its name or its value."""
    if isinstance(right, tree.Literal):
        return False, right.value
    if isinstance(right, tree.ListLiteral):
        return False, literals(right)
    if isinstance(right, tree.Name):
        if right.text in scope.names.knowns:
            return True, right.text
        value = scope.names.lets.get(right.text, MISSING)
        return False, scope.roots.get(right.text, UNREADABLE) if value is MISSING else value
    assert isinstance(right, tree.Operand)
    found = elements(right, scope)
    many = any(path.many for path in right.paths)
    if many or any(facet.text.split()[0] in SETS for facet in right.facets):
        there = [_sure(value) for value in found if not absent(_sure(value))]
        return False, there or MISSING
    return False, MISSING if absent(found[0]) else found[0]


def _sure(value: Any) -> Any:
    """What may not be there is unknown on the right side."""
    if isinstance(value, Doubted):
        return MISSING if value.value is MISSING else UNREADABLE
    return value


def literals(given_list: tree.ListLiteral) -> list[Any]:
    """The values of a list in the text of a bundle."""
    return [item.value if isinstance(item, tree.Literal) else None for item in given_list.items]


def exact(value: Any) -> Fraction:
    """The decimal number that a JSON number writes: 0.1 is a tenth."""
    return Fraction(repr(value)) if type(value) is float else Fraction(value)


def leaves_out(expr: Any, scope: Scope) -> bool:
    """Whether the submission leaves out something that a condition on an earlier step asks of it."""
    if isinstance(expr, tree.Path):
        return expr.root == "this" and any(map(absent, follow({"args": scope.facts.args}, expr.parts)))
    if isinstance(expr, tuple):
        return any(leaves_out(one, scope) for one in expr)
    return is_dataclass(expr) and any(leaves_out(getattr(expr, one.name), scope) for one in fields(expr))
