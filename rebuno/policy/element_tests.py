"""From one test to a closure: its operand's elements, its quantifier, and which side absence and doubt fall on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from rebuno.policy import syntax
from rebuno.policy.facts import Facts
from rebuno.policy.known import Known
from rebuno.policy.matchers import Check, prepared, quick
from rebuno.policy.paths import Parts, elements, many, one
from rebuno.policy.predicates import ANY_OF, NEGATIVE, predicate
from rebuno.policy.syntax import Op, Quantifier
from rebuno.policy.values import MISSING, UNREADABLE, Tri, absent, given, has_type, invert

# An element and what the right side came to.
ElementCheck = Callable[[Any, Any], Tri]
Right = Callable[[Facts], Any]

# Element tests in one decision; beyond it a quantifier is maybe.
MAX_TESTS: Final = 100_000


@dataclass(slots=True)
class Vocabulary:
    """The names that a test may use: `values` are those of `let`; `known` gives the set for a name, with `ignoring
    case` or not, or None where it names no set."""

    values: Mapping[str, Any]
    known: Callable[[str, bool], Known | None]


def signs(test: syntax.Test, negated: bool) -> tuple[Op, bool, bool | None]:
    """A test's plain predicate, whether it is negated, and whether every element must pass (None: no quantifier).

    `not every P` is `any not P`, `no P` is `every not P`.
    """
    quantifier = test.operand.quantifier
    op = NEGATIVE.get(test.op, test.op)
    inner = test.negated is not (test.op in NEGATIVE)
    if quantifier is None:
        return op, inner is not negated, None
    every = quantifier is not Quantifier.ANY
    if quantifier is Quantifier.NO:
        inner = not inner
    return op, inner is not negated, every is not negated


def compile_test(test: syntax.Test, names: Vocabulary, negated: bool) -> Check:
    """The check that answers one test, or its negation."""
    op, negated, every = signs(test, negated)
    if op is Op.GIVEN and every is None:
        return _given(test.operand, negated)
    check, right, multiplies = _element_check(test, op, names, negated)
    if every is not None:
        return _quantified(test.operand, check, right, every, multiplies)
    slow = _single(test.operand, check, right)
    if test.ignoring_case or isinstance(test.right, syntax.Operand):
        return slow
    if isinstance(test.right, syntax.Name) and test.right.text not in names.values:
        return slow
    return quick(test.operand, op, literal(test.right, names.values), negated, slow)


def _element_check(test: syntax.Test, op: Op, names: Vocabulary, negated: bool) -> tuple[ElementCheck, Right, bool]:
    if op is Op.IS:
        if not isinstance(test.right, syntax.Literal):
            raise AssertionError("`is` without a type")
        return _is(str(test.right.value), negated), _nothing, False
    if op is Op.GIVEN:
        return _is_given(negated), _nothing, False
    if isinstance(test.right, syntax.Name):
        known = names.known(test.right.text, test.ignoring_case)
        if known is not None:
            return _in_known(known, negated), _facts, False
    if isinstance(test.right, syntax.Operand):
        answer = predicate(op, test.ignoring_case)
        return _with_path(answer, negated), _value_of(test.right.paths[0]), op is Op.IN or op in ANY_OF
    value = literal(test.right, names.values)
    return _with_value(prepared(op, value, test.ignoring_case), negated), lambda facts: value, False


def literal(right: syntax.Right | syntax.FileValue | None, values: Mapping[str, Any]) -> Any:
    """The value of a literal, a list or a `let` name."""
    if isinstance(right, syntax.Literal):
        return right.value
    if isinstance(right, syntax.NullLiteral):
        return None
    if isinstance(right, syntax.ListLiteral):
        return [item.value if isinstance(item, syntax.Literal) else None for item in right.items]
    if isinstance(right, syntax.Name):
        return values[right.text]
    raise AssertionError(f"no value for {type(right).__name__}")


# ---------------------------------------------------------------- elements


def _with_value(answer: Callable[[Any, Any], Tri], negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        if absent(value):
            return None if negated else False
        if value is UNREADABLE:
            return None
        found = answer(value, right)
        return invert(found) if negated else found

    return check


def _with_path(answer: Callable[[Any, Any], Tri], negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        # INVARIANT: an absent side settles the test before an unreadable one is looked at.
        if absent(value) or absent(right):
            return None if negated else False
        if value is UNREADABLE or right is UNREADABLE:
            return None
        found = answer(value, right)
        return invert(found) if negated else found

    return check


def _in_known(known: Known, negated: bool) -> ElementCheck:
    return _with_value(known.contains, negated)


def _is(name: str, negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        if value is MISSING:
            return None if negated else False
        found = has_type(value, name)
        return invert(found) if negated else found

    return check


def _is_given(negated: bool) -> ElementCheck:
    def check(value: Any, right: Any) -> Tri:
        found = given(value)
        return invert(found) if negated else found

    return check


# ---------------------------------------------------------------- operands


def _nothing(facts: Facts) -> Any:
    return None


def _facts(facts: Facts) -> Any:
    return facts


def _value_of(path: syntax.Path) -> Right:
    # One value, `MISSING` or `UNREADABLE`; of a path with `[]` the list of what is there.
    root = attrgetter(path.root)
    parts = path.parts
    if not parts:
        return root
    if path.many:
        return lambda facts: [value for value in many(root(facts), parts) if not absent(value)]
    return lambda facts: one(root(facts), parts)


def _operand(operand: syntax.Operand, *, apart: bool) -> Callable[[Facts], list[Any]]:
    roots = [attrgetter(path.root) for path in operand.paths]
    paths: list[Parts] = [path.parts for path in operand.paths]
    return lambda facts: elements([root(facts) for root in roots], paths, apart=apart)


def _single(operand: syntax.Operand, check: ElementCheck, right: Right) -> Check:
    if len(operand.paths) > 1 or operand.paths[0].many:
        raise AssertionError("several values without a quantifier")
    left = _value_of(operand.paths[0])
    return lambda facts: check(left(facts), right(facts))


def _given(operand: syntax.Operand, negated: bool) -> Check:
    values = _operand(operand, apart=False)

    def check(facts: Facts) -> Tri:
        answer: Tri = False
        for value in values(facts):
            found = given(value)
            if found:
                answer = True
                break
            if found is None:
                answer = None
        return invert(answer) if negated else answer

    return check


def _quantified(operand: syntax.Operand, check: ElementCheck, right_of: Right, every: bool, multiplies: bool) -> Check:
    values = _operand(operand, apart=True)

    def quantified(facts: Facts) -> Tri:
        found = values(facts)
        right = right_of(facts)
        facts.tests += len(found) * (len(right) if multiplies and type(right) is list and right else 1)
        if facts.tests > MAX_TESTS:
            return None
        answer: Tri = every
        for value in found:
            here = check(value, right)
            if here is (not every):
                return here
            if here is None:
                answer = None
        return answer

    return quantified
