"""One submission: identify it, decide about it, settle it against the journal.

The stricter of today's verdict and what the journal recorded decides; `settle` has one branch for each state that a
known step can be in.
"""

import asyncio
from dataclasses import dataclass, replace

import uuid_utils

from rebuno.errors import ConflictError, Stale, ValidationError
from rebuno.journal.records import Approval, ApprovalWrite, NewEvent, Step, StepWrite
from rebuno.kernel import words
from rebuno.kernel.attempt import Attempt
from rebuno.model import identity
from rebuno.model.answer import Answer, Say, Submission
from rebuno.model.decision import INDETERMINATE_RETRY, NESTED_WAIT, Decision, Verdict
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy.facts import Facts

# How old a grant may be when its step starts, in seconds.
GRANT_LASTS = 15 * 60
# In bytes. A target is a name, which stands in every event of its step.
LONGEST_TARGET = 64 * 1024

INDETERMINATE = identity.canonical(
    {"reason": "indeterminate", "message": "the step was started and nobody recorded how it ended"}
)


@dataclass(frozen=True, slots=True)
class _Identified:
    scope: str
    kind: Kind
    target: str
    args: str
    args_hash: str
    occurrence: int
    step_id: str
    idempotency: Idempotency
    parent_id: str


@dataclass(frozen=True, slots=True)
class _Change:
    """What an answer writes before it is given. A `held` one is given at once, and written with what comes next."""

    events: tuple[NewEvent, ...]
    steps: tuple[StepWrite, ...]
    approvals: tuple[ApprovalWrite, ...] = ()
    held: bool = False


async def submit(attempt: Attempt, submission: Submission) -> Answer:
    """Answers one submission of a running attempt. What the answer rests on is committed when this returns.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        Terminated, LeaseSuperseded, StoreError: the attempt may not go on.
    """
    attempt.check()
    # INVARIANT: no await before the count, else parallel identical calls are numbered in the order of locks.
    step = _identify(attempt, submission)
    while True:
        await attempt.current()
        attempt.check()
        answer, change = _settle(attempt, step)
        if answer.say is Say.BLOCKED:
            attempt.blocked = True
        if answer.say is Say.REPLAY:
            attempt.replayed.add(step.step_id)
        if answer.say is Say.EXECUTION_BLOCKED:
            attempt.uncount(step.scope, step.kind, step.target, step.args_hash)
        if change is None:
            return answer
        if answer.say is Say.PROCEED:
            attempt.start(change.steps[0].step)
        if change.held:
            attempt.hold(change.events[0], change.steps[0].step)
            return answer
        committed = attempt.write(change.events, steps=change.steps, approvals=change.approvals, judged=True)
        try:
            await asyncio.shield(committed)
        except Stale:
            attempt.bodies.discard(step.step_id)
            continue
        except asyncio.CancelledError:
            # The caller is gone before it heard the answer: no body runs, the step stays started without an outcome.
            attempt.bodies.discard(step.step_id)
            raise
        return answer


def _identify(attempt: Attempt, submission: Submission) -> _Identified:
    try:
        kind = Kind(submission.kind)
        idempotency = Idempotency(submission.idempotency)
    except ValueError as error:
        raise ValidationError(f"{error}; kinds are {', '.join(Kind)}, idempotencies {', '.join(Idempotency)}") from None
    if not submission.target:
        raise ValidationError("the target of a step is empty")
    try:
        if len(submission.target.encode()) > LONGEST_TARGET:
            raise ValidationError(f"the target of a step is longer than {LONGEST_TARGET:,} bytes")
    except UnicodeEncodeError:
        raise ValidationError("the target of a step is not valid Unicode") from None
    if submission.parent_id and submission.parent_id not in attempt.bodies:
        raise ValidationError("a step was submitted from the body of another one that has ended already")
    scope = submission.parent_id or attempt.execution.id
    args_hash = identity.args_hash(submission.args)
    occurrence = attempt.count(scope, kind, submission.target, args_hash)
    step_id = identity.step_id(scope, kind, submission.target, args_hash, occurrence)
    return _Identified(
        scope,
        kind,
        submission.target,
        submission.args,
        args_hash,
        occurrence,
        step_id,
        idempotency,
        submission.parent_id,
    )


