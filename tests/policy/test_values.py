"""Values are compared without coercion, exactly, and without ever failing."""

from typing import Any

import pytest

from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, equal, given, has_type, key_of, shown
from tests.policy.bundles import Text, nested

NAN = float("nan")


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        ("a", "a", True),
        ("a", "A", False),
        ("5", 5, None),  # no coercion
        (True, 1, None),  # a truth value is no number
        (True, False, False),
        (1, 1.0, True),  # numbers compare by value
        (2**53 + 1, float(2**53), False),  # nothing is rounded
        (10**400, 1.0, False),  # nor does a huge integer overflow
        (NAN, NAN, None),  # no JSON
        (float("inf"), float("inf"), None),
        ("\ud800", "\ud800", None),  # no Unicode
        (b"a", b"a", None),
        ((), (), None),
        (Text("a"), "a", None),  # json makes no subclasses
        ([1, "a"], [1, "a"], True),
        ([1], [1, 2], False),  # lengths differ
        ([NAN], [1, 2], False),  # whatever is inside
        ([1, "x"], [1, 2], None),  # doubt inside
        ([1, 5, "x"], [1, 6, 2], False),  # a no inside outweighs doubt
        ([None], [None], True),
        ([None], [0], None),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, [1], None),
        ({1: 1}, {1: 1}, None),  # keys are strings
        ({"\ud800": 1}, {"\ud800": 1}, None),
        (nested(128, False), nested(128, False), True),
        (nested(129, False), nested(129, False), None),  # too deep
        (nested(5000, True), nested(5000, True), None),
        ([0] * 100_001, [0] * 100_001, None),  # too many
    ],
)
def test_equality(left: Any, right: Any, answer: Tri) -> None:
    """Other types and what is no strict JSON are maybe, everything else is settled, either way round."""
    assert equal(left, right) is answer
    assert equal(right, left) is answer


def test_equality_without_case() -> None:
    """`ignoring case` folds strings wherever they stand, and full foldings count."""
    assert equal(["Straße"], ["STRASSE"], True) is True
    assert equal(["a"], ["b"], True) is False


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", {"string"}),
        (0, {"number", "integer"}),
        (1.0, {"number", "integer"}),  # its value is integral
        (1.5, {"number"}),
        (True, {"boolean"}),
        (None, {"null"}),
        ([], {"list"}),  # as it stands
        ({}, {"object"}),
        (MISSING, set()),
    ],
)
def test_types(value: Any, names: set[str]) -> None:
    """Each value has its types and no other."""
    every = ["string", "number", "integer", "boolean", "list", "object", "null"]
    assert {name for name in every if has_type(value, name)} == names
    assert None not in [has_type(value, name) for name in every]


@pytest.mark.parametrize("value", [NAN, "\ud800", b"", (), UNREADABLE, Text("")])
def test_types_of_what_is_no_json(value: Any) -> None:
    """What is no strict JSON has no type that could be told."""
    assert has_type(value, "string") is None


@pytest.mark.parametrize(
    ("value", "there"),
    [(None, False), (MISSING, False), ([], False), ([None], True), ("", True), (0, True), ({}, True), (False, True),
     (UNREADABLE, None), ((), None)],
)  # fmt: skip
def test_presence(value: Any, there: Tri) -> None:
    """Null, an empty list and nothing at all are absent; what cannot be read may be there."""
    assert given(value) is there
    assert absent(value) is (there is False)


def test_keys_are_equal_where_values_are() -> None:
    """The key of a scalar tells types apart but not spellings of a number."""
    assert key_of(1) == key_of(1.0)
    assert len({key_of(value) for value in (1, "1", True, 0, False, "")}) == 6
    none: list[Any] = [None, [], {}, NAN, "\ud800", MISSING]
    assert [key_of(value) for value in none] == [None] * 6
    assert key_of("ẞ", True) == key_of("SS", True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n\u202e\x00", '"a\\u000a\\u202e\\u0000"'),  # nothing that moves a cursor or turns a line
        ("\ud800", '"\\ud800"'),
        ('"\\', '"\\"\\\\"'),
        ("x" * 61, '"' + "x" * 60 + '…"'),
        (10**100, "an integer of 333 bits"),
        (True, "true"),
        (None, "null"),
        (NAN, "nan"),
        ([1, 2], "a list of 2"),
        ({"a": 1}, "an object with 1 key"),
        ((), "a Python `tuple`"),
    ],
)
def test_values_in_words(value: Any, text: str) -> None:
    """Values are cut short and made harmless before they are shown."""
    assert shown(value) == text
