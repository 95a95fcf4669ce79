"""Rebuilds what a decision may look at from the rows of the journal."""

from collections.abc import Iterable
from typing import Any

from rebuno.journal.records import ApprovalRow, StepRow
from rebuno.kernel.core import edited
from rebuno.kernel.core.background import NOTHING, Background
from rebuno.model import identity
from rebuno.model.decision import PERMISSIVE, Decision, Verdict
from rebuno.model.step import StepStatus
from rebuno.policy import Evidence, Facts, History, Policy


def history(steps: Iterable[StepRow], approvals: Iterable[ApprovalRow]) -> History:
    """The evidence that an execution has gathered, in the order of the events that recorded it: one forward pass. The
    rows hold what `step_facts` adds to them."""
    by_id = {step.step_id: step for step in steps}
    asked = {approval.id: approval for approval in approvals}
    edited.attach(by_id.values(), asked)
    granted = grants(asked.values())
    evidence = [one for step in by_id.values() for one in of_step(step, granted.get(step.step_id, ()))]
    for step_id, given in granted.items():
        if (step := by_id.get(step_id)) is not None:
            evidence += of_approvals(step, given)
    evidence.sort(key=lambda e: e.seq)
    return History(evidence)


def grants(approvals: Iterable[ApprovalRow]) -> dict[str, list[ApprovalRow]]:
    """The grants by the step that a person was asked about before it ran."""
    found: dict[str, list[ApprovalRow]] = {}
    for approval in approvals:
        if approval.status == "granted" and approval.cause == "policy":
            found.setdefault(approval.step_id, []).append(approval)
    return found


def let_in(step: StepRow, granted: Iterable[ApprovalRow]) -> str:
    """Who let a step in that was started: `allowed` (a rule or the default), `approved` (a person who read it),
    `granted` (a grant for more than this step), or empty: it ran though nothing did, as where a policy is only
    observed. `granted` are its own grants."""
    if step.verdict == Verdict.ALLOW:
        nobody = step.rule_id == PERMISSIVE and step.bundle == PERMISSIVE
        return "" if nobody else "allowed"
    if step.verdict != Verdict.APPROVAL:
        return ""
    if any(True for _ in granted):
        return "approved"
    return "granted" if step.approval_id else ""


def started(
    step: StepRow, seq: int, args: object, granted: Iterable[ApprovalRow] = (), at: float | None = None
) -> Evidence:
    """What the start of a step leaves behind; `seq` is the number of its event, `args` a JSON value, `at` the time
    where its row does not hold it yet."""
    return Evidence(
        seq,
        step.kind,
        step.target,
        args,
        status=StepStatus.EXECUTING,
        step=step.step_id,
        at=_began(step) if at is None else at,
        definition=definition(step),
        let_in=let_in(step, granted),
        submitted=step.decided_seq or None,
        submitted_at=step.decided_at or None,
    )


def ended(step: StepRow, seq: int, start: Evidence, result: object = None, at: float | None = None) -> Evidence:
    """What the end of a step leaves behind that began with `start`; `result` is a JSON value, `at` the time where its
    row does not hold it yet."""
    error, nothing_done = _failure(step)
    return Evidence(
        seq,
        step.kind,
        step.target,
        start.args,
        result,
        status=step.status,
        step=step.step_id,
        at=start.at,
        ended_at=(step.completed_at or None) if at is None else at,
        error=error,
        nothing_done=nothing_done,
        definition=start.definition,
        let_in=start.let_in,
        submitted=start.submitted,
        submitted_at=start.submitted_at,
    )


def of_approvals(step: StepRow, granted: Iterable[ApprovalRow]) -> list[Evidence]:
    """What the grants of a step leave behind."""
    given = list(granted)
    said = definition(step) if given else None
    return [
        Evidence(
            a.resolved_seq,
            step.kind,
            step.target,
            identity.parse(a.edited or step.args),
            approved=True,
            definition=said,
        )
        for a in given
    ]


def of_step(step: StepRow, granted: Iterable[ApprovalRow] = ()) -> list[Evidence]:
    """What a recorded step leaves behind; `granted` are its own grants."""
    if not step.started_seq:
        return []
    start = started(step, step.started_seq, identity.parse(step.call_args), granted)
    if not step.status.terminal:
        return [start]
    result = None if step.result is None else identity.parse(step.result)
    return [start, ended(step, step.outcome_seq, start, result)]


def definition(step: StepRow) -> Any:
    """What a policy sees of the definition of a step's tool; None without one."""
    return identity.parse(step.definition) if step.definition else None


def _began(step: StepRow) -> float | None:
    if step.began_at:
        return step.began_at
    return (step.decided_at if step.started_seq == step.decided_seq else step.started_at) or None


def _failure(step: StepRow) -> tuple[dict[str, Any] | None, bool | None]:
    """The failure that the body of a step reported, and whether nothing was done; None and None where it reported none:
    the kernel's own errors have a `reason`, and say that nobody knows."""
    if step.status is not StepStatus.FAILED or step.error is None:
        return None, None
    error = identity.parse(step.error)
    if not isinstance(error, dict) or "reason" in error:
        return None, None
    kind, message = error.get("type"), error.get("message")
    said = {"type": kind if isinstance(kind, str) else "", "message": message if isinstance(message, str) else ""}
    return said, step.nothing_done


def standing(policy: Policy, step: StepRow) -> Decision | None:
    """The recorded decision about a step, which stands where it was made under this very bundle; else None. It was made
    about the call as it was submitted: one that a person has changed is judged each time."""
    if not stands(policy, step):
        return None
    return Decision(Verdict(step.verdict), step.rule_id, step.reason, bundle=step.bundle, digest=step.digest)


def stands(policy: Policy, step: StepRow) -> bool:
    """Whether what was recorded about a step was decided under this very bundle, about the call that runs."""
    return step.digest == policy.digest and not step.ran_args


def current_decision(
    policy: Policy, step: StepRow, *, agent: str, input: object, past: History, background: Background
) -> Decision:
    """What today's bundle says about a recorded step: what was recorded, where that was this very bundle; else what it
    says about the facts of the step's first submission."""
    found = standing(policy, step)
    return found or policy.decide(of_known(step, agent=agent, input=input, past=past, background=background))


def of_known(step: StepRow, *, agent: str, input: object, past: History, background: Background = NOTHING) -> Facts:
    """The facts of a recorded step: those of its first submission, whatever has happened since, or of the answer that
    has changed its arguments. Its row holds what `step_facts` and `edited` add to it."""
    as_of = step.edited_seq or step.decided_seq
    facts = Facts(
        step.kind,
        step.target,
        identity.parse(step.call_args),
        agent=agent,
        input=input,
        history=past,
        as_of=as_of,
        now=step.edited_at if step.edited_seq else step.decided_at,
        definition=definition(step),
    )
    return background.tell(facts, as_of)
