"""What a bundle decides: the language's semantics, case by case."""

import hashlib
from typing import Any

import pytest

from rebuno.errors import BundleError
from rebuno.model.decision import Verdict
from rebuno.policy.compile import compile_policy, compile_text, permissive_policy
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import answer, nested, policy_of

ABSENT = [{}, {"a": None}, {"a": []}]
YES, NO, MAYBE = True, False, None


def ask(expression: str, args: Any, **fields: Any) -> Tri:
    return answer(
        'let one = "a"\nlet ls = ["a", 1]\nlet none = []', expression, Facts("tool_call", "pay", args, **fields)
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('args.a == "x"', NO),
        ('args.a != "x"', MAYBE),  # negated: an allow rule never matches through absence
        ("args.a < 1", NO),
        ("not args.a < 1", MAYBE),
        ('args.a in ["x"]', NO),
        ('args.a not in ["x"]', MAYBE),
        ('not args.a not in ["x"]', NO),  # the negations cancel before the test is asked
        ('args.a like "*"', NO),
        ('args.a not like "*"', MAYBE),
        ('args.a matches ".*"', NO),
        ('args.a contains ""', NO),
        ("args.a == args.b", NO),  # the right side counts as well
        ("args.b == args.a", NO),
        ("args.b != args.a", MAYBE),
        ("args.b in args.a", NO),
        ("args.b not in args.a[]", MAYBE),
        ("args.a given", NO),
        ("args.a missing", YES),
        ("not args.a given", YES),
        ("not args.a missing", NO),
        ('every args.a in ["x"]', NO),  # one absent element
        ('any args.a not in ["x"]', MAYBE),
        ('not every args.a in ["x"]', MAYBE),
        ('no args.a in ["x"]', MAYBE),
        ('any args.a in ["x"]', NO),
        ('every args.a[] in ["x"]', NO),
        ('every (args.a, args.z) in ["x"]', NO),
        ('no (args.a, args.z) == "x"', MAYBE),
        ('every (args.a, args.b) == "b"', YES),  # an absent path of several is left out
        ("(args.a, args.z) missing", YES),
        ("(args.a, args.b) given", YES),
    ],
)
@pytest.mark.parametrize("args", ABSENT)
def test_absence(expression: str, expected: Tri, args: dict[str, Any]) -> None:
    """A positive test on an absent value is no, a negated one is maybe, however the value is absent."""
    assert ask(expression, {**args, "b": "b"}) is expected


