"""`after` and `count`: counts the earlier steps of the execution that match, certain and possible matches apart."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.matcher.past_step import PastStep, leaves_out, let_in
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import Tri

_OPPOSITE: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}

Where = Callable[[PastStep], Tri]
# The number of steps that match for certain, the number that may match, and the number that may match if an argument
# that `where` needs is absent from the submission and may have any value. None beyond the bound of element tests.
StepCounts = tuple[int, int, int] | None


class StepCounter(Protocol):
    """Counts the earlier steps that match `[allowed|approved] SUBJECT [where (E)]`."""

    def numbers(self, facts: Facts) -> StepCounts:
        """The number of matching steps before the submission."""


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
    """Counts steps whose match does not depend on the submission. The counts grow with the history. `where` runs once
    when a step starts and once when it has succeeded, each time with its own count of element tests."""

    __slots__ = ("subject", "where", "who")

    def __init__(self, subject: Sequence[SubjectPattern], where: Where | None, who: str = "") -> None:
        self.subject = tuple(subject)
        self.where = where
        self.who = who

    def numbers(self, facts: Facts) -> StepCounts:
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
        return both(meant, self.where(past))


class _Run:
    """An earlier step: what is told of it, oldest first."""

    __slots__ = ("told",)

    def __init__(self, step: Evidence) -> None:
        self.told = [step]

    def at(self, before: int | None) -> Evidence:
        """The last that was told of the step before an event; the step started before it."""
        if before is None or self.told[-1].seq < before:
            return self.told[-1]
        return next(step for step in reversed(self.told) if step.seq < before)


class _Runs:
    """The steps of one history that match a subject, in the order of their start."""

    __slots__ = ("by_step", "read", "runs")

    def __init__(self) -> None:
        self.read = 0
        self.runs: list[_Run] = []
        self.by_step: dict[str, _Run] = {}

    def add(self, step: Evidence) -> None:
        """Adds evidence about a step."""
        run = self.by_step.get(step.step)
        if run is None:
            run = _Run(step)
            self.runs.append(run)
            if step.step:
                self.by_step[step.step] = run
        else:
            run.told.append(step)


class FreshStepCounter:
    """Counts steps whose match depends on the submission, so that every submission evaluates `where` again. Each step
    counts as one element test, and the tests of `where` count as inside a block. `otherwise` is the negated `where`;
    `paths` are the paths in `where` that lead into the submission."""

    __slots__ = ("otherwise", "paths", "subject", "where", "who")

    def __init__(
        self,
        subject: Sequence[SubjectPattern],
        where: Where,
        otherwise: Where,
        paths: Sequence[tree.Path],
        who: str = "",
    ) -> None:
        self.subject = tuple(subject)
        self.where = where
        self.otherwise = otherwise
        self.paths = tuple(paths)
        self.who = who

    def numbers(self, facts: Facts) -> StepCounts:
        """The number of matching steps before the submission; None beyond the bound of element tests."""
        sure = perhaps = more = 0
        before = facts.as_of
        past = PastStep(facts)
        past.tests = facts.tests
        open_question = leaves_out(self.paths, past)
        for run in self._runs(facts.history):
            if before is not None and run.told[0].seq >= before:
                break
            step = run.at(before)
            meant = let_in(step, self.who)
            past.look_at(step)
            past.tests += 1
            answer = self.where(past) if past.tests <= MAX_ELEMENT_TESTS else None
            if answer is not False and meant is not False:
                perhaps += 1
                sure += step.succeeded and answer is True and meant is True
            elif answer is False and open_question and self.otherwise(past) is None:
                more += meant is not False
            facts.tests = past.tests
            if facts.tests > MAX_ELEMENT_TESTS:
                return None
        return sure, perhaps, perhaps + more

    def _runs(self, history: History | None) -> list[_Run]:
        if history is None:
            return []
        runs: _Runs | None = history.indexes.get(self)
        if runs is None:
            runs = history.indexes[self] = _Runs()
        for step in history.evidence[runs.read :]:
            if counts_step(self.subject, step):
                runs.add(step)
        runs.read = len(history.evidence)
        return runs.runs


def counts_step(subject: Sequence[SubjectPattern], step: Evidence) -> bool:
    """Whether the evidence counts: its step matches the subject, and it is more than an approval."""
    return not step.approved and matches_any(subject, step.kind, step.target)


def compare_counts(numbers: StepCounts, op: Op, number: int, negated: bool) -> Tri:
    """The answer of `count(…) OP N`, or of its negation: maybe if the certain and the possible counts disagree.

    INVARIANT: the negation of "at least" is "below", and "below" counts steps that may match because an argument is
    absent. So no allow rule matches because the submission leaves an argument out.
    """
    if numbers is None:
        return None
    op = _OPPOSITE[op] if negated else op
    match op:
        case Op.GE:
            return _at_least(numbers, number)
        case Op.GT:
            return _at_least(numbers, number + 1)
        case Op.LT:
            return _below(numbers, number)
        case Op.LE:
            return _below(numbers, number + 1)
        case Op.EQ:
            return both(_at_least(numbers, number), _below(numbers, number + 1))
        case _:
            return _either(_below(numbers, number), _at_least(numbers, number + 1))


def _at_least(numbers: tuple[int, int, int], number: int) -> Tri:
    sure, perhaps, _ = numbers
    return True if sure >= number else None if perhaps >= number else False


def _below(numbers: tuple[int, int, int], number: int) -> Tri:
    sure, _, at_most = numbers
    return False if sure >= number else None if at_most >= number else True


def both(one: Tri, other: Tri) -> Tri:
    """Kleene's and."""
    return False if one is False or other is False else None if one is None or other is None else True


def _either(one: Tri, other: Tri) -> Tri:
    """Kleene's or."""
    return True if one or other else None if one is None or other is None else False


def history_check(expr: tree.After | tree.Count, steps: StepCounter, negated: bool) -> Check:
    """The check that answers a test on history, or its negation."""
    op, number = count_bound(expr)
    return lambda facts: compare_counts(steps.numbers(facts), op, number, negated)


def count_bound(expr: tree.After | tree.Count) -> tuple[Op, int]:
    """The operator and the number of the comparison; `after` is `>= 1`."""
    return (expr.op, expr.number) if isinstance(expr, tree.Count) else (Op.GE, 1)
