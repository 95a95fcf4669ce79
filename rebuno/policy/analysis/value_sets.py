"""Sets of JSON values as tests draw them: which texts, numbers and other values an answer holds for, and how such sets
lie to each other."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any, Final

import re2

from rebuno.model.dataclass import dataclass
from rebuno.policy.analysis.glob_sets import overlap, within
from rebuno.policy.values.globs import GlobError, glob
from rebuno.policy.values.json_values import is_number, valid
from rebuno.policy.values.regexes import regex

# ---------------------------------------------------------------- numbers

# A place between numbers: just below (0) or just above (1) one.
Cut = tuple[float, int]
Numbers = tuple[tuple[Cut, Cut], ...]

_LOW: Final[Cut] = (float("-inf"), 0)
_HIGH: Final[Cut] = (float("inf"), 1)
NO_NUMBERS: Final[Numbers] = ()
ALL_NUMBERS: Final[Numbers] = ((_LOW, _HIGH),)


def these(values: Iterable[float]) -> Numbers:
    """Exactly these numbers."""
    return tuple(((value, 0), (value, 1)) for value in sorted(set(values)))


def below(value: float, *, itself: bool) -> Numbers:
    """All numbers below one, with or without itself."""
    return ((_LOW, (value, int(itself))),)


def other_numbers(numbers: Numbers) -> Numbers:
    """All numbers that are not among these."""
    out: list[tuple[Cut, Cut]] = []
    start = _LOW
    for low, high in numbers:
        if start < low:
            out.append((start, low))
        start = max(start, high)
    if start < _HIGH:
        out.append((start, _HIGH))
    return tuple(out)


def shared(one: Numbers, other: Numbers) -> Numbers:
    """The numbers in both."""
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(sorted((low, high) for low, high in found if low < high))


def joined(one: Numbers, other: Numbers) -> Numbers:
    """The numbers in either."""
    return tuple(sorted((*one, *other)))


# ---------------------------------------------------------------- texts


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A set of texts: those that a glob or, with `re`, a regular expression matches, perhaps ignoring case. `one` is
    the text where it was made of a single one."""

    text: str
    fold: bool = False
    re: bool = False
    one: str | None = field(default=None, compare=False)

    @property
    def literal(self) -> str | None:
        """The one text in it, where there is but one."""
        if self.re or self.fold:
            return None
        return self.one if self.one is not None else glob(self.text).literal

    def matches(self, text: str) -> bool:
        """Whether the text is in the set."""
        if self.one is not None and not self.fold:
            return text == self.one
        if self.re:
            return regex(self.text, self.fold)(text)
        return glob(self.text, self.fold).matches(text.casefold() if self.fold else text)

    def within(self, other: "TextPattern") -> bool:
        """Whether all its texts are in the other; False where that cannot be told."""
        if self == other:
            return True
        try:
            if self.literal is not None:
                return other.matches(self.literal)
            pair = self._comparable(other)
            return pair is not None and (not self.fold or other.fold or pair[1] == "*") and within(*pair)
        except (GlobError, re2.error):
            return False

    def apart(self, other: "TextPattern") -> bool:
        """Whether the two have no text in common; False where that cannot be told."""
        try:
            if self.literal is not None:
                return not other.matches(self.literal)
            if other.literal is not None:
                return not self.matches(other.literal)
            pair = self._comparable(other)
            return pair is not None and not overlap(*pair)
        except (GlobError, re2.error):
            return False

    def _comparable(self, other: "TextPattern") -> tuple[str, str] | None:
        if self.re or other.re:
            return None
        if not (self.fold or other.fold):
            return self.text, other.text
        # Folding a text folds it letter by letter, one to several: `?` and classes would have to be counted anew.
        if any(sign in pattern.text for pattern in (self, other) for sign in "?["):
            return None
        return self.text.casefold(), other.text.casefold()


def exactly(text: str) -> str:
    """The glob that matches one text."""
    return "".join(f"\\{c}" if c in "*?[\\" else c for c in text)


