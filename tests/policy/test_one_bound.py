"""A bound is reached at the same step by a history that grows, one read anew, one looked back at, a fork, and by
`explain`: what was counted before saves time and no counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.policy.explain import evaluator as explain_tests
from rebuno.policy.explain import history as explain_history
from rebuno.policy.explain import provenance as explain_known
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import fresh, growing, provenance, since, sources
from rebuno.policy.matcher import tests as element_tests
from rebuno.policy.matcher.facts import Facts, History
from rebuno.policy.matcher.policy import Policy
from tests.policy.naive import bundle_texts as texts
from tests.policy.naive.reading import policy_of
from tests.policy.naive.submissions import afresh, described, pasts, submissions

BOUNDS: Final = {
    "MAX_ELEMENT_TESTS": (element_tests, fresh, since, explain_history, explain_tests),
    "MAX_KNOWN_VALUES": (sources, provenance, explain_known),
    "MAX_ITEMS": (growing, explain_known),
}
Bounds = dict[str, int]


@contextmanager
def lowered(bounds: Bounds) -> Iterator[None]:
    """Makes the bounds small in all modules."""
    with pytest.MonkeyPatch.context() as patch:
        for name, modules in BOUNDS.items():
            for module in modules:
                patch.setattr(module, name, bounds[name])
        yield


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
TESTS: Final = st.one_of(texts.history_tests(), texts.history_tests(), texts.expressions(texts.RULE, "rule"))
SUBMISSIONS: Final = st.builds(after, submissions(), st.one_of(pasts(), pasts()).filter(lambda past: past.evidence))
SMALL: Final = st.fixed_dictionaries(
    {
        "MAX_ELEMENT_TESTS": st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 12, 24]),
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
