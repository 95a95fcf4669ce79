"""Globs are compared as the sets of names that they match."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.analysis.glob_sets import overlap, within
from rebuno.policy.values.globs import glob

NAMES = ["".join(letters) for size in range(5) for letters in product("abc*", repeat=size)]
patterns = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", r"\*", "[a-c]"]), max_size=2).map("".join)


@settings(max_examples=150, deadline=None)
@given(patterns, patterns)
def test_the_answers_are_those_of_all_short_names(one: str, other: str) -> None:
    """Where names are few enough to try them all, both questions are answered exactly."""
    mine, theirs = ({name for name in NAMES if glob(pattern).matches(name)} for pattern in (one, other))
    assert within(one, other) is (mine <= theirs)
    assert overlap(one, other) is bool(mine & theirs)


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("get_*", "*", True),
        ("get_user_*", "get_*", True),
        ("get_*", "get_user_*", False),
        ("a*b*c", "a*c", True),
        ("a*c", "a*b*c", False),
        ("[0-4]x", "[0-9]*", True),
        ("[0-9]", "[0-4]", False),
        ("??", "?*", True),
        ("\u00e9*", "?*", True),
    ],
)
def test_within(inner: str, outer: str, expected: bool) -> None:
    """One pattern lies within another where whatever the first matches, the second does."""
    assert within(inner, outer) is expected


def test_what_would_take_too_long_is_not_claimed() -> None:
    """Long patterns are neither said to lie within each other nor to be apart."""
    one, other = "a*" * 150 + "b", "a*" * 151 + "b"
    assert not within(other, one)
    assert overlap(one, other)
    assert not within("*" + "?a" * 40, "*" + "a?" * 40)
