"""The events that the kernel writes, each payload in one place."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebuno.journal.chain import quoted
from rebuno.journal.records import ApprovalRow, ExecutionRow, NewEvent, StepRow
from rebuno.journal.standing import StandingGrantRow
from rebuno.kernel.core.effects import Identified
from rebuno.kernel.core.quorum import Panel
from rebuno.model import identity
from rebuno.model.clock import rfc3339
from rebuno.model.decision import STOPPED, Decision
from rebuno.model.obligation import Obligation
from rebuno.model.step import Idempotency, Kind

# What is longer is not kept as it is written.
_SHORT: Final = 200


def _step(type: str, step: StepRow | Identified, **more: object) -> NewEvent:
    return NewEvent(type, {"step_id": step.step_id, "step_type": step.kind.value, "target": step.target, **more})


def _decision(decision: Decision) -> dict[str, object]:
    return {
        "rule_id": decision.rule_id,
        "bundle": decision.bundle,
        "digest": decision.digest,
        "reason": decision.reason,
    }


def _first(step: StepRow | Identified) -> dict[str, object]:
    # What the first event of a step says besides: enough to recompute its identity.
    nested = {"parent_step_id": step.parent_id} if step.parent_id else {}
    return {"args_hash": step.args_hash, "occurrence": step.occurrence, **nested}


def _first_row(step: StepRow, shadow: Sequence[dict[str, Any]]) -> dict[str, object]:
    # And what it was judged on beside its arguments: its tool's definition, and the test that was maybe; and what the
    # bundles beside the policy say.
    defined = {"definition": identity.parse(step.definition)} if step.definition else {}
    doubted = {"doubt": step.doubt} if step.doubt else {}
    beside = {"shadow": list(shadow)} if shadow else {}
    return {**_first(step), **defined, **doubted, **beside}


def proposed(step: StepRow, shadow: Sequence[dict[str, Any]] = ()) -> NewEvent:
    once = {"idempotency": step.idempotency.value} if step.idempotency is Idempotency.ONCE else {}
    return _step("step.proposed", step, **once, **_first_row(step, shadow))


def covered(started: NewEvent, grant: StandingGrantRow) -> NewEvent:
    """The start of a step that a standing grant let in: it says which."""
    said = identity.parse(started.payload) if isinstance(started.payload, str) else started.payload
    names, matches = identity.parse(grant.granted_by), identity.parse(grant.matches)
    told = {"id": grant.id, "granted_by": names, "expires_at": rfc3339(grant.expires_at), "matches": matches}
    return NewEvent(started.type, {**said, "grant": told})


def executing(step: StepRow, decision: Decision, *, first: bool, shadow: Sequence[dict[str, Any]] = ()) -> NewEvent:
    if first:
        return NewEvent("step.executing", _started(step, decision, shadow))
    said = {"attempt": step.attempt, "idempotency": step.idempotency.value}
    return _step("step.executing", step, **_decision(decision), **said)


def _started(step: StepRow, decision: Decision, shadow: Sequence[dict[str, Any]]) -> str:
    # INVARIANT: this and `_ended` are what `canonical` would write, in a third of the time. The keys stand in their
    # order, and hashes and ids are digits.
    # A grant that was given for more than one step covers this one.
    grant = f'"approval_id":{quoted(step.approval_id)},' if step.approval_id else ""
    defined = f'"definition":{step.definition},' if step.definition else ""
    doubted = f'"doubt":{identity.canonical(step.doubt)},' if step.doubt else ""
    outer = f'"parent_step_id":{quoted(step.parent_id)},' if step.parent_id else ""
    beside = f'"shadow":{identity.canonical(list(shadow))},' if shadow else ""
    return (
        f'{{{grant}"args_hash":"{step.args_hash}","attempt":{step.attempt},"bundle":{quoted(decision.bundle)},'
        f'{defined}"digest":{quoted(decision.digest)},{doubted}"idempotency":"{step.idempotency}","occurrence":{step.occurrence},{outer}'
        f'"reason":{quoted(decision.reason)},"rule_id":{quoted(decision.rule_id)},{beside}'
        f'"step_id":"{step.step_id}","step_type":"{step.kind}","target":{_target(step)}}}'
    )


def _ended(step: StepRow, outcome: str | None, usage: str = "", raised: str = "") -> str:
    # "nothing_done" stands before the hash, "raised" behind it and before the step.
    nothing = '"nothing_done":true,' if step.nothing_done else ""
    said = f'"raised":{raised},' if raised else ""
    target, outcome_hash = _target(step), identity.args_hash(outcome or "null")
    return (
        f'{{{nothing}"outcome_hash":"{outcome_hash}",{said}"step_id":"{step.step_id}",'
        f'"step_type":"{step.kind}","target":{target}{usage}}}'
    )


def _target(step: StepRow) -> str:
    target = step.target
    return quoted(target) if len(target) <= _SHORT else identity.canonical(target)


def denied(step: StepRow, decision: Decision, *, first: bool, shadow: Sequence[dict[str, Any]] = ()) -> NewEvent:
    return _step("step.denied", step, **_decision(decision), **(_first_row(step, shadow) if first else {}))


def refused(step: StepRow, reason: str) -> NewEvent:
    """A waiting step that a person, or the end of the execution, denies."""
    return _step("step.denied", step, reason=reason)


def awaiting(step: StepRow, decision: Decision, approval_id: str) -> NewEvent:
    return _step("step.awaiting_approval", step, **_decision(decision), approval_id=approval_id)


def allowed(step: StepRow, approval_id: str, **more: object) -> NewEvent:
    return _step("step.allowed", step, approval_id=approval_id, **more)


def rate_limited(
    step: Identified, rule: Obligation, reason: str, *, digest: str, until: float | None = None
) -> NewEvent:
    """A step that is not recorded: refused, or parked `until` then at most (seconds since 1970)."""
    more = {} if until is None else {"until": rfc3339(until)}
    said = {"rule_id": rule.rule_id, "bundle": rule.bundle, "digest": digest, "reason": reason}
    return _step("step.rate_limited", step, **said, **_first(step), **more)


def stopped(step: Identified, reason: str, *, digest: str, stop_id: str) -> NewEvent:
    """A step that is not recorded, because an operator has stopped it: it waits until that is lifted."""
    said = {"rule_id": STOPPED, "bundle": "", "digest": digest, "reason": reason, "stop_id": stop_id, "until": ""}
    return _step("step.rate_limited", step, **said, **_first(step))


def succeeded(step: StepRow) -> NewEvent:
    usage = ""
    if step.kind is Kind.LLM:
        known = step.input_tokens is not None
        used = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens} if known else None
        usage = f',"usage":{identity.canonical(used)}'
    return NewEvent("step.succeeded", _ended(step, step.result, usage))


def failed(step: StepRow, raised: str = "") -> NewEvent:
    """`raised` is what `rebuno.model.raised` keeps of the exception, as canonical JSON."""
    return NewEvent("step.failed", _ended(step, step.error, raised=raised))


def cancelled(step: StepRow) -> NewEvent:
    return _step("step.cancelled", step)


def revoked(step: StepRow, decision: Decision) -> NewEvent:
    return _step("step.revoked", step, **_decision(decision))


def approval(type: str, question: ApprovalRow, **more: object) -> NewEvent:
    """`approval.voted`, `.granted`, `.denied`, `.expired` or `.withdrawn`."""
    return NewEvent(f"approval.{type}", {"approval_id": question.id, "step_id": question.step_id, **more})


def requested(question: ApprovalRow, panels: Sequence[Panel]) -> NewEvent:
    """What is asked of whom. `panels` stands there where one list of approvers and a quorum do not say it."""
    more: dict[str, object] = {"cause": question.cause, "message": question.message, "quorum": question.quorum}
    if question.approvers:
        more["approvers"] = list(question.approvers)
    if len(panels) > 1:
        more["panels"] = [{"approvers": list(panel.approvers), "quorum": panel.quorum} for panel in panels]
    if question.timeout_at:
        more["timeout_at"] = rfc3339(question.timeout_at)
    if question.edits:
        more["edits"] = list(question.edits)
    if question.edited:
        more |= {"ran_hash": identity.args_hash(question.edited), "edited_by": question.edited_by}
    return approval("requested", question, **more)


def said(number: int, text: str, by: str) -> NewEvent:
    """`execution.said`: what the user wrote into the run, the `number`-th time."""
    return execution("said", number=number, hash=identity.args_hash(identity.canonical(text)), by=by)


def created(new: ExecutionRow, origin: Mapping[str, object] | None = None) -> NewEvent:
    """`execution.created`: what an execution begins with, and by `origin` where its input comes from."""
    more: dict[str, object] = {} if new.key is None else {"key": new.key}
    if new.spawned_execution_id:
        more["parent"] = new.spawned_execution_id
    if new.pinned:
        more["pinned"] = True
    if new.seal:
        more["seal_key"] = new.seal
    if new.deadline_at:
        more["deadline_at"] = rfc3339(new.deadline_at)
    more |= origin or {}
    return execution(
        "created", agent_id=new.agent_id, digest=new.digest, input_hash=identity.args_hash(new.input), **more
    )


def execution(type: str, **payload: object) -> NewEvent:
    """`execution.started`, `.blocked`, `.resumed`, `.completed`, `.failed`, `.cancelled`, `.forked` or
    `.diverged`."""
    return NewEvent(f"execution.{type}", payload)
