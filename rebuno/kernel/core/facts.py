"""Rebuilds what a decision may look at from the rows of the journal."""

from collections.abc import Iterable

from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.kernel.core.background import NOTHING, Background
from rebuno.model import identity
from rebuno.model.decision import Decision, Verdict
from rebuno.model.step import StepStatus
from rebuno.policy import Evidence, Facts, History, Policy


def history(steps: Iterable[StepRow], approvals: Iterable[ApprovalRow]) -> History:
    """The evidence that an execution has gathered, in the order of the events that recorded it: one forward pass."""
    by_id = {step.step_id: step for step in steps}
    evidence = [one for step in by_id.values() for one in of_step(step)]
    for approval in approvals:
        step = by_id.get(approval.step_id)
        if step is not None:
            evidence += of_approvals(step, (approval,))
    evidence.sort(key=lambda e: e.seq)
    return History(evidence)


def started(step: StepRow, seq: int, args: object) -> Evidence:
    """What the start of a step leaves behind; `seq` is the number of its event, `args` a JSON value."""
    return Evidence(seq, step.kind, step.target, args, status=StepStatus.EXECUTING, step=step.step_id)


def ended(step: StepRow, seq: int, args: object, result: object = None) -> Evidence:
    """What the end of a step that was started leaves behind, `args` and `result` as JSON values."""
    return Evidence(seq, step.kind, step.target, args, result, status=step.status, step=step.step_id)


def of_approvals(step: StepRow, approvals: Iterable[ApprovalRow]) -> list[Evidence]:
    """What the grants among the approvals of a step leave behind."""
    granted = [a for a in approvals if a.status == "granted" and a.cause == "policy"]
    args = identity.parse(step.args) if granted else None
    return [Evidence(a.resolved_seq, step.kind, step.target, args, approved=True) for a in granted]


def of_step(step: StepRow) -> list[Evidence]:
    """What a recorded step leaves behind."""
    if not step.started_seq:
        return []
    start = started(step, step.started_seq, identity.parse(step.args))
    if not step.status.terminal:
        return [start]
    result = None if step.result is None else identity.parse(step.result)
    return [start, ended(step, step.outcome_seq, start.args, result)]


def standing(policy: Policy, step: StepRow) -> Decision | None:
    """The recorded decision about a step, which stands where it was made under this very bundle; else None."""
    if step.digest != policy.digest:
        return None
    return Decision(Verdict(step.verdict), step.rule_id, step.reason, bundle=step.bundle, digest=step.digest)


def current_decision(
    policy: Policy, step: StepRow, *, agent: str, input: object, past: History, background: Background
) -> Decision:
    """What today's bundle says about a recorded step: what was recorded, where that was this very bundle; else what it
    says about the facts of the step's first submission."""
    found = standing(policy, step)
    return found or policy.decide(of_known(step, agent=agent, input=input, past=past, background=background))


def of_known(step: StepRow, *, agent: str, input: object, past: History, background: Background = NOTHING) -> Facts:
    """The facts of a recorded step: those of its first submission, whatever has happened since."""
    facts = Facts(
        step.kind,
        step.target,
        identity.parse(step.args),
        agent=agent,
        input=input,
        history=past,
        as_of=step.decided_seq,
        now=step.decided_at,
    )
    return background.tell(facts, step.decided_seq)
