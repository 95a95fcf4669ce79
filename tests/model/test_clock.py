"""Times as texts and back, and the clock that stands still."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.model.clock import FixedClock, WallClock, from_rfc3339, rfc3339

TEXTS: list[tuple[float, str]] = [
    (0.0, "1970-01-01T00:00:00.000000Z"),
    (1_700_000_000.123456, "2023-11-14T22:13:20.123456Z"),
    (1_700_000_000.9999996, "2023-11-14T22:13:21.000000Z"),  # rounds into the next second
    (-1.5, "1969-12-31T23:59:58.500000Z"),  # before 1970
    (951_782_400.0, "2000-02-29T00:00:00.000000Z"),  # a leap day
]


@pytest.mark.parametrize(("seconds", "text"), TEXTS)
def test_times_are_written_in_utc_with_six_digits(seconds: float, text: str) -> None:
    """One form only, so that texts sort as the times do."""
    assert rfc3339(seconds) == text
    assert from_rfc3339(text) == round(seconds, 6)


def test_other_offsets_are_read() -> None:
    """`Z` and offsets name the same moment."""
    assert from_rfc3339("2026-03-01T10:00:00+02:00") == from_rfc3339("2026-03-01T08:00:00Z")


@pytest.mark.parametrize("text", ["2026-03-01T10:00:00", "yesterday", ""])
def test_what_names_no_moment_is_refused(text: str) -> None:
    """Without an offset, or no time at all."""
    with pytest.raises(ValueError, match=r"offset|isoformat"):
        from_rfc3339(text)


@given(st.integers(min_value=0, max_value=4_000_000_000_000_000))
@settings(max_examples=100, deadline=None)
def test_microseconds_survive(microseconds: int) -> None:
    """Written, read and written again, a time is the same."""
    text = rfc3339(microseconds / 1_000_000)
    assert rfc3339(from_rfc3339(text)) == text
    assert text == datetime.fromtimestamp(microseconds // 10**6, UTC).strftime(
        f"%Y-%m-%dT%H:%M:%S.{microseconds % 10**6:06}Z"
    )


def test_a_fixed_clock_moves_when_told_to() -> None:
    """Forward and back."""
    clock = FixedClock("2026-01-01T00:00:00Z")
    start = clock.now()
    clock.advance(90)
    assert (clock.now() - start, rfc3339(clock.now())) == (90, "2026-01-01T00:01:30.000000Z")
    clock.advance(-100)
    assert clock.now() == start - 10
    assert FixedClock(5.0).now() == 5.0


def test_the_wall_clock_is_the_machine_s() -> None:
    """Seconds since 1970."""
    assert abs(WallClock().now() - time.time()) < 1
