"""Tests on history at every moment, against a look at the whole history by the words of the contract."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.model.step import StepStatus
from rebuno.policy.explain import history as explain_history
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import fresh, since
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles as made

TOOL = "tool_call"
RAN, FAILED, STARTED = StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING
CANCELLED = StepStatus.CANCELLED

KEYS = [1, 2, "1", None, [], [1], {"x": 1}, {"x": "1"}, {"x": 1, "y": 2}, True, 1.0, float("nan"), "\ud800"]
AMOUNTS = [1, 1, 2, 2, 3, 3, 0.1, 0.1, 0.2, 0.2, 10, 10, None, -1, "1"]
keys = st.sampled_from(KEYS)


def equal(one: Any, other: Any) -> Tri:
    """The answer of `==`, written again."""
    return False if one is None or other is None or one == [] or other == [] else equal_parts(one, other)


def equal_parts(one: Any, other: Any) -> Tri:
    if isinstance(one, dict) and isinstance(other, dict):
        if set(one) != set(other):
            return False
        return conj(*[equal_parts(one[key], other[key]) for key in one])
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and conj(*map(equal_parts, one, other))
    if one is None and other is None:
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return True if one is True and other is True else None
    if isinstance(one, str) and isinstance(other, str):
        return None if "\ud800" in (one, other) else one == other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return None if one != one or other != other else one == other
    return None


def conj(*answers: Tri) -> Tri:
    return False if False in answers else None if None in answers else True


@dataclass
class Seen:
    """A step as it stood."""

    first: Evidence
    last: Evidence

    @property
    def outcome(self) -> int | None:
        return self.last.seq if self.last.status.terminal else None


Where = Callable[[Seen, Any], Tri]


def missing_error(step: Seen, this: Any) -> Tri:
    if step.last.status is RAN:
        return True
    return False if step.last.status is FAILED and step.last.error else None


def same(step: Seen, this: Any) -> Tri:
    return equal(step.last.args["k"], this["k"])


WHERES: dict[str, Where] = {
    "": lambda step, this: True,
    "args.k == 1": lambda step, this: equal(step.last.args["k"], 1),
    "args.k == this.args.k": same,
    "this.args.k == args.k and error missing": lambda step, this: conj(same(step, this), missing_error(step, this)),
    "error missing and args.k == this.args.k": lambda step, this: conj(same(step, this), missing_error(step, this)),
    "args.k == this.args.k and this.args.n > 0": lambda step, this: conj(same(step, this), this["n"] > 0),
    "args.o == this.args.o": lambda step, this: equal(step.last.args["o"], this["o"]),
    "error missing": missing_error,
    "args.k == this.args.k or error missing": lambda step, this: (
        True if True in (found := (same(step, this), missing_error(step, this))) else None if None in found else False
    ),
}  # fmt: skip
SUBJECTS = {'tool "a"': "a", 'tool "b"': "b", 'tool "a", "b"': "ab", "any step": "abc"}


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Steps that overlap, wait, fail, and start at odd times."""
    evidence: list[Evidence] = []
    running: list[Evidence] = []
    seq, at = 0, 0.0
    for number in range(draw(st.integers(0, 10))):
        seq += draw(st.integers(1, 3))
        at += draw(st.sampled_from([0, 1, 5, 30, -20]))
        goes_on = draw(st.booleans())
        if running and goes_on:
            start = running.pop(draw(st.integers(0, len(running) - 1)))
            status = draw(st.sampled_from([RAN, RAN, FAILED, CANCELLED]))
            error = draw(st.sampled_from([None, {"type": "X", "message": "no"}])) if status is FAILED else None
            evidence.append(
                Evidence(seq, TOOL, start.target, start.args, status=status, step=start.step, error=error,
                         let_in=start.let_in)
            )  # fmt: skip
            continue
        done = draw(st.booleans())
        args = {
            "k": draw(keys),
            "o": {"k": draw(keys)},
            "n": draw(st.sampled_from([*AMOUNTS, *AMOUNTS, None, -1, "1"])),
        }
        step = Evidence(
            seq, TOOL, draw(st.sampled_from("aab")), args, status=RAN if done else STARTED, step=f"s{number}",
            at=draw(st.sampled_from([at, at, at, at, None])),
            submitted=max(0, seq - draw(st.sampled_from([0, 0, 1, 3]))),
            submitted_at=draw(st.sampled_from([None, None, at - 10])),
            let_in=draw(st.sampled_from([None, "allowed", "approved", "granted", "allowed", ""])),
        )  # fmt: skip
        evidence.append(step)
        if not done:
            running.append(step)
    return History(evidence)


