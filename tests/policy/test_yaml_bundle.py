"""YAML bundles: what is read, how it is written as rules, and that the rules decide as the bundle does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import BundleError
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import compile_policy
from rebuno.policy.format.format import format_bundle
from rebuno.policy.interop.yaml_convert import convert_yaml_bundle, rules_source
from rebuno.policy.interop.yaml_notations import UnreadableError, duration, glob, seconds
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source, read_source
from tests.policy.bundles import policy_of
from tests.policy.yaml_reading import verdict

STRICTNESS = {"allow": 0, "require_approval": 1, "deny": 2}


def converted(text: str, stem: str = "made") -> str:
    """The rules of a YAML text, without errors and in the one layout."""
    source = convert_yaml_bundle(Source(text, f"{stem}.yaml", stem))
    bundle, found = parse_bundle(source)
    assert [str(d) for d in [*found, *check_bundle(bundle)] if d.severity is Severity.ERROR] == []
    assert format_bundle(source) == source.text
    return source.text


def rule(when: str = "{}", then: str = "{decision: allow}", more: str = "") -> str:
    """The one rule of a bundle, as it is written."""
    text = converted(f"rules:\n- {{id: r, {more} when: {when}, then: {then}}}\n")
    return text.partition("rule r {\n")[2].removesuffix("}\n")


WRITTEN = [
    ("{step_kind: llm_call}", '  allow llm "*"\n', "a kind alone"),
    ("{}", "  allow any step\n", "no test at all"),
    ("{step_kind: tool_call, target: 'a*'}", '  allow tool "a*"\n', "one pattern"),
    ("{target: a}", '  allow tool "a" or llm "a" or local "a"\n', "a target says nothing of the kind"),
    ("{step_kind: local, targets: [a, 'b?']}", '  allow local "a", "b?"\n', "several patterns"),
    ("{step_kind: tool_call, target: '[^a-z]'}", '  allow tool "[!a-z]"\n', "classes are negated otherwise"),
    (
        "{step_kind: tool_call, target: a, targets: ['b*', c]}",
        '  allow tool "a"\n  when target like ["b*", "c"]\n',
        "a target and targets must both match",
    ),
    ("{agent_id: x}", '  allow any step\n  when agent == "x"\n', "an agent"),
    ("{agent_ids: [x, 7]}", '  allow any step\n  when agent in ["x", "7"]\n', "agents; plain words are text"),
]


@pytest.mark.parametrize(("when", "expected", "reason"), WRITTEN, ids=[case[2] for case in WRITTEN])
def test_what_a_rule_is_about(when: str, expected: str, reason: str) -> None:
    """Kinds, targets and agents in our words."""
    assert rule(when) == expected, reason


TESTS = [
    ("{equals: 1.50}", '== "1.50"', "a plain number is the text that stands there"),
    ("{equals: 'a\\b\"'}", '== "a\\\\b\\""', "quotes and backslashes"),
    ('{equals: "\\u200b"}', '== "\\u200b"', "what cannot be seen is escaped"),
    ("{contains: x}", 'contains "x"', "a part"),
    ("{one_of: [a, true]}", 'in ["a", "true"]', "one of several"),
    ("{regex: '^a.b$'}", 'matches r"(?s:.*)(?-s:^a.b$)(?s:.*)"', "a search, `.` without line breaks"),
    ("{regex: '\\Qa.'}", 'matches r"(?s:.*)(?-s:\\Qa.\\E)(?s:.*)"', "an open quotation is closed"),
    ("{regex: '\\\\Qa'}", 'matches r"(?s:.*)(?-s:\\\\Qa)(?s:.*)"', "an escaped backslash opens none"),
    ("{regex: '\"'}", 'matches "(?s:.*)(?-s:\\")(?s:.*)"', "a quote takes a plain string"),
]


@pytest.mark.parametrize(("wanted", "expected", "reason"), TESTS, ids=[case[2] for case in TESTS])
def test_what_an_argument_must_say(wanted: str, expected: str, reason: str) -> None:
    """Each constraint is a test of the argument's text."""
    said = rule(f"{{arguments: {{a: {wanted}}}}}")
    assert f"any text of args.a {expected}\n" in said, reason


