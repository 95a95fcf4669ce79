"""A step that the journal does not know: today's policy decides, and what it says is recorded."""

from dataclasses import replace

from rebuno.journal.records import Step, StepWrite
from rebuno.kernel import words
from rebuno.kernel.asking import ask, denied
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.change import Change, Identified
from rebuno.kernel.grants import covering
from rebuno.model import identity
from rebuno.model.answer import Answer, Say
from rebuno.model.decision import INDETERMINATE_RETRY, NESTED_WAIT, Decision, Verdict
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy.facts import Facts


def fresh(attempt: Attempt, step: Identified) -> tuple[Answer, Change | None]:
    """Decides about a step that the journal does not know."""
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
    grant = covering(attempt, step, decision) if verdict is Verdict.APPROVAL else None
    if grant is not None:
        verdict = Verdict.ALLOW
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
        approval_id=grant.id if grant is not None and verdict is Verdict.ALLOW else "",
    )
    match verdict:
        case Verdict.ALLOW:
            change = Change(
                (words.executing(row, decision, first=True),),
                (StepWrite(row, decided=0, started=0),),
                # A local body that may run again needs no record of its intent on the disk before it runs.
                held=row.kind is Kind.LOCAL and row.idempotency is Idempotency.SAFE,
            )
            return Answer(Say.PROCEED, row.step_id, rule_id=decision.rule_id), change
        case Verdict.DENY:
            row = replace(row, status=StepStatus.DENIED, attempt=0)
            change = Change((words.denied(row, decision, first=True),), (StepWrite(row, decided=0, settled=0),))
            return denied(row, decision), change
        case Verdict.APPROVAL:
            row = replace(row, status=StepStatus.PROPOSED, attempt=0)
            return ask(attempt, row, decision, fresh=True)


def _kernels(attempt: Attempt, rule_id: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule_id, reason, digest=attempt.policy.digest)


def _nested_wait(attempt: Attempt) -> Decision:
    return _kernels(attempt, NESTED_WAIT, "a step inside the body of an at_most_once step cannot wait for a person")
