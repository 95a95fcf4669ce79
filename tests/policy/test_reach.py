"""Rules that never decide are found, and no rule that may decide is taken for one."""

import re

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.diagnostics import Diagnostic
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from tests.policy import bundles as made

NAMES = """default deny
let reads = ["get_a", "get_b"]
known payees = input
condition small = args.n <= 10
"""


def found(text: str, code: str) -> list[Diagnostic]:
    bundle, errors = parse_bundle(Source(text))
    assert [str(error) for error in errors] == []
    return [d for d in check_bundle(bundle) if d.code == code]


def unreachable(*rules: str) -> list[str]:
    """Which rule is hidden by which, as the messages say."""
    text = NAMES + "".join(f'rule r{n} {{ {rule} because "x" }}\n' for n, rule in enumerate(rules))
    return [" ".join(re.findall(r"`(r\d)`", d.message)) for d in found(text, "unreachable")]


# What stands first, what stands below it, and why the second never decides.
HIDDEN: list[tuple[str, str]] = [
    ('allow tool "shell"', 'deny tool "shell" when any command of args.c like "rm *"'),  # an exception below its rule
    ('require approval for tool "s" when any command of args.c like "git *"',
     'allow tool "s" when any command of args.c like "git status"'),  # the narrower pattern below
    ('allow tool "get_*"', "deny tool reads"),  # a list within a glob
    ("allow any step", 'deny llm "x"'),
    ('deny tool "a*"', 'allow tool "a[bc]?", "ab"'),  # several patterns within one
    ('allow tool "a" when args.n <= 10', 'allow tool "a" when args.n <= 5'),  # ranges
    ('allow tool "a" when small', 'allow tool "a" when args.n <= 5 and args.x == 1'),  # through a name; a subset
    ('allow tool "a" when small', 'allow tool "a" unless not small'),  # said twice over
    ('deny tool "a" when args.n <= 10', 'deny tool "a" when args.n < 10'),  # doubt falls alike
    ('deny tool "a" when args.n <= 10', 'allow tool "a" when args.n == 5'),  # yes is in both
    ('allow tool "a" when args.x in ["a", "b"]', 'allow tool "a" when args.x == "b"'),
    ('allow tool "a" when args.x != "a"', 'allow tool "a" when args.x in ["b", "c"]'),
    ('allow tool "a" when args.x like "a*"', 'allow tool "a" when args.x starts with "ab"'),
    ('allow tool "a" when args.x contains "b"', 'allow tool "a" when args.x ends with "abc"'),
    ('allow tool "a" when args.x given', 'allow tool "a" when args.x == "y"'),
    ('allow tool "a" when args.x in payees', 'allow tool "a" when args.x in payees and args.n == 1'),
    ('allow tool "a" when host of args.u under "corp.example"',
     'allow tool "a" when host of args.u in ["a.corp.example", "corp.example"]'),
    ('deny tool "a" when args.p under "/a"', 'deny tool "a" when args.p under ["/a/b", "/a/c"]'),
    ('allow tool "a" when any args.l[] has (it.x == 1 or it.y == 2)',
     'allow tool "a" when any args.l[] has (it.x == 1)'),
    ('allow tool "a" when any args.l[] in ["a", "b"]', 'allow tool "a" when every args.l[] == "a"'),
    ('allow tool "a" when args.x == 1 or args.x == 2', 'allow tool "a" when args.x in [1, 2]'),  # a union within a rule
    ('allow tool "a" when args.z == 9', 'allow tool "a" when args.z == 9 or (args.x == 1 and args.x == 2)'),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), HIDDEN, ids=[second for _, second in HIDDEN])
def test_hidden_rules(first: str, second: str) -> None:
    """A rule that an earlier one always forestalls is an error that names both."""
    assert unreachable(first, second) == ["r1 r0"]
    assert unreachable(second) == []


# Pairs that look alike, of which the second decides something.
SEEN: list[tuple[str, str]] = [
    ('allow tool "a" when args.n <= 5', 'allow tool "a" when args.n <= 10'),
    ('allow tool "a" when args.n <= 10', 'deny tool "a" when args.n <= 5'),  # the deny rule also catches doubt
    ('allow tool "a" when args.x == "a"', 'deny tool "a" when args.x == "a"'),
    ('allow tool "a" when args.x in ["a", 1]', 'deny tool "a" when args.x in ["a"]'),
    ('deny tool "a" when args.x in ["a", 1]', 'deny tool "a" when args.x == "a"'),  # 2 is a no above and maybe below
    ('allow tool "a" when args.n == 1', 'allow tool "a" when args.n == true'),  # no value is two things
    ('allow tool "a" when args.x != "a"', 'allow tool "a" when args.x missing'),
    ('allow tool "a" when any args.l[] == "a"', 'allow tool "a" when no link of args.t under "b"'),
    ('allow tool "a" when any link of args.t under "b"', 'allow tool "a" when every link of args.t under "b"'),  # none
    ('allow tool "a" when args.x like "a*"', 'allow tool "a" when args.x like "A*" ignoring case'),
    ('allow tool "a" when any command of args.c like "git status"',
     'allow tool "a" when any command of args.c like "git *"'),
    ('deny tool "a" when any command of args.c like "*git *"',
     'deny tool "a" when any command of args.c like "/usr/bin/git *"'),  # a bare name is in doubt below only
    ('allow tool "get_a*"', 'deny tool "get_*"'),
    ('allow tool "x"', 'deny local "x"'),
    ('allow tool "a" when args.x in payees', 'allow tool "a" when args.y in payees'),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SEEN, ids=[f"{first} | {second}" for first, second in SEEN])