CLAUSES = [
    ("{decision: deny, reason: 'no'}", '  deny any step\n  because "no"\n', "a reason"),
    (
        "{decision: allow, rate_limit: {max_calls: 5, window: 90s}}",
        "  allow any step\n  limit 5 per 1m30s if unavailable allow\n",
        "the limiter fails open there, and closed here unless it is said",
    ),
    (
        "{decision: require_approval, rate_limit: {max_calls: 1, window: 1h, per_what: global, max_wait: 1.5m,"
        " on_limiter_error: deny}, approval_config: {approvers: [a, b], timeout: 5m, message: sure?}}",
        "  require approval for any step\n"
        "  limit 1 per 1h for all agents together else wait up to 1m30s if unavailable deny\n"
        '  approvers "a", "b"\n  expires 5m\n  message "sure?"\n',
        "everything that an approval may hold",
    ),
    (
        "{decision: allow, budget: {max_tokens: 200, on_exceed: require_approval}, approval_config: {message: m}}",
        '  allow any step\n  budget 200 tokens per execution else require approval\n  message "m"\n',
        "a budget that asks",
    ),
    (
        "{decision: deny, rate_limit: {max_calls: 1, window: 1h}, budget: {max_tokens: 1}, approval_config: {}}",
        "  deny any step\n",
        "what has no effect is left out",
    ),
]


@pytest.mark.parametrize(("then", "expected", "reason"), CLAUSES, ids=[case[2] for case in CLAUSES])
def test_what_a_rule_grants(then: str, expected: str, reason: str) -> None:
    """Reasons, limits, budgets and approvals in our words."""
    assert rule(then=then) == expected, reason


def test_a_bundle_is_written_rule_by_rule_under_ids_of_our_own() -> None:
    """Each rule names the one it is from; ids that we do not have are changed, and stay apart."""
    text = converted(
        "default_action: allow\nrules:\n"
        "- {id: 'web search', priority: 20, when: {step_kind: tool_call, target: b}, then: {decision: deny}}\n"
        "- {id: web-search, priority: 30, when: {step_kind: tool_call, target: c}, then: {decision: deny}}\n"
        "- {id: default, priority: -1, when: {step_kind: tool_call, target: a}, then: {decision: deny, budget:"
        " {max_tokens: 1}}}\n",
        "my bundle",
    )
    assert text == (
        "# From a YAML bundle.\nbundle my-bundle\ndefault allow\n\n"
        '# Rule "default", line 5.\n# Its `budget` is left out: only a rule that allows has one.\n'
        'rule rule-default {\n  deny tool "a"\n}\n\n'
        '# Rule "web search", line 3.\nrule web-search {\n  deny tool "b"\n}\n\n'
        '# Rule "web-search", line 4.\nrule web-search-2 {\n  deny tool "c"\n}\n'
    )


