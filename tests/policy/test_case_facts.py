"""Case files and single submissions say the facts of the second edition under the names that the rules use."""

import textwrap
from typing import Any

import pytest

from rebuno.errors import BundleError, ValidationError
from rebuno.model.step import StepStatus
from rebuno.policy import Source, read_cases, read_submission

NOON = 1_777_032_000.0
DEFINITION = {"server": "bank", "name": "pay", "digest": "abab"}


def case(text: str) -> Any:
    lines = textwrap.indent(textwrap.dedent(text).strip(), "    ")
    cases = "cases:\n  - " + lines.lstrip()
    return read_cases(Source(cases, "a.policytest.yaml")).cases[0].submission


def test_a_submission_brings_its_facts() -> None:
    """Turns with and without a time, the root's input, the definition and the session's folder."""
    given = case(
        """
        target: pay
        parent: planner
        root_input: {request: pay DE75}
        turns: [cancel it, {text: no go on, at: 2026-04-24T12:00:00Z}]
        definition: {server: bank, name: pay, digest: abab}
        workdir: /proj
        expect: allow
        """
    )
    facts = given.facts()
    assert (facts.turns, facts.turn_times) == (["cancel it", "no go on"], [None, NOON])
    assert (facts.parent, facts.root_input) == ("planner", {"request": "pay DE75"})
    assert (facts.definition, facts.workdir) == (DEFINITION, "/proj")
    assert given.to_json()["turns"] == ["cancel it", {"text": "no go on", "at": "2026-04-24T12:00:00.000000Z"}]


def test_an_earlier_step_brings_how_it_went() -> None:
    """Its times, its failure, its definition and who let it in."""
    given = case(
        """
        target: pay
        expect: allow
        history:
          - {target: a, at: 2026-04-24T12:00:00Z, ended_at: 2026-04-24T12:00:01Z, result: 1}
          - {target: b, error: {type: E, message: gone}}
          - {target: c, nothing_done: true}
          - {target: d, approved: true, definition: {server: bank, name: pay}}
          - {target: e, allowed: false}
          - {target: f, status: cancelled}
        """
    )
    found = [one for one in given.facts().history.evidence if not one.approved]
    a, b, c, d, e, f = found
    assert (a.at, a.ended_at, a.let_in, a.error, a.nothing_done) == (NOON, NOON + 1, "allowed", None, None)
    assert (b.status, b.error, b.nothing_done) == (StepStatus.FAILED, {"type": "E", "message": "gone"}, False)
    assert (c.status, c.error, c.nothing_done) == (StepStatus.FAILED, {"type": "", "message": ""}, True)
    assert (d.let_in, d.definition) == ("approved", {"server": "bank", "name": "pay"})
    assert (e.let_in, f.error, f.nothing_done) == ("granted", None, None)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{target: a, approved: true, allowed: true}", "not both"),
        ("{target: a, status: succeeded, error: {type: E}}", "a step that failed"),
        ("{target: a, nothing_done: 1}", "neither true nor false"),
        ("{target: a, at: noon}", "no time"),
        ("{target: a, definition: {name: 1}}", "not text"),
        ("{target: a, definition: {nam: x}}", "unknown key `nam`"),
    ],
)
def test_a_mistake_is_told_with_its_place(step: str, said: str) -> None:
    """Of an earlier step."""
    with pytest.raises(BundleError, match=said):
        case(f"target: pay\nexpect: allow\nhistory: [{step}]")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"turns": [1]}, "a turn is a number"),
        ({"turns": [{"at": "2026-04-24T12:00:00Z"}]}, "no `text`"),
        ({"workdir": "src"}, "no absolute path"),
        ({"definition": "bank"}, "a definition is a mapping"),
    ],
)
def test_a_mistake_in_a_submission_is_told(given: dict[str, Any], said: str) -> None:
    """Of one submission, as `policy explain` reads it."""
    with pytest.raises(ValidationError, match=said):
        read_submission({"target": "pay", **given})
