"""From the clauses of a rule to what it asks for besides its verdict."""

from typing import Final

from rebuno.model.obligation import Asking, Budget, Limit, LimitScope, Obligation, Otherwise
from rebuno.policy.syntax import tree as s

_OTHERWISE: Final = {
    "deny": Otherwise.DENY,
    "wait": Otherwise.WAIT,
    "require approval": Otherwise.APPROVAL,
}


def obligation_of(rule: s.Rule, bundle: str) -> Obligation | None:
    """What a rule of the bundle of that name asks for, None where it asks for nothing."""
    limit: Limit | None = None
    budget: Budget | None = None
    approvers: tuple[str, ...] = ()
    quorum, expires, message = 1, None, ""
    asks = False
    for clause in rule.clauses:
        match clause:
            case s.Limit():
                limit = _limit(clause)
            case s.Budget(tokens, otherwise):
                budget = Budget(tokens, _OTHERWISE.get(otherwise, Otherwise.DENY))
            case s.Approvers(names):
                asks, approvers = True, tuple(dict.fromkeys(str(name.value) for name in names))
            case s.Quorum(number):
                asks, quorum = True, number
            case s.Expires(duration):
                asks, expires = True, duration.seconds
            case s.Message(text):
                asks, message = True, str(text.value)
            case s.When() | s.Unless() | s.Because():
                pass
    asking = Asking(approvers, quorum, expires, message) if asks else None
    if limit is None and budget is None and asking is None:
        return None
    return Obligation(bundle, rule.id.text, limit, budget, asking)


def _limit(clause: s.Limit) -> Limit:
    return Limit(
        clause.number,
        clause.window.seconds if clause.window else None,
        LimitScope(clause.scope),
        _OTHERWISE.get(clause.otherwise, Otherwise.RATE_LIMITED),
        clause.wait.seconds if clause.wait else 0,
        clause.unavailable == "allow",
    )