def _settle(attempt: Attempt, step: _Identified) -> tuple[Answer, _Change | None]:
    known = attempt.steps.get(step.step_id)
    if known is None:
        return _fresh(attempt, step)
    known = replace(known, idempotency=known.idempotency.stricter(step.idempotency))
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


# ---------------------------------------------------------------- a step that the journal does not know


def _fresh(attempt: Attempt, step: _Identified) -> tuple[Answer, _Change | None]:
    execution = attempt.execution
    now = attempt.store.now()
    decision = attempt.policy.decide(
        Facts(
            step.kind,
            step.target,
            identity.parse(step.args),
            agent=execution.agent_id,
            input=attempt.input,
            history=attempt.history,
            now=now,
        )
    )
    verdict = decision.verdict
    kernel_denies: Decision | None = None
    once = step.idempotency is Idempotency.ONCE
    if verdict is not Verdict.DENY and once and attempt.unknown_twin(step.kind, step.target, step.args_hash):
        kernel_denies = _kernels(attempt, INDETERMINATE_RETRY, "prior attempt outcome unknown; retry refused")
    elif verdict is Verdict.APPROVAL and attempt.inside_once(step.parent_id):
        kernel_denies = _nested_wait(attempt)
    if kernel_denies is not None:
        decision, verdict = kernel_denies, Verdict.DENY
    if attempt.blocked and verdict is not Verdict.APPROVAL and step.parent_id not in attempt.bodies:
        return Answer(Say.EXECUTION_BLOCKED), None

    row = Step(
        step_id=step.step_id,
        execution_id=execution.id,
        parent_id=step.parent_id,
        kind=step.kind,
        target=step.target,
        args=step.args,
        args_hash=step.args_hash,
        occurrence=step.occurrence,
        idempotency=step.idempotency,
        status=StepStatus.EXECUTING,
        verdict=decision.verdict.value,
        rule_id=decision.rule_id,
        bundle=decision.bundle,
        digest=attempt.policy.digest,
        reason=decision.reason,
        attempt=attempt.lease.attempt,
    )
    match verdict:
        case Verdict.ALLOW:
            change = _Change(
                (words.executing(row, decision, first=True),),
                (StepWrite(row, decided=0, started=0),),
                # A local body that may run again needs no record of its intent on the disk before it runs.
                held=row.kind is Kind.LOCAL and row.idempotency is Idempotency.SAFE,
            )
            return Answer(Say.PROCEED, row.step_id, rule_id=decision.rule_id), change
        case Verdict.DENY:
            row = replace(row, status=StepStatus.DENIED, attempt=0)
            change = _Change((words.denied(row, decision, first=True),), (StepWrite(row, decided=0, settled=0),))
            return _denied(row, decision), change
        case Verdict.APPROVAL:
            row = replace(row, status=StepStatus.PROPOSED, attempt=0)
            return _ask(attempt, row, decision, fresh=True)


def _kernels(attempt: Attempt, rule_id: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule_id, reason, digest=attempt.policy.digest)


def _nested_wait(attempt: Attempt) -> Decision:
    return _kernels(attempt, NESTED_WAIT, "a step inside the body of an at_most_once step cannot wait for a person")


def _ask(
    attempt: Attempt, row: Step, decision: Decision, *, fresh: bool = False, message: str = ""
) -> tuple[Answer, _Change | None]:
    """Asks a person about a step, for the first time or anew."""
    question = Approval(
        id=str(uuid_utils.uuid7()),
        execution_id=row.execution_id,
        step_id=row.step_id,
        cause="policy",
        status="pending",
        message=decision.message or message,
        rule_id=decision.rule_id,
        digest=attempt.policy.digest,
    )
    row = replace(row, status=StepStatus.AWAITING, approval_id=question.id)
    asked = (words.awaiting(row, decision, question.id), words.approval("requested", question, cause="policy"))
    events = (words.proposed(row), *asked) if fresh else asked
    change = _Change(
        events,
        (StepWrite(row, decided=0 if fresh else None),),
        (ApprovalWrite(question, requested=len(events) - 1),),
    )
    return Answer(Say.BLOCKED, row.step_id, approval_id=question.id, rule_id=decision.rule_id), change


def _denied(row: Step, decision: Decision) -> Answer:
    return Answer(Say.DENIED, row.step_id, reason=decision.reason or "policy_denied", rule_id=decision.rule_id)


# ---------------------------------------------------------------- a step that the journal knows


