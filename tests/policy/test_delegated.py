"""In an execution that another one began, a value of the input is known for sure only if the user wrote it as well."""

import json
from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import compile_policy
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.diagnostics import Code
from rebuno.policy.syntax.link import link_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.testing.cases import run_cases
from rebuno.policy.testing.reader import parse_cases, read_submission
from rebuno.policy.values.json_values import UNREADABLE, Tri
from rebuno.testing import assert_decision
from tests.policy.bundles import again, policy_of

INPUT = {"request": "Pay 40 to DE75 on May 5, see https://a.example/x, ask ana@corp.example", "n": 7}


def ask(test: str, args: object, *, parent: str, source: str = "input", **more: Any) -> Tri:
    """What a test says: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}"
    )
    evidence = [Evidence(1, "tool_call", "list", {}, ["DE75"]), Evidence(2, "tool_call", "pay", {"to": "DE75"})]
    facts = Facts("tool_call", "t", args, input=INPUT, parent=parent, history=History(evidence), **more)
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


CONSTRUCTS = pytest.mark.parametrize(
    ("test", "value"),
    [
        ("args.v in k", "DE75"),
        ("args.v in k", 40),
        ("args.v in k", 7),
        ("args.v in k ignoring case", "de75"),
        ("every args.v in k", ["DE75", "40"]),
        ("any args.v has (it in k)", ["DE75"]),
        ("date of args.v in k", "2025-05-05"),
        ("number of args.v in k", "40"),
        ("host of args.v in k", "https://a.example/other"),
        ("every link of args.v in k", "https://a.example/x"),
        ("domain of args.v in k", "zoe@corp.example"),
        ('after tool "pay" where (args.to in k)', "x"),
        ('count(tool "pay" where (args.to in k)) >= 1', "x"),
    ],
)


@CONSTRUCTS
@pytest.mark.parametrize("source", ["input", "input.request or input"])
def test_a_value_of_a_delegated_input_is_maybe(test: str, value: object, source: str) -> None:
    """In every construct that asks for it; what a client wrote is sure."""
    assert ask(test, {"v": value}, parent="", source=source) is True
    assert ask(test, {"v": value}, parent="helper", source=source) is None
    assert ask(f"not ({test})", {"v": value}, parent="helper", source=source) is None


@CONSTRUCTS
@pytest.mark.parametrize(
    "root",
    [
        {"root_input": INPUT},
        {"root_input": {"other": 1}, "root_turns": [INPUT["request"], "and 7 more"]},
        {"read_args": {"agent": "payer", "input": [INPUT]}},
    ],
)
def test_what_the_user_wrote_to_the_root_is_sure(test: str, value: object, root: dict[str, Any]) -> None:
    """In the root's input, in its turns, or in arguments that a person read: by the same test."""
    assert ask(test, {"v": value}, parent="planner", **root) is True
    assert ask(f"not ({test})", {"v": value}, parent="planner", **root) is False


@pytest.mark.parametrize(
    ("value", "root", "answer"),
    [
        ("DE75", {"root_input": {"request": "Pay 40 to DE75"}}, True),
        ("DE75", {"root_input": {"request": "Pay 40", "note": "DE75"}}, None),
        ("DE75", {"root_input": "DE75"}, None),
        ("DE75", {"root_input": {"request": "Pay 40 to DE756"}}, None),
        ("DE75", {"root_input": {"request": "pay 40 to de75"}}, None),
        ("DE75", {"root_input": {"request": "Pay 40"}, "root_turns": ["To DE75, please"]}, True),
        ("DE75", {"root_input": None, "root_turns": [], "read_args": {"to": "x"}}, None),
        ("DE75", {}, None),
        (40, {"root_input": {"request": "Pay forty"}}, None),
        (40, {"root_input": {"request": 40}}, True),
        # What the user wrote to the root and the parent left out is not passed on.
        ("XX99", {"root_input": {"request": "XX99"}, "root_turns": ["XX99"], "read_args": {"to": "XX99"}}, False),
    ],
)
def test_it_stands_at_the_same_path(value: object, root: dict[str, Any], answer: Tri) -> None:
    """The root's input counts at the path of the source, its turns and what a person read count as a whole."""
    assert ask("args.v in k", {"v": value}, parent="planner", source="input.request", **root) is answer


