"""What the tests of history and time saw, found by going through the whole history again, without the indexes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from rebuno.model.step import StepStatus
from rebuno.policy.explain.wording import MAX_SEEN, short
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.matcher.amounts import Number, Numbers, Tally, amount_of, one_step, written
from rebuno.policy.matcher.equalities import equality_first
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.history import bound_of, compare_numbers, with_this
from rebuno.policy.matcher.index import subject_patterns
from rebuno.policy.matcher.operands import Block
from rebuno.policy.matcher.past_step import PastStep, depends_on_submission, leaves_out, let_in, submission_paths
from rebuno.policy.matcher.runs import counts_step, inside
from rebuno.policy.matcher.schedule import WEEKDAYS, parse_schedule
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri, invert

# Evaluates a `where` about one step, or its negation; the block is the one that it counts its tests as in.
Where = Callable[[tree.Expr, PastStep, bool, Block | None], Tri]
# The answer, the words and what was seen.
Found = tuple[Tri, str, list[Any]]


@dataclass(slots=True)
class _Earlier:
    """A step that started before the submission: what is told of its start, and the last that was told by then."""

    first: Evidence
    last: Evidence


@dataclass(slots=True)
class _Counted:
    """A step that counts for sure or perhaps, with its amount."""

    step: Evidence
    counts: Tri
    amount: Number | None


@dataclass(slots=True)
class _SinceSteps:
    """The steps that may be what `since` asks for: the event of the last outcome of one (infinite while one runs), the
    event with which the last that surely is one started, and the starts of those."""

    last: Evidence | None = None
    outcome: float = -1
    start: float = -1
    sure: list[Evidence] = field(default_factory=list)

    def add(self, step: _Earlier, answer: Tri) -> None:
        self.last = step.last
        self.outcome = max(self.outcome, step.last.seq if step.last.status.terminal else inf)
        if answer and step.last.succeeded:
            self.start = max(self.start, step.first.seq)
            self.sure.append(step.first)

    def stands_after(self, step: _Earlier) -> Tri:
        """Whether a step came after all of them."""
        if any(one is step.first for one in self.sure):
            return False
        if step.last.status.terminal and step.last.seq < self.start:
            return False
        return True if step.first.submitted > self.outcome else None


class _TooManyError(Exception):
    """More than the bound of element tests."""


class HistoryReader:
    """Evaluates the tests of one bundle on history. `where` evaluates a condition about a step."""

    def __init__(self, lists: Mapping[str, Any], context: PathContext, where: Where) -> None:
        self._lists = lists
        self._context = context
        self._where = where

    def explain(self, expr: tree.Past, facts: Facts, negated: bool) -> Found:
        """What a test on history, or its negation, comes to, and the steps that counted: at most eight in the order in
        which they started, each as its target and status: `web_get (failed)`."""
        before = facts.tests
        try:
            since = None if expr.since is None or facts.history is None else self._since(expr.since, facts)
            counted, more = self._counted(expr, facts, since)
        except _TooManyError:
            facts.tests = max(before, MAX_ELEMENT_TESTS + 1)
            return None, f"has too many steps: the bound is {MAX_ELEMENT_TESTS:,} element tests a decision", []
        tally = Tally()
        for one in counted:
            tally.add(one.amount, one.counts)
        for amount in more:
            tally.add_more(amount)
        total = numbers = tally.numbers()
        if isinstance(expr, tree.Sum) and expr.plus is not None:
            total = with_this(numbers, facts.args, expr.plus.parts)
        answer = compare_numbers(total, *bound_of(expr), negated)
        words = _words(tally) if not isinstance(expr, tree.Sum) else _sum_words(expr, counted, tally, numbers, total)
        if since is not None and since.last is not None:
            words += f", since `{_seen(since.last, True)}`"
        if more:
            words += f"; {len(more)} may be meant, as this step leaves out what is asked of it"
        return answer, words, [_shown(expr, one) for one in counted[:MAX_SEEN]]

    def _counted(
        self, expr: tree.Past, facts: Facts, since: _SinceSteps | None
    ) -> tuple[list[_Counted], list[Number | None]]:
        """The steps that count, and the amounts of those that may be meant as the submission leaves something out."""
        where = expr.where
        anew = where is not None and depends_on_submission(where, self._lists)
        past = PastStep(facts)
        open_question = where is not None and leaves_out(submission_paths(where), past)
        amount = amount_of(expr.ats, self._context) if isinstance(expr, tree.Sum) else one_step
        counted: list[_Counted] = []
        more: list[Number | None] = []
        for step in self._steps(expr.subject, facts):
            stands = [let_in(step.last, expr.who), True if since is None else since.stands_after(step)]
            if expr.within is not None:
                stands.append(inside(step.first, facts.now, expr.within.seconds))
            answer = True if where is None else self._answer(where, step.last, past, facts, anew=anew)
            if answer is not False and False not in stands:
                sure = answer is True and None not in stands and step.last.succeeded
                counted.append(_Counted(step.last, True if sure else None, amount(step.last)))
            elif answer is False and where is not None and anew and open_question:
                otherwise = self._where(equality_first(where)[0], past, True, Block(None))
                facts.tests = past.tests
                if otherwise is None and False not in stands:
                    more.append(amount(step.last))
            if anew and facts.tests > MAX_ELEMENT_TESTS:
                raise _TooManyError
        return counted, more

    def _since(self, since: tree.Since, facts: Facts) -> _SinceSteps:
        anew = since.where is not None and depends_on_submission(since.where, self._lists)
        found = _SinceSteps()
        past = PastStep(facts)
        open_question = since.where is not None and leaves_out(submission_paths(since.where), past)
        for step in self._steps(since.subject, facts):
            answer: Tri = True
            if since.where is not None:
                answer = self._answer(since.where, step.last, past, facts, anew=anew, ordered=False)
                if answer is False and anew and open_question:
                    otherwise = self._where(since.where, past, True, Block(None))
                    facts.tests = past.tests
                    answer = None if otherwise is None else False
            if anew and facts.tests > MAX_ELEMENT_TESTS:
                raise _TooManyError
            if answer is not False:
                found.add(step, answer and let_in(step.last, ""))
        return found

    def _answer(
        self, where: tree.Expr, step: Evidence, past: PastStep, facts: Facts, *, anew: bool, ordered: bool = True
    ) -> Tri:
        past.look_at(step)
        if not anew:
            past.tests = 0
            return self._where(where, past, False, None)
        past.tests = facts.tests + 1
        answer: Tri = None
        if past.tests <= MAX_ELEMENT_TESTS:
            answer = self._where(equality_first(where)[0] if ordered else where, past, False, Block(None))
        facts.tests = past.tests
        return answer

    def _steps(self, subject: tree.Subject, facts: Facts) -> list[_Earlier]:
        # Of each step that started before the submission the first and the last that had happened to it by then.
        wanted = subject_patterns(subject, self._lists)
        steps: dict[object, _Earlier] = {}
        for number, step in enumerate(facts.history.evidence if facts.history else ()):
            if (facts.as_of is None or step.seq < facts.as_of) and counts_step(wanted, step):
                steps.setdefault(step.step or number, _Earlier(step, step)).last = step
        return list(steps.values())


# ---------------------------------------------------------------- words


def _words(tally: Tally) -> str:
    most, perhaps = tally.steps, tally.perhaps
    sure = most - perhaps
    numbers = [f"{sure} for sure"] * (sure > 0) + [f"{perhaps} perhaps"] * (perhaps > 0)
    if not most:
        return "no earlier step is meant"
    return f"{most} earlier step{'s'[: most != 1]} counted, {' and '.join(numbers)}"


def _sum_words(expr: tree.Sum, counted: Sequence[_Counted], tally: Tally, numbers: Numbers, total: Numbers) -> str:
    if numbers is None:
        bad = next(one for one in counted if one.amount is None)
        return f"sum has no bound: nothing can be added for `{_seen(bad.step, bad.counts)}`"
    steps = f"{tally.steps or 'no'} step{'s'[: tally.steps != 1]}"
    perhaps = f", {tally.perhaps} of them perhaps" if tally.perhaps else ""
    words = f"sum is {_span(numbers)} ({steps}{perhaps})"
    if expr.plus is None:
        return words
    own = "and this one has no amount" if total is None else f"with this one {_span(total)}"
    return f"{words}, {own}"


def _span(numbers: tuple[Number, Number, Number | None]) -> str:
    low, high, _ = numbers
    return written(low) if low == high else f"{written(low)} to {written(high)}"


def _shown(expr: tree.Past, one: _Counted) -> str:
    seen = _seen(one.step, one.counts)
    if not isinstance(expr, tree.Sum):
        return seen
    return f"{seen}: {'no amount' if one.amount is None else written(one.amount)}"


def _seen(step: Evidence, counts: Tri) -> str:
    # A success that counts perhaps is one that the `where` cannot tell to be meant.
    doubt = ""
    if step.let_in == "":
        doubt = ", not let in"
    elif step.succeeded and counts is None:
        doubt = ", perhaps meant"
    return f"{short(step.target)} ({_status(step)}{doubt})"


def _status(step: Evidence) -> str:
    # A step may be denied after it had started: it counts, which the bare word would not tell.
    return "denied once started" if step.status is StepStatus.DENIED else step.status.value


def explain_time(expr: tree.During, facts: Facts, negated: bool) -> Found:
    """What `during`, or its negation, comes to; the words have the time on the clocks of its zone."""
    times = parse_schedule(str(expr.schedule.value))
    local, answer = times.local(facts.now), times.holds(facts.now)
    if local is None:
        return None, "the time of the submission is not known", []
    clock = f"{WEEKDAYS[local.weekday()]} {local.isoformat(' ', 'seconds')}"
    return (
        invert(answer) if negated else answer,
        f"it is {clock} there, which is {'' if answer else 'not '}in the schedule",
        [],
    )
