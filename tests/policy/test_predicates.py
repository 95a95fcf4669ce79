"""What a facet gives is only ever asked about what it can answer; everything else is maybe before it is asked."""

from dataclasses import dataclass
from typing import Any

import pytest

from rebuno.policy.facets.predicates import predicate
from rebuno.policy.facets.reading import Facet, Reading
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import HOSTILE


@dataclass(frozen=True, slots=True)
class Level(Reading):
    """A reading that takes its right sides at their word, and fails on any other."""

    height: int

    def equals(self, right: Any, fold: bool) -> Tri:
        return bool(self.height == right.height)

    def compare(self, right: Any) -> int:
        return int(self.height - right.height)

    def contains(self, right: Any, fold: bool) -> Tri:
        return str(self.height) in (right if isinstance(right, str) else str(right.height))

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        return str(self.height) == (right.text if isinstance(right, Pattern) else right.strip())

    def under(self, right: Any) -> Tri:
        return bool(self.height <= right.height)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a facet makes of a text after `like`."""

    text: str


class Other(Reading):
    """A reading of another facet."""


FOREIGN: list[Any] = [None, 5, True, [], {}, UNREADABLE, Other(), *HOSTILE]


@pytest.mark.parametrize(
    ("op", "right", "answer"),
    [
        (Op.EQ, Level(5), True),
        (Op.EQ, "5", None),  # a text is no level
        (Op.IN, [Level(4), Level(5)], True),
        (Op.IN, [Level(4), "5"], False),  # compared with those of its own kind
        (Op.IN, ["5"], None),
        (Op.IN, [], False),
        (Op.LT, Level(6), True),
        (Op.GE, Level(6), False),
        (Op.LE, 6, None),
        (Op.CONTAINS, "456", True),
        (Op.CONTAINS_ANY, ["4", "56"], True),
        (Op.CONTAINS_ANY, ["4", 5], None),
        (Op.CONTAINS_ANY, "56", None),  # no list
        (Op.LIKE, Pattern("5"), True),
        (Op.LIKE, ["4", Pattern("5")], True),
        (Op.LIKE, ["4", UNREADABLE], None),
        (Op.STARTS, ["4", "5"], True),
        (Op.STARTS, Pattern("5"), None),  # a pattern is for `like`
        (Op.UNDER, [Level(4), Level(5)], True),
        (Op.UNDER, [Level(4), UNREADABLE], None),
    ],
)
def test_readings(op: Op, right: Any, answer: Tri) -> None:
    """A list on the right asks for any of its elements; what the reading cannot answer is maybe."""
    assert predicate(op, False)(Level(5), right) is answer


@pytest.mark.parametrize("op", [Op.EQ, Op.LT, Op.LE, Op.GT, Op.GE, Op.CONTAINS, Op.STARTS, Op.ENDS, Op.MATCHES])
def test_foreign_right_sides(op: Op) -> None:
    """No value that stands on the right makes a reading fail, unless it is a text that is asked for in a text."""
    texts = op in (Op.CONTAINS, Op.STARTS, Op.ENDS, Op.MATCHES)
    for right in FOREIGN:
        if not (texts and (type(right) is str or isinstance(right, Other) or (type(right) is list and not right))):
            assert predicate(op, False)(Level(5), right) is None


def test_plain_values_under_a_place() -> None:
    """A facet's own test is asked about texts and numbers, and about places that were made for it."""

    def under(value: Any, place: Any) -> Tri:
        return bool(value.endswith(place))

    facet = Facet("f", "a", "b", "string", lambda v, s: v, lambda v, s: v, network=lambda v, s: v, under=under)
    ask = predicate(Op.UNDER, False, facet)
    assert [ask("a.b", place) for place in ("b", "c", ["c", "b"], UNREADABLE, Level(5), ["c", UNREADABLE])] == [
        True, False, True, None, None, None
    ]  # fmt: skip
    others: list[Any] = [None, [], {}, True, UNREADABLE]
    assert [ask(value, "b") for value in others] == [None] * 5
    assert predicate(Op.UNDER, False)("a.b", "b") is None  # nobody says what is below
