"""Values in the texts that a user or an owner wrote: whole words and numbers."""

from decimal import Decimal
from typing import Any

from rebuno.policy.values.json_values import UNREADABLE, Tri, type_name, valid
from rebuno.policy.values.tokens import found_numbers
from rebuno.policy.values.word_edges import stands_alone
from tests.policy.naive.logic import one_of
from tests.policy.naive.paths import words
from tests.policy.naive.values import number


def pieces(values: list[Any]) -> tuple[list[str], list[int | float], bool]:
    """The texts and the numbers in some values, keys left out, and whether all of it could be read."""
    texts: list[str] = []
    numbers: list[int | float] = []
    whole = True
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if type(value) is str and valid(value):
            texts.append(value)
        elif number(value):
            numbers.append(value)
        elif type(value) is list:
            waiting.extend(value)
        elif type(value) is dict:
            waiting.extend(value.values())
        elif not type_name(value) or type(value) in (str, float):
            whole = False
    return texts, numbers, whole


def holds_value(values: list[Any], value: Any, fold: bool) -> Tri:
    """Whether a value stands in one of the texts as a whole word; in another case it is perhaps there."""
    if UNREADABLE in values:
        return None
    texts, numbers, whole = pieces(values)
    missed: Tri = False if whole else None
    if type(value) is bool:
        # A truth value cannot be looked for.
        return None
    if not isinstance(value, str):
        written = Decimal(repr(value)) if isinstance(value, float) else value
        in_texts = [sure or None for one in texts for found, sure in found_numbers(one) if found == written]
        return one_of([missed, value in numbers, *in_texts])
    exact = one_of([False, *(whole_word(one, value) for one in texts)])
    folded = one_of([False, *(whole_word(one.casefold(), value.casefold()) for one in texts)])
    if exact or (fold and folded):
        return True
    return missed if exact is False and folded is False else None


def holds_word(values: list[Any], word: str) -> Tri:
    """Whether a text has the word, in any case."""
    if UNREADABLE in values:
        return None
    texts, _, whole = pieces(values)
    return True if any(word in words(one) for one in texts) else (False if whole else None)


def whole_word(text: str, value: str) -> Tri:
    """Whether the value stands in the text with edges on both sides, sure ones or perhaps."""
    if not value.strip():
        return False
    starts = [start for start in range(len(text)) if text.startswith(value, start)]
    return one_of([False, *(stands_alone(text, start, start + len(value)) for start in starts)])