@pytest.mark.parametrize(
    ("expression", "args", "expected"),
    [
        ("args.a is null", {"a": None}, YES),  # the value as it stands
        ("args.a is null", {}, NO),
        ("args.a is not null", {}, MAYBE),
        ("args.a is list", {"a": []}, YES),
        ("args.a is string", {"a": None}, NO),
        ("args.a is not string", {"a": None}, YES),
        ("args.a is integer", {"a": 1.0}, YES),
        ("args.a is number", {"a": True}, NO),
        ("any args.a is null", {"a": [1, None]}, YES),
        ("every args.a is number", {"a": []}, NO),
        ("args.a.x is string", {"a": 1}, MAYBE),  # out of reach
    ],
)
def test_types(expression: str, args: Any, expected: Tri) -> None:
    """`is` looks at the value as it stands."""
    assert ask(expression, args) is expected


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("args.a == 5", "5", MAYBE),  # no coercion
        ("args.a != 5", "5", MAYBE),
        ("args.a == true", 1, MAYBE),
        ("args.a == 9007199254740993", 2.0**53, NO),  # exactly
        ("args.a <= 2500", 2500.0, YES),
        ("args.a <= 2500", 2501, NO),
        ("not args.a <= 2500", 2501, YES),
        ("args.a < 3", True, MAYBE),
        ("args.a < 3", "1", MAYBE),
        ('args.a in ["x", 1]', 1.0, YES),
        ('args.a in ["x", 1]', 2, NO),
        ('args.a in ["x", 1]', True, MAYBE),  # no element of its type
        ('args.a in ["x"]', 1, MAYBE),
        ('args.a not in ["x"]', 1, MAYBE),
        ("args.a in ls", "a", YES),
        ("args.a == one", "a", YES),
        ("args.a in none", "a", NO),  # nothing is in an empty list
        ("args.a not in none", "a", YES),
        ('args.a in ["a"]', "\ud800", MAYBE),
        ('args.a in ["É"]', "é", NO),
        ('args.a in ["É"] ignoring case', "é", YES),
        ('args.a == "STRASSE" ignoring case', "straße", YES),
        ('args.a like "a*"', "a\nb", YES),
        ('args.a like ["x", "a?"]', "ab", YES),
        ('args.a like "A[B-C]" ignoring case', "ab", YES),
        ('args.a like "a*"', ["a"], MAYBE),
        ('args.a matches r"a.c"', "a\nc", YES),  # a dot matches a line break
        ('args.a matches r"b"', "abc", NO),  # the whole value
        ('args.a matches r"A\\S" ignoring case', "ab", YES),
        ('args.a contains "b"', "abc", YES),
        ('args.a contains "B"', "abc", NO),
        ('args.a contains "B" ignoring case', "abc", YES),
        ('args.a contains "b"', ["a", "b"], YES),  # a list's element
        ('args.a contains "b"', ["ab"], MAYBE),  # a part of an element is perhaps meant
        ('args.a contains "b"', [1], MAYBE),
        ('args.a contains "b"', {"b": 1}, MAYBE),
        ('args.a starts with "ab"', "abc", YES),
        ('args.a ends with ["x", "bc"]', "abc", YES),
        ('args.a not ends with "x"', "abc", YES),
        ('args.a == "x"', "\ud800", MAYBE),  # no Unicode
        ('args.a like "*"', "\ud800", MAYBE),
        ('args.a matches ".*"', "\ud800", MAYBE),
        ("args.a < 1", float("nan"), MAYBE),
        ("args.a.x given", 1, MAYBE),  # out of reach
        ("args.a.x missing", 1, MAYBE),
        ("args.a[0] == 1", {"0": 1}, MAYBE),
        ("args.a[0] in args.a", [1, ()], YES),
        ("args.a[0] in args.a[1]", [1, [2, ()]], MAYBE),  # an element that cannot be read
        ("args.a[0] in args.a[1]", [1, [2]], NO),
        ("args.a[0] in args.a[1]", [1, 2], MAYBE),  # no list
        ("args.a[0].n in args.a[].m", [{"n": 1}, {"m": 1}], YES),  # with `[]` the values that are there
        ("args.a[0].n in args.a[].m", [{"n": 1}, {}], NO),
        ("args.a == args.a", nested(128, False), YES),
        ("args.a == args.a", nested(3000, True), MAYBE),
    ],
)
def test_predicates(expression: str, value: Any, expected: Tri) -> None:
    """Every predicate says yes, no or maybe."""
    assert ask(expression, {"a": value}) is expected


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ('every args.a in ["x", "y"]', ["x", "y"], YES),
        ('every args.a in ["x", "y"]', "x", YES),  # a single value is a list of one
        ('every args.a in ["x", "y"]', ["x", "z"], NO),
        ('every args.a in ["x", "y"]', ["x", 1], MAYBE),
        ('every args.a in ["x", "y"]', ["z", 1], NO),
        ('every args.a in ["x"]', ["x", None], NO),  # an absent element
        ('any args.a == "x"', ["y", 1], MAYBE),
        ('any args.a == "x"', [1, "x"], YES),
        ('no args.a == "x"', ["y", "z"], YES),
        ('no args.a == "x"', ["y", "x"], NO),
        ('every args.a[].n == "x"', [{"n": "x"}, {}], NO),
        ('any args.a[].n == "x"', [{"n": "x"}, 3], YES),
        ("any args.a in args.a[]", ["x"], YES),
    ],
)
def test_quantifiers(expression: str, value: Any, expected: Tri) -> None:
    """`any`, `every` and `no` follow Kleene over the elements."""
    assert ask(expression, {"a": value}) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("not (both)", NO),
        ("not both and both", NO),
        ("not (args.a == 1 and args.z == 1)", MAYBE),  # De Morgan: the absent value is asked for by `!=`
        ("not (args.a == 2 or args.z == 1)", MAYBE),
        ("not (args.a == 1 or args.z == 1)", NO),
        ("not (not every args.l == 1)", NO),
        ("not any args.l == 1", NO),
        ("not any args.l == 3", YES),
        ("not no args.l == 1", YES),
        ("not no args.l == 3", NO),
        ("not every args.l == 1", YES),
    ],
)
def test_negation(expression: str, expected: Tri) -> None:
    """`not` is pushed down to the tests, through connectives, quantifiers and named conditions."""
    facts = Facts("tool_call", "pay", {"a": 1, "l": [1, 2]})
    assert answer("condition both = args.a == 1 and args.l given", expression, facts) is expected


def test_roots() -> None:
    """Conditions may look at the input, the target and the agent."""
    facts = {"agent": "bot", "input": {"q": "x"}}
    assert ask('target == "pay" and agent == "bot" and input.q == "x"', {}, **facts) is True


BUNDLE = """
default deny because "not listed"
rule reads {
  allow tool "get_*", "read" or llm "gpt-*"
}
rule pay {
  allow tool "pay"
  when args.amount <= 10
  because "small"
}
rule ask {
  require approval for tool "pay"
  unless args.amount > 1000
  message "Pay this?"
}
rule never {
  deny tool "pay", "drop" or local "rm"
}
"""


