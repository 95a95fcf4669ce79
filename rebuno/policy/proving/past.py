"""Tests on history as numbers: how many earlier steps match for sure, and how many perhaps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import z3

from rebuno.policy.matcher.history import bound_of
from rebuno.policy.matcher.index import Lists
from rebuno.policy.proving.values import ModelAnswer, all_of, any_of, number_value
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op

_OPPOSITE: Final = {Op.LT: Op.GE, Op.GE: Op.LT, Op.LE: Op.GT, Op.GT: Op.LE, Op.EQ: Op.NE, Op.NE: Op.EQ}


class Pasts:
    """The numbers behind the tests on history. Tests of one subject, `where`, `since` and `within` share them.

    `sure` are those for certain, `perhaps` also those that may match, and `most` also those that may match because the
    submission leaves an argument out. Of a sum without bounds nothing is known.
    """

    def __init__(self, add: Callable[[Any], None]) -> None:
        self._add = add
        self.numbers: dict[str, tuple[tree.Past, Any, Any, Any]] = {}

    def answer(self, expr: tree.Past, negated: bool, named: Callable[[object], str]) -> ModelAnswer | None:
        """The answer of a test, or of its negation; None where the model does not know it. `named` tells equal
        questions, whatever they call things."""
        op, number = bound_of(expr)
        if op not in _OPPOSITE:
            return None
        sure, perhaps, most = self._of(_bare(expr), named)
        bound = number_value(number)

        def at_least(strict: bool) -> ModelAnswer:
            return ModelAnswer(_over(sure, bound, strict), _over(perhaps, bound, strict))

        def below(strict: bool) -> ModelAnswer:
            # "Below" is "not at least"; what may match because an argument is left out counts against it.
            return ModelAnswer(z3.Not(_over(most, bound, not strict)), z3.Not(_over(sure, bound, not strict)))

        match _OPPOSITE[op] if negated else op:
            case Op.GE:
                return at_least(False)
            case Op.GT:
                return at_least(True)
            case Op.LT:
                return below(True)
            case Op.LE:
                return below(False)
            case Op.EQ:
                return all_of([at_least(False), below(False)])
            case _:
                return any_of([below(True), at_least(True)])

    def _of(self, expr: tree.Past, named: Callable[[object], str]) -> tuple[Any, Any, Any]:
        key = named(expr)
        found = self.numbers.get(key)
        if found is None:
            make = z3.Real if isinstance(expr, tree.Sum) else z3.Int
            sure, perhaps, most = (make(f"past {len(self.numbers)}!{name}") for name in ("sure", "perhaps", "most"))
            self._add(z3.And(sure <= perhaps, perhaps <= most))
            if not isinstance(expr, tree.Sum):
                self._add(sure >= 0)
                self._beside_others(expr, sure, perhaps, named)
            found = self.numbers[key] = (expr, sure, perhaps, most)
        return found[1:]

    def _beside_others(self, expr: tree.Past, sure: Any, perhaps: Any, named: Callable[[object], str]) -> None:
        # What asks more of a step matches no step that what asks less does not.
        mine = _Asked(expr, named)
        for other, theirs, possible, _ in self.numbers.values():
            if isinstance(other, tree.Sum):
                continue
            asked = _Asked(other, named)
            if mine.within(asked):
                self._add(z3.And(sure <= theirs, perhaps <= possible))
            if asked.within(mine):
                self._add(z3.And(theirs <= sure, possible <= perhaps))


class _Asked:
    """What a count asks of a step: one of these subjects, and all of these conditions."""

    def __init__(self, expr: tree.Past, named: Callable[[object], str]) -> None:
        where = expr.where
        items = where.items if isinstance(where, tree.And) else () if where is None else (where,)
        self.conditions = frozenset(map(named, items))
        self.subjects = frozenset(
            (group.kind, item.value)
            for group in expr.subject.groups
            for item in group.patterns
            if isinstance(item, tree.Literal)
        )
        self.rest = named((expr.who, expr.since, expr.within))

    def within(self, other: "_Asked") -> bool:
        """Whether the other one asks no more, as far as can be told."""
        fewer = bool(self.subjects) and self.subjects <= other.subjects
        return self.rest == other.rest and fewer and self.conditions >= other.conditions


def _bare(expr: tree.Past) -> tree.Past:
    if isinstance(expr, tree.After):
        return replace(
            tree.Count(expr.subject, expr.where, Op.GE, 0), who=expr.who, since=expr.since, within=expr.within
        )
    return replace(expr, op=Op.GE, number=0)


def _over(number: Any, bound: Any, strict: bool) -> Any:
    return number > bound if strict else number >= bound


def patterns(group: tree.KindPatterns, lists: Lists) -> list[str]:
    """The patterns of one kind, with the lists that they name."""
    found: list[str] = []
    for item in group.patterns:
        listed: Any = lists[item.text] if isinstance(item, tree.Name) else [item.value]
        found += [text for text in listed if isinstance(text, str)]
    return found
