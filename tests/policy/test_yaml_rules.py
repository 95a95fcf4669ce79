"""The quick reading of a YAML bundle's rules is that of the grammar, to the place of each node."""

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings

from rebuno.policy.compile import compile_policy
from rebuno.policy.interop.yaml_convert import convert_yaml_bundle, rules_source
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.restore import restore_policy
from rebuno.policy.syntax.converted import read_rules
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.text import Lines, Place
from rebuno.policy.syntax.tree import Span
from tests.policy.test_yaml_bundle import yaml_bundles


def whole(node: Any) -> Any:
    """A node with all its fields, places as well."""
    if isinstance(node, Span):  # also one that counts its lines late
        return ["Span", *(getattr(node, field.name) for field in dataclasses.fields(node))]
    if dataclasses.is_dataclass(node):
        return [type(node).__name__, *(whole(getattr(node, field.name)) for field in dataclasses.fields(node))]
    return [whole(one) for one in node] if isinstance(node, tuple | list) else node


def test_a_place_is_the_span_that_its_lines_count() -> None:
    """Also where it is compared, kept in a set, copied or sent elsewhere before anyone has asked for its line."""
    lines = Lines("ab\ncd\nef\n", "b.rbp")
    counted, other = lines.span(4, 7), lines.span(4, 8)

    def place() -> Place:
        return Place(4, 7, lines)

    assert place() == counted
    assert counted == place()
    assert place() == place()
    assert place() != other
    assert other != place()
    assert {counted: "here"}[place()] == "here"
    assert repr(place()) == repr(counted)
    assert pickle.loads(pickle.dumps(place())) == counted == copy.deepcopy(place())
    assert [getattr(place(), field.name) for field in dataclasses.fields(Span)] == [2, 2, 3, 2, 4, 7, "b.rbp"]
    assert place().to(other) == counted.to(other)
    assert counted.to(place()) == counted
    with pytest.raises(AttributeError, match="colour"):
        place().colour  # noqa: B018


def same(text: str) -> bool:
    """Whether both readings of the rules of a YAML text give the same tree; the quick one may give none."""
    for source in (rules_source(Source(text, "b.yaml", "b")), convert_yaml_bundle(Source(text, "b.yaml", "b"))):
        quickly = read_rules(source.text, Lines(source.text, "b.rbp"))
        bundle, found = parse_bundle(Source(source.text, "b.rbp", "b"))
        assert found == []
        if quickly is not None and whole(quickly) != whole(bundle.statements):
            return False
    return True


@settings(max_examples=150)
@given(yaml_bundles())
def test_both_readings_give_one_tree(text: str) -> None:
    """Whatever a bundle asks, laid out or not."""
    assert same(text)
    made = rules_source(Source(text, "b.yaml", "b")).text
    assert read_rules(made, Lines(made, "b.rbp")) is not None


@pytest.mark.parametrize("decision", ["allow", "deny", "require_approval"])
@pytest.mark.parametrize("key", ["a", "a.b", "a.b.c", "odd key", 'a"b', "a\\b", "é", "\u200b", "and", "or"])
def test_keys_of_all_kinds(key: str, decision: str) -> None:
    """Names, ways, quotes and signs that cannot be seen."""
    when = {"arguments": {key: {"equals": 'x\ty"\\', "one_of": ["a", "b"], "regex": '"\\d'}}, "agent_id": "a"}
    assert same(json.dumps({"rules": [{"id": "r", "when": when, "then": {"decision": decision, "reason": "é\n"}}]}))


