"""The values of the model: sorts with a text or a number, and three-valued answers as two formulas."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import Any, Final, NamedTuple

import z3

# The largest code point of the solver's characters. A text with a larger one is compared with nothing.
MOST_POINT: Final = 0x2FFFF


class Sort(IntEnum):
    """What stands at a place. `READING` is a value of a facet that is no plain text or number, `ODD` a value that is
    no strict JSON (NaN, a lone surrogate)."""

    MISSING = 0
    NULL = 1
    EMPTY = 2
    TRUE = 3
    FALSE = 4
    NUMBER = 5
    TEXT = 6
    LIST = 7
    OBJECT = 8
    UNREADABLE = 9
    READING = 10
    ODD = 11


ABSENT: Final = (Sort.MISSING, Sort.NULL, Sort.EMPTY)
# What an element of a JSON list can be.
JSON: Final = tuple(sort for sort in Sort if sort not in (Sort.MISSING, Sort.UNREADABLE, Sort.READING))


class ModelAnswer(NamedTuple):
    """An answer of the model: formulas for "it is yes" and for "it is yes or maybe". The first implies the second."""

    yes: Any
    possible: Any


YES: Final = ModelAnswer(z3.BoolVal(True), z3.BoolVal(True))
NO: Final = ModelAnswer(z3.BoolVal(False), z3.BoolVal(False))
MAYBE: Final = ModelAnswer(z3.BoolVal(False), z3.BoolVal(True))


def inverted(answer: ModelAnswer) -> ModelAnswer:
    """Kleene's not."""
    return ModelAnswer(z3.Not(answer.possible), z3.Not(answer.yes))


def all_of(answers: Iterable[ModelAnswer]) -> ModelAnswer:
    """Kleene's and."""
    found = list(answers)
    return ModelAnswer(z3.And([one.yes for one in found]), z3.And([one.possible for one in found]))


def any_of(answers: Iterable[ModelAnswer]) -> ModelAnswer:
    """Kleene's or."""
    found = list(answers)
    return ModelAnswer(z3.Or([one.yes for one in found]), z3.Or([one.possible for one in found]))


def exactly(formula: Any) -> ModelAnswer:
    """Yes where the formula holds, else no."""
    return ModelAnswer(formula, formula)


def where(condition: Any, then: ModelAnswer, otherwise: ModelAnswer) -> ModelAnswer:
    """One answer or the other."""
    return ModelAnswer(z3.If(condition, then.yes, otherwise.yes), z3.If(condition, then.possible, otherwise.possible))


class Value:
    """A value at a place of a step, or an element. Values of one `key` are the same value.

    `keys` are the values at its keys, `items` those at its positions, `facets` what facets read in it, `groups` its
    elements. An element that is a value itself has that one as its `alias`; wherever it is not absent the two are the
    same.
    """

    __slots__ = ("alias", "facets", "groups", "items", "key", "keys", "number", "sort", "text")

    def __init__(self, key: str, alias: "Value | None" = None) -> None:
        self.key = key
        self.alias = alias
        self.sort = z3.Int(f"{key}!sort")
        self.text = z3.String(f"{key}!text")
        self.number = z3.Real(f"{key}!number")
        self.keys: dict[str, Value] = {}
        self.items: dict[int, Value] = {}
        self.facets: dict[str, Value] = {}
        self.groups: dict[str, Any] = {}

    def is_(self, *sorts: Sort) -> Any:
        """A formula: the value is of one of these sorts."""
        return z3.Or([self.sort == int(sort) for sort in sorts])

    @property
    def absent(self) -> Any:
        """A formula: left out, null or an empty list."""
        return self.is_(*ABSENT)

    def same(self, other: "Value") -> Any:
        """A formula: both are of one sort, with one text and one number."""
        return z3.And(self.sort == other.sort, self.text == other.text, self.number == other.number)


def text_value(text: str) -> Any:
    """A text as a constant of the solver.

    Raises:
        ValueError: it has a character that the solver does not know.
    """
    return z3.StringVal(_escaped(text))


def readable(text: str) -> bool:
    """Whether the solver knows each character of a text."""
    return all(ord(character) <= MOST_POINT and not 0xD800 <= ord(character) <= 0xDFFF for character in text)


def _escaped(text: str) -> str:
    if not readable(text):
        raise ValueError("a character beyond those of the solver")
    # A backslash would begin an escape; what is not plain ASCII is written as one.
    return "".join(c if 32 <= ord(c) < 127 and c != "\\" else f"\\u{{{ord(c):x}}}" for c in text)


def number_value(number: int | float | Fraction) -> Any:
    """A number as an exact constant."""
    exact = Fraction(number)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")


def glob_formula(pattern: str, text: Any) -> Any | None:
    """Whether a text matches a glob; None for a glob with classes, or with characters that the solver does not know."""
    parts = _glob_parts(pattern)
    if parts is None:
        return None
    if all(isinstance(part, str) for part in parts):
        return text == text_value("".join(str(part) for part in parts))
    pieces = [z3.Re(text_value(part)) if isinstance(part, str) else _WILD[part] for part in parts]
    return z3.InRe(text, z3.Concat(*pieces) if len(pieces) > 1 else pieces[0])


_ANY: Final = z3.AllChar(z3.ReSort(z3.StringSort()))
_WILD: Final = {1: _ANY, 2: z3.Star(_ANY)}


def _glob_parts(pattern: str) -> Sequence[str | int] | None:
    # 1 stands for one character, 2 for any run.
    parts: list[str | int] = []
    characters = iter(pattern)
    for character in characters:
        if character == "[":
            return None
        if character in "*?":
            wild = 2 if character == "*" else 1
            if not (wild == 2 and parts and parts[-1] == 2):
                parts.append(wild)
            continue
        if character == "\\":
            character = next(characters, "")
            if not character:
                return None
        if not readable(character):
            return None
        if parts and isinstance(parts[-1], str):
            parts[-1] += character
        else:
            parts.append(character)
    return parts or [""]
