"""`error` in a `where`, and `allowed` and `approved` before a subject: how an earlier step ended, and who let it in."""

from typing import Any

import pytest

from rebuno.model.step import StepStatus
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy import bundles as made

TOOL = "tool_call"
RAN, FAILED, STARTED = StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.EXECUTING
CANCELLED, DENIED = StepStatus.CANCELLED, StepStatus.DENIED
NOT_FOUND = {"type": "NotFound", "message": "nobody of that name"}


def ended(status: StepStatus = RAN, error: Any = None, done: bool | None = None, who: str | None = None) -> Facts:
    """A submission after one step of the tool `a`."""
    step = Evidence(1, TOOL, "a", {"n": 1}, {"ok": True}, status=status, error=error, nothing_done=done, let_in=who)
    return Facts(TOOL, "a", {"n": 1}, history=History([step]))


def asked(test: str, facts: Facts) -> Tri:
    """What a test comes to, once both evaluators have been heard, counted and asked anew."""
    found = []
    for added in ("", "this.args.n == 1"):
        if "where (" in test:
            expression = test.replace("where (", f"where ({added} and " if added else "where (")
        else:
            expression = test.replace('tool "a"', f'tool "a" where ({added})' if added else 'tool "a"')
        found.append(made.answer("", expression, facts))
        trace = explain_decision(made.policy_of(f"rule r {{ deny any step when {expression} }}"), made.again(facts))
        assert trace.rules[0].tests[0].answer == {True: "yes", False: "no", None: "maybe"}[found[-1]]
    assert found[0] is found[1]
    return found[0]


@pytest.mark.parametrize(
    ("facts", "missing", "kind", "clean"),
    [
        (ended(), True, False, None),  # of a success every part is absent: its negation is maybe
        (ended(FAILED, NOT_FOUND), False, None, None),
        (ended(FAILED, NOT_FOUND, False), False, None, None),
        (ended(FAILED, NOT_FOUND, True), False, None, False),
        (ended(FAILED), None, None, None),  # cut off: nobody recorded how it ended
        (ended(FAILED, {"reason": "indeterminate", "message": "?"}), None, None, None),
        (ended(FAILED, {"reason": "policy_revoked", "message": "?"}, True), None, None, None),
        (ended(FAILED, {"type": "subagent_failed", "message": "?"}), None, None, None),
        (ended(FAILED, "?"), None, None, None),
        (ended(CANCELLED, NOT_FOUND), None, None, None),
        (ended(STARTED), None, None, None),
        (ended(DENIED, NOT_FOUND), None, None, None),
    ],
)
def test_the_error_of_a_step(facts: Facts, missing: Tri, kind: Tri, clean: Tri) -> None:
    """It is absent after a success and unknown where nobody recorded a failure of the step itself."""
    assert asked('after tool "a" where (error missing)', facts) is missing
    assert asked('after tool "a" where (error.type == "NotFound")', facts) is kind
    assert asked('after tool "a" where (error.nothing_done != true)', facts) is clean
    assert asked('after tool "a" where (error.message starts with "nobody")', facts) is kind


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (ended(), "default"),
        (ended(FAILED, NOT_FOUND), "again"),
        (ended(FAILED), "default"),
        (ended(STARTED), "default"),
    ],
)
def test_a_look_up_that_found_nobody_may_be_tried_again(facts: Facts, verdict: str) -> None:
    """A step that may have worked is not tried again without a person."""
    policy = made.policy_of('rule again { allow tool "a" when count(tool "a" where (error missing)) < 1 }')
    assert policy.decide(facts).rule_id == verdict


@pytest.mark.parametrize(
    ("who", "allowed", "approved", "any_of_both"),
    [
        ("allowed", True, False, True),
        ("approved", False, True, True),
        ("granted", False, False, True),  # nobody read what a wide grant covers
        ("", None, None, None),  # it ran though nothing let it in
        (None, None, None, True),  # a journal that does not tell
    ],
)
def test_who_let_a_step_in(who: str | None, allowed: Tri, approved: Tri, any_of_both: Tri) -> None:
    """Until the step succeeds a yes is maybe."""
    facts, running = ended(who=who), ended(STARTED, who=who)
    for word, answer in (("allowed ", allowed), ("approved ", approved), ("", any_of_both)):
        assert asked(f'after {word}tool "a"', facts) is answer
        assert asked(f'after {word}tool "a"', running) is (None if answer else answer)
        assert asked(f'count({word}tool "a") < 1', facts) is (None if answer is None else not answer)


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ('after tool "a" where (error.type == "X" and error given)', ""),
        ('after tool "a" where (error.kind == "X")', "bad-path"),
        ('after tool "a" where (error.type.x == "X")', "bad-path"),
        ("error missing", "misplaced-root"),
        ('after tool "a" where (any args has (error missing))', ""),
    ],
)
def test_where_an_error_may_stand(test: str, code: str) -> None:
    """In the `where` of a test on history only, with the three parts that it has."""
    bundle, found = parse_bundle(Source(f'default deny\nrule r {{ deny any step when {test} because "no" }}'))
    assert not found
    assert [one.code for one in check_bundle(bundle) if one.severity == "error"] == ([code] if code else [])
