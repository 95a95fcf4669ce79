"""Tables that find rules by the value of an argument, for rules that begin with a literal test of that argument."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.matcher.operands import literal
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import absent, is_number, valid

Positions = tuple[int, ...]

_NONE: Final[Positions] = ()


@dataclass(frozen=True, slots=True)
class LiteralTest:
    """`args.KEY == X` or `args.KEY in [X, …]`, a condition that a rule needs in order to match: its literals, by
    type."""

    key: str
    texts: frozenset[str]
    numbers: frozenset[int | float]


def first_literal_test(rule: tree.Rule, values: Mapping[str, Any]) -> LiteralTest | None:
    """The first test of a rule if it is a literal test, else None. `values` are those of `let`."""
    # INVARIANT: conditions are evaluated in order, and a condition that answers no ends the rule before any test is
    # counted.
    first = next((clause for clause in rule.clauses if isinstance(clause, tree.When | tree.Unless)), None)
    expr = first.expr if isinstance(first, tree.When) else None
    while isinstance(expr, tree.And):
        expr = expr.items[0]
    if not isinstance(expr, tree.Test) or expr.op not in (Op.EQ, Op.IN) or expr.negated or expr.ignoring_case:
        return None
    operand, right = expr.operand, expr.right
    path = operand.paths[0]
    if operand.quantifier or operand.facets or len(operand.paths) > 1 or path.root != "args" or len(path.parts) != 1:
        return None
    part = path.parts[0]
    if not isinstance(part, tree.Key) or isinstance(right, tree.Operand | tree.NullLiteral | None):
        return None
    if isinstance(right, tree.Name) and right.text not in values:
        return None
    found = literal(right, values)
    options = found if isinstance(found, list) else [found]
    texts = frozenset(item for item in options if type(item) is str and valid(item))
    numbers = frozenset(item for item in options if is_number(item))
    return LiteralTest(part.name, texts, numbers) if texts or numbers else None


class ArgumentTable:
    """The positions of rules that begin with a literal test of the same argument, by the value of that argument.

    The test of a rule is maybe for a value of a type that none of its literals has, so that rule is a candidate for
    every such value.
    """

    __slots__ = ("_every", "_key", "_numbers", "_other_numbers", "_other_texts", "_texts")

    def __init__(self, key: str, literal_tests: Sequence[tuple[int, LiteralTest]]) -> None:
        self._key = key
        self._every: Positions = tuple(position for position, _ in literal_tests)
        self._other_texts: Positions = tuple(
            position for position, literal_test in literal_tests if not literal_test.texts
        )
        self._other_numbers: Positions = tuple(
            position for position, literal_test in literal_tests if not literal_test.numbers
        )
        self._texts = _positions_by_value(
            ((position, literal_test.texts) for position, literal_test in literal_tests), self._other_texts
        )
        self._numbers = _positions_by_value(
            ((position, literal_test.numbers) for position, literal_test in literal_tests), self._other_numbers
        )

    def find(self, args: Any) -> Positions:
        """The rules whose first test does not answer no for these arguments, in order. Equal results are one object."""
        if type(args) is not dict:
            return _NONE if absent(args) else self._every
        value = args.get(self._key)
        if type(value) is str:
            if value.isascii() or valid(value):
                return self._texts.get(value, self._other_texts)
            return self._every
        if is_number(value):
            return self._numbers.get(value, self._other_numbers)
        return _NONE if absent(value) else self._every


def _positions_by_value(rows: Iterable[tuple[int, Iterable[Any]]], others: Positions) -> dict[Any, Positions]:
    found: dict[Any, list[int]] = {}
    for position, literals in rows:
        for value in literals:
            found.setdefault(value, []).append(position)
    return {value: tuple(sorted((*positions, *others))) for value, positions in found.items()}
