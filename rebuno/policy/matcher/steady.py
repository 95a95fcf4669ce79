"""Counts and sums of earlier steps whose match does not depend on the submission: followed as the history grows."""

from collections.abc import Iterable
from heapq import heappop, heappush

from rebuno.policy.matcher.amounts import Amount, Number, Numbers, Tally, all_three
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.index import SubjectPattern
from rebuno.policy.matcher.past_step import let_in
from rebuno.policy.matcher.runs import Run, Runs, inside, next_change, runs_of
from rebuno.policy.matcher.since import SinceBounds, SinceSearch, Where, steady_answer
from rebuno.policy.values.json_values import Tri


class _Followed:
    """The steps of one history so far that may be meant, each with its answer and its amount. `total` is what they come
    to within the span of time at `now`; `due` holds the times at which steps leave it."""

    __slots__ = ("agent", "counted", "due", "input", "meant", "now", "order", "read", "runs", "total")

    def __init__(self, facts: Facts, runs: Runs) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.now = facts.now
        self.runs = runs
        self.read = 0
        self.order = 0
        self.meant: dict[Run, tuple[Tri, Number | None]] = {}
        # How each step counts in `total`.
        self.counted: dict[Run, tuple[Tri, Number | None]] = {}
        self.total = Tally()
        self.due: list[tuple[float, int, Run]] = []

    def count(self, run: Run, counts: Tri, amount: Number | None) -> None:
        """Makes a step count so from now on."""
        before = self.counted.pop(run, None)
        if before is not None:
            self.total.add(before[1], before[0], -1)
        if counts is not False:
            self.counted[run] = (counts, amount)
            self.total.add(amount, counts)

    def wait(self, run: Run, time: float | None) -> None:
        """Looks at a step again at that time."""
        if time is not None:
            self.order += 1
            heappush(self.due, (time, self.order, run))


class SteadyCounter:
    """Counts steps, or adds their amounts, where only the history, the clock and a `since` decide which are meant.

    `where` runs once for each piece of evidence, with a count of element tests of its own.
    """

    __slots__ = ("amount", "since", "subject", "where", "who", "within")

    def __init__(
        self,
        subject: tuple[SubjectPattern, ...],
        where: Where | None,
        who: str,
        amount: Amount,
        since: SinceSearch | None,
        within: int | None,
    ) -> None:
        self.subject = subject
        self.where = where
        self.who = who
        self.amount = amount
        self.since = since
        self.within = within

    def numbers(self, facts: Facts) -> Numbers:
        """What the steps before the submission come to; None if that has no bound, or beyond the bound of element
        tests."""
        bounds = None if self.since is None else self.since.bounds(facts)
        if self.since is not None and bounds is None:
            return None
        if facts.history is None:
            return 0, 0, 0
        seen = self._follow(facts)
        if bounds is None or bounds.nothing:
            return seen.total.numbers()
        return self._since(seen, bounds, facts).numbers()

    def _follow(self, facts: Facts) -> _Followed:
        assert facts.history is not None
        runs = runs_of(facts.history, self.subject, facts.as_of)
        seen: _Followed | None = facts.history.indexes.get(self)
        if (
            seen is None
            or seen.runs is not runs
            or seen.input is not facts.input
            or seen.agent != facts.agent
            or (self.within is not None and not _later(facts.now, seen.now))
        ):
            seen = facts.history.indexes[self] = _Followed(facts, runs)
        seen.now = facts.now
        for run in runs.changes[seen.read :]:
            self._look(run, seen, facts)
        seen.read = len(runs.changes)
        if self.within is not None and facts.now is not None:
            self._pass_time(seen, facts.now, self.within)
        return seen

    def _look(self, run: Run, seen: _Followed, facts: Facts) -> None:
        answer = all_three(steady_answer(self.where, run.last, facts), let_in(run.last, self.who))
        if answer is False:
            seen.meant.pop(run, None)
            seen.count(run, False, 0)
            return
        first = run not in seen.meant
        counts, amount = True if answer and run.last.succeeded else None, self.amount(run.last)
        seen.meant[run] = (counts, amount)
        if self.within is None:
            seen.count(run, counts, amount)
            return
        seen.count(run, all_three(counts, inside(run.first, facts.now, self.within)), amount)
        if first and facts.now is not None:
            seen.wait(run, next_change(run.first, facts.now, self.within))

    def _pass_time(self, seen: _Followed, now: float, within: int) -> None:
        due: list[Run] = []
        while seen.due and seen.due[0][0] <= now:
            due.append(heappop(seen.due)[2])
        for run in due:
            if run in seen.meant:
                counts, amount = seen.meant[run]
                seen.count(run, all_three(counts, inside(run.first, now, within)), amount)
                seen.wait(run, next_change(run.first, now, within))

    def _since(self, seen: _Followed, bounds: SinceBounds, facts: Facts) -> Tally:
        total = Tally()
        for run in _candidates(seen.runs, bounds):
            found = seen.counted.get(run)
            if found is not None:
                total.add(found[1], all_three(found[0], bounds.stands_after(run)))
        return total


def _candidates(runs: Runs, bounds: SinceBounds) -> Iterable[Run]:
    # All steps but those that had ended before the last sure `since` step started.
    if bounds.start < 0:
        yield from runs.runs
        return
    yield from runs.open
    for run in reversed(runs.ended):
        if run.last.seq < bounds.start:
            return
        yield run


def _later(now: float | None, than: float | None) -> bool:
    return now is than or (now is not None and than is not None and now >= than)
