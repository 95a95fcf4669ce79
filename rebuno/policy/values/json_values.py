"""JSON values and three-valued comparisons: yes is True, no is False and maybe is None."""

from math import isfinite
from typing import Any, Final

Tri = bool | None

# Beyond either bound a comparison of lists or objects is maybe.
MAX_JSON_DEPTH: Final = 128
MAX_NODES: Final = 100_000

_TYPES: Final[dict[type, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "list",
    dict: "object",
    type(None): "null",
}


class Marker:
    """The marker of a place on a path without a JSON value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


MISSING: Final = Marker("missing")
UNREADABLE: Final = Marker("unreadable")


def type_name(value: Any) -> str:
    """`string`, `number`, `boolean`, `list`, `object` or `null`; empty for a type that JSON does not have.

    Subclasses are no JSON types: `json` never makes one.
    """
    return _TYPES.get(type(value), "")


def absent(value: Any) -> bool:
    """Whether the value is missing, null or an empty list."""
    return value is None or value is MISSING or (type(value) is list and not value)


def valid(text: str) -> bool:
    """Whether the text is Unicode without lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Any) -> bool:
    """Whether the value is a finite number. A truth value is no number."""
    return type(value) is int or (type(value) is float and isfinite(value))


def is_json(value: Any) -> bool:
    """Whether the value, without its elements, is strict JSON: finite numbers, valid text."""
    if type(value) is str:
        return valid(value)
    if type(value) is float:
        return isfinite(value)
    return type(value) in _TYPES


def has_type(value: Any, name: str) -> Tri:
    """`is NAME`: the type of the value.

    `integer` is a number whose value is integral (`1.0` counts). The answer is no for a missing value, and maybe for a
    value that is no JSON or cannot be reached.
    """
    if value is MISSING:
        return False
    if not is_json(value):
        return None
    if name == "integer":
        return type(value) is int or (type(value) is float and value.is_integer())
    return type_name(value) == name


def given(value: Any) -> Tri:
    """Whether a value is there; maybe if it cannot be reached or is no JSON."""
    if absent(value):
        return False
    return True if type_name(value) else None


def invert(answer: Tri) -> Tri:
    """Kleene's not."""
    return None if answer is None else not answer


def equal(left: Any, right: Any, fold: bool = False) -> Tri:
    """`==` without coercion; `fold` compares strings without regard to case.

    The answer is maybe for values of different types, text that is not valid Unicode, NaN, infinity, and values that
    are no JSON. Lists and objects are compared element by element (three-valued and); lists of different lengths and
    objects with different keys differ. The comparison does not recurse; beyond 128 levels or 100,000 elements it is
    maybe.
    """
    if type(left) is not list and type(left) is not dict:
        return _equal_scalars(left, right, fold)
    answer: Tri = True
    nodes = 0
    stack = [(left, right, 0)]
    while stack:
        one, other, depth = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            return None
        here: Tri
        if type(one) is list and type(other) is list:
            here = len(one) == len(other)
            if here:
                if depth < MAX_JSON_DEPTH:
                    stack.extend((a, b, depth + 1) for a, b in zip(one, other, strict=True))
                else:
                    here = None
        elif type(one) is dict and type(other) is dict:
            here = _same_keys(one, other)
            if here:
                if depth < MAX_JSON_DEPTH:
                    stack.extend((value, other[key], depth + 1) for key, value in one.items())
                else:
                    here = None
        else:
            here = _equal_scalars(one, other, fold)
        if here is False:
            return False
        if here is None:
            answer = None
    return answer


def _equal_scalars(left: Any, right: Any, fold: bool) -> Tri:
    if type(left) is str and type(right) is str:
        if not (valid(left) and valid(right)):
            return None
        return left.casefold() == right.casefold() if fold else left == right
    if is_number(left) and is_number(right):
        # Python compares integers with reals exactly: 2**53 + 1 is not rounded.
        return bool(left == right)
    if type(left) is bool and type(right) is bool:
        return left is right
    # Null inside a list or an object. Null as an operand is absent and never comes here.
    if left is None and right is None:
        return True
    return None


def _same_keys(one: dict[Any, Any], other: dict[Any, Any]) -> Tri:
    if len(one) != len(other):
        return False
    if not all(type(key) is str and valid(key) for keys in (one, other) for key in keys):
        return None
    return one.keys() == other.keys()


_TRUE: Final = Marker("true")
_FALSE: Final = Marker("false")


def key_of(value: Any, fold: bool = False) -> Any:
    """The key of a scalar in a set: equal keys are equal values (`1` and `1.0`, but not `1` and `true`).

    None for a value that is no scalar of strict JSON.
    """
    if type(value) is str:
        if not valid(value):
            return None
        return value.casefold() if fold else value
    if type(value) is bool:
        return _TRUE if value else _FALSE
    return value if is_number(value) else None


def shown(value: Any, width: int = 60) -> str:
    """The value for a trace: about `width` characters at most, with control characters escaped. It never fails."""
    if type(value) is str:
        cut = value[: width + 1]
        body = "".join(_escaped(c) for c in cut[:width])
        return f'"{body}…"' if len(value) > width else f'"{body}"'
    if type(value) is int:
        # Python refuses to write very large integers out.
        return str(value) if value.bit_length() <= 200 else f"an integer of {value.bit_length()} bits"
    if type(value) is float:
        return repr(value)
    if type(value) is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if type(value) is list:
        return f"a list of {len(value)}" if value else "an empty list"
    if type(value) is dict:
        return f"an object with {len(value)} key{'' if len(value) == 1 else 's'}"
    if isinstance(value, Marker):
        return value.name
    return f"a Python `{type(value).__name__}`"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
