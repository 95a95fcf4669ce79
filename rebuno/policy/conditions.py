"""From conditions to closures: `not` is pushed down to the tests first, so that absence and doubt keep their side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from rebuno.policy import syntax
from rebuno.policy.facts import Facts
from rebuno.policy.known import Known
from rebuno.policy.matchers import Check, prepared, quick
from rebuno.policy.paths import Parts, elements, one
from rebuno.policy.predicates import ANY_OF, NEGATIVE, predicate
from rebuno.policy.syntax import Op, Quantifier
from rebuno.policy.values import MISSING, UNREADABLE, Tri, absent, given, has_type, invert

# An element and what the right side came to.
ElementCheck = Callable[[Any, Any], Tri]
Right = Callable[[Facts], Any]

# Element tests in one decision; beyond it a quantifier is maybe.
MAX_TESTS: Final = 100_000
# Conditions nested deeper or with more tests are refused: evaluation can neither exhaust the stack nor take for ever.
MAX_NESTING: Final = 100
MAX_SIZE: Final = 10_000


class TooLargeError(Exception):
    """A condition with the named ones written out exceeds a bound; `span` is where it stands."""

    def __init__(self, span: syntax.Span) -> None:
        super().__init__("too large")
        self.span = span


@dataclass(slots=True)
class Names:
    """What the names of a bundle mean.

    `values` are those of `let`, `conditions` keep their trees, and `known` gives the set for a name, folded or not, or
    None where it names no set.
    """

    values: Mapping[str, Any]
    conditions: Mapping[str, syntax.Expr]
    known: Callable[[str, bool], Known | None]
    _checks: dict[tuple[str, bool], Check] = field(default_factory=dict)
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def check(self, name: str, negated: bool) -> Check:
        """The check of a named condition, compiled once for each sign."""
        check = self._checks.get((name, negated))
        if check is None:
            check = self._checks[name, negated] = _compiled(self.conditions[name], self, negated)
        return check

    def measure(self, expr: syntax.Expr, depth: int = 0) -> tuple[int, int]:
        """How deep a condition nests and how many tests it has, the named ones written out.

        Raises:
            TooLargeError: more than `MAX_NESTING` or `MAX_SIZE`.
        """
        if depth > MAX_NESTING:
            raise TooLargeError(expr.span)
        height, size = 0, 1
        if isinstance(expr, syntax.Not):
            height, size = self.measure(expr.item, depth + 1)
        elif isinstance(expr, syntax.And | syntax.Or):
            parts = [self.measure(item, depth + 1) for item in expr.items]
            height, size = max(h for h, _ in parts), sum(n for _, n in parts)
        elif isinstance(expr, syntax.ConditionRef):
            name = expr.name.text
            if name not in self._sizes:
                self._sizes[name] = self.measure(self.conditions[name], depth + 1)
            height, size = self._sizes[name]
        if depth + height >= MAX_NESTING or size > MAX_SIZE:
            raise TooLargeError(expr.span)
        return height + 1, size


def compile_expr(expr: syntax.Expr, names: Names, negated: bool = False) -> Check:
    """The check that answers `expr`, or with `negated` `not expr`.

    Raises:
        TooLargeError: it nests too deep, or has too many tests once the named conditions are written out.
    """
    names.measure(expr)
    return _compiled(expr, names, negated)


def _compiled(expr: syntax.Expr, names: Names, negated: bool) -> Check:
    if isinstance(expr, syntax.Not):
        return _compiled(expr.item, names, not negated)
    if isinstance(expr, syntax.And | syntax.Or):
        parts = [_compiled(item, names, negated) for item in expr.items]
        return all_of(parts) if isinstance(expr, syntax.And) is not negated else any_of(parts)
    if isinstance(expr, syntax.ConditionRef):
        return names.check(expr.name.text, negated)
    if isinstance(expr, syntax.Test):
        return _test(expr, names, negated)
    raise AssertionError(f"no evaluation for {type(expr).__name__}")


def all_of(checks: Sequence[Check]) -> Check:
    """Kleene's and: stops at the first no."""
    if len(checks) == 1:
        return checks[0]

    def check(facts: Facts) -> Tri:
        answer: Tri = True
        for part in checks:
            found = part(facts)
            if found is False:
                return False
            if found is None:
                answer = None
        return answer

    return check


def any_of(checks: Sequence[Check]) -> Check:
    """Kleene's or: stops at the first yes."""

    def check(facts: Facts) -> Tri:
        answer: Tri = False
        for part in checks:
            found = part(facts)
            if found:
                return True
            if found is None:
                answer = None
        return answer

    return check


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


def _test(test: syntax.Test, names: Names, negated: bool) -> Check:
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


def _element_check(test: syntax.Test, op: Op, names: Names, negated: bool) -> tuple[ElementCheck, Right, bool]:
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
        return _with_path(answer, negated), root_and_path(test.right.paths[0]), op is Op.IN or op in ANY_OF
    value = literal(test.right, names.values)
    return _with_value(prepared(op, value, test.ignoring_case), negated), lambda facts: value, False


def literal(right: syntax.Right | None, values: Mapping[str, Any]) -> Any:
    """The value of a literal, a list or a `let` name."""
    if isinstance(right, syntax.Literal):
        return right.value
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


def root_and_path(path: syntax.Path) -> Right:
    """What a path without `[]` gives: a value, `MISSING` or `UNREADABLE`."""
    root = attrgetter(path.root)
    parts = path.parts
    if not parts:
        return root
    return lambda facts: one(root(facts), parts)


def _operand(operand: syntax.Operand, *, apart: bool) -> Callable[[Facts], list[Any]]:
    roots = [attrgetter(path.root) for path in operand.paths]
    paths: list[Parts] = [path.parts for path in operand.paths]
    return lambda facts: elements([root(facts) for root in roots], paths, apart=apart)


def _single(operand: syntax.Operand, check: ElementCheck, right: Right) -> Check:
    if len(operand.paths) > 1 or operand.paths[0].many:
        raise AssertionError("several values without a quantifier")
    left = root_and_path(operand.paths[0])
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
