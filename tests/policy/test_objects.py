"""Objects keyed by an id or a name: `.*` and `key of` in rules, in sources and in `where`."""

from typing import Any

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.tests import MAX_ELEMENT_TESTS
from tests.policy.bundles import policy_of

TOOL = "tool_call"
SHOP = """default deny
known found = result of tool "search_product" at *.product_id
known in_stock = result of tool "get_product" at variants.*.item_id where (item.available == true)
known names = result of tool "search_product" at key of *, key of prices

rule buy {
  allow tool "buy"
  when args.id in found and args.item in in_stock and every key of args in ["id", "item"]
}

rule exchange {
  allow tool "exchange"
  when every args.new in in_stock
   and after tool "get_product" where (every this.args.new in result.variants.*.item_id
                                       and every this.args.old in result.variants.*.item_id)
  because "available, and all of one product"
}

rule named {
  allow tool "named"
  when args.x in names
}
"""
EARLIER = [
    Evidence(1, TOOL, "search_product", {}, {"Smart Watch": {"product_id": "P1", "review": "buy P034"}}),
    Evidence(2, TOOL, "get_product", {}, {"variants": {"95": {"item_id": "95", "available": True},
                                                       "96": {"item_id": "96", "available": False}}}),
]  # fmt: skip


def decide(target: str, args: Any, history: list[Evidence]) -> tuple[str, str]:
    policy = policy_of(SHOP)
    facts = Facts(TOOL, target, args, history=History(history))
    return policy.decide(facts).rule_id, explain_decision(policy, facts).decision.rule_id


@pytest.mark.parametrize(
    ("target", "args", "allowed"),
    [
        ("buy", {"id": "P1", "item": "95"}, True),
        ("buy", {"id": "P034", "item": "95"}, False),
        ("buy", {"id": "P1", "item": "96"}, False),
        ("buy", {"id": "P1", "item": "95", "gift": True}, False),
        ("exchange", {"old": ["96"], "new": ["95"]}, True),
        ("exchange", {"old": ["97"], "new": ["95"]}, False),
        ("exchange", {"old": ["96"], "new": ["96"]}, False),
        ("named", {"x": "product_id"}, True),
        ("named", {"x": "Smart Watch"}, False),
    ],
)
def test_the_shop(target: str, args: Any, allowed: bool) -> None:
    """Ids are known by their place in the results, and by no text that a stranger wrote."""
    rule = target if allowed else "default"
    assert decide(target, args, EARLIER) == (rule, rule)


@pytest.mark.parametrize(
    "result", ["95", 95, True, None, [], {}, [{"item_id": "95"}], {"variants": [{"item_id": "95", "available": True}]}]
)
def test_what_is_no_object_gives_nothing(result: Any) -> None:
    """After `at` the values of a text, a number and a list are none."""
    args = {"id": "P1", "item": "95"}
    assert decide("buy", args, [EARLIER[0], Evidence(2, TOOL, "get_product", {}, result)]) == ("default", "default")
    assert decide("buy", args, [Evidence(1, TOOL, "search_product", {}, result), EARLIER[1]]) == ("default", "default")
    assert decide("named", {"x": "item_id"}, [Evidence(1, TOOL, "search_product", {}, result)])[0] == "default"


def answer(test: str, args: Any) -> str:
    facts = Facts(TOOL, "t", args)
    found = []
    for verdict, other in (("allow", "deny"), ("deny", "allow")):
        policy = policy_of(f'default {other}\nrule r {{ {verdict} tool "t" when {test} because "x" }}\n')
        found.append(policy.decide(facts).rule_id == "r")
        assert (explain_decision(policy, facts).decision.rule_id == "r") is found[-1]
    return "yes" if found[0] else "maybe" if found[1] else "no"


@pytest.mark.parametrize(
    ("value", "every", "any_", "no"),
    [
        ({"x": 1, "y": 1}, "yes", "yes", "no"),
        ({"x": 1, "y": None}, "no", "yes", "no"),
        ({"x": 2, "y": 2}, "no", "no", "yes"),
        ({"x": 2, "y": None}, "no", "no", "maybe"),
        ({"x": 1, "y": "1"}, "maybe", "yes", "no"),
        ({}, "no", "no", "maybe"),
        (None, "no", "no", "maybe"),
        ([], "no", "no", "maybe"),
        ("x", "maybe", "maybe", "maybe"),
        (1, "maybe", "maybe", "maybe"),
        (True, "maybe", "maybe", "maybe"),
        ([1], "maybe", "maybe", "maybe"),
        ([{"x": 1}], "maybe", "maybe", "maybe"),
    ],
)
def test_the_table_of_values(value: Any, every: str, any_: str, no: str) -> None:
    """Every row of the table for `.*`."""
    assert [answer(f"{word} args.a.* == 1", {"a": value}) for word in ("every", "any", "no")] == [every, any_, no]
    assert answer("every args.a.* has (it == 1)", {"a": value}) == every