REFUSED = [
    ("[]", "1:1: error[yaml-bundle]: a bundle is no mapping", "another shape"),
    ("", "1:1: error[yaml-bundle]: the file is empty", "nothing"),
    ("rules: [", "error[yaml-bundle]: this is not YAML", "torn"),
    ("defualt_action: deny", "1:1: error[yaml-bundle]: a bundle has no key `defualt_action` (did you mean", "a key"),
    ("default_action: alow", "1:17: error[yaml-bundle]: `default_action` cannot be `alow` (did you mean", "a default"),
    ("rules:\n- {then: {decision: deny}}", "2:3: error[yaml-bundle]: a rule needs the key `id`", "no id"),
    ("rules:\n- {id: a, when: {}}", "a rule needs the key `then`", "no `then`"),
    ("rules:\n- {id: a, then: {}}", "`then` needs the key `decision`", "no decision"),
    ("rules:\n- {id: a, then: {decision: ask}}", "`decision` cannot be `ask`", "a verdict that we do not have"),
    ("rules:\n- {id: a, when: {tool: x}, then: {decision: deny}}", "`when` has no key `tool`", "an unknown test"),
    ("rules:\n- {id: a, when: {target: ''}, then: {decision: deny}}", "an empty `target` would match", "no target"),
    ("rules:\n- {id: a, when: {targets: []}, then: {decision: deny}}", "an empty `targets` would match", "no targets"),
    ("rules:\n- {id: a, when: {target: '[b'}, then: {decision: deny}}", "`target`: the class begun", "a torn class"),
    ("rules:\n- {id: a, when: {arguments: {b: {}}}, then: {decision: deny}}", "asked for nothing", "no constraint"),
    ("rules:\n- {id: a, when: {arguments: {b: {equals: ''}}}, then: {decision: deny}}", "an empty `equals`", "empty"),
    ("rules:\n- {id: a, when: {arguments: {b: {regex: '('}}}, then: {decision: deny}}", "no RE2 expression", "a regex"),
    ("rules:\n- {id: a, when: {arguments: {b: {equals: [c]}}}, then: {decision: deny}}", "is no text", "a list"),
    (
        "rules:\n- {id: a, then: {decision: allow, rate_limit: {max_calls: 0, window: 1m}}}",
        "`max_calls` is no whole number from 1 on",
        "a limit of nothing",
    ),
    (
        "rules:\n- {id: a, then: {decision: allow, rate_limit: {max_calls: 1, window: 100ms}}}",
        "`window`: `100ms` is no whole number of seconds",
        "a part of a second",
    ),
    (
        "rules:\n- {id: a, then: {decision: allow, rate_limit: {max_calls: 1, window: 1m, per_what: user}}}",
        "`per_what` cannot be `user`",
        "a scope that we do not have",
    ),
    (
        "rules:\n- {id: a, then: {decision: deny}}\n- {id: a, then: {decision: deny}}",
        "3:3: error[yaml-bundle]: two rules have the id `a`; the first is at line 2",
        "one id twice",
    ),
    (
        "rules:\n- {id: a, priority: 1, then: {decision: deny}}\n- {id: b, priority: 1, then: {decision: deny}}",
        "two rules have the priority `1`",
        "one priority twice",
    ),
    (
        "rules:\n- {id: a, priority: 1, then: {decision: deny}}\n- {id: b, then: {decision: deny}}",
        "some rules have a `priority` and some have none",
        "half of the priorities",
    ),
]


