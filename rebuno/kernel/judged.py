"""Recorded steps as plain facts, for whoever wants to know what another policy would have said."""

from collections.abc import AsyncIterator

from rebuno.journal.records import Execution
from rebuno.journal.store import Store
from rebuno.kernel import facts
from rebuno.kernel.attempt import load
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.policy.backtest import Judged

_PAGE = 200


async def judged(store: Store, execution: Execution) -> list[Judged]:
    """Every step of an execution with the facts of its first submission, in the order of the log. They share one
    history, which is read once.

    Raises:
        StoreError
    """
    steps, approvals = await load(store, execution.id)
    past = facts.history(steps.values(), approvals.values())
    input = identity.parse(execution.input)
    return [
        Judged(
            facts.of_known(step, agent=execution.agent_id, input=input, past=past),
            Verdict(step.verdict),
            step.rule_id,
            f"{execution.id} {step.step_id[:12]}",
            by_kernel=step.rule_id.startswith("__"),
        )
        for step in steps.values()
    ]


async def began_since(store: Store, since: float) -> AsyncIterator[Execution]:
    """The executions that were created at this time or later, in seconds since 1970, newest first."""
    before: str | None = None
    while page := await store.executions(before=before, limit=_PAGE):
        found = [execution for execution in page if execution.created_at >= since]
        for execution in found:
            yield execution
        # One that was imported is older than its place says, so a single old one ends nothing.
        if not found:
            return
        before = page[-1].id