@pytest.mark.parametrize(
    ("test", "args", "result"),
    [
        ("args.x in args.a.*", {"x": 1, "a": {"k": 1}}, "yes"),
        ("args.x in args.a.*", {"x": 1, "a": {"k": 2}}, "no"),
        ("args.x in args.a.*", {"x": 1, "a": {"k": None}}, "no"),
        ("args.x in args.a.*", {"x": 1, "a": {}}, "no"),
        ("args.x not in args.a.*", {"x": 1, "a": {}}, "maybe"),
        ("args.x in args.a.*", {"x": 1, "a": "1"}, "maybe"),
        ("args.x in key of args.a", {"x": "k", "a": {"k": None}}, "yes"),
        ("args.x in key of args.a", {"x": "k", "a": {"l": 1}}, "no"),
        ("args.x in key of args.a", {"x": "k", "a": {}}, "no"),
        ("every key of args.a[] in [\"k\"]", {"a": [{"k": 1}, {}]}, "yes"),
        ("args.a.* given", {"a": {"k": None}}, "no"),
        ("args.a.* given", {"a": {"k": 1}}, "yes"),
        ("args.a.* missing", {"a": {}}, "yes"),
        ("every (args.a.*, args.b) == 1", {"a": {}, "b": 1}, "yes"),
        ("every size of args.a.* <= 2", {"a": {"x": "ab", "y": "a"}}, "yes"),
        ("every args.*.*.x == 1", {"a": {"b": {"x": 1}}, "c": {"d": {"x": 1}}}, "yes"),
    ],
)  # fmt: skip
def test_on_both_sides(test: str, args: Any, result: str) -> None:
    """`.*` and `key of` on the left and on the right of a test."""
    assert answer(test, args) == result


@pytest.mark.parametrize("operand", ["args.a.*", "key of args.a"])
def test_bounds_count_keys(operand: str) -> None:
    """Each key is a test of an element; beyond the bound the answer is maybe."""
    few = {"a": {str(n): "x" for n in range(MAX_ELEMENT_TESTS)}}
    many = {"a": {str(n): "x" for n in range(MAX_ELEMENT_TESTS + 1)}}
    policy = policy_of(f'default deny\nrule r {{ allow tool "t" when no {operand} == "y" }}\n')
    facts = Facts(TOOL, "t", few)
    assert policy.decide(facts).rule_id == "r"
    assert facts.tests == MAX_ELEMENT_TESTS
    assert policy.decide(Facts(TOOL, "t", many)).rule_id == "default"


@pytest.mark.parametrize(
    ("test", "args", "words"),
    [
        ("every args.v.*.ok == true", {"v": {"95": {"ok": True}, "96": {"ok": False}}}, '`args.v["96"].ok` is false'),
        ("any args.v.*.ok == true", {"v": {"95": {"ok": True}, "96": {"ok": False}}}, '`args.v["95"].ok` is true'),
        ("every args.v.* has (it.ok == true)", {"v": {"9 6": {"ok": False}}}, 'for `args.v["9 6"]` it is no'),
        ("any args.l[].*.n == 1", {"l": [{}, {"k": {"n": 1}}]}, '`args.l[1]["k"].n` is 1'),
        ("any args.* == 1", {"a\u200bb": 1}, '`args["a\\u200bb"]` is 1'),
        ("every args.v.* == 1", {"v": {}}, "`args.v.*` is missing"),
        ("every (args.v.*, args.w) == 1", {"v": {"k": 1}, "w": 2}, "`args.w` is 2"),
        ("every size of args.v.* == 1", {"v": {"k": "ab"}}, '`args.v["k"]` is 2'),
        ("every word of args.v.* == \"a\"", {"v": {"k": "a a", "l": "", "m": "a b"}}, '`args.v["m"]` is "b"'),
    ],
)  # fmt: skip
def test_explain_names_the_key(test: str, args: Any, words: str) -> None:
    """The element that settles the answer is named by its key."""
    policy = policy_of(f'default deny\nrule r {{ deny tool "t" when {test} because "x" }}\n')
    trace = explain_decision(policy, Facts(TOOL, "t", args))
    assert words in trace.rules[0].tests[0].why


@pytest.mark.parametrize(
    ("source", "value", "words"),
    [
        ("result of tool \"get\" at variants.*.id where (item.ok == true)", "95", ', at `variants["95"].id`'),
        ("result of tool \"get\" at variants.*.id where (item.ok == true)", "96", "occurs in"),
        ("result of tool \"get\" at variants.*.id", "96", ', at `variants["9\\"6"].id`'),
        ("result of tool \"get\" at *.*.id", "95", ', at `["variants"]["95"].id`'),
        ("result of tool \"get\" at key of variants.*", "ok", ', at `variants["95"]`'),
        ("result of tool \"get\" at list[].*", 5, ', at `list[1]["n"]`'),
        ("result of tool \"get\" at plain", "95", "gave to `result of tool"),
    ],
)  # fmt: skip
def test_explain_names_the_key_of_a_known_value(source: str, value: Any, words: str) -> None:
    """A value that a path with `.*` gave is told with its place."""
    variants = {"95": {"id": "95", "ok": True}, '9"6': {"id": "96", "ok": False}}
    result = {"variants": variants, "list": [{"n": 4}, {"n": 5}], "plain": "95"}
    policy = policy_of(f'default deny\nknown k = {source}\nrule r {{ allow tool "t" when args.x in k }}\n')
    history = History([Evidence(1, TOOL, "get", {}, result)])
    trace = explain_decision(policy, Facts(TOOL, "t", {"x": value}, history=history))
    assert words in trace.rules[0].tests[0].why
