"""`known` sets: which values lists, what was said to the execution, and earlier steps gave."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext, Reading
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.growing import GrowingItems, Waiting
from rebuno.policy.matcher.mentions import Mentions
from rebuno.policy.matcher.sources import (
    MAX_KNOWN_VALUES,
    READER_FAILED,
    FromInput,
    FromSteps,
    FromUser,
    KeyedValues,
    Keys,
    SourceItem,
    as_listed,
    incomparable,
    index_keys,
    lookup_keys,
    normalised,
    searches,
)
from rebuno.policy.matcher.words import ANY_TEXT, WordsIndex, waiting_places
from rebuno.policy.values.json_values import Tri
from rebuno.policy.values.tokens import SearchableTexts

# Where items wait for an unknown value.
_ANYTHING: Final = ("anything", None)


class _StepValues:
    """The values of one history so far. `sure` and `possible` map the key of a value to the first event that gave
    it. `words` are the texts of `words at`, None without any. `closed_at` is the event from which on no value was read.
    """

    __slots__ = (
        "agent", "bounded", "closed_at", "count", "full_at", "input", "possible", "read", "sure", "waiting", "words",
    )  # fmt: skip

    def __init__(self, facts: Facts, *, bounded: bool = True) -> None:
        self.bounded = bounded
        self.agent = facts.agent
        self.input = facts.input
        self.read = 0
        self.sure: dict[Any, int] = {}
        self.possible: dict[Any, int] = {}
        self.words: WordsIndex | None = None
        # The number of items with texts.
        self.count = 0
        # From this event on a miss is maybe.
        self.full_at: int | None = None
        self.closed_at: int | None = None
        # The items of other sets that wait for what this one does not hold yet.
        self.waiting: Waiting | None = None

    def add(self, key: Any, sure: bool, seq: int) -> None:
        """Adds one key of a value."""
        if key not in self.sure and key not in self.possible and self._full():
            self.doubt(seq)
            return
        (self.sure if sure else self.possible).setdefault(key, seq)
        if self.waiting is not None:
            self.waiting.arrived(("key", key), seq)

    def add_words(self, texts: SearchableTexts, sure: bool, seq: int) -> None:
        """Adds the texts of one item."""
        if self._full():
            self.doubt(seq)
            return
        self.words = self.words or WordsIndex()
        self.count += 1
        for place in self.words.add(texts, sure, seq):
            if self.waiting is not None:
                self.waiting.arrived(place, seq)
        if texts.partial:
            self.doubt(seq)

    def _full(self) -> bool:
        return self.bounded and len(self.sure) + len(self.possible) + self.count >= MAX_KNOWN_VALUES

    def doubt(self, seq: int) -> None:
        """Notes that the set holds an unknown value from this event on."""
        if self.full_at is None:
            self.full_at = seq
            if self.waiting is not None:
                self.waiting.arrived(_ANYTHING, seq)

    def seqs(self, value: Any, keys: Keys) -> Iterator[int]:
        """The events that gave what may stand for a value."""
        for key, _ in keys:
            yield from (seqs[key] for seqs in (self.sure, self.possible) if key in seqs)
        if self.full_at is not None:
            yield self.full_at
        if self.words is not None:
            yield from self.words.seqs(value)


class KnownSet:
    """One `known` set: the three-valued or of its sources.

    With `fold` it is the set for `in NAME ignoring case`. With `facet` it is the set for values that the facet reads:
    the facet then reads the values of each source and the input too. A source with a facet of its own gives values that
    are read already.

    `growing` are the items of the steps if a `where` asks what grows, else None.
    """

    __slots__ = ("context", "facet", "fold", "growing", "inputs", "listed", "mentions", "name", "steps", "users")

    def __init__(
        self,
        name: str,
        *,
        listed: Sequence[Any] = (),
        inputs: Sequence[FromInput] = (),
        steps: Sequence[FromSteps] = (),
        growing: GrowingItems | None = None,
        fold: bool = False,
        facet: Facet | None = None,
        context: PathContext = NO_CONTEXT,
    ) -> None:
        self.name = name
        self.facet = facet
        self.context = context
        self.fold = fold
        self.listed = KeyedValues((one for value in listed for one in as_listed(value, facet, context)), fold)
        self.inputs = tuple(inputs)
        self.users = tuple(FromUser(source.parts, source.root) for source in inputs)
        self.steps = tuple(steps)
        self.growing = growing
        self.mentions = Mentions(listed, self._given, growing)

    def contains(self, value: Any, facts: Facts) -> Tri:
        """Whether the value, which must not be absent, is in the set as of the submission.

        The answer is maybe for lists, objects, text that is not valid Unicode, and values that are no JSON. It is maybe
        for a truth value that only the input could hold.
        """
        keys = lookup_keys(value, self.fold)
        if not keys:
            return None
        answer = self.listed.find(keys)
        if not answer and self.steps and facts.history is not None:
            answer = _either(answer, self._earlier(value, keys, facts, facts.history))
        for source, by_user in zip(self.inputs, self.users, strict=True):
            if answer:
                return True
            found = self._in_input(value, keys, source, facts)
            # INVARIANT: what another execution passed on is certain only if the user wrote it as well.
            if found and facts.delegated and not self._in_input(value, keys, by_user, facts):
                found = None
            answer = _either(answer, found)
        return answer

    def mentioned(self, value: Any, facts: Facts) -> Tri:
        """The answer of `contains any NAME`: whether a text, which must not be absent, mentions one of the values."""
        return self.mentions.find(value, facts)

    def grow(self, facts: Facts, history: History) -> object:
        """Reads the history to its end. The result is the same object as long as no waiting item is lost."""
        return self._read(facts, history) if self.steps else None

    def wait(self, value: Any, item: SourceItem) -> None:
        """Makes an item of another set wait for what could change the answer for a value."""
        keys = lookup_keys(value, self.fold)
        if not keys or not self.steps or item.history is None or item.as_of is None:
            return
        seen = self._read(item, item.history)
        moment, position = item.moment, item.position
        for seq in {seq for seq in seen.seqs(value, keys) if seq >= item.as_of}:
            moment.wake(position, seq)
        seen.waiting = seen.waiting or Waiting()
        for key, _ in keys:
            seen.waiting.wait(("key", key), moment, position)
        for place in [ANY_TEXT] if type(value) is bool or isinstance(value, Reading) else waiting_places(value):
            seen.waiting.wait(place, moment, position)
        seen.waiting.wait(_ANYTHING, moment, position)

    def _in_input(self, value: Any, keys: Keys, source: FromInput, facts: Facts) -> Tri:
        facet = self.facet
        if facet is not None and searches(facet):
            return source.held(facts, facet, self.context, self.fold).find(keys)
        if type(value) is bool or isinstance(value, Reading):
            return None
        return source.texts(facts).find(value, fold=self.fold)

    def _earlier(self, value: Any, keys: Keys, facts: Facts, history: History) -> Tri:
        seen = self._read(facts, history)
        before = facts.as_of
        beyond = False
        if seen.closed_at is not None and (before is None or seen.closed_at < before):
            before, beyond = seen.closed_at, True

        def by_then(seq: int | None) -> bool:
            return seq is not None and (before is None or seq < before)

        if any(sure and by_then(seen.sure.get(key)) for key, sure in keys):
            return True
        doubts = any(by_then(seen.sure.get(key)) or by_then(seen.possible.get(key)) for key, _ in keys)
        answer: Tri = None if doubts or beyond or by_then(seen.full_at) else False
        if seen.words is None:
            return answer
        if type(value) is bool or isinstance(value, Reading):
            return None if by_then(seen.words.first) else answer
        return _either(answer, seen.words.find(value, by_then, fold=self.fold))

    def _read(self, facts: Facts, history: History) -> _StepValues:
        if self.growing is not None:
            return self._read_items(self.growing, facts, history)
        seen: _StepValues | None = history.indexes.get(self)
        # A `where` may use the input and the agent of the execution. One history normally has one of each.
        if seen is None or seen.input is not facts.input or seen.agent != facts.agent:
            seen = history.indexes[self] = _StepValues(facts)
        evidence = history.evidence
        while seen.read < len(evidence):
            step = evidence[seen.read]
            for value, sure, by in self._given(step, facts):
                self._add(value, sure, by, step.seq, seen)
            seen.read += 1
        return seen

    def _read_items(self, growing: GrowingItems, facts: Facts, history: History) -> _StepValues:
        moment = growing.moment(facts, history)
        seen: _StepValues | None = moment.indexes.get(self)
        if seen is None:
            seen = moment.indexes[self] = _StepValues(facts, bounded=False)
        seen.closed_at = moment.full_at
        while seen.read < len(moment.given):
            value, sure, by, seq = moment.given[seen.read]
            self._add(value, sure, by, seq, seen)
            seen.read += 1
        return seen

    def _given(self, step: Evidence, facts: Facts) -> Iterator[tuple[Any, bool, Facet | None]]:
        item = SourceItem(step, facts)
        for source in self.steps:
            for value, sure, by in source.values(step, item):
                yield value, sure is True, by

    def _add(self, value: Any, sure: bool, by: Facet | None, seq: int, seen: _StepValues) -> None:
        if type(value) is SearchableTexts and not searches(self.facet):
            seen.add_words(value, sure, seq)
            return
        if incomparable(value, by, self.facet):
            seen.doubt(seq)
            return
        for one_value in normalised(value, by, self.facet, self.context):
            if one_value is READER_FAILED:
                seen.doubt(seq)
            for key, certain in index_keys(one_value, self.fold):
                seen.add(key, sure and certain, seq)


def _either(one: Tri, other: Tri) -> Tri:
    if one or other:
        return True
    return None if one is None or other is None else False
