"""Compiles conditions to closures. `not` is pushed down to the tests first, so that each test decides about absence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rebuno.policy.matcher.amounts import amount_of, one_step
from rebuno.policy.matcher.equalities import equality_first
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.fresh import Asked, FreshStepCounter
from rebuno.policy.matcher.history import CachedStepCounter, StepCounter, history_check
from rebuno.policy.matcher.index import subject_patterns
from rebuno.policy.matcher.operands import Block, lens
from rebuno.policy.matcher.past_step import OF_THE_STEP, depends_on_submission, submission_paths, wheres
from rebuno.policy.matcher.schedule import schedule_check
from rebuno.policy.matcher.since import FreshSince, SinceSearch, SteadySince
from rebuno.policy.matcher.steady import SteadyCounter
from rebuno.policy.matcher.tests import Vocabulary, compile_block, compile_test, signs
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.shapes import Shape, shape
from rebuno.policy.values.json_values import Tri

# The compiler refuses deeper and larger conditions, so that evaluation never exhausts the stack or runs too long.
MAX_NESTING: Final = 100
MAX_SIZE: Final = 10_000


class ConditionTooLargeError(Exception):
    """A condition, with its named conditions expanded, exceeds a bound. `span` is its place in the bundle."""

    def __init__(self, span: tree.Span) -> None:
        bounds = f"is deeper than {MAX_NESTING} or has more than {MAX_SIZE:,} tests"
        super().__init__(f"this condition, with those that it names, {bounds}")
        self.span = span


@dataclass(slots=True)
class BundleNames(Vocabulary):
    """All names of a bundle. `conditions` holds the trees of the named conditions."""

    conditions: Mapping[str, tree.Expr] = field(default_factory=dict)
    _checks: dict[tuple[str, bool, bool], Check] = field(default_factory=dict)
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    _tests: dict[tuple[Shape, bool], Check] = field(default_factory=dict)

    def test(self, test: tree.Test, negated: bool) -> Check:
        """The check of a test outside of blocks, or of its negation: equal tests share one."""
        look = shape(test)
        if look is None:
            return compile_test(test, self, negated)
        check = self._tests.get((look, negated))
        if check is None:
            check = self._tests[look, negated] = compile_test(test, self, negated)
        return check

    def check(self, name: str, negated: bool, block: Block | None) -> Check:
        """The check of a named condition. It is compiled once for each sign, inside and outside of blocks."""
        key = (name, negated, block is not None)
        check = self._checks.get(key)
        if check is None:
            # A named condition cannot use `it`, but inside a block it runs once for each element.
            check = self._checks[key] = _compiled(self.conditions[name], self, negated, Block(None) if block else None)
        return check

    def leave_out(self, name: str) -> None:
        """Counts this condition as empty in every condition that names it."""
        self._sizes[name] = (0, 0)

    def measure(self, expr: tree.Expr, depth: int = 0) -> tuple[int, int]:
        """The nesting depth of a condition and its number of tests, with the named conditions expanded.

        Raises:
            ConditionTooLargeError: more than `MAX_NESTING` or `MAX_SIZE`.
        """
        if depth > MAX_NESTING:
            raise ConditionTooLargeError(expr.span)
        height, size = 0, 1
        if isinstance(expr, tree.Not):
            height, size = self.measure(expr.item, depth + 1)
        elif isinstance(expr, tree.And | tree.Or):
            shallow = depth + 1 < MAX_NESTING
            parts = [
                (1, 1)
                if shallow and isinstance(item, tree.Test) and item.block is None
                else self.measure(item, depth + 1)
                for item in expr.items
            ]
            height, size = max(h for h, _ in parts), sum(n for _, n in parts)
        elif isinstance(expr, tree.Test) and expr.block is not None:
            height, size = self.measure(expr.block, depth + 1)
            size += 1
        elif isinstance(expr, tree.After | tree.Count | tree.Sum):
            parts = [self.measure(where, depth + 1) for where in wheres(expr)]
            height, size = max((h for h, _ in parts), default=0), 1 + sum(n for _, n in parts)
        elif isinstance(expr, tree.ConditionRef):
            name = expr.name.text
            if name not in self._sizes:
                self._sizes[name] = self.measure(self.conditions[name], depth + 1)
            height, size = self._sizes[name]
        if depth + height >= MAX_NESTING or size > MAX_SIZE:
            raise ConditionTooLargeError(expr.span)
        return height + 1, size


def compile_expr(expr: tree.Expr, names: BundleNames, negated: bool = False) -> Check:
    """The check that answers `expr`, or `not expr` if `negated` is true.

    Raises:
        ConditionTooLargeError: the condition nests too deep or has too many tests, with the named conditions expanded.
    """
    names.measure(expr)
    return _compiled(expr, names, negated)


def _compiled(expr: tree.Expr, names: BundleNames, negated: bool, block: Block | None = None) -> Check:
    if isinstance(expr, tree.Not):
        return _compiled(expr.item, names, not negated, block)
    if isinstance(expr, tree.And | tree.Or):
        parts = [_compiled(item, names, negated, block) for item in expr.items]
        return all_of(parts) if isinstance(expr, tree.And) is not negated else any_of(parts)
    if isinstance(expr, tree.ConditionRef):
        return names.check(expr.name.text, negated, block)
    if isinstance(expr, tree.Test):
        if expr.block is None:
            return names.test(expr, negated) if block is None else compile_test(expr, names, negated, block)
        # `not every X has (E)` is `any X has (not (E))`: the negation goes on into the block.
        _, inverted, every = signs(expr, negated)
        inner = _compiled(expr.block, names, inverted, Block(lens(expr.operand, expr.op, block).facet))
        return compile_block(expr, inner, every is True, names, block)
    if isinstance(expr, tree.After | tree.Count | tree.Sum):
        return history_check(expr, _steps(expr, names), negated)
    assert isinstance(expr, tree.During)
    return schedule_check(str(expr.schedule.value), negated)


def _steps(expr: tree.Past, names: BundleNames) -> StepCounter:
    subject = subject_patterns(expr.subject, names.values)
    amount = amount_of(expr.ats, names.context) if isinstance(expr, tree.Sum) else one_step
    within = None if expr.within is None else expr.within.seconds
    since = None if expr.since is None else _since(expr.since, names)
    if expr.where is not None and depends_on_submission(expr.where, names.values):
        return FreshStepCounter(subject, _asked(expr.where, names), expr.who, amount, since, within)
    where = None if expr.where is None else _compiled(expr.where, names, False)
    if since is None and within is None and not isinstance(expr, tree.Sum):
        return CachedStepCounter(subject, where, expr.who)
    return SteadyCounter(subject, where, expr.who, amount, since, within)


def _since(since: tree.Since, names: BundleNames) -> SinceSearch:
    subject = subject_patterns(since.subject, names.values)
    if since.where is not None and depends_on_submission(since.where, names.values):
        inner = replace(names, changing=OF_THE_STEP)
        where, otherwise = (_compiled(since.where, inner, negated, Block(None)) for negated in (False, True))
        return FreshSince(subject, where, otherwise, tuple(submission_paths(since.where)))
    return SteadySince(subject, None if since.where is None else _compiled(since.where, names, False))


def _asked(where: tree.Expr, names: BundleNames) -> Asked:
    inner = replace(names, changing=OF_THE_STEP)
    paths = tuple(submission_paths(where))
    where, equality = equality_first(where)
    asked, otherwise = (_compiled(where, inner, negated, Block(None)) for negated in (False, True))
    if equality is None or equality.rest is None:
        return Asked(asked, otherwise, paths, equality)
    rest = _compiled(equality.rest, inner, False, Block(None))
    steady = not depends_on_submission(equality.rest, names.values)
    return Asked(asked, otherwise, paths, equality, rest, steady)


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
