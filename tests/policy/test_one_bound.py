"""A bound is reached at the same step by a history that grows, one read anew, one looked back at, a fork, and by
`explain`: what was counted before saves time and no counts."""

from collections.abc import Iterator
from copy import copy
from typing import Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import tests as element_tests
from rebuno.policy.matcher.facts import Facts, History
from rebuno.policy.matcher.policy import Policy
from tests.policy.bounds import Bounds, lowered
from tests.policy.naive import bundle_texts as texts
from tests.policy.naive.reading import policy_of
from tests.policy.naive.submissions import afresh, described, pasts, submissions


def decided(policy: Policy, facts: Facts) -> tuple[str, int]:
    """The deciding rule and the number of element tests."""
    return policy.decide(facts).rule_id, facts.tests


def explained(policy: Policy, facts: Facts) -> tuple[str, int]:
    """The same by `explain`."""
    return explain_decision(policy, facts).decision.rule_id, facts.tests


def ends_of_events(history: History) -> Iterator[tuple[History, int]]:
    """The history as it grows, one object, and the number of the event after the last."""
    live = History()
    for number, step in enumerate(history.evidence):
        live.append(step)
        # One event may have more than one piece of evidence.
        if number + 1 == len(history.evidence) or history.evidence[number + 1].seq > step.seq:
            yield live, step.seq + 1


def same_everywhere(policy: Policy, facts: Facts) -> set[bool]:
    """All of them decide alike, and count alike; tells whether a bound was reached."""
    whole = facts.history or History()
    seen, reached = copy(facts), set()
    seen.history = History(whole.evidence)
    for live, number in ends_of_events(whole):
        grown, fork = copy(facts), copy(facts)
        grown.history, grown.as_of = live, None
        fork.history, fork.as_of = History([copy(step) for step in live.evidence]), None
        expected = decided(policy, grown)
        assert decided(policy, fork) == expected, described(fork)
        seen.as_of = number
        assert decided(policy, seen) == expected, described(fork)
        assert decided(policy, grown) == expected, described(fork)
        assert explained(policy, afresh(fork)) == expected, described(fork)
        reached.add(expected[1] > element_tests.MAX_ELEMENT_TESTS)
    return reached


def after(facts: Facts, past: History) -> Facts:
    """The submission after these steps."""
    facts.history, facts.as_of = past, None
    return facts


BOTH: Final = """
{prologue}
rule sure {{ allow any step when {test} }}
rule perhaps {{ deny any step when {test} }}
"""
# What an index answers.
INDEXED: Final = [
    "count(any step where (args.to == this.args.to)) >= 1",
    "sum(any step at args.n where (this.args.n == args.n and error missing)) > 1",
    'after tool "*" where (args.t == this.args.t and args.to in said)',
    'after any step where (args.l == this.args.l and after tool "list" where (args.to == outer.args.to))',
    'count(any step where (args == this.args) since tool "list" where (args.to == this.args.to)) >= 1',
    'after any step where (this.args.m == result and any args.l[] in this.args.l[]) since tool "pay" within 1m',
]
PART: Final = st.one_of(st.sampled_from(INDEXED), texts.history_tests(), texts.expressions(texts.RULE, "rule"))
# No single test asks for much, so several share the count.
TESTS: Final = st.lists(PART, min_size=2, max_size=3).map(lambda parts: " or ".join(f"({part})" for part in parts))
SUBMISSIONS: Final = st.builds(after, submissions(), pasts(3))
SMALL: Final = st.fixed_dictionaries(
    {
        "MAX_ELEMENT_TESTS": st.sampled_from([0, 1, 2, 3, 4, 6, 12]),
        "MAX_KNOWN_VALUES": st.sampled_from([1, 2, 4, 8, 100]),
        "MAX_ITEMS": st.sampled_from([1, 2, 4, 8, 100]),
    }
)


@settings(max_examples=100, deadline=None)
@given(texts.prologues(), TESTS, SUBMISSIONS, SMALL)
def test_a_bound_is_reached_at_the_same_step(prologue: str, test: str, facts: Facts, bounds: Bounds) -> None:
    """Of one test, at every moment of a history."""
    with lowered(bounds):
        policy = policy_of(BOTH.format(prologue=prologue, test=test))
        event(f"{sorted(same_everywhere(policy, facts))}")


@settings(max_examples=60, deadline=None)
@given(texts.bundles(), SUBMISSIONS, SMALL)
def test_a_bound_is_reached_at_the_same_step_of_a_bundle(text: str, facts: Facts, bounds: Bounds) -> None:
    """Of whole bundles, whose tests share one count."""
    with lowered(bounds):
        event(f"{sorted(same_everywhere(policy_of(text), facts))}")


@settings(max_examples=40, deadline=None)
@given(texts.prologues(), SUBMISSIONS, SMALL, st.sampled_from(["said", "grown", "listed"]))
def test_a_full_set_is_full_at_the_same_step(prologue: str, facts: Facts, bounds: Bounds, name: str) -> None:
    """Of the values in a set."""
    with lowered(bounds):
        policy = policy_of(BOTH.format(prologue=prologue, test=f"args.v in {name}"))
        for value in ("ann", "bob", "ann bob", 1, 50):
            facts.kind, facts.args = "tool_call", {"v": value}
            same_everywhere(policy, facts)
