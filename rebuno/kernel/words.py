"""The events that the kernel writes, each payload in one place."""

from collections.abc import Sequence

from rebuno.journal.records import Approval, Execution, NewEvent, Step
from rebuno.kernel.change import Identified
from rebuno.kernel.panels import Panel
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.model.decision import Decision
from rebuno.model.obligation import Obligation
from rebuno.model.step import Kind


def _step(type: str, step: Step | Identified, **more: object) -> NewEvent:
    return NewEvent(type, {"step_id": step.step_id, "step_type": step.kind.value, "target": step.target, **more})


def _decision(decision: Decision) -> dict[str, object]:
    return {
        "rule_id": decision.rule_id,
        "bundle": decision.bundle,
        "digest": decision.digest,
        "reason": decision.reason,
    }


def _first(step: Step | Identified) -> dict[str, object]:
    # What the first event of a step says besides: enough to recompute its identity.
    nested = {"parent_step_id": step.parent_id} if step.parent_id else {}
    return {"args_hash": step.args_hash, "occurrence": step.occurrence, **nested}


def proposed(step: Step) -> NewEvent:
    return _step("step.proposed", step, **_first(step))


def executing(step: Step, decision: Decision, *, first: bool) -> NewEvent:
    return _step(
        "step.executing",
        step,
        **_decision(decision),
        attempt=step.attempt,
        idempotency=step.idempotency.value,
        **(_first(step) if first else {}),
        # A grant that was given for more than one step covers this one.
        **({"approval_id": step.approval_id} if first and step.approval_id else {}),
    )


def denied(step: Step, decision: Decision, *, first: bool) -> NewEvent:
    return _step("step.denied", step, **_decision(decision), **(_first(step) if first else {}))


def refused(step: Step, reason: str) -> NewEvent:
    """A waiting step that a person, or the end of the execution, denies."""
    return _step("step.denied", step, reason=reason)


def awaiting(step: Step, decision: Decision, approval_id: str) -> NewEvent:
    return _step("step.awaiting_approval", step, **_decision(decision), approval_id=approval_id)


def allowed(step: Step, approval_id: str) -> NewEvent:
    return _step("step.allowed", step, approval_id=approval_id)


def rate_limited(
    step: Identified, rule: Obligation, reason: str, *, digest: str, until: float | None = None
) -> NewEvent:
    """A step that is not recorded: refused, or parked `until` then at most (seconds since 1970)."""
    more = {} if until is None else {"until": rfc3339(until)}
    said = {"rule_id": rule.rule_id, "bundle": rule.bundle, "digest": digest, "reason": reason}
    return _step("step.rate_limited", step, **said, **_first(step), **more)


def succeeded(step: Step) -> NewEvent:
    more: dict[str, object] = {}
    if step.kind is Kind.LLM:
        known = step.input_tokens is not None
        more["usage"] = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens} if known else None
    return _step("step.succeeded", step, outcome_hash=identity.args_hash(step.result or "null"), **more)


def failed(step: Step) -> NewEvent:
    return _step("step.failed", step, outcome_hash=identity.args_hash(step.error or "null"))


def cancelled(step: Step) -> NewEvent:
    return _step("step.cancelled", step)


def revoked(step: Step, decision: Decision) -> NewEvent:
    return _step("step.revoked", step, **_decision(decision))


def approval(type: str, question: Approval, **more: object) -> NewEvent:
    """`approval.voted`, `.granted`, `.denied`, `.expired` or `.withdrawn`."""
    return NewEvent(f"approval.{type}", {"approval_id": question.id, "step_id": question.step_id, **more})


def requested(question: Approval, panels: Sequence[Panel]) -> NewEvent:
    """What is asked of whom. `panels` stands there where one list of approvers and a quorum do not say it."""
    more: dict[str, object] = {"cause": question.cause, "message": question.message, "quorum": question.quorum}
    if question.approvers:
        more["approvers"] = list(question.approvers)
    if len(panels) > 1:
        more["panels"] = [{"approvers": list(panel.approvers), "quorum": panel.quorum} for panel in panels]
    if question.timeout_at:
        more["timeout_at"] = rfc3339(question.timeout_at)
    return approval("requested", question, **more)


def created(new: Execution) -> NewEvent:
    """`execution.created`: what an execution begins with."""
    more: dict[str, object] = {} if new.key is None else {"key": new.key}
    if new.pinned:
        more["pinned"] = True
    if new.deadline_at:
        more["deadline_at"] = rfc3339(new.deadline_at)
    return execution(
        "created", agent_id=new.agent_id, digest=new.digest, input_hash=identity.args_hash(new.input), **more
    )


def execution(type: str, **payload: object) -> NewEvent:
    """`execution.started`, `.blocked`, `.resumed`, `.completed`, `.failed`, `.cancelled`, `.forked` or
    `.diverged`."""
    return NewEvent(f"execution.{type}", payload)
