"""The earlier steps of an execution, put together from what was recorded about each."""

from dataclasses import dataclass
from typing import Any

from rebuno.model.step import StepStatus
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.values.json_values import MISSING, UNREADABLE

# Failures that the kernel recorded: nobody knows what the tool did.
REFUSED = ("indeterminate", "policy_revoked", "subagent_")


@dataclass(frozen=True)
class PastStep:
    """A step that started. `first`, `start` and `end` are event numbers, `end` None while it runs."""

    kind: str
    target: str
    args: Any
    result: Any
    error: Any
    definition: Any
    let_in: str | None
    first: int
    start: int
    end: int | None
    at: float | None
    submitted_at: float | None
    succeeded: bool


def seen(facts: Facts) -> list[Evidence]:
    """What was recorded before the submission."""
    recorded = facts.history.evidence if facts.history else []
    return [one for one in recorded if facts.as_of is None or one.seq < facts.as_of]


def past_steps(facts: Facts) -> list[PastStep]:
    """The steps that had started before the submission, as they stood then."""
    pieces: list[list[Evidence]] = []
    for one in seen(facts):
        if one.approved:
            continue
        same = [step for step in pieces if one.step and step[0].step == one.step]
        if same:
            same[0].append(one)
        else:
            pieces.append([one])
    return [_step(step) for step in pieces]


def _step(pieces: list[Evidence]) -> PastStep:
    start, last = pieces[0], pieces[-1]
    succeeded = last.status is StepStatus.SUCCEEDED
    return PastStep(
        kind=last.kind,
        target=last.target,
        args=last.args,
        result=last.result if succeeded else UNREADABLE,
        error=MISSING if succeeded else _error(last),
        definition=MISSING if start.definition is None else start.definition,
        let_in=start.let_in,
        first=start.submitted,
        start=start.seq,
        end=None if last.status is StepStatus.EXECUTING else last.seq,
        at=start.at,
        submitted_at=getattr(start, "submitted_at", start.at),
        succeeded=succeeded,
    )


def _error(last: Evidence) -> Any:
    """What is recorded of a failure; unknown where the kernel cut the step off or refused it."""
    error = last.error
    if last.status is not StepStatus.FAILED or type(error) is not dict:
        return UNREADABLE
    if "type" not in error or error["type"].startswith(REFUSED):
        return UNREADABLE
    return {**error, "nothing_done": UNREADABLE if last.nothing_done is None else last.nothing_done}
