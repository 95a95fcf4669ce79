"""Long texts are searched for dates a window at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.values import tokens


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["May 5, 2025", "11 of may", "september 11th, 2025", " ", "x", "5", "\n", "2nd mar."])))
def test_dates_are_found_in_windows_as_in_the_whole(parts: list[str]) -> None:
    """However far a window reaches."""
    text = "".join(parts)
    whole = [match.span() for match in tokens._DATE.finditer(text)]
    for window in (1, 2, 7, 8_192):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokens, "_WINDOW", window)
            assert [match.span() for match in tokens._dates(text)] == whole
