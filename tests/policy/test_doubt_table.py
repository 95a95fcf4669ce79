"""Each source of doubt in each construct that carries it: no allow rule matches, and no deny rule fails to.

The sources are every predicate of the grammar and every facet of the registry over a value that they cannot look at,
and what makes a value of a set doubtful; the constructs are those of the grammar that a test may stand in. Two tests
hold the table to the grammar: a predicate, a facet or a construct that is new and not here fails them.
"""

from dataclasses import fields, is_dataclass
from typing import Any, get_args

import pytest

from rebuno.model.step import StepStatus
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets import registry
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax import tree as syntax
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Op
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"
PROLOGUE = """
known asked = input
known told = result of tool "list" at [].v where (item.by == "me")
known secret = result of tool "vault" at []
"""
# What no predicate can look at: a key of what is no object.
_OUT = "args.text.key"
PREDICATES = {
    Op.EQ: '== "x"', Op.NE: '!= "x"', Op.LT: "< 3", Op.LE: "<= 3", Op.GT: "> 3", Op.GE: ">= 3", Op.IN: 'in ["x"]',
    Op.LIKE: 'like "x*"', Op.MATCHES: 'matches r"x+"', Op.CONTAINS: 'contains "x"',
    Op.CONTAINS_ANY: 'contains any ["x"]',
    Op.STARTS: 'starts with "x"', Op.ENDS: 'ends with "x"', Op.UNDER: 'under "/x"', Op.GIVEN: "given",
    Op.MISSING: "missing", Op.IS: "is string", Op.HAS: 'has (it == "x")',
}  # fmt: skip
_BAD = {"text": "args.text.key", "size": "args.number", "email": "args.number", "link": "args.number",
        "key": "args.number"}  # fmt: skip
SETS = {
    "in another case": "args.bob in asked",
    "cut off a word": "args.neil in asked",
    "a group of digits": "args.group in asked",
    "a number cut off a word": "args.number in asked",
    "a day beside until": "date of args.day in asked",
    "a where in doubt": "args.said in told",
    "a value inside a word": "args.leak contains any secret",
    "a value that is escaped": "args.escaped contains any secret",
    "a text inside a list's text": 'args.list contains "ell"',
    "a truth value": "args.truth in asked",
    "another type": 'args.number == "5"',
    "no clock": 'during "Mon-Fri 09:00-17:00 Europe/London"',
    "a step that failed": 'after tool "failed"',
    "a count of it": 'count(tool "failed") >= 1',
    "a where of it": 'after tool "list" where (any result[].by == "you")',
    "a path of it": 'any target.key == "x"',
    "no time of it": 'after tool "vault" within 1h',
    "a step that may have come between": 'count(tool "vault" since tool "failed") >= 1',
    "a sum that may be more": 'sum(tool "paid", "failed" at args.n) >= 5',
    "a sum without a bound": 'sum(tool "vault" at args.n) >= 5',
    "this step's own number": 'sum(tool "paid" at args.n) + args.text >= 5',
    "how a step ended": 'after tool "failed" where (error.type == "X")',
    "who let a step in": 'after allowed tool "vault"',
    "a joined step": 'after tool "vault" where (after tool "failed" where (args.n == outer.args.n or args.n == 5))',
}
FACETS = {
    facet: f"{'any ' if found.many else ''}{facet} of {_BAD.get(facet, 'args.unread')} given"
    for facet in registry.facet_names()
    if (found := registry.find_facet(facet)) is not None
}
SOURCES = {
    **{
        f"predicate {op.value}": f"{'every ' if op is Op.HAS else ''}{_OUT} {words}" for op, words in PREDICATES.items()
    },
    **{f"facet {name}": test for name, test in FACETS.items()},
    **SETS,
}
YES, NO = "args.text given", "args.text missing"
# Conditions that come to what the test in them comes to, or to its opposite.
CONSTRUCTS = {
    "itself": "{}",
    "not": "not ({})",
    "not not": "not (not ({}))",
    "and": f"{YES} and ({{}})",
    "and before": f"({{}}) and {YES}",
    "or": f"{NO} or ({{}})",
    "or before": f"({{}}) or {NO}",
    "not and": f"not ({YES} and ({{}}))",
    "not or": f"not ({NO} or ({{}}))",
    "twice": "({0}) and ({0})",
    "it or its opposite": "({0}) or not ({0})",
    "it and its opposite": f"({NO} or ({{0}})) and ({NO} or not ({{0}}))",
    "named": "named",
    "not named": "not named",
}
# Blocks and a `where` know the arguments of the submission too, or of the step that they are about.
INSIDE = {
    "any block": "any args.one has ({})",
    "every block": "every args.one has ({})",
    "no block": "no args.one has ({})",
    "nested block": "any args.one has (every args.two has ({}))",
    "not block": "not every args.one has (not ({}))",
}


