"""`text of` gives what a value says whatever its type, `size of` how much of it there is."""

from typing import Any

import pytest
from hypothesis import given, settings

from rebuno.policy.facets import text
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.bundles import Text, nested, values

NOWHERE = PathContext()
TEXT, SIZE = text.FACETS
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
DOUBLED: list[Any] = []
for _ in range(60):
    DOUBLED = [DOUBLED, DOUBLED]


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("x", ["x"]),
        ('a "b"\n', ['a "b"\n']),  # as it stands, nothing escaped
        ("", [""]),
        (5, ["5"]),
        (-1.5, ["-1.5"]),
        (1.0, ["1.0"]),
        (1e100, ["1e+100"]),
        (True, ["true"]),
        (False, ["false"]),
        (["a", 1, [True, None]], ["a", "1", "true", "null"]),
        ({"k": ["a", {"l": 2}], "m": {}}, ["k", "a", "l", "2", "m"]),  # keys and values, in order
        ({}, []),
        ([[]], []),
        (nested(300, True), ["x"] * 300 + ["1"]),
        (nested(10_000, False), ["1"]),
        ([1] * 99_999, ["1"] * 99_999),
        ([1] * 100_000, UNREADABLE),  # the list itself counts
        ([[]] * 100_000, UNREADABLE),
        (ENDLESS, UNREADABLE),
        (DOUBLED, UNREADABLE),
        (2**9_999, [str(2**9_999)]),
        (2**10_000, UNREADABLE),
        ("\ud800", UNREADABLE),
        (["a", float("nan")], UNREADABLE),  # what cannot be read may say anything
        ({"a": b""}, UNREADABLE),
        ({1: "a"}, UNREADABLE),
        (Text("a"), UNREADABLE),
    ],
)
def test_texts(value: Any, gives: Any) -> None:
    """Every scalar and key, once each time it stands there; or nothing at all."""
    assert TEXT.read(value, NOWHERE) == gives


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 2),  # code points, not what the eye sees
        ("👍", 1),
        ([], 0),
        ([None, 1], 2),
        ({}, 0),
        ({"a": 1}, 1),
        ("\ud800", UNREADABLE),
        (5, UNREADABLE),
        (True, UNREADABLE),
        (b"a", UNREADABLE),
    ],
)
def test_sizes(value: Any, gives: Any) -> None:
    """Characters, elements or keys; a number has no size."""
    assert SIZE.read(value, NOWHERE) == gives


def test_an_empty_list_has_a_size() -> None:
    """Everywhere else it is absent; asked for its size it is there."""
    assert SIZE.sees_empty
    assert not TEXT.sees_empty


@pytest.mark.parametrize(("written", "text"), [("a", "a"), (5, "5"), (0.5, "0.5"), (True, "true")])
def test_literals_are_compared_as_text(written: Any, text: str) -> None:
    """`any text of args.x == 5` asks for the text `5`."""
    assert TEXT.literal(written, NOWHERE) == text


@pytest.mark.parametrize("written", [None, [1], {}, float("inf"), "\ud800"])
def test_what_has_no_text_is_refused(written: Any) -> None:
    """A rule is told what to write instead."""
    with pytest.raises(ValueError, match="has no text; write a string, a number, `true` or `false`"):
        TEXT.literal(written, NOWHERE)


def test_a_size_is_a_number() -> None:
    """A rule that compares it with anything else is refused."""
    assert SIZE.literal(3, NOWHERE) == 3
    with pytest.raises(ValueError, match="is no size; write a number"):
        SIZE.literal("3", NOWHERE)


@settings(max_examples=150)
@given(values)
def test_no_value_is_too_odd(value: Any) -> None:
    """Reading never raises; it gives texts and a number, or nothing."""
    found = TEXT.read(value, NOWHERE)
    assert found is UNREADABLE or all(type(one) is str for one in found)
    size = SIZE.read(value, NOWHERE)
    assert size is UNREADABLE or type(size) is int
