"""Collects the obligations of a rule from its clauses: limits, budgets and questions to people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rebuno.model.obligation import Asking, Budget, Limit, LimitScope, Obligation, Otherwise
from rebuno.policy.syntax import tree as s

_OTHERWISE: Final = {
    "deny": Otherwise.DENY,
    "wait": Otherwise.WAIT,
    "require approval": Otherwise.APPROVAL,
}


def obligation_of(rule: s.Rule, bundle: str, values: Mapping[str, Any]) -> Obligation | None:
    """The obligation of a rule in the bundle of that name; None for a rule without limit, budget or question. `values`
    are those of `let`."""
    limit: Limit | None = None
    budget: Budget | None = None
    approvers: tuple[str, ...] = ()
    quorum, expires, message = 1, None, ""
    asks = False
    for clause in rule.clauses:
        match clause:
            case s.LimitClause():
                limit = _limit(clause)
            case s.BudgetClause(tokens, otherwise):
                budget = Budget(tokens, _OTHERWISE.get(otherwise, Otherwise.DENY))
            case s.Approvers(names):
                asks, approvers = True, tuple(dict.fromkeys(_ids(names, values)))
            case s.Quorum(number):
                asks, quorum = True, number
            case s.Expires(duration):
                asks, expires = True, duration.seconds
            case s.Message(text):
                asks, message = True, str(text.value) if isinstance(text, s.Literal) else ""
            case s.When() | s.Unless() | s.Because():
                pass
    asking = Asking(approvers, quorum, expires, message) if asks else None
    if limit is None and budget is None and asking is None:
        return None
    return Obligation(bundle, rule.id.text, limit, budget, asking)


def _ids(names: Sequence[s.Literal | s.Name], values: Mapping[str, Any]) -> Iterator[str]:
    for name in names:
        found = name.value if isinstance(name, s.Literal) else values[name.text]
        yield from map(str, found if isinstance(found, list) else [found])


def _limit(clause: s.LimitClause) -> Limit:
    return Limit(
        int(clause.number),
        clause.window.seconds if clause.window else None,
        LimitScope(clause.scope),
        _OTHERWISE.get(clause.otherwise, Otherwise.RATE_LIMITED),
        clause.wait.seconds if clause.wait else 0,
        clause.unavailable == "allow",
    )
