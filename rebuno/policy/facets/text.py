"""`text` and `size`: what a value says when its type does not matter, and how much of it there is."""

from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.values.json_values import UNREADABLE, is_json, is_number, shown, valid

# Beyond either bound the texts of a value are maybe.
MAX_NODES: Final = 100_000  # scalars, keys, lists and objects together
MAX_BITS: Final = 10_000  # of an integer; Python writes out no more than 4,300 digits


def texts(value: Any, _: PathContext) -> Any:
    """The JSON text without quotes of a scalar; of every scalar and key inside a list or an object, in order.

    `UNREADABLE` where something inside is no strict JSON, beyond 100,000 scalars, keys, lists and objects, and for an
    integer of more than 10,000 bits.
    """
    found: list[str] = []
    stack = [value]
    left = MAX_NODES
    while stack:
        item = stack.pop()
        left -= 1
        inner = len(item) if type(item) is list or type(item) is dict else 0
        # Before anything is copied: lists that hold one another are larger than they look.
        if left < 0 or inner > MAX_NODES:
            return UNREADABLE
        if type(item) is list:
            stack.extend(reversed(item))
        elif type(item) is dict:
            if any(type(key) is not str for key in item):
                return UNREADABLE
            for key, held in reversed(item.items()):
                stack += (held, key)
        else:
            text = _text(item)
            if text is None:
                return UNREADABLE
            found.append(text)
    return found


def _text(item: Any) -> str | None:
    if not is_json(item):
        return None
    if type(item) is str:
        return item
    if type(item) is bool:
        return "true" if item else "false"
    if item is None:
        return "null"
    if type(item) is int and item.bit_length() > MAX_BITS:
        return None
    return repr(item)


def _text_literal(value: Any, _: PathContext) -> str:
    text = None if value is None or type(value) in (list, dict) else _text(value)
    if text is None:
        raise ValueError(f"`{shown(value)}` has no text; write a string, a number, `true` or `false`")
    return text


def size(value: Any, _: PathContext) -> Any:
    """The number of characters (code points) of a string, of elements of a list, of keys of an object."""
    if type(value) is list or type(value) is dict:
        return len(value)
    return len(value) if type(value) is str and valid(value) else UNREADABLE


def _size_literal(value: Any, _: PathContext) -> int | float:
    if not is_number(value):
        raise ValueError(f"`{shown(value)}` is no size; write a number")
    number: int | float = value
    return number


FACETS: Final = (
    Facet(
        name="text",
        of="any value",
        gives="the texts of a scalar, or of all scalars and keys of a list or object",
        value="string",
        read=texts,
        literal=_text_literal,
        many=True,
    ),
    Facet(
        name="size",
        of="a string, list or object",
        gives="its length in characters, elements or keys",
        value="number",
        read=size,
        literal=_size_literal,
        sees_empty=True,
    ),
)
