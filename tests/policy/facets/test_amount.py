"""`amount of` reads a number beside a currency, and nothing that other words may change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.policy.facets import amount
from rebuno.policy.facets.reading import PathContext, UncertainValue
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.bundles import values

NOWHERE = PathContext()
FACET = amount.FACETS[0]


def perhaps(*numbers: int | float) -> list[Any]:
    return [UncertainValue(number) for number in numbers]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pay 5 EUR to Ann", [5]),
        ("Pay EUR 5.50 now", [5.5]),
        ("Pay 5EUR", [5]),
        ("Pay EUR5", [5]),
        ("€5, please", [5]),
        ("5€.", [5]),
        ("(5 €)", [5]),
        ("US$ 12", [12]),
        ("20 dollars", [20]),
        ("20 Dollars", [20]),
        ("5 eur", [5]),
        ("Total: 5 EUR", [5]),
        ("-5 EUR", [-5]),
        ("EUR -5", [-5]),
        ("5 EUR and 6 USD", [5, 6]),
        ("5 EUR or 5 USD", [5]),  # equal by value
        # Separators
        ("5,50 EUR", [5.5]),
        ("5,5 EUR", [5.5]),
        ("0.125 EUR", [0.125]),
        ("1,100 EUR", [1100]),
        ("1.100 EUR", perhaps(1100, 1.1)),
        ("1.100,50 EUR", [1100.5]),
        ("1,100.50 EUR", [1100.5]),
        ("1.100.000 EUR", [1_100_000]),
        ("1'100 CHF", [1100]),
        ("1’100.50 CHF", [1100.5]),
        ("1 100 EUR", perhaps(1100)),
        ("1 100,50 EUR", perhaps(1100.5)),
        ("1234.567 EUR", [1234.567]),
        ("1234,567 EUR", perhaps(1234.567)),
        ("1.2.3 EUR", []),
        ("1,10,000 EUR", []),
        ("007 EUR", []),
        ("$.50", []),
        # No currency beside it
        ("Pay the invoice of 5 Mai 2025 to DE75", []),
        ("bill 1177", []),
        ("PIN: 1234", []),
        ("in 2025", []),
        ("5 apples, EUR", []),
        ("5\nEUR", []),
        ("DE75 5121 0800 1245 EUR", []),
        ("5 XEUR", []),
        ("5 EURO2", []),
        ("12:5 EUR", []),
        ("5 EUR/day", []),
        ("x5 EUR", []),
        # Words of size
        ("5 million EUR", []),
        ("5 EUR million", []),
        ("5 thousand dollars", []),
        ("5 Mio. EUR", []),
        ("$5k", []),
        ("$5 k", []),
        ("$5m", []),
        ("$5-million", []),
        ("EUR 5bn", []),
        ("$5    million", []),
        ("5 EUR\n\n\nmillion", []),
        # Ranges
        ("10-20 EUR", []),
        ("10 – 20 €", []),
        ("10 to 20 EUR", []),
        ("10 EUR to 20 EUR", []),
        ("€10 to €20", []),
        ("between 10 and 20 EUR", []),
        ("between 10 EUR and 20 EUR", []),
        ("10 EUR - 20 EUR", []),
        ("20 EUR to 12345678", [20]),
        ("$20 to 12345678", [20]),
        ("$20 to 30", perhaps(20)),
        ("from 20 EUR to 30", []),
        ("from 20 EUR to 12345678", [20]),
        ("up to 20 EUR", perhaps(20)),
        ("at most €20", perhaps(20)),
        ("> 20 EUR", perhaps(20)),
        ("about 20 EUR", perhaps(20)),
        ("20 EUR or more", perhaps(20)),
        # In doubt
        ("in 2025 EUR 5", perhaps(2025, 5)),
        ("50 pounds", perhaps(50)),
        ("o'5 EUR", perhaps(5)),
        ("9" * 41 + " EUR", []),
        ("0.1234567890123456789012345 EUR", []),  # no double holds it
    ],
)
def test_amounts_in_a_text(text: str, found: list[Any]) -> None:
    """What a `known` holds of a text."""
    assert list(FACET.find(text, NOWHERE) if FACET.find else ()) == found


def test_very_many_numbers() -> None:
    """What stands behind the first ten thousand is not read."""
    assert FACET.find is not None
    few = "x 1 apple " * (amount.MAX_AMOUNTS - 1) + "7 EUR 8 EUR"
    assert list(FACET.find(few, NOWHERE)) == [UncertainValue(7)]


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        (5, 5),
        (0.5, 0.5),
        ("5 EUR", 5),
        (" EUR 5 ", 5),
        ("€5", 5),
        ("5,50 €", 5.5),
        ("1,100 USD", 1100),
        ("-5 EUR", -5),
        ("1.100 EUR", UNREADABLE),
        ("5", UNREADABLE),  # no currency
        ("about 5 EUR", UNREADABLE),
        ("Pay 5 EUR", UNREADABLE),
        ("5 EUR 6 EUR", UNREADABLE),
        ("5k EUR", UNREADABLE),
        ("", UNREADABLE),
        (True, UNREADABLE),
        (float("nan"), UNREADABLE),
        (["5 EUR"], UNREADABLE),
        ({}, UNREADABLE),
        ("\ud800", UNREADABLE),
    ],
)
def test_one_amount(value: Any, gives: Any) -> None:
    """A value is an amount if the amount is all that it says."""
    assert FACET.read(value, NOWHERE) == gives


def test_a_literal_is_an_amount() -> None:
    """A number, or one with its currency."""
    assert FACET.literal("5 EUR", NOWHERE) == FACET.literal(5, NOWHERE) == 5
    with pytest.raises(ValueError, match="is no amount"):
        FACET.literal("5", NOWHERE)


@given(values)
def test_reading_never_fails(value: Any) -> None:
    """Each value is a number or in doubt."""
    read = FACET.read(value, NOWHERE)
    assert read is UNREADABLE or type(read) in (int, float)


@given(st.text())
def test_finding_never_fails(text: str) -> None:
    """Each text gives numbers, certain and uncertain ones."""
    for one in FACET.find(text, NOWHERE) if FACET.find else ():
        assert type(getattr(one, "value", one)) in (int, float)
