"""Rules that begin by asking one argument are found by its value, and decide as if they were tried one by one."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import index as subjects
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.policy import Layer
from rebuno.policy.matcher.tables import LiteralTest, first_literal_test
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy.bundles import HOSTILE, policy_of

LISTS: dict[str, Any] = {"names": ["x", 1], "word": "x", "flags": [True]}


@pytest.mark.parametrize(
    ("clauses", "literal_test"),
    [
        ('when args.a == "x"', LiteralTest("a", frozenset("x"), frozenset())),
        ('when args.a in ["x", 1, true]', LiteralTest("a", frozenset("x"), frozenset([1]))),
        ("when args.a in names", LiteralTest("a", frozenset("x"), frozenset([1]))),
        ('when (args.a == "x" and args.b == 1) and args.c given', LiteralTest("a", frozenset("x"), frozenset())),
        ('because "b" when args.a == word unless args.b == 1', LiteralTest("a", frozenset("x"), frozenset())),
        ('unless args.b == 1 when args.a == "x"', None),  # asked after another
        ('when args.b given and args.a == "x"', None),
        ('when args.a == "x" or args.b == 1', None),  # one of two may do
        ('when not args.a == "x"', None),
        ('when args.a != "x"', None),
        ('when args.a not in ["x"]', None),
        ('when args.a == "x" ignoring case', None),
        ('when any args.a == "x"', None),
        ('when name of args.a == "x"', None),
        ('when args.a.b == "x"', None),
        ('when input.a == "x"', None),
        ("when args.a == args.b", None),
        ("when args.a in seen", None),
        ("when args.a in flags", None),  # nothing to look up
        ("", None),
    ],
)
def test_what_can_be_looked_up(clauses: str, literal_test: LiteralTest | None) -> None:
    """Only a plain first test that is no for every other text or number is one."""
    bundle, errors = parse_bundle(Source(f"known seen = input\nrule r {{ allow any step {clauses} }}"))
    assert errors == []
    rule = bundle.statements[-1]
    assert isinstance(rule, tree.Rule)
    assert first_literal_test(rule, LISTS) == literal_test


TESTS = ['args.a == "x"', 'args.a == "é"', "args.a == 1", 'args.a in ["x", "y"]', 'args.a in ["y", 2]', 'args.b == "x"']
SUBJECTS = ["any step", "any step", 'tool "*"', 'tool "p*"', 'tool "pay"', 'tool "pay", "read"']
VALUES = ["x", "y", "é", "", 1, 1.0, 2, True, None, [], ["x"], {}, *HOSTILE]


@st.composite
def bundles(draw: st.DrawFn) -> str:
    """Rules that mostly begin with a test of this sort, a few that always match among them."""
    rules = []
    for n in range(draw(st.integers(1, 7))):
        verdict = draw(st.sampled_from(["allow", "deny"]))
        test = draw(st.sampled_from([*TESTS, *(f"{test} and args.b given" for test in TESTS), "args.b given", ""]))
        rules.append(f"rule r{n} {{ {verdict} {draw(st.sampled_from(SUBJECTS))} {'when ' if test else ''}{test} }}")
    return "\n".join(rules)


@pytest.fixture(scope="module", autouse=True)
def _found_from_the_second_on() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subjects, "MIN_TABLE_RULES", 2)
        yield


@settings(max_examples=150, deadline=None)
@given(bundles())
def test_looking_up_decides_as_trying_each(text: str) -> None:
    """Whatever stands in the argument, and where there are no arguments, the same rule decides."""
    policy = policy_of(text)
    arguments: list[Any] = [{"a": value, "b": other} for value in VALUES for other in ("x", None)]
    for args in [*arguments, {}, None, [], "x", 5]:
        for target in ("pay", "read", "p", "z"):
            facts = Facts("tool_call", target, args)
            assert policy.decide(facts).rule_id == explain_decision(policy, facts).decision.rule_id


def test_a_look_up_leaves_only_what_may_match() -> None:
    """Of many rules those that another value is asked for are not even tried."""
    rules = "\n".join(f'rule r{n} {{ deny any step when args.to == "t{n}" }}' for n in range(200))
    policy = policy_of(f'{rules}\nrule pay {{ allow tool "pay" when args.n <= 5 }}')
    assert isinstance(policy, Layer)
    index = policy._kinds["tool_call"]
    sizes = {
        name: len(index.candidates("pay", args))
        for name, args in {"hit": {"to": "t7"}, "miss": {"to": "x"}, "absent": {}, "doubt": {"to": ["t7"]}}.items()
    }
    assert sizes == {"hit": 3, "miss": 2, "absent": 2, "doubt": 202}
    first = policy_of(f'rule pay {{ allow tool "pay" }}\n{rules}')
    assert isinstance(first, Layer)
    # Nothing stands behind a rule that always matches.
    assert len(first._kinds["tool_call"].candidates("pay", {"to": "t7"})) == 1
