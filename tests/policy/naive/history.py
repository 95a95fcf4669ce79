"""`after`, `count` and `sum`: each looks at all earlier steps anew."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import Tri
from tests.policy.naive import expressions
from tests.policy.naive.logic import all_of, one_of, opposite
from tests.policy.naive.paths import amount, follow
from tests.policy.naive.scope import Scope, is_about, let_in
from tests.policy.naive.steps import PastStep

Past = tree.After | tree.Count | tree.Sum
OPPOSITE = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE}
# The least and the most that a number may be; None if nobody knows.
Interval = tuple[Fraction, Fraction] | None


def after(test: tree.After, scope: Scope, negated: bool) -> Tri:
    """At least one such step."""
    return _compare(test, Op.GE, 1, scope, negated)


def count(test: tree.Count, scope: Scope, negated: bool) -> Tri:
    """How many such steps."""
    return _compare(test, test.op, test.number, scope, negated)


def total(test: tree.Sum, scope: Scope, negated: bool) -> Tri:
    """What such steps come to, together with what the submission adds."""
    return _compare(test, test.op, test.number, scope, negated)


def _compare(test: Past, op: Op, number: int | float, scope: Scope, negated: bool) -> Tri:
    op, limit = (OPPOSITE[op] if negated else op), expressions.exact(number)
    # "Fewer than" is a negation: a value that the submission leaves out may have been any value.
    fewer = _measure(test, scope, doubtful=True)
    more = _measure(test, scope, doubtful=False)
    below = None if fewer is None else _interval(Op.LT, fewer, limit)
    at_most = None if fewer is None else _interval(Op.LE, fewer, limit)
    above = None if more is None else _interval(Op.GT, more, limit)
    at_least = None if more is None else _interval(Op.GE, more, limit)
    if op is Op.EQ:
        return all_of([at_most, at_least])
    if op is Op.NE:
        return one_of([below, above])
    return {Op.LT: below, Op.LE: at_most, Op.GT: above, Op.GE: at_least}[op]


def _interval(op: Op, interval: tuple[Fraction, Fraction], limit: Fraction) -> Tri:
    passing = [_passes(op, end, limit) for end in interval]
    return passing[0] if passing[0] is passing[1] else None


def _passes(op: Op, number: Fraction, limit: Fraction) -> bool:
    return {Op.LT: number < limit, Op.LE: number <= limit, Op.GT: number > limit, Op.GE: number >= limit}[op]


def _measure(test: Past, scope: Scope, doubtful: bool) -> Interval:
    """The number of the steps, or the sum of their amounts; `doubtful` as in `_where`."""
    low = high = Fraction(0)
    for step in scope.steps:
        answer = _meant(test, step, scope, doubtful)
        if answer is False:
            continue
        add: Fraction | None = Fraction(1)
        if isinstance(test, tree.Sum):
            roots = scope.about(step).roots
            add = _added(roots, [at.path for at in test.ats])
        if add is None:
            return None
        low, high = low + (add if answer else 0), high + add
    if isinstance(test, tree.Sum) and test.plus is not None:
        own = _added(scope.roots if scope.step is None else scope.roots["this"], [test.plus])
        return None if own is None else (low + own, high + own)
    return low, high


def _added(roots: dict[str, Any], paths: Sequence[tree.Path]) -> Fraction | None:
    """The sum of the numbers at the paths; None if one is absent, negative, no number or unknown."""
    found = [value for path in paths for value in follow(roots[path.root], path.parts)]
    return sum(map(expressions.exact, found), Fraction(0)) if all(map(amount, found)) else None


def _meant(test: Past, step: PastStep, scope: Scope, doubtful: bool) -> Tri:
    """Whether the test is about the step: it ran, it is of the subject, and it stands in the window."""
    one = _is_one(test, step, scope, doubtful, test.who)
    return all_of([one, _inside(test, step, scope), _since(test, step, scope)])


def _is_one(past: Past | tree.Since, step: PastStep, scope: Scope, doubtful: bool, who: str = "") -> Tri:
    if not is_about(past.subject, step.kind, step.target, scope.names):
        return False
    where = True if past.where is None else _where(past.where, scope.about(step), doubtful)
    return all_of([True if step.succeeded else None, let_in(who, step), where])


def _where(where: tree.Expr, scope: Scope, doubtful: bool) -> Tri:
    """The answer of a `where`. If it is `doubtful`, an earlier step may be meant that differs only in something that
    the submission leaves out: then the negation must say the opposite, for it is maybe on what is absent."""
    answer = expressions.evaluate(where, scope)
    if not doubtful or not expressions.leaves_out(where, scope):
        return answer
    return answer if opposite(expressions.evaluate(where, scope, negated=True)) is answer else None


def _since(test: Past, step: PastStep, scope: Scope) -> Tri:
    """Whether the step came after the last of the steps that `since` names."""
    if test.since is None:
        return True
    # What the submission leaves out takes certainty away, whichever way.
    answers: list[Tri] = []
    for other in scope.steps:
        one = _is_one(test.since, other, scope, doubtful=True)
        later = _came_after(step, other)
        if one:
            answers.append(later)
        elif one is None:
            # It may be none, and then the step counts.
            answers.append(True if later else None)
    return all_of(answers)


def _came_after(step: PastStep, other: PastStep) -> Tri:
    if step is other:
        return False
    if other.end is not None and step.first > other.end:
        return True
    return False if step.end is not None and step.end < other.start else None


def _inside(test: Past, step: PastStep, scope: Scope) -> Tri:
    """Whether the step started at most that long before the submission."""
    now = scope.facts.now
    if test.within is None:
        return True
    if now is None or step.at is None or step.submitted_at is None or step.at > now or step.submitted_at > now:
        return None
    started = now - step.at <= test.within.seconds
    submitted = now - step.submitted_at <= test.within.seconds
    return started if started is submitted else None
