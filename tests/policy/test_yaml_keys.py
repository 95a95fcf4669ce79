"""Each key of a YAML bundle is read as it is published, or refused by its name; a key with dots is a way and a name."""

import json
from itertools import product
from typing import Any

import pytest

from rebuno.errors import BundleError
from rebuno.policy.compile import compile_policy
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.interop.yaml_bundle import read_yaml_bundle
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.source import Source


def verdict(text: str, args: Any, kind: str = "tool_call", target: str = "deploy", agent: str = "a") -> str:
    """What a bundle decides, in both evaluators."""
    policy = compile_policy([Source(text, "b.yaml", "b")])
    facts = Facts(kind, target, args, agent=agent)
    decided = policy.decide(facts)
    trace = explain_decision(policy, facts).decision
    assert (trace.verdict, trace.rule_id) == (decided.verdict, decided.rule_id)
    return str(decided.verdict.value)


def bundle(decision: str, arguments: Any, default: str = "deny") -> str:
    """A bundle of one rule, as JSON, which is YAML too."""
    rule = {"id": "r", "when": {"target": "deploy", "arguments": arguments}, "then": {"decision": decision}}
    return json.dumps({"default_action": default, "rules": [rule]})


ENVIRONMENT = {"config.environment": {"equals": "production"}}
# Where the argument stands, and whether the way and the name have the value that is asked for; None: it is not there.
PLACES = [
    ({"config": {"environment": "production"}}, True, None),
    ({"config": {"environment": "staging"}}, False, None),
    ({"config.environment": "production"}, None, True),
    ({"config.environment": "staging"}, None, False),
    ({"config": {"environment": "production"}, "config.environment": "production"}, True, True),
    ({"config": {"environment": "production"}, "config.environment": "staging"}, True, False),
    ({"config": {"environment": "staging"}, "config.environment": "production"}, False, True),
    ({"config": {"environment": "staging"}, "config.environment": "staging"}, False, False),
    ({"config": {"other": 1}, "config.environment": "production"}, None, True),
    ({"config": {"environment": None}, "config.environment": "production"}, False, True),
    ({"config": {"environment": "production"}, "config.environment": None}, True, False),
    ({"config": {"environment": ["production"]}, "config.environment": "production"}, False, True),
    ({"config": {}}, None, None),
    ({"environment": "production"}, None, None),
    ({}, None, None),
]


@pytest.mark.parametrize(("args", "way", "name"), PLACES, ids=lambda value: json.dumps(value))
def test_a_key_with_dots_is_read_on_its_stricter_side(args: Any, way: bool | None, name: bool | None) -> None:
    """A deny or approval rule matches if the way or the name does, an allow rule only if both do, where both are
    there."""
    there = [found for found in (way, name) if found is not None]
    allowed = verdict(bundle("allow", ENVIRONMENT), args) == "allow"
    assert allowed is (bool(there) and all(there))
    if None in args.values() or args.get("config", {}).get("environment", "") is None or "[" in json.dumps(args):
        assert verdict(bundle("deny", ENVIRONMENT, "allow"), args) == "deny"  # cannot be compared
        return
    assert (verdict(bundle("deny", ENVIRONMENT, "allow"), args) == "deny") is any(there)
    assert (verdict(bundle("require_approval", ENVIRONMENT, "allow"), args) == "require_approval") is any(there)
    assert (verdict(bundle("require_approval", ENVIRONMENT, "deny"), args) == "require_approval") is any(there)


@pytest.mark.parametrize(
    ("constraint", "passes", "fails"),
    [
        ({"equals": "5"}, [5, "5"], [6, "a", True]),
        ({"equals": "true"}, [True, "true"], [False, "True"]),
        ({"contains": "prod"}, ["production", "x-prod"], ["staging", "Prod"]),
        ({"one_of": ["a", "b"]}, ["a", "b"], ["ab", "c"]),
        ({"regex": "^p.*n$"}, ["production"], ["staging", "pn\n"]),
        ({"contains": "o", "regex": "^p"}, ["production"], ["staging", "p", "o"]),
    ],
)
def test_each_constraint_on_a_way(constraint: Any, passes: list[Any], fails: list[Any]) -> None:
    """All that one asks of an argument can be asked of one inside an object."""
    for value, hit in [*((value, True) for value in passes), *((value, False) for value in fails)]:
        for args in ({"a": {"b": {"c": value}}}, {"a.b.c": value}):
            assert (verdict(bundle("allow", {"a.b.c": constraint}), args) == "allow") is hit
            assert (verdict(bundle("deny", {"a.b.c": constraint}, "allow"), args) == "deny") is hit


