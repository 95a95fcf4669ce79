"""`after`, `count` and `sum`: what the earlier steps that match come to, certain and possible matches apart."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from rebuno.policy.matcher.amounts import Number, Numbers, all_three, decimal, exact
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.index import SubjectPattern
from rebuno.policy.matcher.past_step import PastStep, let_in
from rebuno.policy.matcher.paths import one
from rebuno.policy.matcher.runs import counts_step
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import Tri, invert

_OPPOSITE: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}

Where = Callable[[PastStep], Tri]


class StepCounter(Protocol):
    """Counts the earlier steps that a test on history means, or adds their amounts."""

    def numbers(self, facts: Facts) -> Numbers:
        """What the steps before the submission come to; None if that has no bound, or beyond the bound of element
        tests."""


class _CachedCounts:
    """The counts of one history so far. Each list holds event numbers in ascending order: `sure` those at which a step
    began to match for certain, `perhaps` those at which a step began to match possibly, and `not_meant` those that
    ruled out a possible match."""

    __slots__ = ("agent", "input", "not_meant", "open", "perhaps", "read", "sure")

    def __init__(self, facts: Facts) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.sure: list[int] = []
        self.perhaps: list[int] = []
        self.not_meant: list[int] = []
        # Steps that may get more evidence, each with whether it is a possible match now.
        self.open: dict[str, bool] = {}

    def add(self, step: Evidence, answer: Tri) -> None:
        """Adds evidence about a step, with the answer of `where` for it."""
        counted, counts = self.open.pop(step.step, False), answer is not False
        if counts and not counted:
            self.perhaps.append(step.seq)
        elif counted and not counts:
            self.not_meant.append(step.seq)
        if step.succeeded:
            if answer:
                self.sure.append(step.seq)
        elif step.step:
            self.open[step.step] = counts

    def numbers(self, before: int | None) -> tuple[int, int]:
        """The number of certain and of possible matches before an event."""
        if before is None:
            return len(self.sure), len(self.perhaps) - len(self.not_meant)
        return bisect_left(self.sure, before), bisect_left(self.perhaps, before) - bisect_left(self.not_meant, before)


class CachedStepCounter:
    """Counts steps whose match does not depend on the submission. The counts grow with the history, and those of an
    earlier event are found by halving. `where` runs once for each piece of evidence, with its own count of element
    tests."""

    __slots__ = ("subject", "where", "who")

    def __init__(self, subject: Sequence[SubjectPattern], where: Where | None, who: str = "") -> None:
        self.subject = tuple(subject)
        self.where = where
        self.who = who

    def numbers(self, facts: Facts) -> Numbers:
        """The number of matching steps before the submission."""
        history = facts.history
        if history is None:
            return 0, 0, 0
        counted: _CachedCounts | None = history.indexes.get(self)
        # A `where` may use the input and the agent of the execution. One history normally has one of each.
        if counted is None or counted.input is not facts.input or counted.agent != facts.agent:
            counted = history.indexes[self] = _CachedCounts(facts)
        for step in history.evidence[counted.read :]:
            if counts_step(self.subject, step):
                counted.add(step, self._answer(step, facts))
        counted.read = len(history.evidence)
        sure, perhaps = counted.numbers(facts.as_of)
        return sure, perhaps, perhaps

    def _answer(self, step: Evidence, facts: Facts) -> Tri:
        meant = let_in(step, self.who)
        if self.where is None or meant is False:
            return meant
        past = PastStep(facts)
        past.look_at(step)
        return all_three(meant, self.where(past))


def compare_numbers(numbers: Numbers, op: Op, number: Number, negated: bool) -> Tri:
    """The answer of `… OP N`, or of its negation: maybe if what is sure and what is possible disagree.

    INVARIANT: the negation of "at least" is "below", and "below" counts steps that may match because an argument is
    absent. So no allow rule matches because the submission leaves an argument out.
    """
    if numbers is None:
        return None
    sure, possible, most = numbers
    match _OPPOSITE[op] if negated else op:
        case Op.GE:
            return _reaches(sure >= number, possible >= number)
        case Op.GT:
            return _reaches(sure > number, possible > number)
        case Op.LT:
            return invert(_reaches(sure >= number, most is None or most >= number))
        case Op.LE:
            return invert(_reaches(sure > number, most is None or most > number))
        case Op.EQ:
            at_most = invert(_reaches(sure > number, most is None or most > number))
            return all_three(_reaches(sure >= number, possible >= number), at_most)
        case _:
            below = _reaches(sure >= number, most is None or most >= number)
            return invert(all_three(below, invert(_reaches(sure > number, possible > number))))


def _reaches(sure: bool, possible: bool) -> Tri:
    return True if sure else None if possible else False


def history_check(expr: tree.Past, steps: StepCounter, negated: bool) -> Check:
    """The check that answers a test on history, or its negation."""
    op, number = bound_of(expr)
    if not isinstance(expr, tree.Sum) or expr.plus is None:
        return lambda facts: compare_numbers(steps.numbers(facts), op, number, negated)
    parts = expr.plus.parts
    return lambda facts: compare_numbers(with_this(steps.numbers(facts), facts.args, parts), op, number, negated)


def with_this(numbers: Numbers, args: Any, parts: Sequence[tree.PathPart]) -> Numbers:
    """What a sum comes to with the submission's own number; None if that is no amount."""
    own = exact(one(args, parts))
    if numbers is None or own is None:
        return None
    sure, possible, most = numbers
    return sure + own, possible + own, None if most is None else most + own


def bound_of(expr: tree.Past) -> tuple[Op, Number]:
    """The operator and the number of the comparison; `after` is `>= 1`."""
    match expr:
        case tree.After():
            return Op.GE, 1
        case tree.Count():
            return expr.op, expr.number
        case _:
            return expr.op, decimal(expr.number)
