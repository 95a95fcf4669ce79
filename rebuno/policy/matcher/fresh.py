"""Counts and sums of earlier steps whose match depends on the submission, which every submission asks anew."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rebuno.policy.matcher.amounts import Amount, Numbers, Tally, all_three
from rebuno.policy.matcher.equalities import Equality, Part, ValueIndex
from rebuno.policy.matcher.facts import Facts, History
from rebuno.policy.matcher.index import SubjectPattern
from rebuno.policy.matcher.operands import weight
from rebuno.policy.matcher.past_step import PastStep, leaves_out, let_in
from rebuno.policy.matcher.paths import one
from rebuno.policy.matcher.runs import Run, Runs, inside, runs_of
from rebuno.policy.matcher.since import SinceBounds, SinceSearch, Where
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri


@dataclass(frozen=True, slots=True)
class Asked:
    """A `where` that depends on the submission: itself, its negation, and its paths that lead into the submission.

    If `equality` is there, the `where` asks it first, and `rest` is what else it asks; `steady` tells that this does
    not depend on the submission.
    """

    where: Where
    otherwise: Where
    paths: tuple[tree.Path, ...]
    equality: Equality | None = None
    rest: Where | None = None
    steady: bool = False


class FreshStepCounter:
    """Counts steps, or adds their amounts. Each step counts as one element test, and the tests of the `where` count as
    inside a block.

    INVARIANT: an index saves time and no counts: the element tests are those of a look at every step.
    """

    __slots__ = ("amount", "asked", "since", "subject", "who", "within")

    def __init__(
        self,
        subject: Sequence[SubjectPattern],
        asked: Asked,
        who: str,
        amount: Amount,
        since: SinceSearch | None,
        within: int | None,
    ) -> None:
        self.subject = tuple(subject)
        self.asked = asked
        self.who = who
        self.amount = amount
        self.since = since
        self.within = within

    def numbers(self, facts: Facts) -> Numbers:
        """What the steps before the submission come to; None if that has no bound, or beyond the bound of element
        tests."""
        history = facts.history
        if history is None:
            return 0, 0, 0
        bounds = None if self.since is None else self.since.bounds(facts)
        if self.since is not None and bounds is None:
            return None
        past = PastStep(facts)
        past.tests = facts.tests
        runs = runs_of(history, self.subject, facts.as_of)
        if not runs.runs:
            return 0, 0, 0
        open_question = leaves_out(self.asked.paths, past)
        total = None
        if self.asked.equality is not None and not open_question:
            total = self._found(self.asked.equality, runs, history, past, bounds)
        if total is None:
            total = self._scanned(runs, past, bounds, open_question)
        if past.tests > MAX_ELEMENT_TESTS:
            facts.tests = max(facts.tests, MAX_ELEMENT_TESTS + 1)
            return None
        facts.tests = past.tests
        return total.numbers()

    # ------------------------------------------------------------ every step

    def _scanned(self, runs: Runs, past: PastStep, bounds: SinceBounds | None, open_question: bool) -> Tally:
        total = Tally()
        asked = self.asked
        for run in runs.runs:
            past.look_at(run.last)
            past.tests += 1
            answer = asked.where(past) if past.tests <= MAX_ELEMENT_TESTS else None
            if answer is not False:
                self._add(run, answer, past, bounds, total)
            elif open_question and asked.otherwise(past) is None:
                counts = all_three(let_in(run.last, self.who), self._stands(run, past, bounds))
                if counts is not False:
                    total.add_more(self.amount(run.last))
            if past.tests > MAX_ELEMENT_TESTS:
                break
        return total

    def _add(self, run: Run, answer: Tri, past: PastStep, bounds: SinceBounds | None, total: Tally) -> None:
        counts = all_three(self._counts(run, answer), self._stands(run, past, bounds))
        if counts is not False:
            total.add(self.amount(run.last), counts)

    def _counts(self, run: Run, answer: Tri) -> Tri:
        meant = all_three(answer, let_in(run.last, self.who))
        return None if meant and not run.last.succeeded else meant

    def _stands(self, run: Run, past: PastStep, bounds: SinceBounds | None) -> Tri:
        after = True if bounds is None else bounds.stands_after(run)
        return after if self.within is None else all_three(after, inside(run.first, past.now, self.within))

    # ------------------------------------------------------------ steps with one value

    def _found(
        self, equality: Equality, runs: Runs, history: History, past: PastStep, bounds: SinceBounds | None
    ) -> Tally | None:
        """What the steps with the value of the submission come to; None if no key tells which those are."""
        given = one(past.outer if equality.given.root == "outer" else past.this, equality.given.parts)
        index: ValueIndex | None = history.indexes.get(self)
        if index is None or index.runs is not runs or index.input is not past.input or index.agent != past.agent:
            part = self._part_of(past) if self.asked.rest is None or self.asked.steady else None
            index = history.indexes[self] = ValueIndex(equality.step, runs, past, part)
        index.follow()
        found = index.find(given)
        if found is None:
            return None
        bucket, perhaps = found
        # Every step counts as one, and with both values that are compared.
        past.tests += len(runs.runs) * (1 + weight(given)) + index.weight
        plain = self.asked.rest is None or self.asked.steady
        if plain and self.within is None and bounds is None:
            past.tests += bucket.cost
            if not perhaps:
                return bucket.total
            total = bucket.total.copy()
        else:
            total = Tally()
            self._each(bucket.runs.items(), True, past, bounds, total)
        self._each(perhaps, None, past, bounds, total)
        return total

    def _each(
        self,
        steps: Iterable[tuple[Run, Part | None]],
        equal: Tri,
        past: PastStep,
        bounds: SinceBounds | None,
        total: Tally,
    ) -> None:
        for run, part in steps:
            if past.tests > MAX_ELEMENT_TESTS:
                return
            if part is not None:
                counts, amount, cost = part
                past.tests += cost
                total.add(amount, all_three(all_three(equal, counts), self._stands(run, past, bounds)))
                continue
            answer = equal
            if self.asked.rest is not None:
                past.look_at(run.last)
                answer = all_three(equal, self.asked.rest(past))
            if answer is not False:
                self._add(run, answer, past, bounds, total)

    def _part_of(self, facts: PastStep) -> Callable[[Run], Part]:
        # What else is asked does not depend on the submission, so one look at each step is enough.
        rest = self.asked.rest

        def part(run: Run) -> Part:
            answer: Tri = True
            past = PastStep(facts)
            if rest is not None:
                past.look_at(run.last)
                answer = rest(past)
            return self._counts(run, answer), self.amount(run.last), past.tests

        return part