@dataclass(frozen=True, slots=True)
class TextSet:
    """The texts that one of the patterns matches, or with `others` those that none does."""

    patterns: tuple[TextPattern, ...]
    others: bool = False

    def within(self, other: "TextSet") -> bool:
        """Whether all its texts are in the other; False where that cannot be told."""
        if self.others and other.others:
            return _covers(self.patterns, other.patterns)
        if self.others:
            return any(pattern.text == "*" and not pattern.re for pattern in other.patterns)
        if other.others:
            return all(mine.apart(theirs) for mine in self.patterns for theirs in other.patterns)
        return _covers(other.patterns, self.patterns)

    def apart(self, other: "TextSet") -> bool:
        """Whether the two have no text in common; False where that cannot be told."""
        if self.others and other.others:
            return False
        if self.others:
            return _covers(self.patterns, other.patterns)
        if other.others:
            return _covers(other.patterns, self.patterns)
        return all(mine.apart(theirs) for mine in self.patterns for theirs in other.patterns)

    def meet(self, other: "TextSet") -> "TextSet":
        """No fewer than the texts in both."""
        if self.others and not other.others:
            return other.meet(self)
        if self.others:
            return TextSet((*self.patterns, *other.patterns), others=True)
        return TextSet(tuple(mine for mine in self.patterns if not TextSet((mine,)).apart(other)))

    def join(self, other: "TextSet") -> "TextSet":
        """No more than the texts in either."""
        if not self.others and other.others:
            return other.join(self)
        if not self.others:
            return TextSet((*self.patterns, *other.patterns))
        return TextSet(tuple(mine for mine in self.patterns if not TextSet((mine,)).within(other)), others=True)


def _covers(outer: tuple[TextPattern, ...], inner: tuple[TextPattern, ...]) -> bool:
    known = frozenset(outer)
    return all(mine in known or any(mine.within(theirs) for theirs in outer) for mine in inner)


NO_TEXTS: Final = TextSet(())
ALL_TEXTS: Final = TextSet((), others=True)

# ---------------------------------------------------------------- all values

# What stands beside texts and numbers: absence in its three forms, a value that could not be read, one that no strict
# JSON holds (a lone surrogate, NaN), and the rest.
ABSENT: Final = frozenset({"missing", "null", "empty"})
BOOLEANS: Final = frozenset({"true", "false"})
STATES: Final = ABSENT | BOOLEANS | {"unreadable", "odd", "list", "object"}


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of values of an operand."""

    states: frozenset[str]
    texts: TextSet
    numbers: Numbers

    def within(self, other: "ValueSet") -> bool:
        """Whether all its values are in the other; False where that cannot be told."""
        return (
            self.states <= other.states
            and not shared(self.numbers, other_numbers(other.numbers))
            and self.texts.within(other.texts)
        )

    def apart(self, other: "ValueSet") -> bool:
        """Whether the two have no value in common; False where that cannot be told."""
        return (
            not self.states & other.states and not shared(self.numbers, other.numbers) and self.texts.apart(other.texts)
        )

    def meet(self, other: "ValueSet") -> "ValueSet":
        """No fewer than the values in both."""
        return ValueSet(self.states & other.states, self.texts.meet(other.texts), shared(self.numbers, other.numbers))

    def join(self, other: "ValueSet") -> "ValueSet":
        """No more than the values in either."""
        return ValueSet(self.states | other.states, self.texts.join(other.texts), joined(self.numbers, other.numbers))

    @property
    def none(self) -> bool:
        """Whether there is no value in it."""
        return not self.states and not self.numbers and self.texts.within(NO_TEXTS)


def listed(values: Iterable[Any], fold: bool) -> tuple[TextSet, Numbers, frozenset[str]]:
    """The texts, the numbers and the truth values of a list."""
    every = list(values)
    texts = tuple(
        TextPattern(exactly(value), fold, one=value) for value in every if type(value) is str and valid(value)
    )
    truths = frozenset({True: "true", False: "false"}[value] for value in every if type(value) is bool)
    return TextSet(texts), these(value for value in every if is_number(value)), truths