@pytest.mark.parametrize(
    ("kind", "target", "args", "verdict", "rule_id", "line"),
    [
        ("tool_call", "get_mail", {}, Verdict.ALLOW, "reads", 3),
        ("llm_call", "gpt-9", {}, Verdict.ALLOW, "reads", 3),
        ("tool_call", "gpt-9", {}, Verdict.DENY, "default", 2),  # another kind
        ("tool_call", "pay", {"amount": 5}, Verdict.ALLOW, "pay", 6),
        ("tool_call", "pay", {"amount": 50}, Verdict.APPROVAL, "ask", 11),
        ("tool_call", "pay", {"amount": "5"}, Verdict.APPROVAL, "ask", 11),  # doubt
        ("tool_call", "pay", {}, Verdict.APPROVAL, "ask", 11),  # absent: the negated test is maybe
        ("tool_call", "pay", {"amount": 5000}, Verdict.DENY, "never", 16),
        ("local", "sleep", None, Verdict.ALLOW, "local", 0),  # whatever the default says
        ("local", "rm", None, Verdict.DENY, "never", 16),
        ("other", "get_mail", {}, Verdict.DENY, "default", 2),  # no kind of the wire's
    ],
)
def test_decisions(kind: str, target: str, args: Any, verdict: Verdict, rule_id: str, line: int) -> None:
    """The first rule whose subject and conditions match decides, else the default."""
    policy = compile_text(BUNDLE, name="bank")
    decision = policy.decide(Facts(kind, target, args))
    assert (decision.verdict, decision.rule_id, decision.line) == (verdict, rule_id, line)
    assert (decision.bundle, decision.digest) == ("bank", policy.digest)
    reasons = {"pay": "small", "default": "not listed"}
    assert decision.reason == reasons.get(rule_id, "")
    assert decision.message == ("Pay this?" if rule_id == "ask" else "")


def test_without_a_default_what_no_rule_names_is_denied() -> None:
    """The default of the default is to deny; a local step is allowed all the same."""
    policy = policy_of("bundle empty")
    assert policy.decide(Facts("tool_call", "x")).verdict is Verdict.DENY
    assert policy.decide(Facts("local", "x")).rule_id == "local"
    assert policy_of("default allow").decide(Facts("tool_call", "x")).verdict is Verdict.ALLOW


def test_permissive() -> None:
    """The policy that was asked for aloud allows everything, under an id and a digest of its own."""
    decision = permissive_policy().decide(Facts("tool_call", "rm"))
    assert (decision.verdict, decision.rule_id) == (Verdict.ALLOW, "permissive")
    assert decision.digest == permissive_policy().digest == hashlib.sha256(b"5:rbp 1").hexdigest()


def test_the_digest_covers_the_language_and_every_byte_of_the_text() -> None:
    """The digest can be recomputed from the text alone."""
    text = 'default deny because "é"\n'
    expected = hashlib.sha256(b"5:rbp 11:0" + b"%d:" % len(text.encode()) + text.encode()).hexdigest()
    assert compile_text(text).digest == expected != compile_text(text + "\n").digest


def test_a_bundle_with_errors_gives_no_policy() -> None:
    """All errors come at once, and warnings are no errors."""
    with pytest.raises(BundleError) as caught:
        compile_text('rule a { allow tool "x" when args.a in nowhere }\nrule a { deny tool "y" }')
    assert {d.code for d in caught.value.diagnostics} == {"unknown-name", "duplicate-id"}
    with pytest.raises(BundleError, match="at least one bundle"):
        compile_policy([])
    assert compile_policy([Source("default deny", stem="one")]).name == "one"


@pytest.mark.parametrize(
    "text",
    [
        "condition c0 = args.a given\n"
        + "".join(f"condition c{n} = not c{n - 1}\n" for n in range(1, 80))
        + "rule r { deny any step when c79 }",
        "condition c0 = args.a given and args.a given\n"
        + "".join(f"condition c{n} = c{n - 1} and c{n - 1}\n" for n in range(1, 40))
        + "rule r { deny any step when c39 }",
    ],
)
def test_conditions_are_bounded(text: str) -> None:
    """What would exhaust the stack or never end is refused when it is compiled."""
    with pytest.raises(BundleError):
        policy_of(text)


def test_element_tests_are_bounded() -> None:
    """Beyond 100,000 element tests a quantifier is maybe; a list brought along multiplies."""
    assert ask("every args.a == 1", {"a": [1] * 100_000}) is True
    assert ask("every args.a == 1", {"a": [1] * 100_001}) is None
    assert ask("every args.a == 1 and every args.b == 1", {"a": [1] * 60_000, "b": [1] * 60_000}) is None
    assert ask("every args.a in args.b", {"a": [1] * 1000, "b": [1] * 101}) is None
    assert ask("every args.a == 2 and every args.a == 1", {"a": [1] * 40_000}) is False  # stops at the first no


def test_every_decision_starts_its_own_count() -> None:
    """Facts that were judged before are judged alike."""
    policy = policy_of("rule r { allow any step when every args.a == 1 }")
    facts = Facts("tool_call", "x", {"a": [1] * 60_000})
    assert [policy.decide(facts).rule_id for _ in range(3)] == ["r"] * 3