def test_one_history_asked_with_more_and_more_turns() -> None:
    """The same policy and history, asked as of several moments: as if each were the first."""
    policy = policy_of("known k = input.request or turns\nrule r { allow any step when args.v in k }\ndefault deny")
    history = History([Evidence(1, "tool_call", "list", {}, [])])
    said = [None, ["DE75"], ["DE75", "XX99"], None, ["DE75"]]
    for turns, *wanted in zip(said, [0, 1, 1, 0, 1], [0, 0, 1, 0, 0], strict=True):
        for value, sure in zip(["DE75", "XX99"], wanted, strict=True):
            facts = Facts("tool_call", "t", {"v": value}, input={"request": "x"}, history=history, turns=turns)
            assert (policy.decide(facts).rule_id == "r") is bool(sure)
            assert explain_decision(policy, again(facts)).decision.rule_id == policy.decide(facts).rule_id


@pytest.mark.parametrize(
    ("test", "turns", "answer"),
    [
        ('any turns[] contains "cancel"', ["pay", "cancel it"], True),
        ('any turns[] contains "cancel"', ["pay"], False),
        ('any turns[] contains "cancel"', None, False),
        ('no turns[] contains "cancel"', None, None),
        ('no turns[] contains "cancel"', ["pay"], True),
        ("turns missing", None, True),
        ("turns given", ["x"], True),
        ("size of turns >= 2", ["x", "y"], True),
        ("args.v in turns[]", ["DE75", "x"], True),
        ("args.v in turns", ["DE75", "x"], True),
        ('turns[0] == "DE75"', ["DE75", "x"], True),
        ('after tool "pay" where (any turns[] contains args.to)', ["not DE75"], True),
        ('after tool "pay" where (any turns[] contains args.to)', ["no"], False),
        ("args.v in k", ["DE75, please"], True),
        ("args.v in k", None, False),
        ("args.v in k", ["de75"], None),
        ("date of args.d in k", ["on May 5"], True),
    ],
)
def test_turns_are_a_list_of_texts(test: str, turns: list[str] | None, answer: Tri) -> None:
    """As a root of direct tests, and as a source; absent until there is one."""
    args = {"v": "DE75", "d": "2025-05-05"}
    assert ask(test, args, parent="", source="input.nothing or turns", turns=turns) is answer


@pytest.mark.parametrize(
    ("test", "parent", "answer"),
    [
        ("parent missing", "", True),
        ("parent missing", "planner", False),
        ("parent missing", UNREADABLE, None),
        ('parent == "planner"', "planner", True),
        ('parent == "planner"', "other", False),
        ('parent == "planner"', "", False),
        ('parent != "planner"', "", None),
        ('parent == "planner"', UNREADABLE, None),
        ('parent in ["planner", "x"]', "planner", True),
        ('parent like "plan*"', "planner", True),
        ("args.v == parent", "planner", True),
        ('after tool "pay" where (parent == "planner")', "planner", True),
    ],
)
def test_the_parent_is_an_agent(test: str, parent: Any, answer: Tri) -> None:
    """Absent where a client began the execution, and maybe where nobody knows who did."""
    assert ask(test, {"v": "planner"}, parent=parent) is answer


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rule r { allow any step when parent.x == 1 }", Code.BAD_PATH),
        ("rule r { allow any step when turns[] contains 'x' }".replace("'", '"'), Code.MISSING_QUANTIFIER),
        ("known k = parent\nrule r { allow any step when args.v in k }", Code.BAD_SOURCE),
        ("known k = turns\nrule r { deny any step when any text of args contains any k }", Code.BAD_SOURCE),
    ],
)
def test_check_knows_the_roots(text: str, code: Code) -> None:
    """What makes no sense is an error by its name."""
    found = check_bundle(link_bundle(Source(text))[0])
    assert code in [finding.code for finding in found]


