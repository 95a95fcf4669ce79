"""Reads all that the journal knows of an execution's steps."""

import sys

from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import edited, step_facts
from rebuno.policy import StepFactsNeeded


async def load(
    store: Store, execution_id: str, needed: StepFactsNeeded | None = None
) -> tuple[dict[str, StepRow], dict[str, ApprovalRow]]:
    """Every step and approval of an execution, in the order of the log; the steps with what approvers have changed, and
    with what is `needed` of the facts that only their events hold."""
    steps: dict[str, StepRow] = {}
    after = 0
    while page := await store.steps(execution_id, after=after):
        steps.update((step.step_id, step) for step in page)
        after = page[-1].decided_seq
    if needed:
        await step_facts.look_up(store, execution_id, steps.values(), needed)
    asked = await store.approvals(execution_id=execution_id, limit=sys.maxsize)
    approvals = {approval.id: approval for approval in asked}
    edited.attach(steps.values(), approvals)
    return steps, approvals
