"""`after` and `count`: how many earlier steps of the execution are meant, for sure and perhaps."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final, Protocol

from rebuno.policy import syntax
from rebuno.policy.element_tests import MAX_TESTS
from rebuno.policy.facts import Evidence, Facts, History
from rebuno.policy.matchers import Check
from rebuno.policy.subjects import Pattern, about
from rebuno.policy.syntax import Op
from rebuno.policy.values import MISSING, UNREADABLE, Tri, invert

_SIGNS: Final[dict[Op, Callable[[int, int], bool]]] = {Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}

# Paths of a `where` that lead somewhere else with every step.
OF_THE_STEP: Final = frozenset({"args", "result", "target", "it"})


class Past(Facts):
    """What the `where` of a test on history looks at: the `args`, the `result` and the name of an earlier step, and
    `this`, the step being judged. Everything else is that step's."""

    __slots__ = ("result", "this")

    def __init__(self, facts: Facts) -> None:
        super().__init__("", "", None, agent=facts.agent, input=facts.input, history=facts.history, as_of=facts.as_of)
        self.this = {"args": facts.args}
        self.it = MISSING
        self.result: Any = UNREADABLE

    def look_at(self, step: Evidence) -> None:
        """Goes on to a step. What gave no result may have done anything: tests of its result are maybe."""
        self.kind, self.target, self.args = step.kind, step.target, step.args
        self.result = step.result if step.succeeded else UNREADABLE


Where = Callable[[Past], Tri]
# How many steps count for sure, and how many at most. None: beyond the bound.
Numbers = tuple[int, int] | None


class Meant(Protocol):
    """`SUBJECT [where (E)]`."""

    def numbers(self, facts: Facts) -> Numbers:
        """How many steps before the submission are meant."""


def asks_anew(where: syntax.Expr | None, lists: Mapping[str, Any]) -> bool:
    """Whether the answer about one and the same step depends on the submission: through `this`, or through a `known`,
    which grows. `lists` are the names that hold values."""
    waiting = [] if where is None else [where]
    while waiting:
        expr = waiting.pop()
        match expr:
            case syntax.And(items) | syntax.Or(items):
                waiting += items
            case syntax.Not(item):
                waiting.append(item)
            case syntax.Test(operand, _, right):
                operands = [operand, right] if isinstance(right, syntax.Operand) else [operand]
                if any(path.root == "this" for one in operands for path in one.paths):
                    return True
                if isinstance(right, syntax.Name) and right.text not in lists:
                    return True
                if expr.block is not None:
                    waiting.append(expr.block)
            case _:
                pass  # `check` lets nothing else stand there
    return False


class _Counted:
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


class Settled:
    """Steps about which the answer stays: counted as the history grows. `where` is asked about each when it starts and
    when it has succeeded, with a count of element tests of its own."""

    __slots__ = ("subject", "where")

    def __init__(self, subject: Sequence[Pattern], where: Where | None) -> None:
        self.subject = tuple(subject)
        self.where = where

    def numbers(self, facts: Facts) -> Numbers:
        """How many steps before the submission are meant."""
        history = facts.history
        if history is None:
            return 0, 0
        counted: _Counted | None = history.indexes.get(self)
        # A `where` may look at the execution's input and agent; one history has one of each, as a rule.
        if counted is None or counted.input is not facts.input or counted.agent != facts.agent:
            counted = history.indexes[self] = _Counted(facts)
        for step in history.evidence[counted.read :]:
            if meant(self.subject, step):
                counted.add(step, self._answer(step, facts))
        counted.read = len(history.evidence)
        return counted.numbers(facts.as_of)

    def _answer(self, step: Evidence, facts: Facts) -> Tri:
        if self.where is None:
            return True
        past = Past(facts)
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


class Anew:
    """Steps about which every submission asks anew. Each step counts as one element test, and what `where` tests of it
    counts as inside a block."""

    __slots__ = ("subject", "where")

    def __init__(self, subject: Sequence[Pattern], where: Where) -> None:
        self.subject = tuple(subject)
        self.where = where

    def numbers(self, facts: Facts) -> Numbers:
        """How many steps before the submission are meant; None beyond the bound of element tests."""
        sure = perhaps = 0
        before = facts.as_of
        past = Past(facts)
        for run in self._runs(facts.history):
            if before is not None and run.first.seq >= before:
                break
            success = run.success
            done = success is not None and (before is None or success.seq < before)
            past.look_at(success if success is not None and done else run.first)
            past.tests = facts.tests + 1
            answer = self.where(past) if past.tests <= MAX_TESTS else None
            facts.tests = past.tests
            if facts.tests > MAX_TESTS:
                return None
            perhaps += answer is not False
            sure += done and answer is True
        return sure, perhaps

    def _runs(self, history: History | None) -> list[_Run]:
        if history is None:
            return []
        runs: _Runs | None = history.indexes.get(self)
        if runs is None:
            runs = history.indexes[self] = _Runs()
        for step in history.evidence[runs.read :]:
            if meant(self.subject, step):
                runs.add(step)
        runs.read = len(history.evidence)
        return runs.runs


def meant(subject: Sequence[Pattern], step: Evidence) -> bool:
    """Whether something happened to a step that the subject is about; that a person approved it is nothing yet."""
    return not step.approved and about(subject, step.kind, step.target)


def compared(numbers: Numbers, op: Op, number: int) -> Tri:
    """`count(…) OP N`: maybe unless the answer is one for every number from the sure to the possible one."""
    if numbers is None:
        return None
    least, most = numbers
    if op in (Op.EQ, Op.NE):
        same = None if least <= number <= most and least != most else least == number
        return same if op is Op.EQ else invert(same)
    answer = _SIGNS[op](least, number)
    return answer if answer is _SIGNS[op](most, number) else None


def history_check(expr: syntax.After | syntax.Count, steps: Meant, negated: bool) -> Check:
    """The check that answers a test on history, or its negation."""
    op, number = (expr.op, expr.number) if isinstance(expr, syntax.Count) else (Op.GE, 1)

    def check(facts: Facts) -> Tri:
        found = compared(steps.numbers(facts), op, number)
        return invert(found) if negated else found

    return check
