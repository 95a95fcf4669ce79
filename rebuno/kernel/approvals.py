"""The answer of a person to a question about a step: the first one counts, and wakes what waited only for it."""

from dataclasses import replace

from rebuno.errors import ConflictError, Stale, Terminated, ValidationError
from rebuno.journal.records import Approval, ApprovalWrite, Batch, Execution, ExecutionWrite, Step, StepWrite
from rebuno.journal.store import Store
from rebuno.kernel import words
from rebuno.kernel.attempt import load
from rebuno.kernel.change import Changes
from rebuno.kernel.closing import close
from rebuno.kernel.known import refuse
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus


async def resolve(store: Store, approval_id: str, *, granted: bool, decided_by: str, rationale: str = "") -> Approval:
    """Grants or denies. Committed when this returns; an execution that waited for nothing else may run again.

    Raises:
        NotFoundError: there is no such approval.
        ConflictError: it was answered already, or its execution has ended.
        ValidationError: nobody is named as the one who decides.
        StoreError
    """
    if not decided_by.strip():
        raise ValidationError("an approval needs the name of the person who decides")
    while True:
        question = await store.approval(approval_id)
        if question.status != "pending":
            by = f" by {question.decided_by}" if question.decided_by else ""
            raise ConflictError(f"the approval `{approval_id}` is {question.status}{by} already")
        execution = await store.execution(question.execution_id)
        steps, approvals = await load(store, execution.id)
        answered = replace(
            question,
            status="granted" if granted else "denied",
            decided_by=decided_by,
            rationale=rationale,
        )
        changes, write = _changes(execution, steps, approvals, answered)
        batch = Batch(
            execution.id,
            tuple(changes.events),
            tuple(changes.steps),
            tuple(changes.approvals),
            write,
            base=execution.head_seq,
        )
        store.write(batch)
        try:
            await batch.committed
        except Stale:
            continue
        except Terminated:
            raise ConflictError(f"the execution of the approval `{approval_id}` has ended") from None
        return await store.approval(approval_id)


def _changes(
    execution: Execution, steps: dict[str, Step], approvals: dict[str, Approval], answered: Approval
) -> tuple[Changes, ExecutionWrite | None]:
    said: dict[str, object] = {"decided_by": answered.decided_by, "scope": answered.scope}
    if answered.rationale:
        said["rationale"] = answered.rationale
    changes = Changes()
    changes.add((words.approval(answered.status, answered, **said),), (), (ApprovalWrite(answered, resolved=0),))
    step = steps[answered.step_id]
    if answered.cause == "revoked" and answered.status == "denied":
        return _end_revoked(execution, steps, approvals, answered, changes)
    if answered.cause == "policy" and answered.status == "granted":
        row = replace(step, status=StepStatus.ALLOWED)
        changes.add((words.allowed(row, answered.id),), (StepWrite(row),))
    elif answered.cause == "policy":
        reason = answered.rationale or "approval_denied"
        changes.add((words.refused(step, reason),), (StepWrite(refuse(step, reason, step.rule_id), settled=0),))
    still = any(a.status == "pending" and a.id != answered.id for a in approvals.values())
    if still or execution.status is not ExecutionStatus.BLOCKED:
        return changes, None
    changes.add((words.execution("resumed"),))
    return changes, ExecutionWrite(ExecutionStatus.RUNNING, attempt=execution.attempt)


def _end_revoked(
    execution: Execution,
    steps: dict[str, Step],
    approvals: dict[str, Approval],
    answered: Approval,
    changes: Changes,
) -> tuple[Changes, ExecutionWrite]:
    """What is done cannot be refused any more; the run that did it can."""
    rest = [a for a in approvals.values() if a.id != answered.id]
    closing = close(steps.values(), rest, ExecutionStatus.FAILED)
    changes.add(closing.events, closing.steps, closing.approvals)
    reason = f"policy_revoked: {answered.rationale}" if answered.rationale else "policy_revoked"
    changes.add((words.execution("failed", attempt=execution.attempt, reason=reason, replayed=0),))
    write = ExecutionWrite(ExecutionStatus.FAILED, failure_reason=reason, attempt=execution.attempt)
    return changes, write
