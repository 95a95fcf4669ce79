"""Which values of an operand a single test accepts, where its right side is known when the bundle is read."""

from typing import Any, Final

from rebuno.policy.analysis.value_sets import (
    ABSENT,
    ALL_NUMBERS,
    ALL_TEXTS,
    BOOLEANS,
    NO_NUMBERS,
    NO_TEXTS,
    STATES,
    Numbers,
    TextPattern,
    TextSet,
    ValueSet,
    below,
    exactly,
    listed,
    other_numbers,
)
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import Tri, is_number, valid

_ORDER: Final = (Op.LT, Op.LE, Op.GT, Op.GE)
_TYPE_STATES: Final = {"null": {"null"}, "boolean": BOOLEANS, "list": {"list", "empty"}, "object": {"object"}}


class _AnswersByValue:
    """A plain test's answers: one for each state, and for texts and numbers either one for all or where it is yes.
    What is not known of a test is left out of both."""

    __slots__ = ("numbers", "states", "texts", "unknown")

    def __init__(self) -> None:
        self.states: dict[str, Tri] = dict.fromkeys(STATES)
        self.texts: TextSet | Tri = None
        self.numbers: Numbers | Tri = None
        self.unknown: set[str] = set()


def accepted_values(op: Op, right: Any, fold: bool, *, negated: bool, sure: bool, at_most: bool) -> ValueSet:
    """The values for which a test is yes (`sure`), or yes or maybe.

    `op` is a plain predicate and `right` its constant. Where the set cannot be drawn it is larger with `at_most` and
    smaller without.
    """
    answers = _answers(op, right, fold)
    pushed = op not in (Op.GIVEN, Op.IS)

    def takes(answer: Tri) -> bool:
        found = None if answer is None else answer is not negated
        return found or (found is None and not sure)

    states = {state for state, answer in answers.states.items() if takes(answer)} - answers.unknown
    for state in ABSENT if pushed else {"missing"} if op is Op.IS else set():
        # Absence is no for a test as it is written, and maybe for its negation.
        states.discard(state)
        if negated and not sure:
            states.add(state)
    texts, numbers = answers.texts, answers.numbers
    if not isinstance(texts, TextSet):
        texts = ALL_TEXTS if takes(texts) else NO_TEXTS
    elif negated:
        texts = TextSet(texts.patterns, others=not texts.others)
    if not isinstance(numbers, tuple):
        numbers = ALL_NUMBERS if takes(numbers) else NO_NUMBERS
    elif negated:
        numbers = other_numbers(numbers)
    if "text" in answers.unknown:
        texts = ALL_TEXTS if at_most else NO_TEXTS
    if "number" in answers.unknown:
        numbers = ALL_NUMBERS if at_most else NO_NUMBERS
    if at_most:
        states |= answers.unknown & STATES
    return ValueSet(frozenset(states), texts, numbers)


def _answers(op: Op, right: Any, fold: bool) -> _AnswersByValue:
    out = _AnswersByValue()
    if op is Op.GIVEN:
        out.states = {state: state not in ABSENT for state in STATES} | {"unreadable": None}
        out.texts = out.numbers = True
        out.unknown = {"odd"}
    elif op is Op.IS:
        out.states = {state: state in _TYPE_STATES.get(right, ()) for state in STATES}
        out.states |= {"unreadable": None, "odd": None}
        out.texts, out.numbers = right == "string", right in ("number", "integer")
        out.unknown = {"number"} if right == "integer" else set()
    elif op is Op.EQ or op is Op.IN:
        _among(out, right if op is Op.IN else [right], fold)
    elif op in _ORDER and is_number(right):
        smaller = below(right, itself=op in (Op.LE, Op.GT))
        out.numbers = smaller if op in (Op.LT, Op.LE) else other_numbers(smaller)
    else:
        _texts(out, op, right if type(right) is list else [right], fold)
    return out


def _among(out: _AnswersByValue, values: list[Any], fold: bool) -> None:
    texts, numbers, truths = listed(values, fold)
    # Of a type that the list does not hold every value is maybe.
    if texts.patterns:
        out.texts = texts
    if numbers:
        out.numbers = numbers
    if truths:
        out.states |= {state: state in truths for state in BOOLEANS}
    if any(type(value) in (list, dict) for value in values):
        out.unknown |= {"list", "object"}
    if any(type(value) is str and not valid(value) for value in values):
        out.unknown.add("text")


def _texts(out: _AnswersByValue, op: Op, values: list[Any], fold: bool) -> None:
    make = {
        Op.LIKE: lambda text: TextPattern(text, fold),
        Op.MATCHES: lambda text: TextPattern(text, fold, re=True),
        Op.STARTS: lambda text: TextPattern(exactly(text) + "*", fold),
        Op.ENDS: lambda text: TextPattern("*" + exactly(text), fold),
        Op.CONTAINS: lambda text: TextPattern(f"*{exactly(text)}*", fold),
        Op.CONTAINS_ANY: lambda text: TextPattern(f"*{exactly(text)}*", fold),
    }.get(op)
    if op in (Op.CONTAINS, Op.CONTAINS_ANY):
        out.unknown.add("list")
    if make is None:
        out.unknown |= {"text", "number"}
    elif all(type(value) is str and valid(value) for value in values):
        out.texts = TextSet(tuple(make(value) for value in values))
    elif any(type(value) is str for value in values):
        out.unknown.add("text")
