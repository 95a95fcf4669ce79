"""The answers of all predicates, without negation, for a value that is there: a JSON value or a value of a facet."""

from collections.abc import Callable, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final

import re2

from rebuno.policy.facets.reading import Facet, Reading, UncertainReading
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.globs import GlobError, glob
from rebuno.policy.values.json_values import UNREADABLE, Tri, equal, is_number, type_name, valid
from rebuno.policy.values.regexes import regex

Predicate = Callable[[Any, Any], Tri]

# Predicates that are the negation of another one.
NEGATIVE: Final = {Op.NE: Op.EQ, Op.MISSING: Op.GIVEN}
# Predicates that a list on the right side satisfies by any of its elements.
ANY_OF: Final = frozenset({Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS, Op.UNDER, Op.CONTAINS_ANY})


def predicate(op: Op, fold: bool, facet: Facet | None = None) -> Predicate:
    """The function that answers a predicate for a value and a right side, which must be there and readable. `fold` is
    `ignoring case`.

    `facet` is the facet that read the value. `under` needs it; without a facet, `under` is maybe.
    """
    plain = _plain(op, fold, facet)
    asked = _asked(op, fold)

    def answer(value: Any, right: Any) -> Tri:
        if not isinstance(value, Reading):
            return plain(value, right)
        if type(value) is UncertainReading:
            return value.agreed(lambda one: answer(one, right))
        return asked(value, right)

    return answer


def _plain(op: Op, fold: bool, facet: Facet | None) -> Predicate:
    if op is Op.EQ:
        return lambda value, right: equal(value, right, fold)
    if op is Op.IN:
        return lambda value, right: is_in(value, right, fold)
    if op is Op.CONTAINS:
        return lambda value, right: contains(value, right, fold)
    if op is Op.CONTAINS_ANY:
        return lambda value, right: _some(right, lambda part: contains(value, part, fold))
    if op is Op.UNDER:
        under = facet.under if facet else None
        return lambda value, right: _some_place(value, right, under)
    if op in _ORDER:
        return _ordered(_ORDER[op])
    text = _text_test(op, fold)
    return lambda value, right: _any_of(value, right, text)


# ---------------------------------------------------------------- what facets read


def _asked(op: Op, fold: bool) -> Callable[[Reading, Any], Tri]:
    if op is Op.EQ:
        return lambda value, right: _same(value, right, fold)
    if op is Op.IN:
        return lambda value, right: _among(value, right, fold)
    if op is Op.CONTAINS:
        return lambda value, right: _holds(value, right, fold)
    if op is Op.CONTAINS_ANY:
        return lambda value, right: _some(right, lambda part: _holds(value, part, fold))
    if op is Op.UNDER:
        return lambda value, right: _some(_listed(right), lambda place: _below(value, place))
    if op in _ORDER:
        compare = _ORDER[op]
        return lambda value, right: _compared(value, right, compare)
    return lambda value, right: _some(_listed(right), lambda text: _text_of(value, op, text, fold))


def _below(value: Reading, place: Any) -> Tri:
    return None if place is UNREADABLE else value.under(place)


def _same(value: Reading, right: Any, fold: bool) -> Tri:
    # INVARIANT: a reading is compared only with a reading of its own class. All other comparisons are maybe.
    return value.equals(right, fold) if type(right) is type(value) else None


def _among(value: Reading, right: Any, fold: bool) -> Tri:
    if type(right) is not list:
        return None
    # An unreadable or uncertain element turns a miss into maybe.
    alike = [item for item in right if item is UNREADABLE or type(item) in (type(value), UncertainReading)]
    return _some(alike, lambda item: _same(value, item, fold)) if alike or not right else None


def _holds(value: Reading, right: Any, fold: bool) -> Tri:
    return value.contains(right, fold) if _askable(right) else None


def _text_of(value: Reading, op: Op, text: Any, fold: bool) -> Tri:
    # A pattern is an object that the facet made, or a text.
    made = op is Op.LIKE and not type_name(text) and text is not UNREADABLE
    return value.text_test(op, text, fold) if made or (type(text) is str and valid(text)) else None


def _askable(right: Any) -> bool:
    return valid(right) if type(right) is str else isinstance(right, Reading)


def _compared(value: Reading, right: Any, compare: Callable[[Any, Any], bool]) -> Tri:
    order = value.compare(right) if type(right) is type(value) else None
    return None if order is None else compare(order, 0)


def _listed(right: Any) -> list[Any]:
    return right if type(right) is list else [right]


def _some(options: Any, test: Callable[[Any], Tri]) -> Tri:
    # The three-valued or over the elements of a list; maybe for a value that is no list.
    if type(options) is not list:
        return None
    answer: Tri = False
    for option in options:
        found = test(option)
        if found:
            return True
        if found is None:
            answer = None
    return answer


# ---------------------------------------------------------------- JSON values


def is_in(value: Any, right: Any, fold: bool = False) -> Tri:
    """`in`: compares the value with the elements of its type. Without such an element the answer is maybe, except for
    an empty list.

    A right side that is no list is maybe. An element that is no JSON value turns a miss into maybe.
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
    """`contains`: a text in a text, or an element in a list. A text inside an element of a list is maybe, and so is
    every other pair of values."""
    if type(value) is list:
        found = is_in(right, value, fold)
        if found is False and type(right) is str:
            return None if any(contains(item, right, fold) for item in value if type(item) is str) else False
        return found
    if type(value) is not str or type(right) is not str or not (valid(value) and valid(right)):
        return None
    return right.casefold() in value.casefold() if fold else right in value


_ORDER: Final[dict[Op, Callable[[Any, Any], bool]]] = {Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}


def _ordered(compare: Callable[[Any, Any], bool]) -> Predicate:
    return lambda value, right: compare(value, right) if is_number(value) and is_number(right) else None


def _some_place(value: Any, right: Any, under: Callable[[Any, Any], Tri] | None) -> Tri:
    if under is None or (type(value) is not str and not is_number(value)):
        return None

    def below(place: Any) -> Tri:
        return None if place is UNREADABLE or isinstance(place, Reading) else under(value, place)

    return _some(_listed(right), below)


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
