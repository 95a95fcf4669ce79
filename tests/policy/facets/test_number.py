"""`number of` reads what a value is or writes out, exactly, and nothing that other words may change."""

from typing import Any

import pytest
from hypothesis import given, settings

from rebuno.policy.facets import number
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.bundles import Text, values

NOWHERE = PathContext()
FACET = number.FACETS[0]


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        (5, 5),
        (0.5, 0.5),
        ("5", 5),
        (" 5\n", 5),
        ("-5", -5),
        ("+5", 5),
        ("−5", -5),  # the typographer's minus
        ("1,100", 1100),
        ("1,100.50", 1100.5),
        ("$1,100", 1100),
        ("-$6", -6),
        ("12€", 12),
        ("EUR 12", 12),
        ("12 EUR", 12),
        ("0.1", 0.1),
        ("9007199254740993", 2**53 + 1),  # no double on the way
        ("-1234567890123456789012345678901234567890", -1234567890123456789012345678901234567890),
        ("0.10000000000000000001", UNREADABLE),  # no double holds it, and it is not 0.1
        ("5k", UNREADABLE),
        ("5 MIO", UNREADABLE),  # what stands beside it may change it
        ("5 million", UNREADABLE),
        ("minus 5", UNREADABLE),
        ("5%", UNREADABLE),
        ("(5)", UNREADABLE),  # a negative amount, to some
        ("5.", UNREADABLE),
        ("5 6", UNREADABLE),
        ("5 5", UNREADABLE),
        ("12,50", UNREADABLE),  # another country's way of writing
        ("1.100,50", UNREADABLE),
        ("007", UNREADABLE),
        ("1e5", UNREADABLE),
        ("0x10", UNREADABLE),
        ("٣", UNREADABLE),
        ("-+5", UNREADABLE),
        ("", UNREADABLE),
        (" ", UNREADABLE),
        ("nan", UNREADABLE),
        ("2024-05-15", UNREADABLE),
        ("9" * 1000, 10**1000 - 1),
        ("9" * 1001, UNREADABLE),
        ("9" * 400 + ".5", UNREADABLE),  # more than a double can hold
        ("\ud800", UNREADABLE),
        (True, UNREADABLE),
        ([5], UNREADABLE),
        ({}, UNREADABLE),
        (float("nan"), UNREADABLE),
        (Text("5"), UNREADABLE),  # json makes no subclasses
    ],
)
def test_a_number_is_read(value: Any, gives: Any) -> None:
    """By value and exactly, or not at all."""
    found = FACET.read(value, NOWHERE)
    assert found == gives
    assert type(found) is type(gives)


def test_numbers_are_found_in_a_text() -> None:
    """Whole tokens, as everywhere in the language; what no double holds exactly cannot be asked for either."""
    assert FACET.find is not None
    text = "pay 1,100 and 0.5, -3; 5k; May 7; 0.10000000000000000001; " + "9" * 1001
    assert sorted(FACET.find(text, NOWHERE)) == [-3, 0.5, 1100]


@pytest.mark.parametrize("written", ["five", "", True, None, [1]])
def test_a_literal_is_a_number(written: Any) -> None:
    """A rule that asks for anything else is refused, with an example."""
    assert FACET.literal("1,100", NOWHERE) == 1100
    with pytest.raises(ValueError, match="is no number; write it in digits"):
        FACET.literal(written, NOWHERE)


@settings(max_examples=150)
@given(values)
def test_no_value_is_too_odd(value: Any) -> None:
    """Reading never raises, and gives a number or nothing."""
    found = FACET.read(value, NOWHERE)
    assert found is UNREADABLE or type(found) in (int, float)
