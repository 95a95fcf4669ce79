"""Recorded steps as plain facts, to judge them by another policy."""

from collections.abc import AsyncIterator, Collection, Iterable

from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow
from rebuno.journal.sealed.seal import check
from rebuno.journal.store import Store
from rebuno.kernel.core import facts, step_facts
from rebuno.kernel.core.background import Background
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.policy import ALL_STEP_FACTS, RecordedStep

_PAGE = 200
# The rule of a step that ran though no rule let it in.
_NOT_ENFORCED = "(not enforced)"


async def judged(store: Store, execution: ExecutionRow) -> list[RecordedStep]:
    """Every step of an execution; see `of_rows`.

    Raises:
        SealKeyMissing, SealErased, SealBroken: what was recorded cannot be opened here.
        StoreError
    """
    steps, approvals = await load(store, execution.id, ALL_STEP_FACTS)
    # INVARIANT: no placeholder is judged in the place of what was recorded.
    check(execution.input)
    for step in steps.values():
        check(step.args, step.result, step.error)
    return of_rows(execution, steps.values(), approvals.values(), await background(store, execution))


def of_rows(
    execution: ExecutionRow,
    steps: Collection[StepRow],
    approvals: Iterable[ApprovalRow],
    known: Background,
    events: Iterable[EventRow] = (),
) -> list[RecordedStep]:
    """Every step with the facts of its first submission, in the order in which they are given. They share one history,
    which is read once. One that ran though it was not let in, because its policy is only observed, counts as allowed.
    `known` is what `origins` tells of the execution. `events` are its log, where the rows do not hold what that says of
    them (`step_facts`)."""
    step_facts.of_events(steps, events)
    approvals = list(approvals)
    past, granted = facts.history(steps, approvals), facts.grants(approvals)
    input = identity.parse(execution.input)
    return [
        RecordedStep(
            facts.of_known(step, agent=execution.agent_id, input=input, past=past, background=known),
            *_decided(step, granted.get(step.step_id, ())),
            f"{execution.id} {step.step_id[:12]}",
            by_kernel=step.rule_id.startswith("__"),
        )
        for step in steps
    ]


def _decided(step: StepRow, granted: Iterable[ApprovalRow]) -> tuple[Verdict, str]:
    verdict = Verdict(step.verdict)
    if verdict is not Verdict.ALLOW and step.started_seq and not facts.let_in(step, granted):
        return Verdict.ALLOW, _NOT_ENFORCED
    return verdict, step.rule_id


async def began_since(store: Store, since: float) -> AsyncIterator[ExecutionRow]:
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
