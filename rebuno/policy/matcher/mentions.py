"""`contains any NAME`: finds the values of a `known` set that a text mentions, in time linear in the text."""

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, Reading
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.growing import GivenForTurns, GrowingItems
from rebuno.policy.values.json_values import Tri, is_number, valid
from rebuno.policy.values.readings import readings
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT, found_numbers, occurs, pieces

# The index leaves shorter values out: every text contains them.
SHORTEST: Final = 3
# Values shorter than this are searched as whole words only.
SHORTEST_HIDDEN: Final = 4
# The number of values whose pieces are all in the text, and which are then searched. With more, the answer is maybe.
MAX_CANDIDATES: Final = 1_000
# The number of characters searched for such values in all readings of a text. Beyond it the answer is maybe.
MAX_SEARCHED: Final = 1 << 27
MAX_VALUES: Final = 100_000
# A search that is smaller than this looks for every value, without a look at the pieces first.
_LITTLE: Final = 1 << 20

# Gives the values of one earlier step: each value, whether it is certain, and the facet that read it.
StepValues = Callable[[Evidence, Facts], Iterator[tuple[Any, bool, Facet | None]]]


def spelling_of(value: Any) -> str | Decimal | None:
    """The form in which a value is searched: a text in lower case, a number as a decimal; None for a value left out."""
    if type(value) is str:
        return value.casefold() if len(value) >= SHORTEST and value.strip() and valid(value) else None
    if is_number(value):
        number = Decimal(repr(value)) if type(value) is float else Decimal(value)
        return number if len(str(number)) >= SHORTEST else None
    return None


def forms(spelling: str | Decimal) -> Collection[str]:
    """The texts that are searched anywhere in the readings of a text: the readings of a value, or the digits of a
    number."""
    if not isinstance(spelling, str):
        written = format(spelling.copy_abs(), "f")
        written = written.rstrip("0").rstrip(".") if "." in written else written
        return [written] if len(written) >= SHORTEST_HIDDEN else []
    if not SHORTEST_HIDDEN <= len(spelling) <= MAX_SEARCHED_TEXT:
        return []
    return [form for form in readings(spelling) or (spelling,) if len(form) >= SHORTEST_HIDDEN]


def searchable(text: Any) -> bool:
    """Whether the value is a text that can be searched: valid Unicode of at most 1,048,576 characters."""
    return type(text) is str and len(text) <= MAX_SEARCHED_TEXT and valid(text)


def fragments(text: str) -> set[str]:
    """All runs of four characters in a text. A text that contains a form contains all fragments of that form."""
    return {text[at : at + SHORTEST_HIDDEN] for at in range(len(text) - SHORTEST_HIDDEN + 1)}


class _MentionedValue:
    """One value: its spelling, its pieces, and the first events that gave it as a certain and as a possible value."""

    __slots__ = ("pieces", "possible", "spelt", "sure")

    def __init__(self, value: str | Decimal) -> None:
        self.spelt = value
        self.pieces = frozenset(pieces(value)) if isinstance(value, str) else frozenset()
        self.sure: int | None = None
        self.possible: int | None = None