@pytest.mark.parametrize("args", [{"config": "production"}, {"config": [{"environment": "production"}]}, 5, None])
def test_a_way_that_leads_nowhere_is_no_way_around(args: Any) -> None:
    """What stands where an object should is in doubt: nothing is allowed, and nothing slips past a rule that denies."""
    assert verdict(bundle("allow", ENVIRONMENT), args) == "deny"
    assert verdict(bundle("deny", ENVIRONMENT, "allow"), args) == ("allow" if args is None else "deny")
    assert verdict(bundle("require_approval", ENVIRONMENT, "deny"), args) == "deny"


def test_several_keys_must_all_match() -> None:
    """Ways and names of one rule are asked for together."""
    text = bundle("allow", {"a.b": {"equals": "1"}, "c": {"equals": "2"}, "a.d": {"equals": "3"}})
    for b, c, d in product("19", "29", "39"):
        assert (verdict(text, {"a": {"b": b, "d": d}, "c": c}) == "allow") is ((b, c, d) == ("1", "2", "3"))


# ---------------------------------------------------------------- every key, taken or refused


def _judge(more: str) -> str:
    return f"rules:\n- {{id: r, then: {{decision: judge, judge: {more}}}}}\n"


def _then(more: str) -> str:
    return f"rules:\n- {{id: r, then: {{decision: allow, {more}}}}}\n"


def _when(more: str) -> str:
    return f"rules:\n- {{id: r, when: {{{more}}}, then: {{decision: allow}}}}\n"


TAKEN = [
    ("default_action: allow\n", {}, "allow"),
    ("default_action: deny\n", {}, "deny"),
    ("rules: []\n", {}, "deny"),
    ("rules:\n- {id: r, then: {decision: allow}}\n", {}, "allow"),
    (_when(""), {}, "allow"),
    ("rules:\n- {id: r, when: , then: {decision: allow}}\n", {}, "allow"),
    (_when("target: 'dep*'"), {}, "allow"),
    (_when("targets: [x, deploy]"), {}, "allow"),
    (_when("agent_id: a"), {}, "allow"),
    (_when("agent_ids: [b, a]"), {}, "allow"),
    (_when("agent_ids: [b]"), {}, "deny"),
    (_when("step_kind: tool_call"), {}, "allow"),
    (_when("step_kind: llm_call"), {}, "deny"),
    (_when("step_kind: local"), {}, "deny"),
    (_when("arguments: {}"), {}, "allow"),
    ("rules:\n- {id: r, then: {decision: judge}}\n", {}, "require_approval"),
    (_judge("{}"), {}, "require_approval"),
    (_judge("{instructions: a container, threshold: 0.6, fallback: allow}"), {}, "require_approval"),
    (_judge("{threshold: 1, fallback: deny}"), {}, "require_approval"),
    (_then("budget: {max_tokens: 5, scope: execution}"), {}, "allow"),
    (_then("approval_config: {approvers: []}"), {}, "allow"),
    (_when("arguments: {a: {equals: no}}"), {"a": "no"}, "allow"),
    (_when("arguments: {a: {equals: no}}"), {"a": False}, "deny"),
    (_when("arguments: {a: {equals: 012}}"), {"a": "012"}, "allow"),
    (_when("arguments: {a: {equals: 0o14}}"), {"a": 12}, "deny"),
    (_when("arguments: {a: {equals: 1_0}}"), {"a": 10}, "deny"),
    (_when("arguments: {a: {equals: 2025-01-01}}"), {"a": "2025-01-01"}, "allow"),
    (_when("arguments: {a: {equals: '~'}}"), {"a": "~"}, "allow"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "args", "expected"), TAKEN)
def test_what_is_taken(text: str, args: Any, expected: str) -> None:
    """Each published key has its published meaning; plain words of YAML 1.1 stand for themselves."""
    assert verdict(text, args) == expected