def test_rules_that_decide(first: str, second: str) -> None:
    """What cannot be shown to be hidden is left alone."""
    assert unreachable(first, second) == []


def test_several_rules_hide_one_between_them() -> None:
    """Each pattern may be taken by another rule, and each value of an argument too."""
    assert unreachable('allow tool "get_a"', 'allow tool "get_b"', "deny tool reads") == ["r2 r0 r1"]
    rules = [f'allow tool "a" when args.x == "{letter}"' for letter in "abc"]
    assert unreachable(*rules, 'allow tool "a" when args.x in ["a", "c"]') == ["r3 r0 r2"]


def test_both_places_and_the_reason_are_told() -> None:
    """The error stands at the hidden rule, and leads to the one that hides it."""
    (one,) = found('default deny\nrule a { allow tool "x" }\nrule b { deny tool "x" because "y" }', "unreachable")
    assert (one.span.line, [span.line for span in one.related]) == (3, [2])
    assert one.message == "the rule `b` can never decide because of `a` (line 2): it has no condition and comes first"


LATE: list[tuple[bool, str, str]] = [
    (True, 'allow tool "get_*" when args.n == 1', 'deny tool "get_secret"'),
    (True, 'allow tool "get_*"', 'deny tool "*_secret"'),  # the patterns cross
    (True, 'require approval for tool "a" when args.n == 1', 'deny tool "a" when args.x == "b"'),
    (False, 'allow tool "a" when args.n == 1', 'deny tool "a"'),  # an else
    (False, 'allow tool "a" when args.n == 1', 'deny tool "a*"'),
    (False, 'allow tool "a" when args.n <= 1', 'deny tool "a" when args.n > 1'),  # never both
    (False, 'allow tool "get_*"', 'deny tool "put_*"'),
    (False, 'deny tool "a" when args.n == 1', 'allow tool "a"'),
]


@pytest.mark.parametrize(("warned", "first", "second"), LATE)
def test_a_deny_rule_below_what_it_should_except(warned: bool, first: str, second: str) -> None:
    """A deny rule that does not reach what an earlier rule lets through is told of, an `else` is not."""
    text = f'default deny\nrule a {{ {first} because "x" }}\nrule b {{ {second} because "x" }}'
    assert len(found(text, "late-deny")) == warned


OPERANDS = st.sampled_from(["args.a", "args.a", "any args.a", "every args.a", "no args.a", "args.b"])
TESTS = st.sampled_from(
    ['== "a"', 'in ["a", "b"]', 'in ["a", 1]', "<= 1", "<= 2", "> 1", 'like "a*"', 'starts with "ab"', '!= "a"',
     'not in ["a", "b"]', "is string", "== 1", 'contains "a"', "== true"]
)  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    """A condition over two arguments."""
    shape = draw(st.sampled_from(["test", "test", "not", "and", "or"])) if depth else "test"
    if shape == "test":
        return f"({draw(OPERANDS)} {draw(TESTS)})"
    if shape == "not":
        return f"(not {draw(conditions(depth=depth - 1))})"
    return f"({draw(conditions(depth=depth - 1))} {shape} {draw(conditions(depth=depth - 1))})"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["allow", "deny", "require approval for"]),
            st.sampled_from(['tool "pay"', 'tool "pay*"', 'tool "pay", "read"', "any step"]),
            st.one_of(st.just(""), conditions(), conditions()),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_no_submission_reaches_an_unreachable_rule(rules: list[tuple[str, str, str]]) -> None:
    """Whatever is submitted, a rule that is called unreachable does not decide."""
    text = "".join(
        f"rule r{n} {{ {verdict} {subject} {f'when {condition}' if condition else ''} }}\n"
        for n, (verdict, subject, condition) in enumerate(rules)
    )
    dead = {d.message.split("`")[1] for d in found(text, "unreachable")}
    event(f"{len(dead)} unreachable")
    policy = made.policy_of(text)
    values = [*made.POOL, *made.WORDS[:6], *made.NUMBERS[:6], *made.HOSTILE[:6]]
    for target in ("pay", "pay_x", "read", "a"):
        for value in values:
            for other in ("a", 1, None):
                assert policy.decide(Facts("tool_call", target, {"a": value, "b": other})).rule_id not in dead
