"""What each predicate, in its plain form, says about a value that is there."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import re2

from rebuno.policy.globs import GlobError, glob
from rebuno.policy.regexes import regex
from rebuno.policy.syntax import Op
from rebuno.policy.values import Tri, equal, is_number, type_name, valid

Predicate = Callable[[Any, Any], Tri]

# Written with a negation of their own.
NEGATIVE: Final = {Op.NE: Op.EQ, Op.MISSING: Op.GIVEN}
# With a list on the right these ask for any of its elements.
ANY_OF: Final = frozenset({Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS})


def predicate(op: Op, fold: bool) -> Predicate:
    """The predicate's answer for a value and its right side, both there and readable; `fold` is `ignoring case`."""
    if op is Op.EQ:
        return lambda value, right: equal(value, right, fold)
    if op is Op.IN:
        return lambda value, right: is_in(value, right, fold)
    if op is Op.CONTAINS:
        return lambda value, right: contains(value, right, fold)
    if op in _ORDER:
        return _ORDER[op]
    text = _text_test(op, fold)
    return lambda value, right: _any_of(value, right, text)


def is_in(value: Any, right: Any, fold: bool = False) -> Tri:
    """`in`: compared with the elements of the value's type; maybe if there is none, unless the list is empty.

    What is no list on the right is maybe. Elements that are no JSON values keep a miss from being a no.
    """
    if type(right) is not list:
        return None
    name = type_name(value)
    if not name:
        return None
    answer: Tri = False
    comparable = not right
    for element in right:
        here = type_name(element)
        if here == name:
            comparable = True
            found = equal(value, element, fold)
            if found:
                return True
            if found is None:
                answer = None
        elif not here:
            answer = None
    return answer if comparable else None


def contains(value: Any, right: Any, fold: bool = False) -> Tri:
    """`contains`: text in text, or one of a list's elements; anything else is maybe."""
    if type(value) is list:
        return is_in(right, value, fold)
    if type(value) is not str or type(right) is not str or not (valid(value) and valid(right)):
        return None
    return right.casefold() in value.casefold() if fold else right in value


def _ordered(compare: Callable[[Any, Any], bool]) -> Predicate:
    return lambda value, right: compare(value, right) if is_number(value) and is_number(right) else None


_ORDER: Final[dict[Op, Predicate]] = {
    Op.LT: _ordered(lambda value, right: value < right),
    Op.LE: _ordered(lambda value, right: value <= right),
    Op.GT: _ordered(lambda value, right: value > right),
    Op.GE: _ordered(lambda value, right: value >= right),
}


def _any_of(value: Any, right: Any, test: Callable[[str, str], Tri]) -> Tri:
    if type(value) is not str or not valid(value):
        return None
    answer: Tri = False
    options: Sequence[Any] = right if type(right) is list else (right,)
    for option in options:
        found = test(value, option) if type(option) is str and valid(option) else None
        if found:
            return True
        if found is None:
            answer = None
    return answer


def _text_test(op: Op, fold: bool) -> Callable[[str, str], Tri]:
    if op is Op.STARTS:
        if fold:
            return lambda value, right: value.casefold().startswith(right.casefold())
        return lambda value, right: value.startswith(right)
    if op is Op.ENDS:
        if fold:
            return lambda value, right: value.casefold().endswith(right.casefold())
        return lambda value, right: value.endswith(right)
    if op is Op.LIKE:
        return lambda value, right: _like(value, right, fold)
    if op is Op.MATCHES:
        return lambda value, right: _matches(value, right, fold)
    raise AssertionError(f"no predicate for `{op.value}`")


def _like(value: str, pattern: str, fold: bool) -> Tri:
    try:
        matches = glob(pattern, fold).matches
    except GlobError:
        return None
    return matches(value.casefold() if fold else value)


def _matches(value: str, pattern: str, fold: bool) -> Tri:
    try:
        return regex(pattern, fold)(value)
    except re2.error:
        return None
