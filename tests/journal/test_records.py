"""A step's row as it is once the step has ended."""

from dataclasses import fields, replace
from typing import Any

from rebuno.journal.records import StepRow
from rebuno.model.step import StepStatus
from tests.journal.builders import step


def test_a_step_that_ended_differs_in_its_end_only() -> None:
    """Every other field is as it was, and the step that it was made of stays what it is."""
    # No two fields hold the same, so that none can stand in another's place.
    different: dict[str, Any] = {field.name: number for number, field in enumerate(fields(StepRow))}
    before = replace(step(), **different)
    after = before.ended(StepStatus.FAILED, error='{"type":"E"}')
    assert after == replace(before, status=StepStatus.FAILED, result=None, error='{"type":"E"}')
    assert before.status != StepStatus.FAILED
