"""What the tests of history and time saw, found by going through the whole history again, without the indexes."""

from collections.abc import Callable, Mapping
from typing import Any

from rebuno.model.step import StepStatus
from rebuno.policy import syntax
from rebuno.policy.during import DAYS, schedule
from rebuno.policy.element_tests import MAX_TESTS
from rebuno.policy.explain_words import MAX_SEEN, short
from rebuno.policy.facts import Evidence, Facts
from rebuno.policy.history import Past, asks_anew, compared, meant
from rebuno.policy.operands import Block
from rebuno.policy.subjects import patterns
from rebuno.policy.syntax import Op
from rebuno.policy.values import Tri

# Evaluates a `where` about one step; the block is the one that it counts its tests as in.
Where = Callable[[syntax.Expr, Past, Block | None], Tri]
# The answer, the words and what was seen.
Found = tuple[Tri, str, list[Any]]


def told_history(expr: syntax.After | syntax.Count, facts: Facts, lists: Mapping[str, Any], where: Where) -> Found:
    """What `after` or `count` comes to, and the steps that counted: at most eight in the order in which they started,
    each as its target and status: `web_get (failed)`."""
    anew = asks_anew(expr.where, lists)
    counted: list[tuple[Evidence, Tri]] = []
    past = Past(facts)
    for step in _steps(expr.subject, facts, lists):
        answer: Tri = True
        if expr.where is not None:
            past.look_at(step)
            past.tests = facts.tests + 1 if anew else 0
            if past.tests <= MAX_TESTS:
                answer = where(expr.where, past, Block(None) if anew else None)
            if anew:
                facts.tests = past.tests
                if facts.tests > MAX_TESTS:
                    return None, f"has too many steps: the bound is {MAX_TESTS:,} element tests a decision", []
        if answer is not False:
            counted.append((step, True if answer and step.succeeded else None))
    sure = sum(1 for _, counts in counted if counts)
    op, number = (expr.op, expr.number) if isinstance(expr, syntax.Count) else (Op.GE, 1)
    return (
        compared((sure, len(counted)), op, number),
        _words(counted, sure),
        [_seen(*one) for one in counted[:MAX_SEEN]],
    )


def _steps(subject: syntax.Subject, facts: Facts, lists: Mapping[str, Any]) -> list[Evidence]:
    # Of each step that started before the submission the last thing that had happened to it by then.
    wanted = patterns(subject, lists)
    steps: dict[object, Evidence] = {}
    for number, step in enumerate(facts.history.evidence if facts.history else ()):
        if (facts.as_of is None or step.seq < facts.as_of) and meant(wanted, step):
            steps[step.step or number] = step
    return list(steps.values())


def _words(counted: list[tuple[Evidence, Tri]], sure: int) -> str:
    if not counted:
        return "no earlier step is meant"
    perhaps = len(counted) - sure
    numbers = [f"{sure} for sure"] * (sure > 0) + [f"{perhaps} perhaps"] * (perhaps > 0)
    return f"{len(counted)} earlier step{'s'[: len(counted) != 1]} counted, {' and '.join(numbers)}"


def _seen(step: Evidence, counts: Tri) -> str:
    # A success that counts perhaps is one that the `where` cannot tell to be meant.
    doubt = ", perhaps meant" if step.succeeded and counts is None else ""
    return f"{short(step.target)} ({_status(step)}{doubt})"


def _status(step: Evidence) -> str:
    # A step may be denied after it had started: it counts, which the bare word would not tell.
    return "denied once started" if step.status is StepStatus.DENIED else step.status.value


def told_time(expr: syntax.During, facts: Facts) -> Found:
    """What `during` comes to; the words have the time on the clocks of its zone."""
    times = schedule(str(expr.schedule.value))
    local, answer = times.local(facts.now), times.holds(facts.now)
    if local is None:
        return answer, "the time of the submission is not known", []
    clock = f"{DAYS[local.weekday()]} {local.isoformat(' ', 'seconds')}"
    return answer, f"it is {clock} there, which is {'' if answer else 'not '}in the schedule", []