def facts() -> Facts:
    """The one submission that all sources of doubt are in."""
    evidence = [
        Evidence(1, TOOL, "list", {}, [{"v": "carol", "by": 5}]),
        Evidence(2, TOOL, "vault", {}, ["hunter2-77"]),
        Evidence(3, TOOL, "failed", {"n": 5}, status=StepStatus.FAILED),
        Evidence(3, TOOL, "paid", {"n": 3}),
        Evidence(4, TOOL, "list", {}, [{"v": "dave", "by": 5}], status=StepStatus.SUCCEEDED),
    ]
    args = {
        "text": "hello", "number": 5, "bob": "bob", "neil": "neil@x.example", "group": "0800", "day": "2025-05-05",
        "said": "carol", "leak": "k=hunter2-77", "escaped": "hunter2%2D77", "list": ["hello"], "truth": True,
        "one": [1], "two": [1, 2], "unread": {"a": 1},
    }  # fmt: skip
    given = {"request": "Ask BOB and o'neil@x.example about DE75 5121 0800 and o'5 until May 5"}
    return Facts(TOOL, "t", args, input=given, history=History(evidence))


def held(condition: str, named: str) -> None:
    """No allow matches, every deny does, as `when` and as `unless`: by both evaluators."""
    prologue = f"{PROLOGUE}condition named = {named}\n"
    for head in ("when", "unless"):
        allow = policy_of(f"default deny\n{prologue}rule a {{ allow any step {head} {condition} }}")
        deny = policy_of(f"default allow\n{prologue}rule d {{ deny any step {head} {condition} }}")
        ask = policy_of(f"default allow\n{prologue}rule d {{ require approval for any step {head} {condition} }}")
        for policy, rule in ((allow, "default"), (deny, "d"), (ask, "d")):
            asked = facts()
            assert policy.decide(asked).rule_id == rule, (head, condition)
            assert explain_decision(policy, again(asked)).decision.rule_id == rule, (head, condition)


@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("source", SOURCES)
def test_doubt_in_a_construct_stays_doubt(source: str, construct: str) -> None:
    """Whatever it is combined with that does not settle it."""
    held(CONSTRUCTS[construct].format(SOURCES[source]), SOURCES[source])


@pytest.mark.parametrize("construct", INSIDE)
@pytest.mark.parametrize(
    "source", [name for name, test in SOURCES.items() if not test.startswith(("after", "count", "sum", "during"))]
)
def test_doubt_in_a_block_stays_doubt(source: str, construct: str) -> None:
    """For every element, in nested blocks too."""
    held(INSIDE[construct].format(SOURCES[source]), YES)


# ---------------------------------------------------------------- the table and the grammar


def nodes(tree: Any) -> set[type]:
    """The types of all nodes of the table's bundles."""
    found: set[type] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif is_dataclass(node):
            found.add(type(node))
            waiting.extend(getattr(node, field.name) for field in fields(node))
    return found


def test_every_predicate_and_facet_is_in_the_table() -> None:
    """A predicate or a facet that is added must say what it does with doubt."""
    assert set(PREDICATES) == set(Op)
    assert set(FACETS) == set(registry.facet_names())


def test_every_kind_of_condition_is_in_the_table() -> None:
    """All kinds of expressions that the grammar has stand in it."""
    tests = [pattern.format(SOURCES["another type"]) for pattern in (*CONSTRUCTS.values(), *INSIDE.values())]
    text = "\n".join(f"condition c{n} = {test}" for n, test in enumerate([*tests, *SOURCES.values()]))
    bundle, found = parse_bundle(Source(text))
    assert not found
    assert set(get_args(syntax.Expr)) <= nodes(bundle.statements)
