"""How the kernel says no, and how it asks a person."""

from dataclasses import replace

import uuid_utils

from rebuno.journal.records import Approval, ApprovalWrite, Step, StepWrite
from rebuno.kernel import words
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.change import Change
from rebuno.model.answer import Answer, Say
from rebuno.model.decision import Decision
from rebuno.model.step import StepStatus


def ask(
    attempt: Attempt, row: Step, decision: Decision, *, fresh: bool = False, message: str = ""
) -> tuple[Answer, Change | None]:
    """Asks a person about a step, for the first time (`fresh`) or anew."""
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
    change = Change(
        events,
        (StepWrite(row, decided=0 if fresh else None),),
        (ApprovalWrite(question, requested=len(events) - 1),),
    )
    return Answer(Say.BLOCKED, row.step_id, approval_id=question.id, rule_id=decision.rule_id), change


def denied(row: Step, decision: Decision) -> Answer:
    """The answer to a step that a decision denies."""
    return Answer(Say.DENIED, row.step_id, reason=decision.reason or "policy_denied", rule_id=decision.rule_id)
