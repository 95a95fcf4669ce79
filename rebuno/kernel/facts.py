"""Rebuilds what a decision may look at from the rows of the journal."""

from collections.abc import Iterable

from rebuno.journal.records import Approval, Step
from rebuno.model import identity
from rebuno.model.step import StepStatus
from rebuno.policy.facts import Evidence, Facts, History


def history(steps: Iterable[Step], approvals: Iterable[Approval]) -> History:
    """The evidence that an execution has gathered, in the order of the events that recorded it: one forward pass."""
    by_id = {step.step_id: step for step in steps}
    evidence = [
        Evidence(s.outcome_seq, s.kind, s.target, identity.parse(s.args), identity.parse(s.result))
        for s in by_id.values()
        if s.status is StepStatus.SUCCEEDED and s.result is not None
    ]
    for approval in approvals:
        step = by_id.get(approval.step_id)
        if step is not None and approval.status == "granted" and approval.cause == "policy":
            args = identity.parse(step.args)
            evidence.append(Evidence(approval.resolved_seq, step.kind, step.target, args, approved=True))
    evidence.sort(key=lambda e: e.seq)
    return History(evidence)


def of_known(step: Step, *, agent: str, input: object, past: History) -> Facts:
    """The facts of a recorded step: those of its first submission, whatever has happened since."""
    return Facts(
        step.kind,
        step.target,
        identity.parse(step.args),
        agent=agent,
        input=input,
        history=past,
        as_of=step.decided_seq,
        now=step.decided_at,
    )
