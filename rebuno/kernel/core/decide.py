"""A new step, besides what the policy says of it: the kernel's own rules, limits and budgets, which only make it
stricter."""

from rebuno.kernel.core import budgets, events, limits
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.divergence import OthersNeeded, guard, instead_of
from rebuno.kernel.core.effects import Effects, Identified, Need, Routed
from rebuno.kernel.core.grants import covering
from rebuno.kernel.core.limit_outcome import ExceededLimit, outcome_of
from rebuno.kernel.core.standing import AskedBefore, StandingNeeded
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.decision import INDETERMINATE_RETRY, NESTED_WAIT, UNKNOWN_OUTCOME, Decision, Verdict
from rebuno.model.step import Idempotency


def stricter(attempt: Attempt, step: Identified, decision: Decision) -> Decision | Routed | Need:
    """What a policy's decision about a new step comes to. The answer itself where the step is not recorded now: what
    stands before it blocks it, or a limit keeps it out. A Need where the limits, or other branches, come first."""
    if attempt.asking is not None and step.parent_id not in attempt.bodies:
        return AskedBefore()
    if decision.verdict is not Verdict.DENY:
        once = step.idempotency is Idempotency.ONCE
        if once and not attempt.hosted and attempt.recorded.unknown_twin(step):
            decision = _denied(attempt, INDETERMINATE_RETRY, UNKNOWN_OUTCOME)
        elif not step.others_came and instead_of(attempt, step) is not None:
            return OthersNeeded(step)
        else:
            decision = guard(attempt, step, decision)
    limited: ExceededLimit | None = None
    park: limits.Park | None = None
    turn = step.turn
    if turn is not None or decision.obligations:
        turn = step.turn = turn or limits.LimitState()
        if (need := limits.session_needed(attempt, turn, decision)) is not None:
            return need
        turn.places = limits.places(decision, attempt, step, turn)
        weighed = outcome_of(
            decision, [*budgets.over(decision, attempt.recorded.tokens, turn.tokens or 0), *turn.over()]
        )
        decision, limited, turn.asks = weighed.decision, weighed.rate_limited, weighed.asks
        park = turn.park(attempt, step.step_id, limited)
    # INVARIANT: where there is no such grant a question awaits nothing, so that no later step overtakes it.
    may_stand = attempt.execution.agent_id in attempt.standing.granted and not decision.rule_id.startswith("__")
    if decision.verdict is Verdict.APPROVAL and step.standing is None and may_stand:
        return StandingNeeded(step)
    asks = decision.verdict is Verdict.APPROVAL and limited is None and covering(attempt, step, decision) is None
    granted = decision.verdict is Verdict.APPROVAL and not asks
    if (asks or park is not None) and _inside_once(attempt, step.parent_id):
        what = "a person" if asks else "its turn"
        reason = f"a step inside the body of an at_most_once step cannot wait for {what}"
        decision, asks, limited = _denied(attempt, NESTED_WAIT, reason), False, None
    if attempt.blocked and not asks and step.parent_id not in attempt.bodies:
        return Routed(Answer(AnswerKind.EXECUTION_BLOCKED))
    if limited is not None:
        return _rate_limited(attempt, step, limited, park)
    if turn is None or decision.verdict is Verdict.DENY:
        return decision
    wanted = turn.lacks(asks=asks, granted=granted)
    return limits.PlacesNeeded(turn, step.step_id, wanted) if wanted else decision


def _rate_limited(attempt: Attempt, step: Identified, over: ExceededLimit, park: limits.Park | None) -> Routed:
    """A step that is not recorded now: it waits for a place, or is refused."""
    rule_id = over.rule.rule_id
    if park is None:
        event = events.rate_limited(step, over.rule, over.reason, digest=attempt.policy.digest)
        return Routed(Answer(AnswerKind.RATE_LIMITED, reason=over.reason, rule_id=rule_id), Effects((event,), ()))
    answer = Answer(AnswerKind.PARKED, reason=over.reason, rule_id=rule_id, due=park.due)
    if step.step_id in (attempt.parked or {}):
        return Routed(answer)
    event = events.rate_limited(step, over.rule, over.reason, digest=attempt.policy.digest, until=park.until)
    return Routed(answer, Effects((event,), ()))


def _denied(attempt: Attempt, rule_id: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule_id, reason, digest=attempt.policy.digest)


def _inside_once(attempt: Attempt, parent_id: str) -> bool:
    """Whether a step submitted in the body of `parent_id` may not wait: it is inside the body of an `at_most_once`
    step, or of one that has ended meanwhile, in which no later attempt will come to it again."""
    while parent_id:
        # What has ended is not kept.
        parent = attempt.steps.get(parent_id)
        if parent is None or parent.status.terminal or parent.idempotency is Idempotency.ONCE:
            return True
        parent_id = parent.parent_id
    return False
