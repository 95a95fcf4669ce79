"""A trace tells which rules were tried, what each test saw, and why it came out as it did."""

import json
from typing import Any

import pytest

from rebuno.policy.compile import compile_text, permissive_policy
from rebuno.policy.explain.explain import explain_decision, known_values
from rebuno.policy.explain.trace import RuleOutcome, TraceAnswer, TraceNode
from rebuno.policy.matcher.facts import Evidence, Facts, History
from tests.policy.bundles import nested, policy_of

TOOL = "tool_call"

BUNDLE = """default deny because "not listed"
let friends = ["ann", "bob"]
known payees = input
  or friends   # people
  or result of tool "list" at [].to where (item.from == "me")
  or approved tool "pay" at to
condition small = args.amount missing or args.amount <= 10
rule reads {
  allow tool "get_*"
}
rule pay {
  allow tool "pay"
  when args.to in payees # who
    and small
}
rule ask {
  require approval for tool "pay"
  unless args.to == "mallory"
}
rule rest { deny tool "pay" }
"""


def trace_of(args: Any, **fields: Any) -> Any:
    return explain_decision(compile_text(BUNDLE), Facts(TOOL, "pay", args, **fields))


def only_test(expression: str, args: Any) -> TraceNode:
    policy = policy_of(f"let names = {json.dumps(['x'] * 40)}\nrule r {{ deny any step when {expression} }}")
    (rule,) = explain_decision(policy, Facts(TOOL, "t", args)).rules
    return rule.tests[0]


def test_what_became_of_each_rule() -> None:
    """Rules are told apart by outcome, in the order of the file, each with its line and subject."""
    trace = trace_of({"to": "eve", "amount": 5})
    assert [(rule.rule_id, rule.outcome, rule.line) for rule in trace.rules] == [
        ("reads", RuleOutcome.OTHER_SUBJECT, 8),
        ("pay", RuleOutcome.NO_MATCH, 11),
        ("ask", RuleOutcome.DECIDED, 16),
        ("rest", RuleOutcome.NOT_REACHED, 20),
    ]
    assert [rule.answer for rule in trace.rules] == [None, TraceAnswer.NO, TraceAnswer.YES, None]
    assert (trace.source, trace.decision.rule_id, trace.rules[1].subject) == ("rule ask {", "ask", 'tool "pay"')


def test_the_tree_of_a_condition() -> None:
    """Connectives, named conditions and tests nest as written; comments and line ends are gone."""
    (node,) = trace_of({"to": "eve", "amount": 5}).rules[1].tests
    assert (node.label, node.text, node.answer, node.line) == ("and", "args.to in payees and small", TraceAnswer.NO, 13)
    known, small = node.children
    assert small.label == "condition small"
    assert [child.text for child in small.children[0].children] == ["args.amount missing", "args.amount <= 10"]
    assert (known.seen, known.answer) == (("eve",), TraceAnswer.NO)


def test_what_no_longer_counted_is_shown_and_marked() -> None:
    """Parts after the one that settled the answer are evaluated for the reader and left out of the count."""
    (node,) = trace_of({"to": "eve", "amount": 5}).rules[1].tests
    assert [child.counted for child in node.children] == [True, False]
    assert [child.counted for child in node.children[1].children[0].children] == [False, False]
    policy = policy_of("rule r { allow any step when any args.a == 2 and every args.a == 1 }")
    facts = Facts(TOOL, "t", {"a": [1] * 10})
    for _ in range(2):
        explain_decision(policy, facts)
        assert facts.tests == 10


@pytest.mark.parametrize(
    ("args", "fields", "answer", "words"),
    [
        ({"to": "ann"}, {}, TraceAnswer.YES, 'is "ann", which is in the list `friends`'),
        ({"to": "zoe"}, {"input": "pay zoe."}, TraceAnswer.YES, 'is "zoe", which occurs in `input`'),
        (
            {"to": "ZOE"},
            {"input": "pay zoe."},
            TraceAnswer.MAYBE,
            "which occurs, but for upper and lower case, in `input`",
        ),
        (
            {"to": "joe"},
            {"history": History([Evidence(7, TOOL, "list", {}, [{"to": "joe", "from": "me"}])])},
            TraceAnswer.YES,
            'which step "list" (event 7) gave to `result of tool "list" at [].to where',
        ),
        (
            {"to": "joe"},
            {"history": History([Evidence(7, TOOL, "list", {}, [{"to": "joe", "from": 1}])])},
            TraceAnswer.MAYBE,
            "which may have been given to `result of tool",
        ),
        (
            {"to": "kim"},
            {"history": History([Evidence(3, TOOL, "pay", {"to": "kim"}, approved=True)])},
            TraceAnswer.YES,
            'which step "pay" (event 3) gave to `approved tool "pay" at to`',
        ),
        ({"to": "eve"}, {}, TraceAnswer.NO, 'is "eve", which occurs in neither `input` nor `friends` nor `result of'),
        ({}, {}, TraceAnswer.NO, "`args.to` is missing, and a test on an absent value is no"),
        ({"to": ["ann"]}, {}, TraceAnswer.MAYBE, "is a list of 1, which no set of single values can be asked for"),
    ],
)
def test_where_a_known_value_comes_from(args: Any, fields: Any, answer: TraceAnswer, words: str) -> None:
    """A yes names its source, a no says where it looked."""
    node = trace_of(args, **fields).rules[1].tests[0].children[0]
    assert node.answer is answer
    assert words in node.why


