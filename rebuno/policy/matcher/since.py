"""`since SUBJECT [where (E)]`: which earlier steps came after the last such step, for sure or perhaps."""

from collections.abc import Callable
from math import inf
from typing import Protocol

from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.index import SubjectPattern
from rebuno.policy.matcher.past_step import PastStep, leaves_out, let_in
from rebuno.policy.matcher.runs import Run, Runs, runs_of
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri

Where = Callable[[PastStep], Tri]


class SinceBounds:
    """Where the time since the last such step begins.

    `after` is the event of the last outcome of a step that may be such a one: infinite while one runs, -1 if there is
    none. `start` is the event with which the last that surely is one started, -1 if there is none. `sure` holds the
    evidence of the starts of those that surely are.
    """

    __slots__ = ("after", "start", "sure")

    def __init__(self) -> None:
        self.after: float = -1
        self.start: float = -1
        self.sure: set[Evidence] = set()

    @property
    def nothing(self) -> bool:
        """Whether there was no such step, so that all steps came after it."""
        return self.after < 0

    def add(self, run: Run, answer: Tri) -> None:
        """Adds a step that is such a one for sure or perhaps."""
        outcome = run.outcome
        self.after = max(self.after, inf if outcome is None else outcome)
        if answer and run.last.succeeded:
            self.start = max(self.start, run.first.seq)
            self.sure.add(run.first)

    def stands_after(self, run: Run) -> Tri:
        """Whether a step came after the last such step: yes if it was submitted after the outcome of all that may be
        such a one, no if it had ended before one that surely is one started or is that one itself."""
        if run.first.submitted > self.after:
            return True
        outcome = run.outcome
        if (outcome is not None and outcome < self.start) or run.first in self.sure:
            return False
        return None


class SinceSearch(Protocol):
    """Finds where the time since a step begins."""

    def bounds(self, facts: Facts) -> SinceBounds | None:
        """The bounds as of the submission; None beyond the bound of element tests."""


class FreshSince:
    """`since` with a `where` that depends on the submission: every submission looks at all steps again, and each counts
    as one element test. `otherwise` is the negation of `where`, `paths` are those that lead into the submission.

    INVARIANT: a step that differs only in what the submission leaves out is perhaps such a one, so that no allow rule
    matches because an argument is left out.
    """

    __slots__ = ("otherwise", "paths", "subject", "where")

    def __init__(
        self, subject: tuple[SubjectPattern, ...], where: Where, otherwise: Where, paths: tuple[tree.Path, ...]
    ) -> None:
        self.subject = subject
        self.where = where
        self.otherwise = otherwise
        self.paths = paths

    def bounds(self, facts: Facts) -> SinceBounds | None:
        """The bounds as of the submission; None beyond the bound of element tests."""
        found = SinceBounds()
        if facts.history is None:
            return found
        past = PastStep(facts)
        past.tests = facts.tests
        open_question = leaves_out(self.paths, past)
        for run in runs_of(facts.history, self.subject, facts.as_of).runs:
            past.look_at(run.last)
            past.tests += 1
            answer = self.where(past) if past.tests <= MAX_ELEMENT_TESTS else None
            if answer is False and open_question and self.otherwise(past) is None:
                answer = None
            if past.tests > MAX_ELEMENT_TESTS:
                facts.tests = max(facts.tests, MAX_ELEMENT_TESTS + 1)
                return None
            if answer is not False:
                found.add(run, answer if let_in(run.last, "") else None)
        facts.tests = past.tests
        return found


class _FollowedSince:
    """The bounds of one history so far. `open` are the steps that may be meant and still run."""

    __slots__ = ("agent", "bounds", "input", "open", "read", "runs")

    def __init__(self, facts: Facts, runs: Runs) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.runs = runs
        self.read = 0
        self.bounds = SinceBounds()
        self.open: dict[Run, None] = {}


class SteadySince:
    """`since` with a `where` that does not depend on the submission, or without one: follows the history as it
    grows."""

    __slots__ = ("subject", "where")

    def __init__(self, subject: tuple[SubjectPattern, ...], where: Where | None) -> None:
        self.subject = subject
        self.where = where

    def bounds(self, facts: Facts) -> SinceBounds | None:
        """The bounds as of the submission."""
        if facts.history is None:
            return SinceBounds()
        runs = runs_of(facts.history, self.subject, facts.as_of)
        seen: _FollowedSince | None = facts.history.indexes.get(self)
        if seen is None or seen.runs is not runs or seen.input is not facts.input or seen.agent != facts.agent:
            seen = facts.history.indexes[self] = _FollowedSince(facts, runs)
        for run in runs.changes[seen.read :]:
            seen.open.pop(run, None)
            answer = steady_answer(self.where, run.last, facts)
            if answer is not False and run.outcome is None:
                seen.open[run] = None
            elif answer is not False:
                seen.bounds.add(run, answer if let_in(run.last, "") else None)
        seen.read = len(runs.changes)
        if not seen.open:
            return seen.bounds
        found = SinceBounds()
        found.after, found.start, found.sure = inf, seen.bounds.start, seen.bounds.sure
        return found


def steady_answer(where: Where | None, step: Evidence, facts: Facts) -> Tri:
    """The answer of a `where` that does not depend on the submission, with a count of element tests of its own."""
    if where is None:
        return True
    past = PastStep(facts)
    past.look_at(step)
    return where(past)
