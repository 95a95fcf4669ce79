"""`date of` reads the one day that a text names."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.facets.date import facets
from rebuno.policy.facets.date.facets import Day
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import Text, values

NOWHERE = PathContext()
FACET = facets.FACETS[0]
MAY_15 = Day(2024, 5, 15)
JANUARY_11 = Day(None, 1, 11)


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("2024-05-15", MAY_15),
        ("2024-05-15T10:00:00Z", MAY_15),
        ("2024-05-15T23:59:59.123+02:00", MAY_15),  # as written: no time zones
        ("2024-05-15t10:00", MAY_15),
        ("2024-05-15 10:00", MAY_15),
        ("on 2024-05-15, at noon", MAY_15),
        ("May 15th, 2024", MAY_15),
        ("may 15 2024", MAY_15),
        ("MAY 15TH 2024.", MAY_15),
        ("15 May 2024", MAY_15),
        ("15th of May, 2024", MAY_15),
        ("January 11th", JANUARY_11),
        ("January 11", JANUARY_11),
        ("Jan. 11", JANUARY_11),
        ("11th of January", JANUARY_11),
        ("11 Jan.", JANUARY_11),
        ("Sept 1", Day(None, 9, 1)),
        ("the 11th of January, and again: January 11", JANUARY_11),
        ("Feb 29", Day(None, 2, 29)),
        ("2024-02-29", Day(2024, 2, 29)),
        ("2000-02-29", Day(2000, 2, 29)),
        ("2023-02-29", UNREADABLE),
        ("1900-02-29", UNREADABLE),
        ("February 30", UNREADABLE),
        ("April 31st", UNREADABLE),
        ("2024-13-01", UNREADABLE),
        ("2024-00-01", UNREADABLE),
        ("2024-05-00", UNREADABLE),
        ("0000-01-01", UNREADABLE),
        ("2024-05-15T25:00", UNREADABLE),
        ("2024-05-15, not 2023-02-30", UNREADABLE),
        ("11/01/2025", UNREADABLE),  # whose month?
        ("2024-05-15 or 11/01/2025", UNREADABLE),
        ("11.01.2025", UNREADABLE),
        ("2025-05-05 20260101", UNREADABLE),  # which of them does the calendar take?
        ("2025-05-05 2026\u201301\u201301", UNREADABLE),
        ("2025-05-05 2026\u5e741\u67081\u65e5", UNREADABLE),
        ("2025-05-05 (moved to 1. Januar 2026)", UNREADABLE),
        ("2025-05-05 + 5 days", UNREADABLE),
        ("2024-05-15 at 9:30", MAY_15),  # a time of day
        ("2024-05-15 to 2024-05-16", UNREADABLE),
        ("2024-05-15/2024-05-16", UNREADABLE),
        ("January 11 and 2025-01-11", UNREADABLE),
        ("May 5-7", UNREADABLE),
        ("May 5–7", UNREADABLE),
        ("January 2025", UNREADABLE),
        ("January", UNREADABLE),
        ("in May\n5 people", UNREADABLE),
        ("agenda-2024-05-15.txt", UNREADABLE),
        ("x2024-05-15", UNREADABLE),
        ("12024-05-15", UNREADABLE),
        ("20240515", UNREADABLE),
        ("٢٠٢٤-٠٥-١٥", UNREADABLE),
        ("ſept 1", UNREADABLE),  # a long s is an s only where case is ignored
        ("", UNREADABLE),
        ("tomorrow", UNREADABLE),
        (20240515, UNREADABLE),
        (None, UNREADABLE),
        (["2024-05-15"], UNREADABLE),
        ("\ud800", UNREADABLE),
        (Text("2024-05-15"), UNREADABLE),
        ("x" * (1 << 20) + " 2024-05-15", UNREADABLE),
    ],
)
def test_a_day_is_read(value: Any, gives: Any) -> None:
    """As written, in any of the ways that are read, alone among other words; or not at all."""
    assert FACET.read(value, NOWHERE) == gives


@pytest.mark.parametrize(
    ("left", "right", "same", "order"),
    [
        ("2024-05-15", "2024-05-15", True, 0),
        ("2024-05-15", "2024-05-16", False, -1),
        ("2024-05-15", "2024-04-16", False, 1),
        ("2024-05-15", "2023-05-15", False, 1),
        ("2024-05-15", "May 15", True, None),  # that day in any year
        ("2024-05-15", "May 16", False, None),
        ("May 15", "May 15", True, None),
        ("May 15", "May 16", False, None),
    ],
)
def test_days_compare(left: str, right: str, same: Tri, order: int | None) -> None:
    """Full dates are ordered; a day without a year is that day of every year, and comes neither before nor after."""
    one, other = FACET.literal(left, NOWHERE), FACET.literal(right, NOWHERE)
    assert one.equals(other, False) is same
    assert other.equals(one, False) is same
    assert one.compare(other) == order
    back = other.compare(one)
    assert back == (None if order is None else -order)


days = st.builds(Day, st.sampled_from([None, 2024, 2025]), st.sampled_from([1, 2]), st.sampled_from([1, 2]))


@settings(max_examples=60)
@given(days, days)
def test_a_set_answers_as_equality_does(filed: Day, asked: Day) -> None:
    """What is looked up meets what was filed exactly where the two are equal, and for sure."""
    shared = set(filed.index_keys(False)) & set(asked.lookup_keys(False))
    assert bool(shared) is asked.equals(filed, False)
    assert all(sure for _, sure in shared)


def test_days_are_found_in_a_text() -> None:
    """All that a text names; what does not exist, or is part of something longer, is left out."""
    assert FACET.find is not None
    text = "From the 15th of May 2024 (or January 11) to 2024-05-20; never 2023-02-29, May 5-7, 11/01/2025"
    assert list(FACET.find(text, NOWHERE)) == [MAY_15, JANUARY_11, Day(2024, 5, 20)]


@pytest.mark.parametrize(
    ("day", "shown"), [(MAY_15, "2024-05-15"), (JANUARY_11, "January 11"), (Day(7, 1, 2), "0007-01-02")]
)
def test_a_trace_shows_a_day_as_it_can_be_written(day: Day, shown: str) -> None:
    """What is shown can be copied into a rule."""
    assert day.json() == shown
    assert FACET.literal(shown, NOWHERE) == day


def test_days_compare_with_nothing_else() -> None:
    """What is no day is maybe."""
    assert MAY_15.equals("2024-05-15", False) is None
    assert MAY_15.compare("2024-05-15") is None


@pytest.mark.parametrize("written", ["tomorrow", "2023-02-29", "2024-01-01 to 2024-01-02", 5, True])
def test_a_literal_is_one_day(written: Any) -> None:
    """A rule that asks for anything else is refused, with both ways to write a day."""
    with pytest.raises(ValueError, match="is no day; write `2025-01-31`, or `January 31`"):
        FACET.literal(written, NOWHERE)


@settings(max_examples=150)
@given(st.one_of(values, st.text("0123456789-T: /.JanuryMey thof,ſ\n", max_size=30)))
def test_no_value_is_too_odd(value: Any) -> None:
    """Reading never raises, and gives a day or nothing."""
    found = FACET.read(value, NOWHERE)
    assert found is UNREADABLE or type(found) is Day
