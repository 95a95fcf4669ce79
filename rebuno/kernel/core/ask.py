"""How the kernel asks a person about a step, and how it takes a question back."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import uuid_utils

from rebuno.journal.records import ApprovalRow, ApprovalWrite, NewEvent, StepRow, StepWrite
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Effects, Routed
from rebuno.kernel.core.quorum import terms
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
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
    shadow: Sequence[dict[str, Any]] = (),
    edits: tuple[str, ...] = (),
) -> Routed:
    """Asks a person about a step, for the first time (`fresh`) or anew.

    `message` is shown where no rule has one; `over` are the obligations whose limit or budget is used up, and which ask
    because of that; `shadow` is what the bundles beside the policy say of a fresh one; `edits` are the paths of the
    arguments that may be changed. Where a person has changed some before, the question is about that call.
    """
    wanted = terms(decision, over)
    stands = attempt.asks_for if wanted.expires is None else wanted.expires
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
        timeout_at=round(attempt.store.now() + stands, 6) if stands is not None else 0.0,
        edits=edits,
    )
    if row.ran_args:
        by = attempt.approvals[row.approval_id].edited_by
        question = replace(question, edited=row.ran_args, edited_by=by)
        # Until it is granted again, nothing runs.
        row = replace(row, ran_args="", edited_seq=0, edited_at=0.0)
    row = replace(row, status=StepStatus.AWAITING, approval_id=question.id)
    asked = (new_event.awaiting(row, decision, question.id), new_event.requested(question, wanted.panels))
    events = (new_event.proposed(row, shadow), *asked) if fresh else asked
    effects = Effects(
        events,
        (StepWrite(row, decided=0 if fresh else None),),
        (ApprovalWrite(question, requested=len(events) - 1),),
    )
    return Routed(Answer(AnswerKind.BLOCKED, row.step_id, approval_id=question.id, rule_id=decision.rule_id), effects)


def refuse(known: StepRow, reason: str, rule_id: str = "") -> StepRow:
    """A step that was waiting or allowed, denied after all. Its row keeps the first decision; `error` says why not."""
    said = {"reason": reason or "policy_denied"} | ({"rule_id": rule_id} if rule_id else {})
    return replace(known, status=StepStatus.DENIED, error=identity.canonical(said))


def withdraw(
    question: ApprovalRow, known: StepRow, today: Decision
) -> tuple[tuple[NewEvent, ...], tuple[StepWrite, ...], tuple[ApprovalWrite, ...]]:
    """A waiting step that today's bundle denies: nobody has to answer any more."""
    row = refuse(known, today.reason, today.rule_id)
    events = (new_event.approval("withdrawn", question), new_event.denied(row, today, first=False))
    return (
        events,
        (StepWrite(row, settled=1),),
        (ApprovalWrite(replace(question, status="withdrawn"), resolved=0),),
    )
