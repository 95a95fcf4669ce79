"""Budgets: what an execution's model calls have used, against what its rules let it use."""

from collections.abc import Iterator

from rebuno.kernel.core.limit_outcome import OVERSPENT, ExceededLimit
from rebuno.model.decision import Decision


def over(decision: Decision, tokens: int) -> Iterator[ExceededLimit]:
    """The budgets of a decision that so many tokens have used up. What is in flight is not reserved: a call that starts
    below the cap may end above it, and the next one is refused."""
    for rule in decision.obligations:
        if rule.budget is not None and tokens >= rule.budget.tokens:
            yield ExceededLimit(rule, rule.budget.otherwise, OVERSPENT)
