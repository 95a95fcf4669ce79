"""Comparisons of two JSON values that are both there."""

import re
from math import isfinite
from typing import Any, Final

from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MAX_JSON_DEPTH, UNREADABLE, Tri, type_name, valid
from tests.policy.naive.logic import all_of, one_of

ORDERS: Final = (Op.LT, Op.LE, Op.GT, Op.GE)


def number(value: Any) -> bool:
    """A number of strict JSON."""
    return type(value) is int or (type(value) is float and isfinite(value))


def text(value: Any) -> bool:
    """A text of strict JSON."""
    return type(value) is str and valid(value)


def scalar(value: Any) -> bool:
    """A text, number or truth value."""
    return text(value) or number(value) or type(value) is bool


def equal(left: Any, right: Any, fold: bool = False, depth: int = 0) -> Tri:
    """`==`: nothing is converted, and values of different types are maybe."""
    if text(left) and text(right):
        return bool(left.casefold() == right.casefold()) if fold else bool(left == right)
    if number(left) and number(right):
        return bool(left == right)
    if type(left) is bool and type(right) is bool:
        return left is right
    if left is None and right is None:
        return True
    if type(left) is list and type(right) is list:
        if len(left) != len(right):
            return False
        if depth >= MAX_JSON_DEPTH:
            return None
        return all_of(equal(a, b, fold, depth + 1) for a, b in zip(left, right, strict=True))
    if type(left) is dict and type(right) is dict:
        if len(left) != len(right):
            return False
        if not all(map(text, [*left, *right])):
            return None
        if set(left) != set(right):
            return False
        if depth >= MAX_JSON_DEPTH:
            return None
        return all_of(equal(left[key], right[key], fold, depth + 1) for key in left)
    return None


def member(value: Any, items: list[Any], fold: bool) -> Tri:
    """`in LIST`: compared with the elements of the value's type, maybe if there is none of it."""
    if not items:
        return False
    if not type_name(value):
        return None
    alike = [equal(value, item, fold) for item in items if type_name(item) == type_name(value)]
    unread = [None for item in items if not type_name(item)]
    return one_of([*alike, *unread]) if alike else None


def contains(left: Any, right: Any, fold: bool) -> Tri:
    """`contains`: a part of a text; an element of a list, perhaps where it is inside a text of the list."""
    if type(left) is list:
        found = member(right, left, fold)
        inside = text(right) and any(text(item) and _within(right, item, fold) for item in left)
        return None if found is False and inside else found
    if text(left) and text(right):
        return _within(right, left, fold)
    return None


def _within(part: str, whole: str, fold: bool) -> bool:
    return part.casefold() in whole.casefold() if fold else part in whole


def holds(op: Op, left: Any, right: Any, fold: bool) -> Tri:
    """The predicate, of values that are not absent."""
    if left is UNREADABLE or right is UNREADABLE:
        return None
    if op is Op.EQ:
        return equal(left, right, fold)
    if op in ORDERS:
        return _ordered(op, left, right) if number(left) and number(right) else None
    if op is Op.IN:
        return member(left, right, fold) if type(right) is list else None
    if op is Op.CONTAINS:
        return contains(left, right, fold)
    if op is Op.CONTAINS_ANY:
        return one_of(contains(left, item, fold) for item in right) if type(right) is list else None
    if not text(left):
        return None
    return one_of(_text_test(op, left, item, fold) for item in (right if type(right) is list else [right]))


def _ordered(op: Op, left: Any, right: Any) -> bool:
    if op is Op.LT:
        return bool(left < right)
    if op is Op.LE:
        return bool(left <= right)
    return bool(left > right) if op is Op.GT else bool(left >= right)


def _text_test(op: Op, left: str, right: Any, fold: bool) -> Tri:
    if not text(right):
        return None
    if op is Op.MATCHES:
        return re.fullmatch(right, left, re.DOTALL | (re.IGNORECASE if fold else 0)) is not None
    if fold:
        left, right = left.casefold(), right.casefold()
    if op is Op.STARTS:
        return left.startswith(right)
    if op is Op.ENDS:
        return left.endswith(right)
    if op is Op.LIKE:
        return like(right, left)
    raise NotImplementedError(op)


def like(pattern: str, name: str) -> bool:
    """A glob over the whole name."""
    if not pattern:
        return not name
    first, rest = pattern[0], pattern[1:]
    if first == "*":
        return any(like(rest, name[start:]) for start in range(len(name) + 1))
    if not name:
        return False
    if first == "?":
        return like(rest, name[1:])
    if first == "[":
        inside, rest = rest.split("]", 1)
        return _in_class(inside, name[0]) and like(rest, name[1:])
    if first == "\\":
        first, rest = rest[0], rest[1:]
    return name[0] == first and like(rest, name[1:])


def _in_class(inside: str, character: str) -> bool:
    if inside.startswith("!"):
        return not _in_class(inside[1:], character)
    if inside[1:2] == "-":
        return inside[0] <= character <= inside[2] or (len(inside) > 3 and _in_class(inside[3:], character))
    return bool(inside) and (inside[0] == character or _in_class(inside[1:], character))
