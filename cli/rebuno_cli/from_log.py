"""Fills in what the HTTP interface leaves out of executions, steps and questions, from the log, which it does send."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rebuno.kernel import Panel, raised_view
from rebuno.model.decision import Verdict
from rebuno.model.raised import checked
from rebuno.types import Approval, Event, Execution, Step, Vote

_DECISIONS: Final = {
    "step.executing": Verdict.ALLOW,
    "step.denied": Verdict.DENY,
    "step.awaiting_approval": Verdict.APPROVAL,
}
_ANSWERS: Final = ("approval.voted", "approval.granted", "approval.denied")
_OUTCOMES: Final = ("step.succeeded", "step.failed", "step.cancelled", "step.denied")


def execution(told: Execution, log: Sequence[Event]) -> Execution:
    """The execution, which an agent runs, with its attempts, its policy, the number of its newest event and the frames
    of its failure."""
    told.served = True
    if not log:
        return told
    begun = log[0].payload
    told.attempt = sum(event.type == "execution.started" for event in log)
    told.digest = _text(begun, "digest")
    told.pinned = begun.get("pinned") is True
    told.head_seq = log[-1].event_seq
    raised = checked(log[-1].payload.get("raised")) if told.status == "failed" else None
    if raised is not None:
        told.failure = raised_view(raised)
    return told


def steps(told: Sequence[Step], log: Iterable[Event]) -> Sequence[Step]:
    """The steps with what the log says of their decisions and outcomes."""
    events: dict[str, list[Event]] = {}
    for one in log:
        if one.type.startswith("step.") and one.type != "step.rate_limited":
            events.setdefault(_text(one.payload, "step_id") or "", []).append(one)
    for step in told:
        _step(step, events.get(step.step_id, []))
    return told


def approval(told: Approval, log: Iterable[Event]) -> Approval:
    """The question with its cause, the bundle and the reason of its rule, and its voters' words."""
    events = [one for one in log if one.payload.get("approval_id") == told.id]
    said = {one.type: one.payload for one in events}
    told.cause = _text(said.get("approval.requested", {}), "cause")
    asks = said.get("step.awaiting_approval", {})
    if asks.get("rule_id") == told.rule_id:
        told.bundle, told.reason = _text(asks, "bundle"), _text(asks, "reason")
    answers = [one.payload for one in events if one.type in _ANSWERS]
    for vote in told.votes:
        _vote(vote, answers)
    return told


def panels(question: Approval, log: Iterable[Event]) -> list[Panel]:
    """Who must agree before the step may run."""
    for one in log:
        if one.type == "approval.requested" and one.payload.get("approval_id") == question.id:
            found = one.payload.get("panels")
            if isinstance(found, list):
                return [Panel(tuple(panel["approvers"]), panel["quorum"]) for panel in found]
    return [Panel(tuple(question.approvers), question.quorum)]


def _step(step: Step, events: Sequence[Event]) -> None:
    first: dict[str, Any] = {}
    for one in reversed(events):
        first |= one.payload
    step.parent_step_id = _text(first, "parent_step_id")
    step.approval_id = _text(first, "approval_id")
    step.decided_seq = events[0].event_seq if events else 0
    if decided := next((one for one in events if one.type in _DECISIONS), None):
        said = decided.payload
        step.decision = _DECISIONS[decided.type].value
        step.rule_id, step.bundle = _text(said, "rule_id"), _text(said, "bundle")
        step.digest, step.reason = _text(said, "digest"), _text(said, "reason")
    if ran := [one for one in events if one.type == "step.executing"]:
        step.started_seq, step.attempt = ran[0].event_seq, ran[-1].payload.get("attempt", 0)
    if ended := [one for one in events if one.type in _OUTCOMES]:
        step.outcome_seq = ended[-1].event_seq
        usage = ended[-1].payload.get("usage") or {}
        step.input_tokens, step.output_tokens = usage.get("input_tokens"), usage.get("output_tokens")


def _vote(vote: Vote, said: Iterable[dict[str, Any]]) -> None:
    for payload in said:
        if payload.get("decided_by") == vote.decided_by:
            vote.asserted_by, vote.rationale = _text(payload, "asserted_by"), _text(payload, "rationale")


def _text(payload: dict[str, Any], key: str) -> str | None:
    found = payload.get(key)
    return found if isinstance(found, str) and found else None