def test_other_sources_stay_sure() -> None:
    """Lists and results are what they were, and what nobody wrote is not known; a direct test tests a parameter."""
    assert ask("args.v in k", {"v": "DE75"}, parent="p", source='input or ["DE75"]') is True
    assert ask("args.v in k", {"v": "DE75"}, parent="p", source='input or result of tool "list" at []') is True
    assert ask("args.v in k", {"v": "XX99"}, parent="p") is False
    assert ask('input.request contains "DE75"', {}, parent="p") is True


def test_cases_and_submissions_say_who_began_it() -> None:
    """A case file, a submission and `assert_decision` name the parent."""
    bundle = 'default deny\nknown k = input\nrule known { allow tool "pay" when args.to in k }\n'
    asked = {"target": "pay", "args": {"to": "DE75"}, "input": "Pay DE75"}
    cases = parse_cases({"cases": [{**asked, "expect": "allow"}, {**asked, "parent": "helper", "expect": "deny"}]})
    report = run_cases(policy_of(bundle), cases.cases)
    assert [result.passed for result in report.results] == [True, True]
    submission = read_submission({**asked, "parent": "helper"})
    assert json.loads(json.dumps(submission.to_json()))["parent"] == "helper"
    assert submission.facts().parent == "helper"
    with pytest.raises(ValidationError, match="parent"):
        read_submission({**asked, "parent": 5})
    assert_decision(policy_of(bundle), "allow", "pay", asked["args"], input=asked["input"])
    assert_decision(policy_of(bundle), "deny", "pay", asked["args"], input=asked["input"], parent="helper")
    root: dict[str, Any] = {"parent": "helper", "root_input": "DE75, please"}
    assert_decision(policy_of(bundle), "allow", "pay", asked["args"], input=asked["input"], **root)
    said = policy_of(bundle.replace("= input", "= turns"))
    assert_decision(said, "allow", "pay", asked["args"], turns=["DE75"])
    assert_decision(said, "deny", "pay", asked["args"])


def test_the_trace_says_why() -> None:
    """`explain` tells that another execution passed the value on."""
    policy = policy_of("known k = input\nrule r { allow any step when args.v in k }")
    trace = explain_decision(policy, Facts("tool_call", "t", {"v": "DE75"}, input=INPUT, parent="helper"))
    assert "another execution passed on" in trace.rules[0].tests[0].why


def test_a_ceiling_for_children_and_rights_of_their_own_can_both_be_had() -> None:
    """An outer layer binds planner and builder; the builder's own bundle may give what the planner has not; and a rule
    may ask whose child it is."""
    outer = 'bundle outer\ndefault allow\nrule never { deny tool "write" when args.path contains "secret" }\n'
    planner = 'bundle planner\ndefault deny\nrule read { allow tool "read" }\n'
    builder = (
        "bundle builder\ndefault deny\n"
        'rule write { allow tool "write" when parent == "planner" }\n'
        'rule alone { require approval for tool "write" when parent missing }\n'
    )

    def verdict(own: str, path: str, parent: str) -> str:
        policy = compile_policy([Source(outer, "outer.rbp"), Source(own, "own.rbp")])
        return policy.decide(Facts("tool_call", "write", {"path": path}, parent=parent)).verdict.value

    assert verdict(planner, "a.py", "") == "deny"
    assert verdict(builder, "a.py", "planner") == "allow"
    assert verdict(builder, "a.py", "other") == "deny"
    assert verdict(builder, "a.py", "") == "require_approval"
    assert verdict(builder, "secret.py", "planner") == "deny"
    assert verdict(planner, "secret.py", "") == "deny"
