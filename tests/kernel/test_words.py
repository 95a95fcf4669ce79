"""Events that are written as texts read, to the byte, as canonical JSON of what they say."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.journal.records import NewEvent, StepRow
from rebuno.kernel.core import events
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import Idempotency, Kind, StepStatus

_TEXT = st.text(max_size=300)
_STEP = StepRow(
    identity.args_hash("1"), "e", "", Kind.TOOL, "act", "{}", identity.args_hash("{}"), 7, Idempotency.SAFE,
    StepStatus.EXECUTING, "allow", "", "", "", "", attempt=3,
)  # fmt: skip


def _said(event: NewEvent) -> object:
    """The payload of an event that is a text, which must be canonical."""
    assert isinstance(event.payload, str)
    said = identity.parse(event.payload)
    assert identity.canonical(said) == event.payload
    return said


@given(_TEXT, _TEXT, _TEXT, _TEXT, st.sampled_from(Kind), st.sampled_from(Idempotency))
def test_the_start_of_a_step(
    target: str, rule_id: str, reason: str, bundle: str, kind: Kind, idempotency: Idempotency
) -> None:
    """Names, rules and reasons may hold any character."""
    step = replace(_STEP, target=target, kind=kind, idempotency=idempotency)
    decision = Decision(Verdict.ALLOW, rule_id, reason, bundle=bundle, digest="d1")
    said = {
        "args_hash": step.args_hash,
        "attempt": 3,
        "bundle": bundle,
        "digest": "d1",
        "idempotency": idempotency.value,
        "occurrence": 7,
        "reason": reason,
        "rule_id": rule_id,
        "step_id": step.step_id,
        "step_type": kind.value,
        "target": target,
    }
    assert _said(events.executing(step, decision, first=True)) == said
    nested = replace(step, parent_id="ab12", approval_id="a-1")
    assert _said(events.executing(nested, decision, first=True)) == {
        **said,
        "parent_step_id": "ab12",
        "approval_id": "a-1",
    }


@pytest.mark.parametrize("tokens", [None, 12])
@given(_TEXT, st.sampled_from(Kind))
def test_the_end_of_a_step(tokens: int | None, target: str, kind: Kind) -> None:
    """A model's call tells what it used, or that nobody knows."""
    step = replace(_STEP, target=target, kind=kind, result='{"a":1}', input_tokens=tokens, output_tokens=tokens)
    said: dict[str, object] = {
        "outcome_hash": identity.args_hash('{"a":1}'),
        "step_id": step.step_id,
        "step_type": kind.value,
        "target": target,
    }
    used = {"usage": None if tokens is None else {"input_tokens": tokens, "output_tokens": tokens}}
    assert _said(events.succeeded(step)) == said | (used if kind is Kind.LLM else {})
    failed = replace(step, result=None, error='{"reason":"x"}')
    assert _said(events.failed(failed)) == {**said, "outcome_hash": identity.args_hash('{"reason":"x"}')}