@dataclass
class Asked:
    """A test on history, as a text and as what it asks."""

    text: str
    subject: str
    where: Where
    who: str
    since: tuple[str, Where] | None
    within: int | None
    summed: bool
    plus: bool
    sign: str
    number: str


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    subject, where = draw(st.sampled_from(list(SUBJECTS))), draw(st.sampled_from(list(WHERES)))
    who = draw(st.sampled_from(["", "", "allowed ", "approved "]))
    after, within = draw(st.booleans()), draw(st.sampled_from([None, None, 10, 60]))
    summed = draw(st.booleans())
    steps = f"{who}{subject}{' at args.n' if summed else ''}{f' where ({where})' if where else ''}"
    asked_since = None
    if after:
        other, condition = draw(st.sampled_from(list(SUBJECTS))), draw(st.sampled_from(list(WHERES)))
        steps += f" since {other}{f' where ({condition})' if condition else ''}"
        asked_since = (SUBJECTS[other], WHERES[condition])
    steps += "" if within is None else f" within {within}s"
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    number = draw(st.sampled_from(["0", "1", "2", "0.3", "10", "11", "20"] if summed else ["0", "1", "2", "3"]))
    plus = summed and draw(st.booleans())
    text = f"{'sum' if summed else 'count'}({steps}){' + args.n' if plus else ''} {sign} {number}"
    return Asked(text, SUBJECTS[subject], WHERES[where], who.strip(), asked_since, within, summed, plus, sign, number)


def seen(facts: Facts, subject: str) -> list[Seen]:
    steps: dict[str, Seen] = {}
    for one in facts.history.evidence if facts.history else ():
        if (facts.as_of is None or one.seq < facts.as_of) and one.target in subject:
            steps.setdefault(one.step, Seen(one, one)).last = one
    return list(steps.values())


def let_in(step: Seen, who: str) -> Tri:
    if step.last.let_in == "":
        return None
    return True if not who else None if step.last.let_in is None else step.last.let_in == who


def came_after(step: Seen, other: Seen) -> Tri:
    if step.first is other.first:
        return False
    if other.outcome is not None and step.first.submitted > other.outcome:
        return True
    return False if step.outcome is not None and step.outcome < other.first.seq else None


def timely(step: Seen, now: float | None, seconds: int) -> Tri:
    times = [step.first.at, step.first.submitted_at]
    if now is None or any(time is None or time > now for time in times):
        return None
    inside = [time is not None and now <= time + seconds for time in times]
    return True if all(inside) else None if any(inside) else False


