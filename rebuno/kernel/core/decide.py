"""A step that the journal does not know: today's policy decides, and what it says is recorded."""

from collections.abc import Sequence

from rebuno.journal.records import ApprovalRow, StepRow, StepWrite
from rebuno.kernel.core import budgets, events, limits
from rebuno.kernel.core.ask import ask, denied
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.divergence import guard, others_first
from rebuno.kernel.core.effects import Change, Identified
from rebuno.kernel.core.grants import covering
from rebuno.kernel.core.heavy import Foreseen, foresee
from rebuno.kernel.core.limit_outcome import Excess, weigh
from rebuno.kernel.core.settle import UNKNOWN_OUTCOME
from rebuno.model import identity
from rebuno.model.answer import Answer, Say
from rebuno.model.decision import INDETERMINATE_RETRY, NESTED_WAIT, Decision, Verdict
from rebuno.model.obligation import Obligation
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy.matcher.facts import Facts


async def fresh(attempt: Attempt, step: Identified, turn: limits.Turn) -> tuple[Answer, Change | None]:
    """Decides about a step that the journal does not know. `turn` is what the limits have told this submission."""
    await others_first(attempt, step)
    while True:
        # INVARIANT: what was decided before an await is decided again, so that it rests on the end of the log.
        seen = await foresee(attempt, step)
        await attempt.current()
        attempt.check()
        if attempt.deciding is not None if seen is None else not seen.holds(attempt):
            continue
        settled = at_once(attempt, step, turn, seen)
        if settled is not None:
            return settled
        await turn.ask(attempt, step.step_id)


def at_once(
    attempt: Attempt, step: Identified, turn: limits.Turn, seen: Foreseen | None = None
) -> tuple[Answer, Change | None] | None:
    """The answer to such a step by what is known here; None where the limits must be asked first. `seen` is what the
    policy was found to say, and holds."""
    decision = _decide(attempt, step, seen)
    places: tuple[limits.Place, ...] = ()
    kept_out: Excess | None = None
    over: tuple[Obligation, ...] = ()
    park: limits.Park | None = None
    if decision.obligations:
        places = limits.places(decision, attempt.execution)
        weighed = weigh(decision, [*budgets.over(decision, attempt.tokens), *turn.over(places)])
        decision, kept_out, over = weighed.decision, weighed.kept_out, weighed.asks
        park = turn.park(attempt, step.step_id, kept_out)
    asks = decision.verdict is Verdict.APPROVAL and kept_out is None
    grant = covering(attempt, step, decision, over, seen.layers if seen else ()) if asks else None
    asks = asks and grant is None
    if (asks or park is not None) and attempt.inside_once(step.parent_id):
        decision, asks, kept_out = _nested_wait(attempt, asks), False, None
    if attempt.blocked and not asks and step.parent_id not in attempt.bodies:
        return Answer(Say.EXECUTION_BLOCKED), None
    if kept_out is not None:
        return _kept_out(attempt, step, kept_out, park)
    if decision.verdict is not Verdict.DENY and turn.lacks(places):
        return None
    answer, change = _record(attempt, step, decision, grant, over)
    return answer, turn.noted(change, places)


def _decide(attempt: Attempt, step: Identified, seen: Foreseen | None) -> Decision:
    execution = attempt.execution
    decision = (
        seen.decision
        if seen is not None
        else attempt.policy.decide(
            Facts(
                step.kind,
                step.target,
                identity.reread(step.args),
                agent=execution.agent_id,
                input=attempt.input,
                history=attempt.history,
                now=attempt.store.now(),
                parent=attempt.parent,
            )
        )
    )
    once = step.idempotency is Idempotency.ONCE
    if decision.verdict is not Verdict.DENY and once and attempt.unknown_twin(step.kind, step.target, step.args_hash):
        return _kernels(attempt, INDETERMINATE_RETRY, UNKNOWN_OUTCOME)
    return guard(attempt, step, decision)


def _kept_out(
    attempt: Attempt, step: Identified, over: Excess, park: limits.Park | None
) -> tuple[Answer, Change | None]:
    """A step that is not recorded now: it waits for a place, or is refused."""
    rule_id = over.rule.rule_id
    if park is None:
        event = events.rate_limited(step, over.rule, over.reason, digest=attempt.policy.digest)
        return Answer(Say.RATE_LIMITED, reason=over.reason, rule_id=rule_id), Change((event,), ())
    answer = Answer(Say.PARKED, reason=over.reason, rule_id=rule_id, due=park.due)
    if step.step_id in (attempt.parked or {}):
        return answer, None
    event = events.rate_limited(step, over.rule, over.reason, digest=attempt.policy.digest, until=park.until)
    return answer, Change((event,), ())


def _record(
    attempt: Attempt, step: Identified, decision: Decision, grant: ApprovalRow | None, over: Sequence[Obligation]
) -> tuple[Answer, Change | None]:
    verdict = decision.verdict
    if verdict is Verdict.DENY:
        status = StepStatus.DENIED
    elif verdict is Verdict.APPROVAL and grant is None:
        status = StepStatus.PROPOSED
    else:
        status = StepStatus.EXECUTING
    # By position, which takes half the time that keywords do.
    row = StepRow(
        step.step_id,
        attempt.execution.id,
        step.parent_id,
        step.kind,
        step.target,
        step.args,
        step.args_hash,
        step.occurrence,
        step.idempotency,
        status,
        verdict.value,
        decision.rule_id,
        decision.bundle,
        attempt.policy.digest,
        decision.reason,
        attempt.lease.attempt if status is StepStatus.EXECUTING else 0,
    )
    if grant is not None:
        row.approval_id = grant.id
    if status is StepStatus.DENIED:
        change = Change((events.denied(row, decision, first=True),), (StepWrite(row, decided=0, settled=0),))
        return denied(row, decision), change
    if status is StepStatus.PROPOSED:
        return ask(attempt, row, decision, fresh=True, over=over)
    change = Change(
        (events.executing(row, decision, first=True),),
        (StepWrite(row, decided=0, started=0),),
        # A local body that may run again needs no record of its intent on the disk before it runs.
        held=row.kind is Kind.LOCAL and row.idempotency is Idempotency.SAFE,
    )
    return Answer(Say.PROCEED, row.step_id, rule_id=decision.rule_id), change


def _kernels(attempt: Attempt, rule_id: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule_id, reason, digest=attempt.policy.digest)


def _nested_wait(attempt: Attempt, asks: bool) -> Decision:
    what = "a person" if asks else "its turn"
    return _kernels(attempt, NESTED_WAIT, f"a step inside the body of an at_most_once step cannot wait for {what}")
