"""Writes the journal's rows as JSON data and reads them back, field by field as the rows are declared."""

from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from rebuno.model import identity

T = TypeVar("T")

# No store holds larger integers.
_BEYOND: Final = 2**63


class UnfitError(Exception):
    """Data that is no such row; the text says where."""


def encode(row: Any) -> dict[str, Any]:
    """A row as JSON data, without the fields that hold their defaults. Bytes become hexadecimal digits."""
    return {
        field.name: _encoded(value) for field in fields(row) if (value := getattr(row, field.name)) != field.default
    }


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_encoded(item) if isinstance(item, str) else encode(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def decode(kind: type[T], data: object) -> T:
    """The row of this kind that the data holds.

    Raises:
        UnfitError: a field is missing, unknown, or of another type.
    """
    if not isinstance(data, dict):
        raise UnfitError(f"a {_named(kind)} is no object")
    row: Any = kind
    hints, required = _shape(row)
    for name in (*(required - data.keys()), *(data.keys() - hints.keys())):
        what = "lacks" if name in required else "has the unknown field"
        raise UnfitError(f"a {_named(kind)} {what} `{name}`")
    return kind(**{name: _decoded(hints[name], value, f"{_named(kind)}.{name}") for name, value in data.items()})


def _named(kind: type) -> str:
    # A file says nothing of rows.
    return kind.__name__.removesuffix("Row")


@cache
def _shape(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    return get_type_hints(kind), frozenset(f.name for f in fields(kind) if f.default is MISSING)


def _decoded(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, UnionType):
        if value is None and NoneType in get_args(hint):
            return None
        [hint] = [kind for kind in get_args(hint) if kind is not NoneType]
    if get_origin(hint) is tuple and isinstance(value, list):
        item = get_args(hint)[0]
        return tuple(_decoded(item, one, where) if item is str else decode(item, one) for one in value)
    if get_origin(hint) is dict and isinstance(value, dict):
        return value
    try:
        if hint is bytes:
            return bytes.fromhex(value)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return hint(value)
    except (TypeError, ValueError):
        raise UnfitError(f"`{where}` is {_shown(value)}") from None
    if hint is float and type(value) is int and abs(value) < _BEYOND:
        return float(value)
    if type(value) is not hint or (hint is int and abs(value) >= _BEYOND):
        raise UnfitError(f"`{where}` is {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = identity.canonical(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
