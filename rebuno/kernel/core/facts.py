"""Rebuilds what a decision may look at from the rows of the journal."""

from collections.abc import Iterable

from rebuno.journal.records import Approval, Step
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import StepStatus
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.policy import Policy


def history(steps: Iterable[Step], approvals: Iterable[Approval]) -> History:
    """The evidence that an execution has gathered, in the order of the events that recorded it: one forward pass."""
    by_id = {step.step_id: step for step in steps}
    evidence = [one for step in by_id.values() for one in of_step(step)]
    for approval in approvals:
        step = by_id.get(approval.step_id)
        if step is not None:
            evidence += of_approvals(step, (approval,))
    evidence.sort(key=lambda e: e.seq)
    return History(evidence)


def started(step: Step, seq: int, args: object) -> Evidence:
    """What the start of a step leaves behind; `seq` is the number of its event, `args` a JSON value."""
    return Evidence(seq, step.kind, step.target, args, status=StepStatus.EXECUTING, step=step.step_id)


def ended(step: Step, seq: int, args: object, result: object = None) -> Evidence:
    """What the end of a step that was started leaves behind, `args` and `result` as JSON values."""
    return Evidence(seq, step.kind, step.target, args, result, status=step.status, step=step.step_id)


def of_approvals(step: Step, approvals: Iterable[Approval]) -> list[Evidence]:
    """What the grants among the approvals of a step leave behind."""
    granted = [a for a in approvals if a.status == "granted" and a.cause == "policy"]
    args = identity.parse(step.args) if granted else None
    return [Evidence(a.resolved_seq, step.kind, step.target, args, approved=True) for a in granted]


def of_step(step: Step) -> list[Evidence]:
    """What a recorded step leaves behind."""
    if not step.started_seq:
        return []
    start = started(step, step.started_seq, identity.parse(step.args))
    if not step.status.terminal:
        return [start]
    result = None if step.result is None else identity.parse(step.result)
    return [start, ended(step, step.outcome_seq, start.args, result)]


def today(policy: Policy, step: Step, *, agent: str, input: object, past: History, parent: str) -> Decision:
    """What today's bundle says about a recorded step: what was recorded, where that was this very bundle; else what it
    says about the facts of the step's first submission."""
    if step.digest == policy.digest:
        return as_recorded(step)
    return policy.decide(of_known(step, agent=agent, input=input, past=past, parent=parent))


def as_recorded(step: Step) -> Decision:
    """What was decided about a step when it was recorded."""
    return Decision(Verdict(step.verdict), step.rule_id, step.reason, bundle=step.bundle, digest=step.digest)


def of_known(step: Step, *, agent: str, input: object, past: History, parent: str = "") -> Facts:
    """The facts of a recorded step: those of its first submission, whatever has happened since. `parent` is the
    execution that began its own, empty where there is none."""
    return Facts(
        step.kind,
        step.target,
        identity.parse(step.args),
        agent=agent,
        input=input,
        history=past,
        as_of=step.decided_seq,
        now=step.decided_at,
        parent=parent,
    )
