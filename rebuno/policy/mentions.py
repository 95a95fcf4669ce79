"""`contains any NAME`: which values of a `known` a text mentions, in time linear in the text."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, Reading
from rebuno.policy.facts import Evidence, Facts
from rebuno.policy.tokens import MAX_TEXT, numbers, occurs, pieces
from rebuno.policy.values import Tri, is_number, valid

# Shorter values are left out: they stand in every text.
SHORTEST: Final = 3
# Values that are looked for in one text because each of their pieces stands there; with more of them it is maybe.
MAX_SOUGHT: Final = 1_000
MAX_VALUES: Final = 100_000

# What one earlier step gives: values, whether for sure, and the facet that read them.
Given = Callable[[Evidence, Facts], Iterator[tuple[Any, bool, Facet | None]]]


def spelt(value: Any) -> str | Decimal | None:
    """How a value is looked for: a text without regard to case, a number as a number; None for what is left out."""
    if type(value) is str:
        return value.casefold() if len(value) >= SHORTEST and value.strip() and valid(value) else None
    if is_number(value):
        number = Decimal(repr(value)) if type(value) is float else Decimal(value)
        return number if len(str(number)) >= SHORTEST else None
    return None


def searchable(text: Any) -> bool:
    """Whether it is a text that can be searched: valid Unicode of at most 1,048,576 characters."""
    return type(text) is str and len(text) <= MAX_TEXT and valid(text)


class _Entry:
    """One value: as it is spelt, its pieces, and the first events that gave it for sure and perhaps."""

    __slots__ = ("pieces", "possible", "spelt", "sure")

    def __init__(self, value: str | Decimal) -> None:
        self.spelt = value
        self.pieces = frozenset(pieces(value)) if isinstance(value, str) else frozenset()
        self.sure: int | None = None
        self.possible: int | None = None


class _Index:
    """The values of one history. Each is filed under the rarest of its pieces: a text without it does not hold it."""

    __slots__ = ("agent", "doubt_at", "entries", "input", "numbers", "read", "words")

    def __init__(self, facts: Facts) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.entries: dict[str | Decimal, _Entry] = {}
        self.words: dict[str, list[_Entry]] = {}
        self.numbers = False
        # The event from which on a text may mention what cannot be looked for.
        self.doubt_at: int | None = None

    def add(self, value: Any, sure: bool, seq: int) -> None:
        """Files a value that an event gave."""
        if isinstance(value, Reading):
            self._doubt(seq)
            return
        spelling = spelt(value)
        if spelling is None:
            return
        entry = self.entries.get(spelling)
        if entry is None:
            if len(self.entries) >= MAX_VALUES:
                self._doubt(seq)
                return
            entry = self.entries[spelling] = _Entry(spelling)
            if entry.pieces:
                rarest = min(entry.pieces, key=lambda piece: len(self.words.get(piece, ())))
                self.words.setdefault(rarest, []).append(entry)
            else:
                self.numbers = True
        if sure and entry.sure is None:
            entry.sure = seq
        elif not sure and entry.possible is None:
            entry.possible = seq

    def _doubt(self, seq: int) -> None:
        if self.doubt_at is None:
            self.doubt_at = seq

    def find(self, text: str, before: int | None) -> Tri:
        """Whether the text mentions what was given before an event."""

        def by_then(seq: int | None) -> bool:
            return seq is not None and (before is None or seq < before)

        folded = text.casefold()
        there = set(pieces(folded))
        sought = [
            entry
            for word in self.words.keys() & there
            for entry in self.words[word]
            if (by_then(entry.sure) or by_then(entry.possible)) and entry.pieces <= there
        ]
        if len(sought) > MAX_SOUGHT:
            return None
        mentioned = [entry for entry in sought if isinstance(entry.spelt, str) and occurs(folded, entry.spelt)]
        if self.numbers:
            mentioned += [self.entries[number] for number in numbers(text) if number in self.entries]
        if any(by_then(entry.sure) for entry in mentioned):
            return True
        return None if any(by_then(entry.possible) for entry in mentioned) or by_then(self.doubt_at) else False


class Mentions:
    """The values of one `known` that a text can mention: those of lists, and what earlier steps gave."""

    __slots__ = ("_given", "_listed")

    def __init__(self, listed: Sequence[Any], given: Given) -> None:
        self._listed = tuple(listed)
        self._given = given

    def find(self, text: Any, facts: Facts) -> Tri:
        """Whether the text holds one of the values as a whole token, as of the submission.

        What is no text, or no searchable one, is maybe.
        """
        return self._index(facts).find(text, facts.as_of) if searchable(text) else None

    def _index(self, facts: Facts) -> _Index:
        history = facts.history
        index: _Index | None = history.indexes.get(self) if history is not None else None
        if index is None or index.input is not facts.input or index.agent != facts.agent:
            index = _Index(facts)
            for value in self._listed:
                index.add(value, True, -1)
            if history is not None:
                history.indexes[self] = index
        evidence = history.evidence if history is not None else []
        while index.read < len(evidence):
            step = evidence[index.read]
            for value, sure, _ in self._given(step, facts):
                index.add(value, sure, step.seq)
            index.read += 1
        return index
