"""`known` sets whose `where` asks other sets: an item may be known long after its step, when such a set has grown.

An item is asked when its step succeeds. While the answer is not yes, it waits for what the sets that it asked did not
hold, and is asked again at the event that gives one of these values. So a set that stands on others costs time linear
in the history, and the event from which a value is known is exact.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from rebuno.policy.facets.reading import Facet
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.values.json_values import Tri

# The bound of items in one set and all that it stands on together. Beyond it a miss is maybe.
MAX_ITEMS: Final = 100_000
# A history keeps what it read for so many lists of turns.
_MOST_MOMENTS: Final = 4


class Waiting:
    """Items that wait for a set to grow, by the place of what they wait for. An item is its position in a `Moment`. A
    moment that no history keeps any more is forgotten."""

    __slots__ = ("_by_moment",)

    def __init__(self) -> None:
        self._by_moment: WeakKeyDictionary[Moment, dict[Any, list[int]]] = WeakKeyDictionary()

    def wait(self, place: Any, moment: "Moment", position: int) -> None:
        """Makes an item wait for what is filed at a place."""
        self._by_moment.setdefault(moment, {}).setdefault(place, []).append(position)

    def arrived(self, place: Any, seq: int) -> None:
        """Wakes the items that wait at a place: the event `seq` filed something there."""
        for moment, places in list(self._by_moment.items()):
            for position in dict.fromkeys(places.pop(place, ())):
                moment.wake(position, seq)


class AskedSet(Protocol):
    """A set that the `where` of another one asks."""

    def contains(self, value: Any, facts: Facts) -> Tri:
        """Whether the value is in the set."""

    def mentioned(self, value: Any, facts: Facts) -> Tri:
        """Whether a text mentions a value of the set."""

    def grow(self, facts: Facts, history: History) -> object:
        """Reads the history to its end. The result is the same object as long as waiting items are not lost."""

    def wait(self, value: Any, item: Any) -> None:
        """Makes an item, by its facts, wait for what could change the answer for a value to yes."""


class SourceOfItems(Protocol):
    """A source of a set in the results of earlier steps."""

    @property
    def subject(self) -> Sequence[SubjectPattern]:
        """The steps that it is about."""

    @property
    def where(self) -> Callable[[Any], Tri] | None:
        """The condition on an item."""

    def counts(self, step: Evidence) -> Tri:
        """Whether the source takes values of a step: yes, perhaps or no."""

    def size(self, step: Evidence) -> int:
        """The number of elements on its paths."""

    def elements(self, step: Evidence) -> Iterable[tuple[Any, list[Any], Facet | None]]:
        """The elements that give values, with these values and the facet that read them."""


class AskedInWhere:
    """A set as the `where` of another set sees it: what is not known for sure makes the item wait."""

    __slots__ = ("_known",)

    def __init__(self, known: AskedSet) -> None:
        self._known = known

    def contains(self, value: Any, item: Any) -> Tri:
        """Whether the value is in the set."""
        answer = self._known.contains(value, item)
        if answer is not True:
            self._known.wait(value, item)
        return answer

    def mentioned(self, value: Any, item: Any) -> Tri:
        """Whether a text mentions a value of the set."""
        answer = self._known.mentioned(value, item)
        if answer is not True:
            item.moment.wait_for_event(item.position, item.as_of)
        return answer


class _Item:
    """One element on the path of a source: its step, its values, and the facet that read them."""

    __slots__ = ("by", "certain", "element", "source", "step", "values")

    def __init__(
        self, step: Evidence, source: SourceOfItems, element: Any, values: list[Any], by: Facet | None, certain: bool
    ) -> None:
        self.step = step
        self.source = source
        self.element = element
        self.values = values
        self.by = by
        self.certain = certain


class _Items:
    """The items of one set in one history, in the order of the events, and where the bound is reached."""

    __slots__ = ("count", "events", "full_at", "items", "read")

    def __init__(self) -> None:
        self.read = 0
        self.items: list[_Item] = []
        # The events that concern the set or a set that it stands on.
        self.events: list[int] = []
        self.count = 0
        self.full_at: int | None = None


# A value, whether it is certain, the facet that read it, and the event from which it is known.
Given = tuple[Any, bool, Facet | None, int]


class Moment:
    """What one history gave to a set for one list of turns, oldest first. `full_at` is the event at which the bound is
    reached: no value is known from it on."""

    __slots__ = (
        "__weakref__", "_asked", "_base", "_kept", "_looked", "_read", "_restless", "_states", "_woken", "full_at",
        "given", "indexes", "instant", "same", "turns",
    )  # fmt: skip

    def __init__(self, facts: Facts, kept: _Items, base: "Moment | None", states: list[object]) -> None:
        self.same = _said(facts)
        self.turns = facts.turns
        self.given: list[Given] = []
        self.full_at: int | None = None
        # The indexes of the sets and texts that read `given`.
        self.indexes: dict[object, Any] = {}
        # For each item whether it was known from its own event on.
        self.instant = bytearray()
        # Items that asked whether a text mentions a value: they are asked again at the next event of these sets.
        self._restless: list[int] = []
        self._looked = len(kept.events)
        self._kept = kept
        self._base = base
        self._states = states
        self._read = 0
        self._woken: list[tuple[int, int]] = []
        # The last answer for the items that are not yet yes.
        self._asked: dict[int, Tri] = {}

    def is_of(self, states: list[object]) -> bool:
        """Whether the sets that it asks are still those that it waits for."""
        return len(states) == len(self._states) and all(
            one is other for one, other in zip(states, self._states, strict=True)
        )

    def wake(self, position: int, seq: int) -> None:
        """Asks an item again at an event."""
        heappush(self._woken, (seq, position))

    def wait_for_event(self, position: int, since: int) -> None:
        """Asks an item again at the next event, from `since` on, of the sets that it asks."""
        events = self._kept.events
        later = bisect_left(events, since)
        if later < len(events):
            self.wake(position, events[later])
        else:
            self._restless.append(position)

    def read(self, facts: Facts, item_facts: Callable[[Evidence, Facts], Any]) -> None:
        """Reads the items that are new, and asks those again that were woken, in the order of the events."""
        kept = self._kept
        items, last = kept.items, kept.full_at
        self.full_at = last
        if self._looked < len(kept.events):
            for position in self._restless:
                self.wake(position, kept.events[self._looked])
            self._restless = []
            self._looked = len(kept.events)
        while self._read < len(items) or self._woken:
            own = items[self._read].step.seq if self._read < len(items) else None
            if own is not None and (not self._woken or own <= self._woken[0][0]):
                seq, position, new = own, self._read, True
                self._read += 1
                self.instant.append(0)
            else:
                seq, position = heappop(self._woken)
                new = False
                if position not in self._asked:
                    continue
            if last is None or seq < last:
                self._ask(items[position], position, seq, facts, item_facts, new=new)
        self._base = None

    def _ask(
        self,
        item: _Item,
        position: int,
        seq: int,
        facts: Facts,
        item_facts: Callable[[Evidence, Facts], Any],
        *,
        new: bool,
    ) -> None:
        before = self._asked.get(position, False)
        answer = self._answer(item, position, seq, facts, item_facts, new=new)
        if answer is True:
            self._asked.pop(position, None)
            self.instant[position] = new
            answer = True if item.certain else None
        else:
            self._asked[position] = answer
        if answer is not False and answer is not before:
            for value in item.values:
                self.given.append((value, answer is True, item.by, seq))

    def _answer(
        self,
        item: _Item,
        position: int,
        seq: int,
        facts: Facts,
        item_facts: Callable[[Evidence, Facts], Any],
        *,
        new: bool,
    ) -> Tri:
        where = item.source.where
        base = self._base
        # With more turns, what was known from its own event on still is.
        if where is None or (new and base is not None and position < len(base.instant) and base.instant[position]):
            return True
        asked = item_facts(item.step, facts)
        asked.history = facts.history
        asked.as_of = seq + 1
        asked.moment, asked.position = self, position
        asked.look_at(item.element)
        return where(asked)


class GrowingItems:
    """The items of a set that stands on others. `sources` are its own and those of the sets that it names as sources,
    `all_sources` also those of the sets that a `where` asks, and `asked` these sets."""

    __slots__ = ("_item_facts", "all_sources", "asked", "sources")

    def __init__(
        self,
        sources: Sequence[SourceOfItems],
        all_sources: Sequence[SourceOfItems],
        asked: Sequence[AskedSet],
        item_facts: Callable[[Evidence, Facts], Any],
    ) -> None:
        self.sources = tuple(sources)
        self.all_sources = tuple(all_sources)
        self.asked = tuple(asked)
        self._item_facts = item_facts

    def moment(self, facts: Facts, history: History) -> Moment:
        """What the history gave up to its end, for the turns of these facts."""
        generation = _generation(facts, history)
        latest = history.indexes.get((self, "latest"))
        if latest is not None and latest[0] == generation:
            moment: Moment = latest[1]
            return moment
        states = [known.grow(facts, history) for known in self.asked]
        kept = self._items(history)
        moments: list[Moment] = history.indexes.setdefault((self, "moments"), [])
        found = next((one for one in moments if _equal(one, facts)), None)
        if found is not None and not found.is_of(states):
            moments.remove(found)
            found = None
        if found is None:
            found = Moment(facts, kept, _base(moments, facts), states)
            del moments[_MOST_MOMENTS - 1 :]
            moments.insert(0, found)
        found.read(facts, self._item_facts)
        history.indexes[self, "latest"] = (generation, found)
        return found

    def _items(self, history: History) -> _Items:
        kept: _Items | None = history.indexes.get(self)
        if kept is None:
            kept = history.indexes[self] = _Items()
        evidence = history.evidence
        while kept.read < len(evidence):
            step = evidence[kept.read]
            kept.read += 1
            count = sum([source.size(step) for source in self.all_sources if about(source, step)])
            if not count:
                continue
            kept.events.append(step.seq)
            kept.count += count
            if kept.count > MAX_ITEMS:
                kept.full_at = step.seq if kept.full_at is None else kept.full_at
                continue
            for source in self.sources:
                if about(source, step):
                    for element, values, by in source.elements(step):
                        kept.items.append(_Item(step, source, element, values, by, source.counts(step) is True))
        return kept


def about(source: SourceOfItems, step: Evidence) -> bool:
    """Whether a source takes values of a step, perhaps."""
    return source.counts(step) is not False and matches_any(source.subject, step.kind, step.target)


def _said(facts: Facts) -> tuple[Any, ...]:
    # What a `where` may ask of the execution, besides the turns: values that are compared, and objects.
    values = (facts.agent, facts.parent, facts.delegated, facts.input_at)
    return values, (facts.input, facts.root_input, facts.root_turns, facts.read_args)


def _same(said: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return said[0] == other[0] and all(one is more for one, more in zip(said[1], other[1], strict=True))


def _generation(facts: Facts, history: History) -> int:
    # The number of times that the history, the turns or the rest of the execution have changed.
    said = _said(facts)
    last = history.indexes.get(_generation)
    now = len(history.evidence)
    if last is None or last[1] != now or last[2] is not facts.turns or not _same(last[3], said):
        last = history.indexes[_generation] = ((last[0] if last else 0) + 1, now, facts.turns, said)
    number: int = last[0]
    return number


def _equal(one: Moment, facts: Facts) -> bool:
    return (one.turns is facts.turns or one.turns == facts.turns) and _same(one.same, _said(facts))


def _base(moments: Sequence[Moment], facts: Facts) -> Moment | None:
    # The moment with the most of these turns.
    turns, said = facts.turns or [], _said(facts)
    fitting = [one for one in moments if _same(one.same, said) and turns[: len(one.turns or [])] == (one.turns or [])]
    return max(fitting, key=lambda one: len(one.turns or []), default=None)
