"""A step that the journal knows: the stricter of today's verdict and what was recorded decides."""

from dataclasses import replace

import uuid_utils

from rebuno.errors import ConflictError
from rebuno.journal.records import Approval, ApprovalWrite, NewEvent, Step, StepWrite
from rebuno.kernel.core import events as words
from rebuno.kernel.core.ask import ask, denied
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Change
from rebuno.kernel.core.grants import holding
from rebuno.kernel.core.quorum import Panel
from rebuno.model import identity
from rebuno.model.answer import Answer, Say
from rebuno.model.decision import INDETERMINATE_RETRY, Decision, Verdict
from rebuno.model.step import Idempotency, StepStatus

# Why what may have happened is not done again.
UNKNOWN_OUTCOME = "prior attempt outcome unknown; retry refused"
INDETERMINATE = identity.canonical(
    {"reason": "indeterminate", "message": "the step was started and nobody recorded how it ended"}
)


def settle(attempt: Attempt, known: Step, idempotency: Idempotency) -> tuple[Answer, Change | None]:
    """Answers a step that the journal knows, submitted with this idempotency: one branch for each state that it can be
    in."""
    known = replace(known, idempotency=known.idempotency.stricter(idempotency))
    if known.status is StepStatus.DENIED:
        return _denied_as_recorded(known)
    today = attempt.today(known)
    match known.status:
        case StepStatus.AWAITING:
            return _awaiting(attempt, known, today)
        case StepStatus.ALLOWED:
            return _granted(attempt, known, today)
        case StepStatus.EXECUTING:
            return _orphan(attempt, known, today)
        case _:
            return _settled(attempt, known, today)


def refuse(known: Step, reason: str, rule_id: str = "") -> Step:
    """A step that was waiting or allowed, denied after all. Its row keeps the first decision; `error` says why not."""
    said = {"reason": reason or "policy_denied"} | ({"rule_id": rule_id} if rule_id else {})
    return replace(known, status=StepStatus.DENIED, error=identity.canonical(said))


def _denied_as_recorded(known: Step) -> tuple[Answer, None]:
    said = identity.parse(known.error) if known.error else {}
    reason = said.get("reason") or known.reason or "policy_denied"
    return Answer(Say.DENIED, known.step_id, reason=reason, rule_id=said.get("rule_id") or known.rule_id), None


def _awaiting(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    if today.verdict is not Verdict.DENY:
        return Answer(Say.BLOCKED, known.step_id, approval_id=known.approval_id, rule_id=today.rule_id), None
    change = withdraw(attempt.approvals[known.approval_id], known, today)
    return denied(known, today), Change(*change)


def withdraw(
    question: Approval, known: Step, today: Decision
) -> tuple[tuple[NewEvent, ...], tuple[StepWrite, ...], tuple[ApprovalWrite, ...]]:
    """A waiting step that today's bundle denies: nobody has to answer any more."""
    row = refuse(known, today.reason, today.rule_id)
    events = (words.approval("withdrawn", question), words.denied(row, today, first=False))
    return (
        events,
        (StepWrite(row, settled=1),),
        (ApprovalWrite(replace(question, status="withdrawn"), resolved=0),),
    )


def _granted(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    if known.started_seq and known.idempotency is Idempotency.ONCE and today.verdict is not Verdict.DENY:
        # It was safe to repeat when it was cut off and asked about again, and is not any more.
        today = Decision(Verdict.DENY, INDETERMINATE_RETRY, UNKNOWN_OUTCOME, digest=attempt.policy.digest)
    if today.verdict is Verdict.DENY:
        row = refuse(known, today.reason, today.rule_id)
        return denied(row, today), Change((words.denied(row, today, first=False),), (StepWrite(row, settled=0),))
    if today.verdict is Verdict.APPROVAL:
        return _start_if_granted(attempt, known, _in_full(attempt, known, today))
    return _start(attempt, known, today)


def _start_if_granted(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    grant = holding(attempt, known, today)
    if grant is not None:
        return _start(attempt, replace(known, approval_id=grant.id), today)
    last = attempt.approvals.get(known.approval_id)
    return ask(attempt, known, today, message=last.message if last else "")


def _in_full(attempt: Attempt, known: Step, today: Decision) -> Decision:
    """Today's verdict with what its rules say about asking: of a verdict that stands as recorded only the rest is kept,
    and the same facts under the same bundle give it again."""
    if known.digest != attempt.policy.digest:
        return today
    judged = attempt.judge(known)
    return Decision(
        today.verdict,
        today.rule_id,
        today.reason,
        bundle=today.bundle,
        digest=today.digest,
        obligations=judged.obligations,
    )


def _start(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    row = replace(known, status=StepStatus.EXECUTING, attempt=attempt.lease.attempt)
    change = Change((words.executing(row, today, first=False),), (StepWrite(row, started=0),))
    return Answer(Say.PROCEED, row.step_id, rule_id=today.rule_id), change


def _orphan(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    """A step that an earlier attempt started and did not settle."""
    # INVARIANT: a step started by the live attempt is never an orphan; identity gives each submission its own step.
    if known.attempt >= attempt.lease.attempt:
        raise ConflictError(f"the step `{known.step_id}` was submitted twice in one attempt")
    if today.verdict is Verdict.DENY:
        error = identity.canonical(
            {"reason": "policy_revoked", "rule_id": today.rule_id, "message": today.reason or "policy_denied"}
        )
        row = replace(known, status=StepStatus.FAILED, error=error)
        return denied(row, today), Change((words.failed(row),), (StepWrite(row, settled=0),))
    if known.idempotency is Idempotency.ONCE:
        row = replace(known, status=StepStatus.FAILED, error=INDETERMINATE)
        return Answer(Say.REPLAY, row.step_id, error=INDETERMINATE), Change(
            (words.failed(row),), (StepWrite(row, settled=0),)
        )
    if today.verdict is Verdict.APPROVAL:
        return _start_if_granted(attempt, known, _in_full(attempt, known, today))
    return _start(attempt, known, today)


def _settled(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, Change | None]:
    error = identity.parse(known.error) if known.error else None
    if isinstance(error, dict) and error.get("reason") == "policy_revoked":
        return Answer(
            Say.DENIED, known.step_id, reason=str(error.get("message")), rule_id=str(error.get("rule_id", ""))
        ), None
    replay = Answer(Say.REPLAY, known.step_id, result=known.result, error=known.error)
    if today.verdict is not Verdict.DENY:
        return replay, None
    # The effect is done: refusing it now would tell the handler a lie, so a person decides whether the run may go on.
    told = False
    for asked in attempt.approvals.values():
        if asked.step_id == known.step_id and asked.cause == "revoked" and asked.digest == attempt.policy.digest:
            told = True
            if asked.status == "granted":
                return replay, None
            if asked.status == "pending":
                return Answer(Say.BLOCKED, known.step_id, approval_id=asked.id, rule_id=today.rule_id), None
    question = Approval(
        id=str(uuid_utils.uuid7()),
        execution_id=known.execution_id,
        step_id=known.step_id,
        cause="revoked",
        status="pending",
        message=today.message,
        rule_id=today.rule_id,
        digest=attempt.policy.digest,
        bundle=today.bundle,
    )
    events = (*(() if told else (words.revoked(known, today),)), words.requested(question, (Panel(),)))
    change = Change(events, (), (ApprovalWrite(question, requested=len(events) - 1),))
    return Answer(Say.BLOCKED, known.step_id, approval_id=question.id, rule_id=today.rule_id), change
