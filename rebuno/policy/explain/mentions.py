"""Which values of a `known` a text mentions and where, found by looking for one after the other."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from rebuno.policy.explain.wording import state
from rebuno.policy.facets.reading import Reading
from rebuno.policy.matcher.mentions import (
    MAX_CANDIDATES,
    MAX_SEARCHED,
    MAX_VALUES,
    SHORTEST,
    SHORTEST_HIDDEN,
    forms,
    searchable,
    spelling_of,
)
from rebuno.policy.values.json_values import Tri, shown
from rebuno.policy.values.readings import readings
from rebuno.policy.values.tokens import found_numbers, occurs, pieces

# Values by how they are looked for: as they came, and whether one is in the set for sure.
_Values = dict[str | Decimal, tuple[Any, bool]]
_NOT_A_WORD = "not as a whole word"


def explain_mentions(known: str, given: Iterable[tuple[Any, bool]], text: Any, place: str) -> tuple[Tri, str]:
    """Whether the text at `place`, which is there, holds one of the values that are given, each for sure or perhaps;
    and the whole sentence that says why. `known` is the set's name."""
    is_text = f"{place} is {state(text)},"
    if not searchable(text):
        return None, f"{is_text} which is no text that can be searched"
    values, doubt = _gathered(given)
    there = set(pieces(text.casefold()))
    close = [one for one in values if isinstance(one, str) and there.issuperset(pieces(one))]
    if len(close) > MAX_CANDIDATES:
        return None, f"{is_text} which may hold more than {MAX_CANDIDATES:,} values of `{known}`"
    found = sorted(_as_words(text, values, close), key=lambda one: str(one[0]))
    for wanted in (True, False):
        named = [values[one] for one, sure in found if sure and values[one][1] is wanted]
        if named:
            return (
                wanted or None,
                f"{is_text} which {'holds' if wanted else 'may hold'} {_named(named[0])} of `{known}`",
            )
    if found:
        return (
            None,
            f"{_named(values[found[0][0]])} stands in {place} as what may be a part of a word",
        )
    if doubt:
        return None, f"{is_text} and `{known}` has values that cannot be looked for"
    hidden = _hidden(text, values)
    if hidden is None:
        return False, f"{is_text} which holds no value of {SHORTEST} characters or more of `{known}`"
    return None, f"{hidden[0]} {place}{hidden[1]}" if hidden[0] else f"{is_text} which has too much to be searched for"


def _gathered(given: Iterable[tuple[Any, bool]]) -> tuple[_Values, bool]:
    values: _Values = {}
    doubt = False
    for one, sure in given:
        spelling = spelling_of(one)
        doubt = doubt or isinstance(one, Reading)
        if spelling is None:
            continue
        if spelling not in values and len(values) >= MAX_VALUES:
            doubt = True
        elif spelling not in values or (sure and not values[spelling][1]):
            values[spelling] = (one, sure)
    return values, doubt


def _as_words(text: str, values: _Values, close: list[str]) -> Iterator[tuple[str | Decimal, bool]]:
    # Those that stand in the text as whole words, each with whether that is sure.
    folded = text.casefold()
    for one in close:
        here = occurs(folded, one)
        if here is not False:
            yield one, here is True
    for number, sure in found_numbers(text):
        if number in values:
            yield number, sure


def _named(value: tuple[Any, bool]) -> str:
    return shown(value[0])


def _hidden(text: str, values: _Values) -> tuple[str, str] | None:
    # What comes before and after the place in the words about the first value that is found; without them where there
    # is too much to search.
    values_by_form = {form: one for one in values for form in forms(one)}
    if not values_by_form:
        return None
    found = readings(text)
    if found is None:
        return "", ""
    left = MAX_SEARCHED
    for reading, words in found.items():
        there = {reading[at : at + SHORTEST_HIDDEN] for at in range(len(reading) - SHORTEST_HIDDEN + 1)}
        close = sorted(form for form in values_by_form if _all_in(form, there))
        left -= len(close) * len(reading)
        if len(close) > MAX_CANDIDATES or left < 0:
            return "", ""
        for form in close:
            if (at := reading.find(form)) >= 0:
                how = f" {words}," if words else ""
                return f"{_named(values[values_by_form[form]])} stands in", f" at {at},{how} {_NOT_A_WORD}"
    return None


def _all_in(form: str, there: set[str]) -> bool:
    return all(form[at : at + SHORTEST_HIDDEN] in there for at in range(len(form) - SHORTEST_HIDDEN + 1))
