"""Who let a call in whose result is trusted, and what ties an item to a name: `allowed`, `approved`, and warnings."""

from typing import Any

import pytest

from rebuno.policy.analysis.tool_schemas import read_tools
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.check.tools import check_tools
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Bundle
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import policy_of
from tests.policy.test_known import TOOL, ask
from tests.policy.test_known_through_known import decided


def found(who: str, **more: Any) -> Evidence:
    return Evidence(3, TOOL, "search", {"to": "b"}, [{"id": "a"}], let_in=who, **more)


@pytest.mark.parametrize(
    ("word", "let_in", "answer"),
    [
        ("", "allowed", True),
        ("", "approved", True),
        ("", "", True),
        ("allowed ", "allowed", True),
        ("allowed ", "approved", False),
        ("allowed ", "", None),
        ("approved ", "allowed", False),
        ("approved ", "approved", True),
        ("approved ", "", None),
    ],
)
def test_who_let_the_call_in(word: str, let_in: str, answer: Tri) -> None:
    """A call that ran though nothing let it in gives possible values, where somebody is asked for."""
    source = f'result of {word}tool "search" at [].id'
    facts = Facts(TOOL, "t", history=History([found(let_in)]))
    assert ask(source, "a", facts) is answer
    assert ask(f'result of {word}tool "search" words at [].id', "a", facts) is answer
    assert ask(f'{source} where (item.id == "x")', "a", facts) is False
    assert ask(f"{source} where (item.id == 5)", "a", facts) is (answer and None)
    assert ask('result of tool "other" at x or ' + source, "a", facts) is answer


@pytest.mark.parametrize(("let_in", "answer"), [("allowed", True), ("approved", False), ("", None)])
def test_through_another_set(let_in: str, answer: Tri) -> None:
    """An item that waits for another set keeps who let its own call in."""
    policy = policy_of(
        'known k = result of tool "seed" at []\n'
        'known m = result of allowed tool "search" at [].id where (item.id in k)\n'
        "rule sure { allow any step when args.v in m }\nrule perhaps { deny any step when args.v in m }"
    )
    history = History([found(let_in), Evidence(5, TOOL, "seed", {}, ["a"])])
    facts = Facts(TOOL, "t", {"v": "a"}, history=history)
    assert decided(policy, facts) == {True: "sure", None: "perhaps", False: "default"}[answer]
    facts.as_of = 5
    assert decided(policy, facts) == "default"


SHOP = """
bundle shop
default deny
known asked = input.request
known found = result of allowed tool "search" at [].id

rule search { allow tool "search" when args.query in asked }
rule buy { allow tool "buy" when args.id in found }
rule ask { require approval for tool "search", "buy" because "a person decides" }
"""


@pytest.mark.parametrize(("let_in", "rule"), [("allowed", "buy"), ("approved", "ask"), ("", "ask")])
def test_a_harmless_search_that_a_person_let_in_launders_nothing(let_in: str, rule: str) -> None:
    """What a search found that a person let in is not trusted."""
    assert check_bundle(parse_bundle(Source(SHOP))[0]) == []
    facts = Facts(TOOL, "buy", {"id": "a"}, input={"request": "shoes"}, history=History([found(let_in)]))
    assert decided(policy_of(SHOP), facts) == rule


# ------------------------------------------------ warnings


def bundle(text: str) -> Bundle:
    whole, syntax = parse_bundle(Source(f"bundle b\ndefault deny\n{text}"))
    assert syntax == []
    return read_soft_roots(whole)


def warnings(text: str) -> list[str]:
    return [str(one.code) for one in check_bundle(bundle(text))]


