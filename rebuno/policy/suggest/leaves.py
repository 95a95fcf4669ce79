"""Takes arguments apart into scalars at paths, and tells the shape of what stands at a path."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from rebuno.policy.suggest import words
from rebuno.policy.suggest.text import Part, Path

_DEEPEST: Final = 4
_MOST: Final = 60
_EMAIL: Final = re.compile(r"[^@\s<>\",;:]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_URL: Final = re.compile(r"(?i)([a-z][a-z0-9+.-]*://\S+|www\.[^\s/]+\.\S+|[a-z0-9-]+(\.[a-z0-9-]+)+[/?]\S*)")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_SQL: Final = re.compile(
    r"(?is)\s*(select\b.*\bfrom|insert\s+into|update\b.*\bset|delete\s+from|drop|alter|truncate|create\s+table|with\b.*\bas\s*\()\b"
)
_LONG: Final = 120


class Shape(Enum):
    """What the values at a path are."""

    NUMBER = "number"
    TRUTH = "truth"
    EMAIL = "email"
    URL = "url"
    DATE = "date"
    PATH = "path"
    COMMAND = "command"
    SQL = "sql"
    CODE = "code"
    TEXT = "text"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class SeenArguments:
    """The scalars of a call by path, and the keys of each object by the path of the object. `whole` is false where a
    part is too deep, too wide or empty to be written as a rule."""

    leaves: Mapping[Path, tuple[Any, ...]]
    objects: Mapping[Path, frozenset[str]]
    whole: bool


def take_apart(args: Any) -> SeenArguments:
    """The arguments of a call, apart. Null and an empty list count as left out."""
    leaves: dict[Path, list[Any]] = {}
    objects: dict[Path, set[str]] = {}
    whole = True
    waiting: list[tuple[Path, Any]] = [((), {} if args is None else args)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            whole = whole and (bool(value) or not path)
            objects.setdefault(path, set()).update(value)
            waiting += [((*path, key), each) for key, each in reversed(value.items())]
        elif isinstance(value, list):
            # A list of lists has no path of its own.
            whole = whole and not (path and path[-1] is Part.EACH)
            waiting += [((*path, Part.EACH), each) for each in reversed(value)]
        elif value is not None:
            leaves.setdefault(path, []).append(value)
            whole = whole and not (isinstance(value, float) and not math.isfinite(value))
        elif path and path[-1] is Part.EACH:
            whole = False
        whole = whole and len(path) <= _DEEPEST and len(leaves) <= _MOST and path != (Part.EACH,)
        if not whole:
            break
    whole = whole and () not in leaves
    return SeenArguments(
        {path: tuple(values) for path, values in leaves.items()},
        {path: frozenset(keys) for path, keys in objects.items()},
        whole,
    )


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a JSON value, keys included."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting += [*found, *found.values()]
        elif isinstance(found, list):
            waiting += found


def key_of(path: Path) -> str:
    """The last key of a path, empty without one."""
    return next((part for part in reversed(path) if not isinstance(part, Part)), "")


def is_email(value: Any) -> bool:
    """Whether a value is one plain mail address."""
    return isinstance(value, str) and _EMAIL.fullmatch(value) is not None


def shape_of(path: Path, values: Iterable[Any]) -> Shape:
    """The shape of all values that were seen at a path. Values of several types, and words that no rule knows, are
    tokens: such a value must come from somewhere."""
    seen = list(values)
    if all(isinstance(value, bool) for value in seen):
        return Shape.TRUTH
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in seen):
        return Shape.TOKEN if words.is_id(key_of(path)) else Shape.NUMBER
    if not all(isinstance(value, str) for value in seen):
        return Shape.TOKEN
    return _of_texts(key_of(path), seen)


def _of_texts(key: str, seen: list[str]) -> Shape:
    if words.names_command(key):
        return Shape.COMMAND
    if words.names_sql(key) or all(_SQL.match(value) for value in seen):
        return Shape.SQL
    if words.names_code(key):
        return Shape.CODE
    if words.names_path(key):
        return Shape.PATH
    if all(_EMAIL.fullmatch(value) for value in seen):
        return Shape.EMAIL
    if words.names_url(key) or any(_URL.fullmatch(value) for value in seen):
        return Shape.URL
    if all(_DATE.fullmatch(value) for value in seen):
        return Shape.DATE
    # One long value among short ones must not make prose of what names somebody.
    if words.names_text(key) or all(len(value) > _LONG and " " in value for value in seen):
        return Shape.TEXT
    if any(re.fullmatch(r"(\.{0,2}|~)/\S*|\S+/\S+", value) for value in seen):
        return Shape.PATH
    return Shape.TOKEN
