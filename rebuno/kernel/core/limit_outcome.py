"""What becomes of a step that is over a limit or over a budget: the strictest of what its rules say."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rebuno.model.decision import DIVERGED, FORK_EFFECT, Decision, Verdict
from rebuno.model.obligation import Obligation, Otherwise

STRICTEST: Final = (Otherwise.DENY, Otherwise.APPROVAL, Otherwise.RATE_LIMITED, Otherwise.WAIT)

# What the agent is told, and what an execution that ends by it failed for.
EXCEEDED: Final = "rate_limit_exceeded"
UNAVAILABLE: Final = "rate_limiter_unavailable"
OVERSPENT: Final = "execution_token_budget_exceeded"


@dataclass(frozen=True, slots=True)
class ExceededLimit:
    """A limit or budget of `rule` that a step is over, and what then becomes of it. `wait` is how many seconds it may
    be parked, `due` when a place comes free, in seconds since 1970 (None: never)."""

    rule: Obligation
    otherwise: Otherwise
    reason: str
    wait: int = 0
    due: float | None = None


@dataclass(frozen=True, slots=True)
class LimitOutcome:
    """What a decision comes to. `rate_limited` is what keeps the step from being recorded for now, if anything does;
    `asks` are the rules that ask a person because of a limit or a budget."""

    decision: Decision
    rate_limited: ExceededLimit | None = None
    asks: tuple[Obligation, ...] = ()


def outcome_of(decision: Decision, over: Iterable[ExceededLimit]) -> LimitOutcome:
    """What a policy's decision, which is no denial, comes to where a step is over these limits and budgets.

    The strictest wins: a denial, a question to a person, a refusal for now, a wait. Where a person is asked by another
    rule, a refusal or a wait counts for nothing; but what the kernel itself asks about an allowed step, as in a fork,
    lets nothing past a limit.
    """
    ranked = sorted(over, key=lambda one: STRICTEST.index(one.otherwise))
    if not ranked:
        return LimitOutcome(decision)
    if ranked[0].otherwise is Otherwise.DENY:
        return LimitOutcome(_ruled(Verdict.DENY, decision, ranked[0]))
    asks = [one for one in ranked if one.otherwise is Otherwise.APPROVAL]
    if asks and decision.verdict is Verdict.ALLOW:
        decision = _ruled(Verdict.APPROVAL, decision, asks[0])
    allowed = decision.verdict is Verdict.ALLOW or decision.rule_id in (DIVERGED, FORK_EFFECT)
    for one in ranked:
        own = (one.rule.bundle, one.rule.rule_id) == (decision.bundle, decision.rule_id)
        if one.otherwise is not Otherwise.APPROVAL and (own or allowed or one.reason == UNAVAILABLE):
            return LimitOutcome(decision, one)
    return LimitOutcome(decision, None, tuple(one.rule for one in asks))


def _ruled(verdict: Verdict, decision: Decision, by: ExceededLimit) -> Decision:
    return Decision(
        verdict,
        by.rule.rule_id,
        by.reason,
        bundle=by.rule.bundle,
        digest=decision.digest,
        message=by.rule.asking.message if by.rule.asking is not None else "",
        obligations=() if verdict is Verdict.DENY else decision.obligations,
    )
