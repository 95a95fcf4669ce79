"""Budgets: what the model calls of an execution or a session have used, against what its rules let it use."""

from collections.abc import Iterator

from rebuno.kernel.core.limit_outcome import OVERSPENT, ExceededLimit
from rebuno.model.decision import Decision
from rebuno.model.obligation import LimitScope


def over(decision: Decision, tokens: int, others: int = 0) -> Iterator[ExceededLimit]:
    """The budgets of a decision that so many tokens have used up; `others` are those that other executions of the
    session have used. What is in flight is not reserved: a call that starts below the cap may end above it, and the
    next one is refused."""
    for rule in decision.obligations:
        if rule.budget is None:
            continue
        used = tokens + others if rule.budget.scope is LimitScope.SESSION else tokens
        if used >= rule.budget.tokens:
            yield ExceededLimit(rule, rule.budget.otherwise, OVERSPENT)