def naive(asked: Asked, facts: Facts) -> Tri:
    """The answer by the words of the contract, step by step."""
    others: list[tuple[Seen, bool]] = []
    if asked.since is not None:
        for other in seen(facts, asked.since[0]):
            found = conj(asked.since[1](other, facts.args), let_in(other, ""))
            if found is not False:
                others.append((other, found is True and other.last.status is RAN))
    low, high, bounded = Fraction(0), Fraction(0), True
    for step in seen(facts, asked.subject):
        answer = conj(asked.where(step, facts.args), let_in(step, asked.who))
        if asked.within is not None:
            answer = conj(answer, timely(step, facts.now, asked.within))
        after = [(came_after(step, other), sure) for other, sure in others]
        if answer is False or any(found is False and sure for found, sure in after):
            continue
        sure = answer is True and step.last.status is RAN and all(found is True for found, _ in after)
        amount = step.last.args["n"] if asked.summed else 1
        if not isinstance(amount, int | float) or amount < 0:
            bounded = False
            continue
        high += Fraction(str(amount))
        low += Fraction(str(amount)) if sure else 0
    own = facts.args["n"] if asked.plus else 0
    if not bounded or not isinstance(own, int | float) or own < 0:
        return None
    low, high = low + Fraction(str(own)), high + Fraction(str(own))
    number = Fraction(asked.number)
    compare: dict[str, Callable[[Fraction], bool]] = {
        "<": lambda value: value < number, "<=": lambda value: value <= number, ">": lambda value: value > number,
        ">=": lambda value: value >= number,
    }  # fmt: skip
    if asked.sign in compare:
        ends = {compare[asked.sign](low), compare[asked.sign](high)}
        return ends.pop() if len(ends) == 1 else None
    equals = True if low == high == number else None if low <= number <= high else False
    return equals if asked.sign == "==" or equals is None else not equals


THIS = st.fixed_dictionaries(
    {"k": st.sampled_from([1, "1", [1], {"x": 1}, True]), "o": st.fixed_dictionaries({"k": keys}),
     "n": st.sampled_from([1, 0.1, 2, 0])}
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(questions(), histories(), THIS, st.sampled_from([None, 5.0, 30.0, 61.0]))
def test_every_moment_is_as_a_look_at_all_of_it(asked: Asked, whole: History, args: Any, late: float | None) -> None:
    """Live, read anew, as of every event and explained: the answer of the contract's words, and the same bounds."""
    text = asked.text
    policy = made.policy_of(f"rule sure {{ allow any step when {text} }}\nrule perhaps {{ deny any step when {text} }}")
    opposite = made.policy_of(f"rule no {{ allow any step when not ({text}) }}")
    past = History()
    for one in [None, *whole.evidence]:
        if one is not None:
            past.append(one)
        times = [step.at for step in past.evidence if step.at is not None]
        now = None if late is None else max(times, default=0.0) + late - 10
        for as_of in (None, None if one is None else one.seq, 5):
            facts = Facts(TOOL, "x", args, history=past, as_of=as_of, now=now)
            expected = naive(asked, facts)
            rule = policy.decide(facts).rule_id
            assert rule == {True: "sure", None: "perhaps", False: "default"}[expected]
            again = made.again(facts)
            assert policy.decide(again).rule_id == rule
            assert again.tests == facts.tests
            assert explain_decision(policy, again).decision.rule_id == rule
            assert again.tests == facts.tests
            assert (opposite.decide(facts).rule_id == "no") is (expected is False)
            event(f"{expected}")


@settings(max_examples=60, deadline=None)
@given(questions(), histories(), THIS, st.integers(0, 40))
def test_the_bound_is_reached_at_the_same_step(asked: Asked, whole: History, args: Any, bound: int) -> None:
    """An index and an earlier decision save time and no counts."""
    text = asked.text
    policy = made.policy_of(f"rule sure {{ allow any step when {text} }}\nrule perhaps {{ deny any step when {text} }}")
    patch = pytest.MonkeyPatch()
    try:
        for module in (fresh, since, explain_history):
            patch.setattr(module, "MAX_ELEMENT_TESTS", bound)
        past = History()
        for one in whole.evidence:
            past.append(one)
            facts = Facts(TOOL, "x", args, history=past, now=50.0)
            rule = policy.decide(facts).rule_id
            again = made.again(facts)
            assert policy.decide(again).rule_id == rule
            assert again.tests == facts.tests
            assert explain_decision(policy, again).decision.rule_id == rule
            assert again.tests == facts.tests
            event("over the bound" if facts.tests > bound else "below")
    finally:
        patch.undo()