REFUSED = [
    ("policy: x\n", "a bundle has no key `policy`"),
    ("version: 1\n", "a bundle has no key `version`"),
    ("default_action: ~\n", "`default_action` is no text"),
    ("default_action: require_approval\n", "`default_action` cannot be `require_approval`"),
    ("default_action: [deny]\n", "`default_action` is no text"),
    ("default_action: true\n", "`default_action` cannot be `true`"),
    ("rules: {}\n", "`rules` is no list"),
    ("rules:\n", "`rules` is no list"),
    ("rules: [a]\n", "a rule is no mapping"),
    ("rules:\n- {id: r, name: x, then: {decision: allow}}\n", "a rule has no key `name`"),
    ("rules:\n- {id: r, enabled: no, then: {decision: allow}}\n", "a rule has no key `enabled`"),
    ("rules:\n- {id: r, unless: {}, then: {decision: allow}}\n", "a rule has no key `unless`"),
    ("rules:\n- {id: [r], then: {decision: allow}}\n", "`id` is no text"),
    ("rules:\n- {id: r, priority: 1.5, then: {decision: allow}}\n", "`priority` is no whole number"),
    ("rules:\n- {id: r, priority: 012, then: {decision: allow}}\n", "`priority` is no whole number"),
    ("rules:\n- {id: r, then: allow}\n", "`then` is no mapping"),
    ("rules:\n- {id: r, then: {decision: Allow}}\n", "`decision` cannot be `Allow`"),
    ("rules:\n- {id: r, then: {decision: yes}}\n", "`decision` cannot be `yes`"),
    ("rules:\n- {id: r, then: {decision: [allow]}}\n", "`decision` is no text"),
    (_judge("{model: m}"), "`judge` has no key `model`"),
    (_judge("5"), "`judge` is no mapping"),
    (_judge("{threshold: 2}"), "`threshold` is no number from 0 to 1"),
    (_judge("{threshold: true}"), "`threshold` is no number from 0 to 1"),
    (_judge("{threshold: '0.5'}"), "`threshold` is no number from 0 to 1"),
    (_judge("{fallback: ask}"), "`fallback` cannot be `ask`"),
    (_judge("{instructions: [a]}"), "`instructions` is no text"),
    (_then("judge: {threshold: 0.5}"), "`judge` stands beside `decision: judge` only"),
    (_then("rule_id: x"), "`then` has no key `rule_id`"),
    (_then("message: x"), "`then` has no key `message`"),
    (_then("approvers: [x]"), "`then` has no key `approvers`"),
    (_then("reason: [x]"), "`reason` is no text"),
    (_then("reason: "), "`reason` is no text"),
    (_then("rate_limit: 5"), "`rate_limit` is no mapping"),
    (_then("rate_limit: {max_calls: 5}"), "`rate_limit` needs the key `window`"),
    (_then("rate_limit: {window: 1m}"), "`rate_limit` needs the key `max_calls`"),
    (_then("rate_limit: {max_calls: '5', window: 1m}"), "`max_calls` is no whole number"),
    (_then("rate_limit: {max_calls: 5.0, window: 1m}"), "`max_calls` is no whole number"),
    (_then("rate_limit: {max_calls: true, window: 1m}"), "`max_calls` is no whole number"),
    (_then("rate_limit: {max_calls: 0x5, window: 1m}"), "`max_calls` is no whole number"),
    (_then("rate_limit: {max_calls: -1, window: 1m}"), "`max_calls` is no whole number"),
    (_then("rate_limit: {max_calls: 5, window: 60}"), "`window`: `60` is no duration"),
    (_then("rate_limit: {max_calls: 5, window: 1 minute}"), "`window`: `1 minute` is no duration"),
    (_then("rate_limit: {max_calls: 5, window: 500ms}"), "`window`: `500ms` is no whole number of seconds"),
    (_then("rate_limit: {max_calls: 5, window: 1500ms}"), "`window`: `1500ms` is no whole number of seconds"),
    (_then("rate_limit: {max_calls: 5, window: 1m, per_what: user}"), "`per_what` cannot be `user`"),
    (_then("rate_limit: {max_calls: 5, window: 1m, max_wait: 0s}"), "`max_wait`: `0s` is no whole number of seconds"),
    (_then("rate_limit: {max_calls: 5, window: 1m, on_limiter_error: open}"), "`on_limiter_error` cannot be `open`"),
    (_then("rate_limit: {max_calls: 5, window: 1m, burst: 5}"), "`rate_limit` has no key `burst`"),
    (_then("budget: 5"), "`budget` is no mapping"),
    (_then("budget: {}"), "`budget` needs the key `max_tokens`"),
    (_then("budget: {max_tokens: 5, scope: global}"), "`scope` cannot be `global`"),
    (_then("budget: {max_tokens: 5, on_exceed: wait}"), "`on_exceed` cannot be `wait`"),
    (_then("budget: {max_tokens: 5, max_cost: 1}"), "`budget` has no key `max_cost`"),
    (_then("approval_config: [x]"), "`approval_config` is no mapping"),
    (_then("approval_config: {quorum: 2}"), "`approval_config` has no key `quorum`"),
    (_then("approval_config: {approvers: x}"), "`approvers` is no list"),
    (_then("approval_config: {approvers: ['']}"), "an empty `approvers`"),
    (_then("approval_config: {timeout: 5}"), "`timeout`: `5` is no duration"),
    (_then("approval_config: {message: {a: b}}"), "`message` is no text"),
    (_when("tool: x"), "`when` has no key `tool`"),
    (_when("kind: llm_call"), "`when` has no key `kind`"),
    (_when("target: [x]"), "`target` is no text"),
    (_when("target: ~"), "`target` is no text"),
    (_when("target: Null"), "`target` is no text"),
    (_when("targets: x"), "`targets` is no list"),
    (_when("targets: [[x]]"), "`targets` is no text"),
    (_when("agent_id: [x]"), "`agent_id` is no text"),
    (_when("agent_ids: x"), "`agent_ids` is no list"),
    (_when("step_kind: tool"), "`step_kind` cannot be `tool`"),
    (_when("step_kind: [tool_call]"), "`step_kind` is no text"),
    (_when("arguments: [a]"), "`arguments` is no mapping"),
    (_when("arguments: "), "`arguments` is no mapping"),
    (_when("arguments: {a: x}"), "the argument `a` is no mapping"),
    (_when("arguments: {a: }"), "the argument `a` is no mapping"),
    (_when("arguments: {a: {equals: x, not: y}}"), "the argument `a` has no key `not`"),
    (_when("arguments: {a: {gt: 5}}"), "the argument `a` has no key `gt`"),
    (_when("arguments: {config: {environment: {equals: x}}}"), "the argument `config` has no key `environment`"),
    (_when("arguments: {a: {equals: }}"), "`equals` is no text"),
    (_when("arguments: {a: {equals: null}}"), "`equals` is no text"),
    (_when("arguments: {a: {equals: ~}}"), "`equals` is no text"),
    (_when("arguments: {a: {equals: NULL}}"), "`equals` is no text"),
    (_when("arguments: {a: {contains: ''}}"), "an empty `contains`"),
    (_when("arguments: {a: {one_of: x}}"), "`one_of` is no list"),
    (_when("arguments: {a: {one_of: []}}"), "an empty `one_of`"),
    (_when("arguments: {a: {one_of: [~]}}"), "`one_of` is no text"),
    (_when("arguments: {a: {regex: '(?=x)'}}"), "no RE2 expression"),
    (_when("arguments: {a: {regex: ''}}"), "an empty `regex`"),
    (_when("arguments: {'': {equals: x}}"), "has an empty name"),
    (_when("arguments: {.a: {equals: x}}"), "has an empty name"),
    (_when("arguments: {a.: {equals: x}}"), "has an empty name"),
    (_when("arguments: {a..b: {equals: x}}"), "has an empty name"),
    (_when("arguments: {'items[0]': {equals: x}}"), "the argument `items[0]` is no name"),
    (_when("arguments: {'items[].id': {equals: x}}"), "the argument `items[].id` is no name"),
    (_when("arguments: {items.*.id: {equals: x}}"), "the argument `items.*.id` is no name"),
    (_when("arguments: {'items.#.id': {equals: x}}"), "the argument `items.#.id` is no name"),
    (_when("arguments: {$.config: {equals: x}}"), "the argument `$.config` is no name"),
    (_when("arguments: {/config/environment: {equals: x}}"), "the argument `/config/environment` is no name"),
    (_when("arguments: {a: {equals: x}, a: {equals: y}}"), "the key `a` appears twice"),
    (_when("target: x, target: y"), "the key `target` appears twice"),
    (_when("arguments: {<<: {a: {equals: x}}}"), "a merge key (`<<`) is not read"),
    ("x: &x {decision: allow}\nrules:\n- {id: r, then: {<<: *x}}\n", "`then` has no key `<<`"),
    (_when("target: !!str x"), "the tag `tag:yaml.org,2002:str` is not read"),
    (_when("target: !x y"), "the tag `!x` is not read"),
    (_when("? [a] : x"), "is not text"),
    (_when("1: x"), "the key `1` is not text"),
    (_when("target: *x"), "`*x` names no earlier anchor"),
    ("rules: []\n---\nrules: []\n", "a second document starts here"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused_by_name(text: str, message: str) -> None:
    """What is not understood is an error at load that names it, at every level, and never a rule that asks for less."""
    with pytest.raises(BundleError) as caught:
        compile_policy([Source(text, "b.yaml", "b")])
    assert message in "\n".join(map(str, caught.value.diagnostics))


def test_an_alias_is_read_as_what_it_stands_for() -> None:
    """Anchors and aliases are YAML, and mean the same in each place."""
    text = (
        "rules:\n- {id: r, when: &w {target: a}, then: {decision: deny}}\n- {id: s, when: *w, then: {decision: allow}}"
    )
    assert [rule.targets for rule in read_yaml_bundle(Source(text, "b.yaml")).rules] == [(("a",),)] * 2


def test_a_judge_is_a_person_and_said_to_be() -> None:
    """`decision: judge` asks a person, with a warning and a comment."""
    found = read_yaml_bundle(Source("rules:\n- {id: r, then: {decision: judge}}\n", "b.yaml"))
    (warning,) = found.warnings
    assert str(warning).startswith("b.yaml:2:28: warning[yaml-bundle]: `decision: judge` is read as `require_approval`")