@pytest.mark.parametrize(("text", "message", "reason"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_is_no_bundle_is_refused_with_its_line(text: str, message: str, reason: str) -> None:
    """Unknown keys, and whatever would match more than its author meant."""
    with pytest.raises(BundleError) as caught:
        convert_yaml_bundle(Source(text, "a.yaml"))
    assert message in "\n".join(map(str, caught.value.diagnostics)), reason


def test_all_mistakes_are_told_at_once() -> None:
    """One run is enough."""
    with pytest.raises(BundleError) as caught:
        convert_yaml_bundle(Source("a: 1\nb: 2\nrules:\n- {id: c, then: {decision: x}}\n", "a.yaml"))
    assert [finding.span.line for finding in caught.value.diagnostics] == [1, 2, 4]


@pytest.mark.parametrize("path", ["a.yaml", "a.yml"])
def test_a_path_says_whether_a_bundle_is_converted(path: str) -> None:
    """The kernel takes both."""
    source = Source("rules: []", path, "a")
    assert rules_source(source).text == "# From a YAML bundle.\nbundle a\ndefault deny\n"
    assert rules_source(Source("rules: []", "a.rbp")).text == "rules: []"


def test_a_yaml_bundle_is_a_policy_like_any_other(tmp_path: Path) -> None:
    """Alone or as a layer, from its file; its mistakes are told beside those of other bundles."""
    (tmp_path / "shell.yaml").write_text("rules:\n- {id: a, when: {target: ls}, then: {decision: allow}}\n")
    (tmp_path / "bad.yml").write_text("rule: []\n")
    shell, bad = read_source(tmp_path / "shell.yaml"), read_source(tmp_path / "bad.yml")
    decision = compile_policy([shell]).decide(Facts("tool_call", "ls", {}))
    assert (decision.verdict.value, decision.rule_id, decision.bundle) == ("allow", "a", "shell")
    layers = compile_policy([shell, Source("default deny", "b.rbp", "b")])
    assert layers.decide(Facts("tool_call", "ls", {})).bundle == "b"
    with pytest.raises(BundleError) as caught:
        compile_policy([bad, shell, Source("default", "b.rbp", "b")])
    assert [d.path for d in caught.value.diagnostics] == [bad.path, "b.rbp"]


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("60000ms", 60), (".5m", 30), ("1.m", 60)]
)
def test_durations_of_go(text: str, expected: int) -> None:
    """Whatever comes to whole seconds, and it is the same once it is written our way."""
    assert seconds(text) == expected
    assert seconds(duration(expected).replace("d", "h")) == expected


@pytest.mark.parametrize("text", ["", "5", "m", "1x", "0s", "-1s", "1h 5m", "1.5s", "100000h", "1" * 200 + "s", "1e3s"])
def test_what_is_no_duration(text: str) -> None:
    """Other units, parts of seconds, nothing, more than ten years."""
    with pytest.raises(UnreadableError):
        seconds(text)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("a*?", "a*?"), ("[^!-]", None), ("[!a]", "[\\!a]"), ("[\\]^]", "[\\]\\^]"), ("a\\", None), ("[]a]", None),
     ("[z-a]", None), ("[a-]", None), ("[", None), ("\\[a", "\\[a"), ("a]", "a]")],
)  # fmt: skip
def test_globs_of_go(pattern: str, expected: str | None) -> None:
    """Classes are written otherwise there; what cannot be read is refused, as it is there."""
    if expected is not None:
        assert glob(pattern) == expected
        return
    with pytest.raises(UnreadableError):
        glob(pattern)


# ---------------------------------------------------------------- the two readings

TARGETS = ["a", "ab", "a/b", "b", "[a]", "é"]
AGENTS = ["x", "y", ""]
SAID = ["a", "b", "ab", "1", "1.0", "true", "null", "a\nb", "[", '"a"', "é"]
scalars: st.SearchStrategy[Any] = st.sampled_from(
    ["a", "b", "ab", "a\nb", "1", "", "true", "é", 1, 1.0, -1, 0.5, True, False]
)
odd: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from(["a", "b"]), scalars, max_size=2)
)
wanted = st.fixed_dictionaries(
    {},
    optional={
        "equals": st.sampled_from(SAID),
        "contains": st.sampled_from(SAID),
        "one_of": st.lists(st.sampled_from(SAID), min_size=1, max_size=3),
        "regex": st.sampled_from(["a", "^a$", "a.b", "^[^;]*$", "\\d", "(?i)A|b", "a(?s).b", "^$|e", "\\Qa"]),
    },
).filter(bool)
whens = st.fixed_dictionaries(
    {},
    optional={
        "target": st.sampled_from(["a", "a*", "[^a]*", "\\[a]", "?", "*"]),
        "targets": st.lists(st.sampled_from(["a", "*b", "[a-c]", "é"]), min_size=1, max_size=2),
        "agent_id": st.sampled_from(AGENTS[:2]),
        "agent_ids": st.lists(st.sampled_from(AGENTS[:2]), min_size=1, max_size=2),
        "step_kind": st.sampled_from(["tool_call", "tool_call", "llm_call", "local"]),
        "arguments": st.dictionaries(st.sampled_from(["p", "q", "odd key"]), wanted, min_size=1, max_size=2),
    },
)
decisions = st.sampled_from(["allow", "deny", "require_approval"])


