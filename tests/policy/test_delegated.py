"""In an execution that another one began, a value of the input is never surely known."""

import json

import pytest

from rebuno.errors import ValidationError
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.testing.cases import run_cases
from rebuno.policy.testing.reader import parse_cases, read_submission
from rebuno.policy.values.json_values import Tri
from rebuno.testing import assert_decision
from tests.policy.bundles import again, policy_of

INPUT = {"request": "Pay 40 to DE75 on May 5, see https://a.example/x, ask ana@corp.example", "n": 7}


def ask(test: str, args: object, *, parent: str, source: str = "input") -> Tri:
    """What a test says: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}"
    )
    evidence = [Evidence(1, "tool_call", "list", {}, ["DE75"]), Evidence(2, "tool_call", "pay", {"to": "DE75"})]
    facts = Facts("tool_call", "t", args, input=INPUT, parent=parent, history=History(evidence))
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("source", ["input", "input.request or input"])
def test_a_value_of_a_delegated_input_is_maybe(test: str, value: object, source: str) -> None:
    """In every construct that asks for it; what a client wrote is sure."""
    assert ask(test, {"v": value}, parent="", source=source) is True
    assert ask(test, {"v": value}, parent="helper", source=source) is None
    assert ask(f"not ({test})", {"v": value}, parent="helper", source=source) is None


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


def test_the_trace_says_why() -> None:
    """`explain` tells that another execution passed the value on."""
    policy = policy_of("known k = input\nrule r { allow any step when args.v in k }")
    trace = explain_decision(policy, Facts("tool_call", "t", {"v": "DE75"}, input=INPUT, parent="helper"))
    assert "another execution passed on" in trace.rules[0].tests[0].why