@pytest.mark.parametrize(
    ("source", "asks", "laundered"),
    [
        ('result of tool "search" at x', 'tool "search"', True),
        ('result of tool "search*" at x', 'tool "*_all", "x"', True),
        ('result of tool "search" at x', "any step", True),
        ('["a"] or result of tool "other", "search" at x', 'tool "search"', True),
        ('result of allowed tool "search" at x', 'tool "search"', False),
        ('result of approved tool "search" at x', 'tool "search"', False),
        ('approved tool "search" at x', 'tool "search"', False),
        ('result of tool "search" at x', 'tool "buy"', False),
        ('result of tool "search" at x', 'llm "search"', False),
    ],
)
def test_laundered(source: str, asks: str, laundered: bool) -> None:
    """A warning where a person's yes to one call would make its result trusted."""
    allow = 'rule r { allow tool "z" when args.a in k }'
    asking = f'rule ask {{ require approval for {asks} because "x" }}'
    assert warnings(f"known k = {source}\n{allow}\n{asking}") == (["laundered"] if laundered else [])


@pytest.mark.parametrize(("head", "expected"), [("", []), ('when args.a == "x"', ["laundered"])])
def test_what_an_earlier_rule_always_decides_is_not_asked(head: str, expected: list[str]) -> None:
    """No person lets in what a rule without a condition lets in."""
    text = (
        'known k = result of tool "search" at x\nrule r { allow tool "z" when args.a in k }\n'
        f'rule s {{ allow tool "search", "find" {head} }}\n'
        'rule ask { require approval for tool "se*" because "x" }'
    )
    assert [code for code in warnings(text) if code != "late-approval"] == expected


@pytest.mark.parametrize(
    ("where", "untied"),
    [
        ("every word of item.sender in asked", True),
        ("any word of item.from.name in asked", True),
        ("every word of item.sender in both", True),
        ("every word of item.sender in word of input.request", True),
        ("every word of item.sender in asked and any word of item.subject in asked", True),
        ("every word of item.name in asked", False),  # the items have no sender, for all that is known
        ("every word of item.sender in asked and item.sender in friends", False),
        ("item.sender in asked", False),
        ("every word of item.sender in friends", False),
        ('every word of item.sender in ["bob"]', False),
        ("every word of args.sender in asked", False),
        ("item.sender == agent", False),
    ],
)
def test_untied_name(where: str, untied: bool) -> None:
    """A warning where a stranger can sign with the name that the user wrote."""
    text = (
        'known asked = input.request or turns\nknown friends = ["bob"]\nknown both = friends or asked\n'
        f'known k = result of tool "mail" at [].id where ({where})\n'
        'rule r { allow tool "z" when args.a in k and args.b in asked and args.b in both and args.b in friends }'
    )
    assert warnings(text) == (["untied-name"] if untied else [])


def test_another_source_says_that_items_have_a_sender() -> None:
    """What is said of the tool's items in one place holds in another."""
    text = (
        "known asked = input.request\n"
        'known k = result of tool "mail" at [].id where (every word of item.name in asked)\n'
        'known m = result of tool "m*" at [].sender\nrule r { allow tool "z" when args.a in k and args.b in m }'
    )
    assert warnings(text) == ["untied-name"]


@pytest.mark.parametrize(
    ("output", "untied"),
    [
        ({"type": "array", "items": {"type": "object", "properties": {"sender": {"type": "string"}}}}, True),
        ({"properties": {"mails": {"items": {"anyOf": [{"properties": {"from": {}}}]}}}}, True),
        ({"properties": {"mails": {"items": {"properties": {"name": {}}}}}}, False),
        ({"properties": "sender"}, False),
        (None, False),
    ],
)
def test_the_schema_of_the_result_says_that_items_have_a_sender(output: Any, untied: bool) -> None:
    """With the schemas of the tools the warning knows more."""
    tools = read_tools([{"name": "mail", "inputSchema": {}, "outputSchema": output}, {"name": "z"}])
    text = (
        "known asked = input.request\n"
        'known k = result of tool "mail" at [].id where (every word of item.name in asked)\n'
        'rule r { allow tool "z" when args.a in k }'
    )
    assert [str(one.code) for one in check_tools(bundle(text), tools)] == (["untied-name"] if untied else [])
