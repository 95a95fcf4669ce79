"""What a server says, as the records that a store gives: commands show both the same way.

A server says less of an execution and of its steps than a store does; most of it stands in the log.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from rebuno import types
from rebuno.errors import NetworkError
from rebuno.journal.records import Approval, Event, Execution, Step, Vote
from rebuno.kernel import Panel
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, Kind, StepStatus

_VERDICTS: Final = {
    "step.executing": Verdict.ALLOW,
    "step.denied": Verdict.DENY,
    "step.awaiting_approval": Verdict.APPROVAL,
}


def execution(said: types.Execution, log: Sequence[Event] = ()) -> Execution:
    """An execution; with its `log` also what only that tells."""
    spawned = said.spawned_by
    begun = log[0].payload if log else {}
    return Execution(
        id=said.id,
        agent_id=said.agent_id,
        key=said.idempotency_key or None,
        status=said.status,
        input=identity.canonical(said.input),
        digest=_text(begun, "digest"),
        pinned=begun.get("pinned") is True,
        output=identity.canonical(said.output) if said.status is ExecutionStatus.COMPLETED else None,
        failure_reason=said.failure_reason,
        attempt=sum(event.type == "execution.started" for event in log),
        head_seq=log[-1].event_seq if log else 0,
        head_hash=bytes.fromhex(said.head_hash),
        created_at=_seconds(said.created_at),
        updated_at=_seconds(said.updated_at),
        deadline_at=_seconds(said.deadline_at),
        forked_from=said.forked_from or "",
        fork_seq=said.fork_seq,
        served=True,
        session=said.session,
        continues=said.parent_execution_id or "",
        spawned_execution_id=spawned.execution_id if spawned else "",
        spawned_step_id=spawned.step_id if spawned else "",
        created_by=said.created_by,
        on_behalf_of=said.on_behalf_of,
    )


def event(said: types.Event) -> Event:
    """One record of a log."""
    return Event(said.execution_id, said.event_seq, said.type, said.payload, said.occurred_at, bytes.fromhex(said.hash))


def steps(said: Iterable[types.Step], log: Sequence[Event]) -> list[Step]:
    """Steps, with what the log says of their decisions."""
    told: dict[str, list[Event]] = {}
    for one in log:
        if one.type.startswith("step.") and one.type != "step.rate_limited":
            told.setdefault(_text(one.payload, "step_id"), []).append(one)
    return [_step(one, told.get(one.step_id, [])) for one in said]


def approval(said: types.Approval, log: Sequence[Event] = ()) -> Approval:
    """A question; its `log` tells why it is asked."""
    asked = _requested(said.id, log)
    return Approval(
        id=said.id,
        execution_id=said.execution_id,
        step_id=said.step_id,
        cause=_text(asked, "cause") or "policy",
        status=said.status,
        message=said.message,
        rule_id=said.rule_id,
        digest="",
        scope=said.scope,
        decided_by=said.decided_by,
        rationale=said.rationale,
        created_at=_seconds(said.created_at),
        decided_at=_seconds(said.decided_at),
        approvers=tuple(said.approvers),
        quorum=said.quorum,
        votes=tuple(Vote(vote.decided_by, vote.decision, _seconds(vote.at)) for vote in said.votes),
        timeout_at=_seconds(said.timeout_at),
        asserted_by=said.asserted_by,
    )


def panels(question: Approval, log: Sequence[Event]) -> list[Panel]:
    """Who must agree before a step may run."""
    found = _requested(question.id, log).get("panels")
    if not isinstance(found, list):
        return [Panel(question.approvers, question.quorum)]
    return [Panel(tuple(panel["approvers"]), panel["quorum"]) for panel in found]


def about(said: types.Approval) -> Step:
    """The step that a question is about, as far as the question tells."""
    return Step(
        said.step_id,
        said.execution_id,
        "",
        Kind(said.kind),
        said.target,
        identity.canonical(said.args),
        "",
        0,
        Idempotency.SAFE,
        StepStatus.AWAITING,
        Verdict.APPROVAL,
        said.rule_id,
        "",
        "",
        "",
    )


def _step(said: types.Step, told: Sequence[Event]) -> Step:
    try:
        kind, status, idempotency = Kind(said.kind), StepStatus(said.status), Idempotency(said.idempotency)
    except ValueError as error:
        raise NetworkError(f"the server says something that this rebuno does not know: {error}; upgrade it") from None
    decided = next((one for one in told if one.type in _VERDICTS), None)
    ran = [one for one in told if one.type == "step.executing"]
    ended = [one for one in told if one.type in ("step.succeeded", "step.failed", "step.cancelled", "step.denied")]
    first: dict[str, Any] = {}
    for one in reversed(told):
        first |= one.payload
    usage = next((one.payload.get("usage") for one in told if one.type == "step.succeeded"), None) or {}
    return Step(
        step_id=said.step_id,
        execution_id=said.execution_id,
        parent_id=_text(first, "parent_step_id"),
        kind=kind,
        target=said.target,
        args=identity.canonical(said.args),
        args_hash=said.args_hash,
        occurrence=said.occurrence,
        idempotency=idempotency,
        status=status,
        verdict=_VERDICTS[decided.type] if decided else "",
        rule_id=_text(decided.payload, "rule_id") if decided else "",
        bundle=_text(decided.payload, "bundle") if decided else "",
        digest=_text(decided.payload, "digest") if decided else "",
        reason=_text(decided.payload, "reason") if decided else "",
        attempt=ran[-1].payload.get("attempt", 0) if ran else 0,
        result=identity.canonical(said.result) if status is StepStatus.SUCCEEDED else None,
        error=identity.canonical(said.error) if said.error is not None else None,
        approval_id=_text(first, "approval_id"),
        decided_seq=told[0].event_seq if told else 0,
        started_seq=ran[0].event_seq if ran else 0,
        outcome_seq=ended[-1].event_seq if ended else 0,
        started_at=_seconds(said.started_at),
        completed_at=_seconds(said.completed_at),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
    )


def _requested(approval_id: str, log: Iterable[Event]) -> dict[str, Any]:
    for one in log:
        if one.type == "approval.requested" and one.payload.get("approval_id") == approval_id:
            return one.payload
    return {}


def _text(payload: dict[str, Any], key: str) -> str:
    found = payload.get(key)
    return found if isinstance(found, str) else ""


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
