"""Follows paths to values, or to `MISSING` and `UNREADABLE` where there is no value."""

from collections.abc import Sequence
from typing import Any

from rebuno.policy.facets.reading import Reading
from rebuno.policy.syntax.tree import Each, Index, Key, PathPart, Values
from rebuno.policy.values.json_values import MISSING, UNREADABLE, absent

Parts = tuple[PathPart, ...]


def step(value: Any, part: Key | Index) -> Any:
    """The value at one key or position.

    `MISSING` for an absent key, for a position past the end of a list, and below a missing value, null or an empty
    list. `UNREADABLE` for a key of a value that is no object and for a position in a value that is no list. A command
    counts as the list of its words.
    """
    if type(part) is Key:
        if type(value) is dict:
            return value.get(part.name, MISSING)
    elif type(part) is Index:
        found = value.elements() if isinstance(value, Reading) else value if type(value) is list else None
        if found is not None:
            return found[part.position] if part.position < len(found) else MISSING
    return MISSING if absent(value) else UNREADABLE


def one(value: Any, parts: Sequence[PathPart]) -> Any:
    """The value at the end of a path without `[]` and `.*`."""
    for part in parts:
        if isinstance(part, Key | Index):
            value = step(value, part)
    return value


def spread(value: Any) -> list[Any]:
    """The elements of a list, or the words of a command; a single value counts as a list of one, an empty list as one
    missing element."""
    if type(value) is list:
        return value or [MISSING]
    words = value.elements() if isinstance(value, Reading) else None
    return [value] if words is None else list(words) or [MISSING]


def values(value: Any) -> list[Any]:
    """The values of an object, in the order of its keys. One missing element for an object without keys and for an
    absent value, one unreadable element for a value that is no object."""
    if type(value) is dict:
        return list(value.values()) or [MISSING]
    return [MISSING if absent(value) else UNREADABLE]


def keyed(value: Any) -> list[tuple[str | None, Any]]:
    """What `values` gives, each with its key; None for an element that has none."""
    found = values(value)
    if type(value) is dict and value:
        return list(zip(value, found, strict=True))
    return [(None, one) for one in found]


def many(value: Any, parts: Sequence[PathPart]) -> list[Any]:
    """The values at the ends of a path with `[]` or `.*`, in order. Never empty; a missing element is `MISSING`."""
    found = [value]
    for part in parts:
        if isinstance(part, Each):
            found = [element for item in found for element in spread(item)]
        elif isinstance(part, Values):
            found = [element for item in found for element in values(item)]
        else:
            found = [step(item, part) for item in found]
    return found


def split_at_last(parts: Parts) -> tuple[Parts, Parts] | None:
    """The path up to its last `[]` or `.*` (inclusive), and the rest; None for a path without either."""
    for position in range(len(parts) - 1, -1, -1):
        if isinstance(parts[position], Each | Values):
            return parts[: position + 1], parts[position + 1 :]
    return None


def _before_first(parts: Parts) -> Parts:
    for position, part in enumerate(parts):
        if isinstance(part, Each | Values):
            return parts[:position]
    return parts


def elements(roots: Sequence[Any], paths: Sequence[Parts], *, apart: bool, whole: bool = False) -> list[Any]:
    """The elements that an operand gives; `roots[i]` is the value that `paths[i]` starts from. Never empty.

    With `apart`, a list at the end of a path without `[]` and `.*` gives its elements, as quantifiers need them, and a
    command its words; with `whole`, a command stays whole. A path
    among several is left out if it is absent up to its first `[]` or `.*`; if all are absent, the result is one missing
    element.
    """
    if len(paths) == 1:
        return _of_path(roots[0], paths[0], apart, whole)
    found: list[Any] = []
    for root, parts in zip(roots, paths, strict=True):
        if not left_out(root, parts):
            found.extend(_of_path(root, parts, apart, whole))
    return found or [MISSING]


def left_out(root: Any, parts: Parts) -> bool:
    """Whether a path is absent up to its first `[]` or `.*`. Before `.*` an object without keys is absent too."""
    before = _before_first(parts)
    value = one(root, before)
    if absent(value):
        return True
    return type(value) is dict and not value and before is not parts and isinstance(parts[len(before)], Values)


def _of_path(root: Any, parts: Parts, apart: bool, whole: bool) -> list[Any]:
    if _before_first(parts) is not parts:
        return many(root, parts)
    value = one(root, parts)
    return spread(value) if apart and not (whole and isinstance(value, Reading)) else [value]


# ---------------------------------------------------------------- around a value


def holders(
    roots: Sequence[Any], paths: Sequence[Parts], outer: Sequence[Any], *, apart: bool, whole: bool = False
) -> list[Any]:
    """The object that each of the `elements` stands in, the innermost one: of `args.calls[].command` each call, of the
    elements of a list at `args.commands` the arguments. `outer[i]` is what `roots[i]` stands in."""
    if len(paths) == 1:
        return _holders(roots[0], paths[0], outer[0], apart, whole)
    found: list[Any] = []
    for root, parts, around in zip(roots, paths, outer, strict=True):
        if not left_out(root, parts):
            found.extend(_holders(root, parts, around, apart, whole))
    return found or [MISSING]


def last_key(parts: Parts) -> int | None:
    """The position of the last key or `.*` on a path."""
    return next((at for at in range(len(parts) - 1, -1, -1) if isinstance(parts[at], Key | Values)), None)


def _holders(root: Any, parts: Parts, outer: Any, apart: bool, whole: bool) -> list[Any]:
    last = last_key(parts)
    if last is None:
        return [outer] * len(_of_path(root, parts, apart, whole))
    apart = apart and _before_first(parts) is parts
    before, after = parts[:last], parts[last:]
    return [holder for holder in many(root, before) for _ in _of_path(holder, after, apart, whole)]