def refuse(known: Step, reason: str, rule_id: str = "") -> Step:
    """A step that was waiting or allowed, denied after all. Its row keeps the first decision; `error` says why not."""
    said = {"reason": reason or "policy_denied"} | ({"rule_id": rule_id} if rule_id else {})
    return replace(known, status=StepStatus.DENIED, error=identity.canonical(said))


def _denied_as_recorded(known: Step) -> tuple[Answer, None]:
    said = identity.parse(known.error) if known.error else {}
    reason = said.get("reason") or known.reason or "policy_denied"
    return Answer(Say.DENIED, known.step_id, reason=reason, rule_id=said.get("rule_id") or known.rule_id), None


def _awaiting(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    if today.verdict is not Verdict.DENY:
        return Answer(Say.BLOCKED, known.step_id, approval_id=known.approval_id, rule_id=today.rule_id), None
    change = withdraw(attempt.approvals[known.approval_id], known, today)
    return _denied(known, today), _Change(*change)


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


def _granted(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    if today.verdict is Verdict.DENY:
        row = refuse(known, today.reason, today.rule_id)
        return _denied(row, today), _Change((words.denied(row, today, first=False),), (StepWrite(row, settled=0),))
    if today.verdict is Verdict.APPROVAL and not _grant_holds(attempt, known):
        return _ask_anew(attempt, known, today)
    return _start(attempt, known, today)


def _grant_holds(attempt: Attempt, known: Step) -> bool:
    grant = attempt.approvals.get(known.approval_id)
    # Younger than nothing: a clock set back since must not let a grant live on.
    return (
        grant is not None and grant.status == "granted" and 0 <= attempt.store.now() - grant.decided_at <= GRANT_LASTS
    )


def _ask_anew(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    last = attempt.approvals.get(known.approval_id)
    return _ask(attempt, known, today, message=last.message if last else "")


def _start(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    row = replace(known, status=StepStatus.EXECUTING, attempt=attempt.lease.attempt)
    change = _Change((words.executing(row, today, first=False),), (StepWrite(row, started=0),))
    return Answer(Say.PROCEED, row.step_id, rule_id=today.rule_id), change


def _orphan(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    """A step that an earlier attempt started and did not settle."""
    # INVARIANT: a step started by the live attempt is never an orphan; identity gives each submission its own step.
    if known.attempt >= attempt.lease.attempt:
        raise ConflictError(f"the step `{known.step_id}` was submitted twice in one attempt")
    if today.verdict is Verdict.DENY:
        error = identity.canonical(
            {"reason": "policy_revoked", "rule_id": today.rule_id, "message": today.reason or "policy_denied"}
        )
        row = replace(known, status=StepStatus.FAILED, error=error)
        return _denied(row, today), _Change((words.failed(row),), (StepWrite(row, settled=0),))
    if known.idempotency is Idempotency.ONCE:
        row = replace(known, status=StepStatus.FAILED, error=INDETERMINATE)
        return Answer(Say.REPLAY, row.step_id, error=INDETERMINATE), _Change(
            (words.failed(row),), (StepWrite(row, settled=0),)
        )
    if today.verdict is Verdict.APPROVAL and not _grant_holds(attempt, known):
        return _ask_anew(attempt, known, today)
    return _start(attempt, known, today)


def _settled(attempt: Attempt, known: Step, today: Decision) -> tuple[Answer, _Change | None]:
    error = identity.parse(known.error) if known.error else None
    if isinstance(error, dict) and error.get("reason") == "policy_revoked":
        return Answer(
            Say.DENIED, known.step_id, reason=str(error.get("message")), rule_id=str(error.get("rule_id", ""))
        ), None
    replay = Answer(Say.REPLAY, known.step_id, result=known.result, error=known.error)
    if today.verdict is not Verdict.DENY:
        return replay, None
    # The effect is done: refusing it now would tell the handler a lie, so a person decides whether the run may go on.
    for asked in attempt.approvals.values():
        if asked.step_id == known.step_id and asked.cause == "revoked" and asked.digest == attempt.policy.digest:
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
    )
    events = (words.revoked(known, today), words.approval("requested", question, cause="revoked"))
    change = _Change(events, (), (ApprovalWrite(question, requested=1),))
    return Answer(Say.BLOCKED, known.step_id, approval_id=question.id, rule_id=today.rule_id), change