@st.composite
def yaml_bundles(draw: st.DrawFn) -> str:
    """A bundle of up to four rules, as JSON, which is YAML too."""
    asked = draw(st.lists(st.tuples(whens, decisions), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(asked))))
    priorities = draw(st.booleans())
    rules = [
        {"id": f"r{n}", **({"priority": order[n]} if priorities else {}), "when": when, "then": {"decision": decision}}
        for n, (when, decision) in enumerate(asked)
    ]
    return json.dumps({"default_action": draw(st.sampled_from(["allow", "deny"])), "rules": rules})


def _decided(text: str, kind: str, target: str, args: Any, agent: str) -> str:
    policy = policy_of(convert_yaml_bundle(Source(text, "made.yaml", "made")).text)
    return str(policy.decide(Facts(kind, target, args, agent=agent)).verdict.value)


def _arguments(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional={"p": values, "q": values, "odd key": values})


kinds = st.sampled_from(["tool_call", "tool_call", "llm_call", "local"])


@settings(max_examples=200)
@given(yaml_bundles(), kinds, st.sampled_from(TARGETS), _arguments(scalars), st.sampled_from(AGENTS))
def test_plain_arguments_get_the_same_verdict(text: str, kind: str, target: str, args: Any, agent: str) -> None:
    """Strings, numbers and truth values are compared alike."""
    assert _decided(text, kind, target, args, agent) == verdict(text, kind, target, args, agent)


UNKNOWN = [
    ("allow", "deny", "", "deny", "an allow rule does not match"),
    ("allow", "allow", "deny", "deny", "and what comes after it decides"),
    ("deny", "allow", "", "deny", "a deny rule matches"),
    ("require_approval", "allow", "", "require_approval", "an approval rule asks where nothing stricter comes"),
    ("require_approval", "deny", "", "deny", "it does not match where everything after it is as strict"),
    ("require_approval", "allow", "deny", "deny", "where both come after it the step is denied"),
    ("require_approval", "deny", "allow", "deny", "whichever comes first"),
]


@pytest.mark.parametrize(("decision", "default", "after", "expected", "reason"), UNKNOWN, ids=[u[4] for u in UNKNOWN])
@pytest.mark.parametrize("value", [["a"], {"a": 1}, None, []], ids=str)
def test_a_value_that_is_not_plain_falls_on_the_strict_side(
    value: Any, decision: str, default: str, after: str, expected: str, reason: str
) -> None:
    """Whatever its text would be there, no step passes by giving a list, an object or null."""
    rules = [{"id": "r", "when": {"step_kind": "tool_call", "arguments": {"p": {"contains": "a"}}}}]
    rules[0]["then"] = {"decision": decision}
    if after:
        rules.append({"id": "s", "when": {"arguments": {"q": {"equals": "x"}}}, "then": {"decision": after}})
        rules.append({"id": "t", "when": {"step_kind": "tool_call"}, "then": {"decision": after}})
    text = json.dumps({"default_action": default, "rules": rules})
    assert _decided(text, "tool_call", "t", {"p": value}, "") == expected, reason


@settings(max_examples=200)
@given(
    yaml_bundles(),
    kinds,
    st.sampled_from(TARGETS),
    st.one_of(_arguments(st.one_of(scalars, odd)), odd, scalars),
    st.sampled_from(AGENTS),
)
def test_other_arguments_never_get_a_wider_one(text: str, kind: str, target: str, args: Any, agent: str) -> None:
    """Lists, objects and null, inside the arguments or in their place, are never a way around a rule."""
    ours, theirs = _decided(text, kind, target, args, agent), verdict(text, kind, target, args, agent)
    assert STRICTNESS[ours] >= STRICTNESS[theirs]
