"""`after` and `count`: how many earlier steps of the execution are meant, for sure and perhaps."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.fast_tests import Check
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.matcher.past_step import PastStep, leaves_out
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import Tri

_OPPOSITE: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}

Where = Callable[[PastStep], Tri]
# How many steps are meant for sure, how many at most, and how many at most where the submission leaves out what `where`
# asks of it and may stand for any value. None: beyond the bound.
StepCounts = tuple[int, int, int] | None


class StepCounter(Protocol):
    """`SUBJECT [where (E)]`."""

    def numbers(self, facts: Facts) -> StepCounts:
        """How many steps before the submission are meant."""


class _CachedCounts:
    """What one history gave so far, as numbers of events that never fall: of those that made a step count for sure,
    that made one count perhaps, and that showed of such a one that it is not meant."""

    __slots__ = ("agent", "input", "not_meant", "open", "perhaps", "read", "sure")

    def __init__(self, facts: Facts) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.sure: list[int] = []
        self.perhaps: list[int] = []
        self.not_meant: list[int] = []
        # Steps that may still be told more of, each with whether it counts perhaps.
        self.open: dict[str, bool] = {}

    def add(self, step: Evidence, answer: Tri) -> None:
        """Takes in what happened to a step, with what `where` says to it."""
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
        """How many steps counted before an event."""
        if before is None:
            return len(self.sure), len(self.perhaps) - len(self.not_meant)
        return bisect_left(self.sure, before), bisect_left(self.perhaps, before) - bisect_left(self.not_meant, before)


class CachedStepCounter:
    """Steps about which the answer stays: counted as the history grows. `where` is asked about each when it starts and
    when it has succeeded, with a count of element tests of its own."""

    __slots__ = ("subject", "where")

    def __init__(self, subject: Sequence[SubjectPattern], where: Where | None) -> None:
        self.subject = tuple(subject)
        self.where = where

    def numbers(self, facts: Facts) -> StepCounts:
        """How many steps before the submission are meant."""
        history = facts.history
        if history is None:
            return 0, 0, 0
        counted: _CachedCounts | None = history.indexes.get(self)
        # A `where` may look at the execution's input and agent; one history has one of each, as a rule.
        if counted is None or counted.input is not facts.input or counted.agent != facts.agent:
            counted = history.indexes[self] = _CachedCounts(facts)
        for step in history.evidence[counted.read :]:
            if counts_step(self.subject, step):
                counted.add(step, self._answer(step, facts))
        counted.read = len(history.evidence)
        sure, perhaps = counted.numbers(facts.as_of)
        return sure, perhaps, perhaps

    def _answer(self, step: Evidence, facts: Facts) -> Tri:
        if self.where is None:
            return True
        past = PastStep(facts)
        past.look_at(step)
        return self.where(past)


class _Run:
    """An earlier step: how it started, and its success."""

    __slots__ = ("first", "success")

    def __init__(self, step: Evidence) -> None:
        self.first = step
        self.success = step if step.succeeded else None


class _Runs:
    """The steps of one history that a subject means, in the order in which they started."""

    __slots__ = ("by_step", "read", "runs")

    def __init__(self) -> None:
        self.read = 0
        self.runs: list[_Run] = []
        self.by_step: dict[str, _Run] = {}

    def add(self, step: Evidence) -> None:
        """Takes in what happened to a step."""
        run = self.by_step.get(step.step)
        if run is None:
            run = _Run(step)
            self.runs.append(run)
            if step.step:
                self.by_step[step.step] = run
        elif step.succeeded:
            run.success = step


class FreshStepCounter:
    """Steps about which every submission asks anew. Each step counts as one element test, and what `where` tests of it
    counts as inside a block. `otherwise` is the negated `where`, `paths` are those into the submission."""

    __slots__ = ("otherwise", "paths", "subject", "where")

    def __init__(
        self, subject: Sequence[SubjectPattern], where: Where, otherwise: Where, paths: Sequence[tree.Path]
    ) -> None:
        self.subject = tuple(subject)
        self.where = where
        self.otherwise = otherwise
        self.paths = tuple(paths)

    def numbers(self, facts: Facts) -> StepCounts:
        """How many steps before the submission are meant; None beyond the bound of element tests."""
        sure = perhaps = more = 0
        before = facts.as_of
        past = PastStep(facts)
        past.tests = facts.tests
        open_question = leaves_out(self.paths, past)
        for run in self._runs(facts.history):
            if before is not None and run.first.seq >= before:
                break
            success = run.success
            done = success is not None and (before is None or success.seq < before)
            past.look_at(success if success is not None and done else run.first)
            past.tests += 1
            answer = self.where(past) if past.tests <= MAX_ELEMENT_TESTS else None
            if answer is not False:
                perhaps += 1
                sure += done and answer is True
            elif open_question and self.otherwise(past) is None:
                more += 1
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
    """Whether something happened to a step that the subject is about; that a person approved it is nothing yet."""
    return not step.approved and matches_any(subject, step.kind, step.target)


def compare_counts(numbers: StepCounts, op: Op, number: int, negated: bool) -> Tri:
    """`count(…) OP N`, or its negation: maybe where the sure and the possible numbers disagree.

    INVARIANT: the negation of "at least" is "below", and what the submission leaves out may count there: no allow rule
    matches because an argument was left out.
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
            return _both(_at_least(numbers, number), _below(numbers, number + 1))
        case _:
            return _either(_below(numbers, number), _at_least(numbers, number + 1))


def _at_least(numbers: tuple[int, int, int], number: int) -> Tri:
    sure, perhaps, _ = numbers
    return True if sure >= number else None if perhaps >= number else False


def _below(numbers: tuple[int, int, int], number: int) -> Tri:
    sure, _, at_most = numbers
    return False if sure >= number else None if at_most >= number else True


def _both(one: Tri, other: Tri) -> Tri:
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
    """What the number of steps is compared with; `after` is at least one."""
    return (expr.op, expr.number) if isinstance(expr, tree.Count) else (Op.GE, 1)