class _MentionIndex:
    """The values that one history gave, each under the rarest of its pieces: a text without that piece does not hold
    the value.

    `hidden` maps the forms of all values to the first event that gave one; `forms_by_fragment` holds each form under
    the rarest of its fragments.
    """

    __slots__ = (
        "agent", "doubt_at", "entries", "forms_by_fragment", "hidden", "input", "latest", "numbers", "read", "words",
    )  # fmt: skip

    def __init__(self, facts: Facts) -> None:
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.entries: dict[str | Decimal, _MentionedValue] = {}
        self.words: dict[str, list[_MentionedValue]] = {}
        self.hidden: dict[str, int] = {}
        self.forms_by_fragment: dict[str, list[str]] = {}
        self.numbers = False
        # From this event on, the set has a value that cannot be searched, so a miss is maybe.
        self.doubt_at: int | None = None
        # The text that was searched last, as of which event, and the answer: a block may ask for one text many times.
        self.latest: tuple[str, int | None, Tri] | None = None

    def add(self, value: Any, sure: bool, seq: int) -> None:
        """Adds a value that an event gave."""
        self.latest = None
        if isinstance(value, Reading):
            self._doubt(seq)
            return
        spelling = spelling_of(value)
        if spelling is None:
            return
        entry = self.entries.get(spelling)
        if entry is None:
            if len(self.entries) >= MAX_VALUES:
                self._doubt(seq)
                return
            entry = self.entries[spelling] = _MentionedValue(spelling)
            self._file(entry, seq)
        if sure and entry.sure is None:
            entry.sure = seq
        elif not sure and entry.possible is None:
            entry.possible = seq

    def _file(self, entry: _MentionedValue, seq: int) -> None:
        if entry.pieces:
            rarest = min(entry.pieces, key=lambda piece: len(self.words.get(piece, ())))
            self.words.setdefault(rarest, []).append(entry)
        else:
            self.numbers = True
        for form in forms(entry.spelt):
            if form not in self.hidden:
                self.hidden[form] = seq
                rarest = min(fragments(form), key=lambda fragment: len(self.forms_by_fragment.get(fragment, ())))
                self.forms_by_fragment.setdefault(rarest, []).append(form)

    def _doubt(self, seq: int) -> None:
        if self.doubt_at is None:
            self.doubt_at = seq

    def find(self, text: str, before: int | None) -> Tri:
        """Whether the text mentions a value that was given before an event."""
        latest = self.latest
        if latest is None or latest[0] is not text or latest[1] != before:
            latest = self.latest = (text, before, self._find(text, before))
        return latest[2]

    def _find(self, text: str, before: int | None) -> Tri:
        def by_then(seq: int | None) -> bool:
            return seq is not None and (before is None or seq < before)

        answer = self._as_words(text, by_then)
        if answer is False and (by_then(self.doubt_at) or self._hides(text, by_then)):
            return None
        return answer

    def _as_words(self, text: str, by_then: Callable[[int | None], bool]) -> Tri:
        folded = text.casefold()
        there = set(pieces(folded))
        candidates = [
            entry
            for word in self.words.keys() & there
            for entry in self.words[word]
            if (by_then(entry.sure) or by_then(entry.possible)) and entry.pieces <= there
        ]
        if len(candidates) > MAX_CANDIDATES:
            return None
        found = [(entry, occurs(folded, entry.spelt)) for entry in candidates if isinstance(entry.spelt, str)]
        if self.numbers:
            written = found_numbers(text)
            found += [(self.entries[number], sure or None) for number, sure in written if number in self.entries]
        mentioned = [(entry, here) for entry, here in found if here is not False]
        if any(here and by_then(entry.sure) for entry, here in mentioned):
            return True
        return None if any(by_then(entry.sure) or by_then(entry.possible) for entry, _ in mentioned) else False

    def _hides(self, text: str, by_then: Callable[[int | None], bool]) -> bool:
        # Whether the text or one of its readings may contain a value anywhere. Also true beyond the bounds of the
        # search.
        if not self.hidden:
            return False
        found = readings(text)
        if found is None:
            return True
        size = sum(map(len, found))
        if len(self.hidden) <= MAX_CANDIDATES and len(self.hidden) * size <= min(_LITTLE, MAX_SEARCHED):
            return any(form in reading for form, seq in self.hidden.items() if by_then(seq) for reading in found)
        left = MAX_SEARCHED
        for reading in found:
            there = fragments(reading)
            candidates = [
                form
                for fragment in self.forms_by_fragment.keys() & there
                for form in self.forms_by_fragment[fragment]
                if by_then(self.hidden[form]) and fragments(form) <= there
            ]
            left -= len(candidates) * len(reading)
            if len(candidates) > MAX_CANDIDATES or left < 0 or any(form in reading for form in candidates):
                return True
        return False


class Mentions:
    """The values of one `known` set that a text can mention: those of lists and those that earlier steps gave."""

    __slots__ = ("_alone", "_given", "_growing", "_listed")

    def __init__(self, listed: Sequence[Any], given: StepValues, growing: GrowingItems | None = None) -> None:
        self._listed = tuple(listed)
        self._given = given
        self._growing = growing
        # The index of the lists alone, for an execution without a history.
        self._alone: _MentionIndex | None = None

    def find(self, text: Any, facts: Facts) -> Tri:
        """Whether the text contains one of the values, as of the submission. The answer is yes for a whole word, and
        maybe for a value anywhere else in the text or in one of its readings.

        The answer is maybe for a value that is no searchable text.
        """
        if not searchable(text):
            return None
        if self._growing is None or facts.history is None:
            return self._index(facts).find(text, facts.as_of)
        moment = self._growing.moment(facts, facts.history)
        closed, before = moment.full_at, facts.as_of
        index = self._of_items(moment, facts)
        if closed is None or (before is not None and before <= closed):
            return index.find(text, before)
        return index.find(text, closed) or None

    def _of_items(self, moment: GivenForTurns, facts: Facts) -> _MentionIndex:
        index: _MentionIndex | None = moment.indexes.get(self)
        if index is None:
            index = moment.indexes[self] = self._of_lists(facts)
        for value, sure, _, seq in moment.given[index.read :]:
            index.add(value, sure, seq)
        index.read = len(moment.given)
        return index

    def _index(self, facts: Facts) -> _MentionIndex:
        history = facts.history
        if history is None:
            self._alone = self._alone or self._of_lists(facts)
            return self._alone
        index: _MentionIndex | None = history.indexes.get(self)
        # A `where` may use the input and the agent of the execution. One history normally has one of each.
        if index is None or index.input is not facts.input or index.agent != facts.agent:
            index = history.indexes[self] = self._of_lists(facts)
        evidence = history.evidence
        while index.read < len(evidence):
            step = evidence[index.read]
            for value, sure, _ in self._given(step, facts):
                index.add(value, sure, step.seq)
            index.read += 1
        return index

    def _of_lists(self, facts: Facts) -> _MentionIndex:
        index = _MentionIndex(facts)
        for value in self._listed:
            index.add(value, True, -1)
        return index
