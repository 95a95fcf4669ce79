"""Collects the obligations of a rule from its clauses: limits, budgets and questions to people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rebuno.model.obligation import Asking, Budget, Limit, LimitScope, Obligation, Otherwise, PathSign, ValuePath
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.shown import shown_path

_OTHERWISE: Final = {
    "deny": Otherwise.DENY,
    "wait": Otherwise.WAIT,
    "require approval": Otherwise.APPROVAL,
}


def named_limits(bundle: s.Bundle) -> dict[str, s.LimitClause]:
    """The quantities of the bundle's named limits."""
    return {line.name.text: line.limit for line in bundle.statements if isinstance(line, s.NamedLimit)}


def obligation_of(
    rule: s.Rule, bundle: str, values: Mapping[str, Any], named: Mapping[str, s.LimitClause]
) -> Obligation | None:
    """The obligation of a rule in the bundle of that name; None for a rule without limit, budget or question. `values`
    are those of `let`, `named` the bundle's named limits."""
    limit: Limit | None = None
    budget: Budget | None = None
    approvers: tuple[str, ...] = ()
    quorum, expires, message = 1, None, ""
    edits: tuple[ValuePath, ...] = ()
    asks = False
    for clause in rule.clauses:
        match clause:
            case s.LimitClause():
                limit = _limit(clause, named)
            case s.BudgetClause(tokens, otherwise):
                budget = Budget(tokens, _OTHERWISE.get(otherwise, Otherwise.DENY), LimitScope(clause.scope))
            case s.Approvers(names):
                asks, approvers = True, tuple(dict.fromkeys(_ids(names, values)))
            case s.Quorum(number):
                asks, quorum = True, number
            case s.Expires(duration):
                asks, expires = True, duration.seconds
            case s.Message(text):
                asks, message = True, str(text.value) if isinstance(text, s.Literal) else ""
            case s.Edits(paths):
                asks, edits = True, tuple(map(_path, paths))
            case s.When() | s.Unless() | s.Because():
                pass
    asking = Asking(approvers, quorum, expires, message, edits) if asks else None
    if limit is None and budget is None and asking is None:
        return None
    return Obligation(bundle, rule.id.text, limit, budget, asking)


def _ids(names: Sequence[s.Literal | s.Name], values: Mapping[str, Any]) -> Iterator[str]:
    for name in names:
        found = name.value if isinstance(name, s.Literal) else values[name.text]
        yield from map(str, found if isinstance(found, list) else [found])


def _limit(clause: s.LimitClause, named: Mapping[str, s.LimitClause]) -> Limit:
    quantity = clause if clause.named is None else named[clause.named.text]
    return Limit(
        quantity.number,
        quantity.window.seconds if quantity.window else None,
        LimitScope(quantity.scope),
        _OTHERWISE.get(clause.otherwise, Otherwise.RATE_LIMITED),
        clause.wait.seconds if clause.wait else 0,
        clause.unavailable == "allow",
        tuple(_path(path) for path in quantity.measure),
        _path(quantity.key) if quantity.key else None,
        clause.named.text if clause.named else "",
    )


def _path(path: s.Path) -> ValuePath:
    parts: list[str | int | PathSign] = []
    for part in path.parts:
        match part:
            case s.Key(name):
                parts.append(name)
            case s.Index(position):
                parts.append(position)
            case s.Each():
                parts.append(PathSign.ELEMENTS)
            case s.Values():
                parts.append(PathSign.VALUES)
    return ValuePath(shown_path(path), path.root, tuple(parts))
