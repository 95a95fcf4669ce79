"""The values at a path, and what the plain facets make of them."""

import json
import re
from collections.abc import Sequence
from typing import Any

from rebuno.policy.syntax.tree import Each, Key, PathPart, Values
from rebuno.policy.values.json_values import MISSING, UNREADABLE, absent
from tests.policy.naive import options
from tests.policy.naive.options import Doubted
from tests.policy.naive.values import number, scalar, text


def follow(value: Any, parts: Sequence[PathPart]) -> list[Any]:
    """The values at a path; MISSING for what is absent, UNREADABLE for what cannot be reached."""
    if not parts:
        return [value]
    part, rest = parts[0], parts[1:]
    if value is UNREADABLE:
        return [UNREADABLE]
    if isinstance(part, Each):
        if value is None:
            return follow(None, rest)
        if absent(value):
            return follow(MISSING, rest)
        # A single value counts as a list of one.
        return [found for item in (value if type(value) is list else [value]) for found in follow(item, rest)]
    if absent(value):
        return follow(MISSING, rest)
    if isinstance(part, Values):
        if type(value) is not dict:
            return [UNREADABLE]
        return [found for item in value.values() for found in follow(item, rest)] if value else [MISSING]
    if isinstance(part, Key):
        return follow(value.get(part.name, MISSING), rest) if type(value) is dict else [UNREADABLE]
    if type(value) is not list:
        return [UNREADABLE]
    return follow(value[part.position] if part.position < len(value) else MISSING, rest)


def left_out(value: Any, parts: Sequence[PathPart]) -> bool:
    """Whether there is nothing at the whole path: elements without the value are not nothing."""
    if absent(value):
        return True
    if not parts or value is UNREADABLE:
        return False
    part, rest = parts[0], parts[1:]
    if isinstance(part, Each) and type(value) is list:
        return False
    if isinstance(part, Each):
        return left_out(value, rest)
    if isinstance(part, Values):
        return type(value) is dict and not value
    return left_out(follow(value, parts[:1])[0], rest)


def item_and_rest(parts: Sequence[PathPart]) -> tuple[Sequence[PathPart], Sequence[PathPart]]:
    """The path to the innermost element on a path, and the path from there."""
    many = [position for position, part in enumerate(parts) if isinstance(part, Each | Values)]
    cut = many[-1] + 1 if many else 0
    return parts[:cut], parts[cut:]


# ---------------------------------------------------------------- facets


def through(facets: Sequence[str], values: list[Any]) -> list[Any]:
    """What the facets, outermost first, make of the values: the set of what they make of each."""
    for facet in reversed(facets):
        values = [found for value in values for found in _read(facet, value)]
    return values


def _read(facet: str, value: Any) -> list[Any]:
    if value is UNREADABLE:
        return [UNREADABLE]
    if isinstance(value, Doubted):
        return [Doubted(one) for one in _read(facet, value.value)]
    if facet == "size" and value == [] and type(value) is list:
        return [0]
    if absent(value):
        return [MISSING]
    if facet == "size":
        return [len(value)] if text(value) or type(value) in (list, dict) else [UNREADABLE]
    if facet == "key":
        return list(value) if type(value) is dict and all(map(text, value)) else [UNREADABLE]
    if facet == "word":
        return sorted(set(words(value))) if text(value) else [UNREADABLE]
    if facet == "text":
        found = _all_texts(value)
        # Texts that cannot be read whole are not read at all.
        return [UNREADABLE] if UNREADABLE in found else found
    return options.read(facet, value)


def words(value: str) -> list[str]:
    """The runs of letters, digits and `_`, in lower case."""
    return [word.casefold() for word in re.findall(r"\w+", value)]


def _written(value: Any) -> str:
    return value if text(value) else json.dumps(value)


def _all_texts(value: Any) -> list[Any]:
    if scalar(value):
        return [_written(value)]
    if type(value) is dict:
        return _all_texts([*value, *value.values()])
    if type(value) is list:
        return [found for item in value for found in _all_texts(item)]
    return [] if value is None else [UNREADABLE]


def amount(value: Any) -> bool:
    """Whether the value can be added up: a number that is not negative."""
    return number(value) and bool(value >= 0)
