"""`contains any KNOWN`: whether one of the values stands in a text, for sure or perhaps."""

from decimal import Decimal
from typing import Any

from rebuno.policy.values.json_values import Tri, valid
from rebuno.policy.values.readings import readings
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT, found_numbers
from tests.policy.naive.logic import all_of, one_of
from tests.policy.naive.texts import whole_word

SHORTEST = 3
SHORTEST_INSIDE = 4


def mentioned(text: str, entries: list[tuple[Any, Tri]]) -> Tri:
    """Whether one of the values, each in the set for sure or perhaps, stands in the text."""
    sought = [(value, sure) for value, sure in entries if type(value) is not bool and len(_written(value)) >= SHORTEST]
    if not sought:
        return False
    if not valid(text) or len(text) > MAX_SEARCHED_TEXT:
        return None
    return one_of([False, *(all_of([_stands(value, text), sure]) for value, sure in sought)])


def _stands(value: Any, text: str) -> Tri:
    inside: Tri = None if _hidden(_written(value), text) else False
    if isinstance(value, str):
        return one_of([whole_word(text.casefold(), value.casefold()), inside])
    written = Decimal(repr(value)) if isinstance(value, float) else value
    return one_of([inside, *(sure or None for found, sure in found_numbers(text) if found == written)])


def _written(value: Any) -> str:
    """The value as it is looked for in a text: the digits of a number, whole ones without a point."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{Decimal(repr(value)).normalize():f}"
    return str(Decimal(value))


def _hidden(value: str, text: str) -> bool:
    """Whether the value stands anywhere in the text, as it is or in another reading of it."""
    if not value.strip():
        return False
    of_value, of_text = readings(value), readings(text)
    if of_value is None or of_text is None:
        return True
    return any(len(one) >= SHORTEST_INSIDE and one in other for one in of_value for other in of_text)
