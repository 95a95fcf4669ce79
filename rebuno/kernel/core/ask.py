"""How the kernel says no, and how it asks a person."""

from collections.abc import Collection
from dataclasses import replace

import uuid_utils

from rebuno.journal.records import ApprovalRow, ApprovalWrite, StepRow, StepWrite
from rebuno.kernel.core import events as words
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Change
from rebuno.kernel.core.quorum import terms
from rebuno.model.answer import Answer, Say
from rebuno.model.decision import Decision
from rebuno.model.obligation import Obligation
from rebuno.model.step import StepStatus


def ask(
    attempt: Attempt,
    row: StepRow,
    decision: Decision,
    *,
    fresh: bool = False,
    message: str = "",
    over: Collection[Obligation] = (),
) -> tuple[Answer, Change | None]:
    """Asks a person about a step, for the first time (`fresh`) or anew.

    `message` is shown where no rule has one; `over` are the obligations whose limit or budget is used up, and which ask
    because of that.
    """
    wanted = terms(decision, over)
    question = ApprovalRow(
        id=str(uuid_utils.uuid7()),
        execution_id=row.execution_id,
        step_id=row.step_id,
        cause="policy",
        status="pending",
        message=wanted.message or message,
        rule_id=decision.rule_id,
        digest=attempt.policy.digest,
        bundle=decision.bundle,
        approvers=wanted.approvers,
        quorum=wanted.quorum,
        timeout_at=round(attempt.store.now() + wanted.expires, 6) if wanted.expires is not None else 0.0,
    )
    row = replace(row, status=StepStatus.AWAITING, approval_id=question.id)
    asked = (words.awaiting(row, decision, question.id), words.requested(question, wanted.panels))
    events = (words.proposed(row), *asked) if fresh else asked
    change = Change(
        events,
        (StepWrite(row, decided=0 if fresh else None),),
        (ApprovalWrite(question, requested=len(events) - 1),),
    )
    return Answer(Say.BLOCKED, row.step_id, approval_id=question.id, rule_id=decision.rule_id), change


def denied(row: StepRow, decision: Decision) -> Answer:
    """The answer to a step that a decision denies."""
    return Answer(Say.DENIED, row.step_id, reason=decision.reason or "policy_denied", rule_id=decision.rule_id)
