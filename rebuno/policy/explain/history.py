"""What the tests of history and time saw, found by going through the whole history again, without the indexes."""

from collections.abc import Callable, Mapping
from typing import Any

from rebuno.model.step import StepStatus
from rebuno.policy.explain.wording import MAX_SEEN, short
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.history import compare_counts, count_bound, counts_step
from rebuno.policy.matcher.index import subject_patterns
from rebuno.policy.matcher.operands import Block
from rebuno.policy.matcher.past_step import PastStep, depends_on_submission, leaves_out, let_in, submission_paths
from rebuno.policy.matcher.schedule import WEEKDAYS, parse_schedule
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri, invert

# Evaluates a `where` about one step, or its negation; the block is the one that it counts its tests as in.
Where = Callable[[tree.Expr, PastStep, bool, Block | None], Tri]
# The answer, the words and what was seen.
Found = tuple[Tri, str, list[Any]]


def explain_history(
    expr: tree.After | tree.Count, facts: Facts, lists: Mapping[str, Any], where: Where, negated: bool
) -> Found:
    """What `after` or `count`, or its negation, comes to, and the steps that counted: at most eight in the order in
    which they started, each as its target and status: `web_get (failed)`."""
    anew = expr.where is not None and depends_on_submission(expr.where, lists)
    counted: list[tuple[Evidence, Tri]] = []
    more = 0
    past = PastStep(facts)
    open_question = expr.where is not None and leaves_out(submission_paths(expr.where), past)
    for step in _steps(expr.subject, facts, lists):
        meant = let_in(step, expr.who)
        answer: Tri = True
        if expr.where is not None:
            past.look_at(step)
            past.tests = facts.tests + 1 if anew else 0
            if past.tests <= MAX_ELEMENT_TESTS:
                answer = where(expr.where, past, False, Block(None) if anew else None)
            if answer is False and open_question and where(expr.where, past, True, Block(None)) is None:
                more += meant is not False
            if anew:
                facts.tests = past.tests
                if facts.tests > MAX_ELEMENT_TESTS:
                    return None, f"has too many steps: the bound is {MAX_ELEMENT_TESTS:,} element tests a decision", []
        if answer is not False and meant is not False:
            counted.append((step, True if answer and meant and step.succeeded else None))
    sure = sum(1 for _, counts in counted if counts)
    perhaps, seen = len(counted), [_seen(*one) for one in counted[:MAX_SEEN]]
    answer = compare_counts((sure, perhaps, perhaps + more), *count_bound(expr), negated)
    return answer, _words(perhaps, sure, more), seen


def _steps(subject: tree.Subject, facts: Facts, lists: Mapping[str, Any]) -> list[Evidence]:
    # Of each step that started before the submission the last thing that had happened to it by then.
    wanted = subject_patterns(subject, lists)
    steps: dict[object, Evidence] = {}
    for number, step in enumerate(facts.history.evidence if facts.history else ()):
        if (facts.as_of is None or step.seq < facts.as_of) and counts_step(wanted, step):
            steps[step.step or number] = step
    return list(steps.values())


def _words(most: int, sure: int, more: int) -> str:
    perhaps = most - sure
    numbers = [f"{sure} for sure"] * (sure > 0) + [f"{perhaps} perhaps"] * (perhaps > 0)
    words = (
        f"{most} earlier step{'s'[: most != 1]} counted, {' and '.join(numbers)}"
        if most
        else "no earlier step is meant"
    )
    return f"{words}; {more} may be meant, as this step leaves out what is asked of it" if more else words


def _seen(step: Evidence, counts: Tri) -> str:
    # A success that counts perhaps is one that the `where` cannot tell to be meant.
    doubt = ", perhaps meant" if step.succeeded and counts is None else ""
    doubt = ", not let in" if doubt and step.let_in == "" else doubt
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
