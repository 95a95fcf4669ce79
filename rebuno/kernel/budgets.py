"""Budgets: what an execution's model calls have used, against what its rules let it use."""

from collections.abc import Iterable, Iterator

from rebuno.journal.records import Step
from rebuno.kernel.excess import OVERSPENT, Excess
from rebuno.model.decision import Decision


def used(steps: Iterable[Step]) -> int:
    """The input and output tokens that these steps are known to have used."""
    return sum((step.input_tokens or 0) + (step.output_tokens or 0) for step in steps)


def over(decision: Decision, tokens: int) -> Iterator[Excess]:
    """The budgets of a decision that so many tokens have used up. What is in flight is not reserved: a call that starts
    below the cap may end above it, and the next one is refused."""
    for rule in decision.obligations:
        if rule.budget is not None and tokens >= rule.budget.tokens:
            yield Excess(rule, rule.budget.otherwise, OVERSPENT)