@pytest.mark.parametrize(
    ("expression", "args", "why"),
    [
        ("args.a <= 10", {"a": 12}, "`args.a` is 12, which is more than `10`"),
        ("not args.a <= 10", {"a": 12}, "`args.a` is 12, which is more than `10`"),
        ("args.a == args.b", {"a": 1, "b": "1"}, '`args.a` is 1, which cannot be compared with `args.b`, "1"'),
        ("args.a == args.b", {"a": 1}, "`args.b` is missing, and a test on an absent value is no"),
        ("args.a != 1", {"a": None}, "`args.a` is null, and a negated test on an absent value is maybe"),
        ("args.a.b == 1", {"a": 1}, "`args.a.b` is out of reach: the value above it is of another type"),
        ('args.a like "x*"', {"a": "a\x1b[31m"}, '`args.a` is "a\\u001b[31m", which is not like `"x*"`'),
        ("args.a missing", {"a": 1}, "`args.a` is given"),
        ("args.a is string", {"a": 1}, "`args.a` is 1, which is not of type string"),
        ("every args.a in names", {"a": ["x", "y"]}, '`args.a` has 2 elements; the element is "y", which is not in'
         " `names`"),
        ("any (args.a, args.b) == 1", {"b": [2]}, "`args.a, args.b` has 1 element; the element is 2, which is not `1`"),
    ],
)  # fmt: skip
def test_reasons_in_words(expression: str, args: Any, why: str) -> None:
    """Every test says what it saw; control characters are escaped."""
    assert only_test(expression, args).why == why


def test_negations_are_shown_where_they_are_asked() -> None:
    """A pushed-down `not` stands in the text, and the answer is that of the text."""
    node = only_test("not (args.a == 1 and args.b == 2)", {"a": 1, "b": 3})
    assert (node.label, node.answer) == ("or", TraceAnswer.YES)
    assert [(child.text, child.answer) for child in node.children] == [
        ("not (args.a == 1)", TraceAnswer.NO),
        ("not (args.b == 2)", TraceAnswer.YES),
    ]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (list(range(20)), tuple(range(8))),  # at most eight
        (["x" * 300], ("x" * 200 + "…",)),
        ([nested(50, False)], (nested(50, False),)),
        ([nested(500, False)], ("a list of 1",)),  # too much to show
        ([float("nan"), "\ud800", 10**400], ("nan", '"\\ud800"', "an integer of 1329 bits")),
        ([{1: 2}, {"a": [1]}], ("an object with 1 key", {"a": [1]})),
        ([], ()),
    ],
)
def test_values_seen_are_json(value: Any, seen: tuple[Any, ...]) -> None:
    """What a test looked at is shown as JSON, or described where it is none."""
    node = only_test("any args.a == 1", {"a": value})
    assert node.seen == seen
    json.dumps(node.to_json(), allow_nan=False).encode()


def test_where_nothing_matches() -> None:
    """The default and its line explain what no rule decided; so do the fixed rules."""
    trace = explain_decision(compile_text(BUNDLE), Facts(TOOL, "drop"))
    assert (trace.decision.rule_id, trace.source) == ("default", 'default deny because "not listed"')
    assert {rule.outcome for rule in trace.rules} == {RuleOutcome.OTHER_SUBJECT}
    assert explain_decision(compile_text(BUNDLE), Facts("local", "drop")).decision.rule_id == "local"
    assert explain_decision(permissive_policy(), Facts(TOOL, "drop")).decision.rule_id == "permissive"


def test_values_of_known_sets() -> None:
    """The values that can be told one by one are listed, as of the submission and bounded."""
    history = History([Evidence(n, TOOL, "list", {}, [{"to": f"p{n}", "from": "me"}]) for n in range(100)])
    facts = Facts(TOOL, "pay", input="pay zoe", history=history, as_of=2)
    policy = compile_text(BUNDLE)
    assert known_values(policy, facts) == {"payees": ["ann", "bob", "p0", "p1"]}
    facts.as_of = None
    assert len(known_values(policy, facts)["payees"]) == 50