@pytest.mark.parametrize("decision", ["allow", "deny", "require_approval", "judge"])
@pytest.mark.parametrize(
    "more",
    [
        {"rate_limit": {"max_calls": 5, "window": "1h30m"}},
        {"rate_limit": {"max_calls": 1, "window": "90s", "per_what": "agent", "on_limiter_error": "deny"}},
        {"rate_limit": {"max_calls": 10**14, "window": "24h", "per_what": "global", "max_wait": "5m"}},
        {"rate_limit": {"max_calls": 2, "window": "1h", "per_what": "session"}},
        {"budget": {"max_tokens": 200_000, "scope": "session"}},
        {"budget": {"max_tokens": 200_000}},
        {"budget": {"max_tokens": 1, "on_exceed": "require_approval"}, "approval_config": {"approvers": ["a", "b"]}},
        {"approval_config": {"approvers": ['a"b'], "timeout": "5m", "message": "é\n\u200b"}},
        {"approval_config": {"approvers": [], "message": ""}},
    ],
)
def test_clauses_of_all_kinds(more: dict[str, Any], decision: str) -> None:
    """Limits, budgets and who is asked are read without the grammar too."""
    text = json.dumps({"rules": [{"id": "r", "then": {"decision": decision, "reason": "r", **more}}]})
    assert same(text)
    made = rules_source(Source(text, "b.yaml", "b")).text
    assert read_rules(made, Lines(made, "b.rbp")) is not None


@pytest.mark.parametrize(
    "text",
    [
        'rule r { allow tool "a" when args.a == "x" and args.b == "y" or args.c == "z" }',
        'rule r { allow tool "a" limit 5 per 1h }',
        'rule r { allow tool "a" limit 5 per execution if unavailable deny }',
        'rule r { allow tool "a" limit 05x per 1h if unavailable deny }',
        'rule r { allow tool "a" limit 1_000 per 1h if unavailable deny }',
        'rule r { allow tool "a" limit 5.5 per 1h if unavailable deny }',
        'rule r { allow tool "a" limit 5 per 1q if unavailable deny }',
        'rule r { allow tool "a" budget 5 tokens per execution else deny }',
        'rule r { allow tool "a" quorum 2 }',
        'rule r { allow tool "a" when args.a-b == "x" }',
        'rule r { allow tool "a" when not args.a == "x" }',
        'rule r { allow tool "a" when args.a [0] == "x" }',
        'rule r { allow tool "a" when args.a == 5 }',
        'rule r { allow tool "a" when ' + "(" * 30 + "args.a missing" + ")" * 30 + " }",
        'rule r { # a comment\n allow tool "a" }',
        'rule r { allow tool "a\\q" }',
        'rule r { allow tool "a"',
        "let x = 5",
        '"rule" r { allow tool "a" }',
    ],
)
def test_what_is_left_to_the_grammar(text: str) -> None:
    """Anything else of the language, and what has errors."""
    assert read_rules(text, Lines(text)) is None


def test_a_policy_is_restored_from_what_was_kept_of_it() -> None:
    """The rules that are kept make the same policy again; so does a text that was laid out."""
    policy = compile_policy([Source("rules:\n- {id: r, when: {target: a}, then: {decision: allow}}\n", "b.yaml", "b")])
    kept = [(source.path, source.text) for source in policy.sources]
    assert restore_policy(policy.digest, kept).decide(Facts("tool_call", "a", {})).rule_id == "r"
    laid_out = convert_yaml_bundle(
        Source("rules:\n- {id: r, when: {target: a}, then: {decision: allow}}\n", "b.yaml", "b")
    )
    assert compile_policy([laid_out]).decide(Facts("tool_call", "a", {})).rule_id == "r"


def test_ten_thousand_rules_are_taken() -> None:
    """A large bundle is read whole, and its last rule decides."""
    rules = [
        {"id": f"rule-{n}", "when": {"target": f"tool_{n}", "arguments": {"env": {"equals": "x" * 60}}}}
        | {"then": {"decision": "allow", "reason": "because"}}
        for n in range(10_000)
    ]
    text = json.dumps({"rules": rules})
    assert len(text) > 1 << 20
    policy = compile_policy([Source(text, "b.yaml", "b")])
    assert policy.decide(Facts("tool_call", "tool_9999", {"env": "x" * 60})).rule_id == "rule-9999"
    assert policy.decide(Facts("tool_call", "tool_9999", {"env": "x"})).rule_id == "default"
