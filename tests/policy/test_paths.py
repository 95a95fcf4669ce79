"""Paths tell what is absent from what cannot be reached."""

from typing import Any

import pytest

from rebuno.policy.matcher.paths import elements, split_at_last
from rebuno.policy.syntax.tree import Each, Index, Key, PathPart, Values
from rebuno.policy.values.json_values import MISSING, UNREADABLE

EACH, VALUES = Each(), Values()


def parts(*given: str | int | None) -> tuple[PathPart, ...]:
    return tuple(
        EACH if g is None else VALUES if g == "*" else Index(g) if isinstance(g, int) else Key(g) for g in given
    )


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": 1}, ("a",), 1),
        ({"a": None}, ("a",), None),  # as it stands
        ({}, ("a",), MISSING),
        ({"a": None}, ("a", "b"), MISSING),  # below an absent value
        ({"a": []}, ("a", "b"), MISSING),
        ({"a": []}, ("a", 0), MISSING),
        ({}, ("a", "b", 0), MISSING),
        ({"a": 1}, ("a", "b"), UNREADABLE),  # a name of what is no object
        ({"a": [1]}, ("a", "b"), UNREADABLE),
        ({"a": {"b": 1}}, ("a", 0), UNREADABLE),  # a position in what is no list
        ({"a": "text"}, ("a", 0), UNREADABLE),
        ({"a": 1}, ("a", "b", "c"), UNREADABLE),
        ([1, 2], (1,), 2),
        ([1, 2], (2,), MISSING),  # past the end
        ("text", (), "text"),
        (("a",), (0,), UNREADABLE),  # a tuple is no list
        ({"0": 1}, (0,), UNREADABLE),
    ],
)
def test_one_value(value: Any, path: tuple[str | int, ...], found: Any) -> None:
    """A path without `[]` gives one value, or one of the two marks."""
    assert elements([value], [parts(*path)], apart=False) == [found]


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": [1, None, []]}, ("a", None), [1, None, []]),  # null and an empty list are absent elements
        ({"a": 1}, ("a", None), [1]),  # a single value counts as a list of one
        ({"a": {"b": 1}}, ("a", None, "b"), [1]),
        ({"a": None}, ("a", None), [None]),
        ({"a": []}, ("a", None), [MISSING]),
        ({}, ("a", None), [MISSING]),
        ({"a": [{"b": 1}, {}, 3]}, ("a", None, "b"), [1, MISSING, UNREADABLE]),
        ({"a": [{"b": [1, 2]}, {"b": []}, {}]}, ("a", None, "b", None), [1, 2, MISSING, MISSING]),
        ({"a": [[1], [2, 3]]}, ("a", None), [[1], [2, 3]]),  # one level
        ({"a": [1, [2]]}, ("a",), [1, [2]]),  # taken apart one level for a quantifier
        ({"a": 1}, ("a",), [1]),
        ({"a": []}, ("a",), [MISSING]),
        ({"a": None}, ("a",), [None]),
    ],
)
def test_elements(value: Any, path: tuple[str | int | None, ...], found: list[Any]) -> None:
    """A quantifier sees the elements, and one absent element where there is none."""
    assert elements([value], [parts(*path)], apart=True) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": 1, "b": [2, 3]}, [1, 2, 3]),
        ({"a": 1}, [1]),  # an absent path is left out
        ({"a": None, "b": []}, [MISSING]),  # all absent
        ({"a": [None], "b": 1}, [None, 1]),  # only paths are left out, not elements
        ("text", [UNREADABLE, UNREADABLE]),
    ],
)
def test_several_paths(value: Any, found: list[Any]) -> None:
    """Several paths are read one after the other."""
    assert elements([value, value], [parts("a"), parts("b")], apart=True) == found


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": {"x": 1, "y": None, "z": []}}, ("a", "*"), [1, None, []]),  # a null among them is absent
        ({"a": {"x": [1, 2]}}, ("a", "*"), [[1, 2]]),  # one level
        ({"a": {"x": {"y": 1}}}, ("a", "*"), [{"y": 1}]),
        ({"a": {"x": {"y": 1}, "z": {}, "w": 3}}, ("a", "*", "y"), [1, MISSING, UNREADABLE]),
        ({"a": [{"x": 1}, {}, [], {"y": 2, "z": 3}]}, ("a", None, "*"), [1, MISSING, MISSING, 2, 3]),
        ({"a": {"x": [1, 2], "y": 3}}, ("a", "*", None), [1, 2, 3]),
        ({"a": {"x": {"y": 1}, "z": {"w": 2}}}, ("a", "*", "*"), [1, 2]),
        ({"a": {}}, ("a", "*"), [MISSING]),
        ({}, ("*",), [MISSING]),
        ({"a": None}, ("a", "*"), [MISSING]),
        ({"a": []}, ("a", "*"), [MISSING]),
        ({}, ("a", "*"), [MISSING]),
        ({"a": [1]}, ("a", "*"), [UNREADABLE]),
        ({"a": "text"}, ("a", "*"), [UNREADABLE]),
        ({"a": 0}, ("a", "*"), [UNREADABLE]),
        ({"a": False}, ("a", "*"), [UNREADABLE]),
        ("text", ("a", "*"), [UNREADABLE]),
    ],
)
def test_values_of_an_object(value: Any, path: tuple[str | int | None, ...], found: list[Any]) -> None:
    """`.*` gives each value; an object without keys is absent, what is no object is out of reach."""
    assert elements([value], [parts(*path)], apart=True) == found
    assert elements([value], [parts(*path)], apart=False) == found


def test_an_object_without_keys_is_left_out_among_several_paths() -> None:
    """Before `.*` it is absent like an empty list before `[]`; anywhere else it is a value."""
    assert elements([{"a": {}, "b": 1}] * 2, [parts("a", "*"), parts("b")], apart=True) == [1]
    assert elements([{"a": {}, "b": 1}] * 2, [parts("a", None), parts("b")], apart=True) == [{}, 1]
    assert elements([{"a": {"x": {}}, "b": 1}] * 2, [parts("a", "*", "*"), parts("b")], apart=True) == [MISSING, 1]


def test_a_path_with_elements_is_left_out_as_a_whole_only() -> None:
    """Elements without the value stay, so that `every` notices them."""
    paths = [parts("a", None, "x"), parts("b")]
    assert elements([{"a": [{}, {"x": 1}]}] * 2, paths, apart=True) == [MISSING, 1]
    assert elements([{"a": [], "b": 2}] * 2, paths, apart=True) == [2]


def test_splitting_at_the_last_element() -> None:
    """What a `where` calls the item stands at the last `[]` or `.*`."""
    assert split_at_last(parts("a", None, "b", None, "c")) == (parts("a", None, "b", None), parts("c"))
    assert split_at_last(parts("a", None, "b", "*", "c")) == (parts("a", None, "b", "*"), parts("c"))
    assert split_at_last(parts("a")) is None
