"""The sources of `known` sets: lists, what was said to the execution, and earlier steps."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext, Reading, UncertainValue, reader_failed
from rebuno.policy.matcher.beginnings import source_contexts
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.growing import GivenForTurns
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.matcher.operands import through
from rebuno.policy.matcher.paths import Parts, many, one, split_at_last
from rebuno.policy.matcher.said_days import said_at, time_of_turn
from rebuno.policy.syntax.tree import Each, Index
from rebuno.policy.values.json_values import UNREADABLE, Marker, Tri, absent, key_of
from rebuno.policy.values.tokens import SearchableTexts

# The bound of values in one set. Beyond it a miss is maybe.
MAX_KNOWN_VALUES: Final = 100_000

# Marks a failure of a facet, and a value that it cannot read, among the values that it found in a text.
READER_FAILED: Final = Marker("failed")
logger: Final = logging.getLogger("rebuno.policy.facets")

# The keys of a value in a set, each with whether it stands for the value for certain.
Keys = Sequence[tuple[Any, bool]]


class SourceItem(Facts):
    """The facts for the `where` of a source: `kind`, `target`, `args`, `result` and `definition` of an earlier step,
    and the `item` on the path. `agent` and `input` are those of the execution. Each step has its own count of element
    tests. If the `where` asks what grows, `moment` and `position` name the item, and it has a count of its own."""

    __slots__ = ("item", "moment", "position", "result")

    moment: GivenForTurns
    position: int

    def __init__(self, step: Evidence, facts: Facts) -> None:
        super().__init__(
            step.kind, step.target, step.args, agent=facts.agent, input=facts.input, definition=step.definition
        )
        self.take_execution(facts)
        self.result = step.result
        self.item: Any = step.result

    def look_at(self, item: Any) -> None:
        """Makes `item` the current element, and drops the values that facets read of the last one."""
        self.item = item
        self.readings = None


Where = Callable[[SourceItem], Tri]


def index_keys(value: Any, fold: bool) -> Keys:
    """The keys under which a set holds a value; none for a value that cannot be in a set."""
    if type(value) is UncertainValue:
        return [(key, False) for key, _ in index_keys(value.value, fold)]
    if isinstance(value, Reading):
        return [((type(value), key), sure) for key, sure in value.index_keys(fold)]
    key = key_of(value, fold)
    return [] if key is None else [(key, True)]


def lookup_keys(value: Any, fold: bool) -> Keys:
    """The keys under which a value is looked up; none for a value that no set can hold."""
    if isinstance(value, Reading):
        return [((type(value), key), sure) for key, sure in value.lookup_keys(fold)]
    return index_keys(value, fold)


def _found_by(facet: Facet, text: str, context: PathContext) -> Iterator[Any]:
    if facet.find is None:
        return
    try:
        for value in facet.find(text, context):
            yield READER_FAILED if value is UNREADABLE else value
    except Exception as error:
        # INVARIANT: no input makes evaluation raise, also with the facets of other packages.
        logger.exception("the finder of `%s of` failed; what it was given may hold anything", facet.name)
        reader_failed(facet.name, type(error).__name__)
        yield READER_FAILED


def found_in(value: Any, facet: Facet, context: PathContext) -> Iterator[Any]:
    """The values that a facet reads in the value of a source: the whole value, and those anywhere in a text."""
    if type(value) is str:
        yield from _found_by(facet, value, context)
    for read in through((facet,), [value], context):
        if index_keys(read, False):
            yield read


class KeyedValues:
    """Certain and possible values by their keys. If `partial` is true, some values are missing, so a miss is maybe."""

    __slots__ = ("partial", "possible", "sure")

    def __init__(self, values: Iterable[Any], fold: bool, *, partial: bool = False) -> None:
        self.sure: set[Any] = set()
        self.possible: set[Any] = set()
        self.partial = False
        self.take(values, fold, partial=partial)

    def take(self, values: Iterable[Any], fold: bool, *, partial: bool = False) -> None:
        """Adds values. With `partial` some are missing."""
        self.partial |= partial
        for value in values:
            self.partial |= value is READER_FAILED
            for key, sure in index_keys(value, fold):
                if key not in self.sure and key not in self.possible and self._full():
                    self.partial = True
                    return
                (self.sure if sure else self.possible).add(key)

    def _full(self) -> bool:
        return len(self.sure) + len(self.possible) >= MAX_KNOWN_VALUES

    def find(self, keys: Keys) -> Tri:
        """Whether a value with these keys is in the set."""
        if any(sure and key in self.sure for key, sure in keys):
            return True
        if self.partial or any(key in self.sure or key in self.possible for key, _ in keys):
            return None
        return False


class FromInput:
    """The source `input`, `input.path` or `turns`: the texts and numbers of what was said to the execution. `root` is
    the name of the fact."""

    __slots__ = ("parts", "root")

    def __init__(self, parts: Parts, root: str = "input") -> None:
        self.parts = parts
        self.root = root

    def said(self, facts: Facts) -> tuple[Any, ...]:
        """The facts that `values` reads."""
        return (getattr(facts, self.root),)

    def values(self, facts: Facts) -> list[Any]:
        """What the source takes of these facts."""
        return at_path(getattr(facts, self.root), self.parts)

    def dated(self, facts: Facts) -> list[tuple[list[Any], float | None]]:
        """What the source takes of these facts, each text of the user with the time at which it was written."""
        if self.root == "turns":
            return _turns(facts.turns, facts.turn_times, self.parts)
        return [(self.values(facts), facts.input_at)]

    def times(self, facts: Facts) -> tuple[Any, ...]:
        """The times that `dated` gives."""
        return (facts.input_at, *(facts.turn_times if self.root == "turns" else ()))

    def texts(self, facts: Facts) -> SearchableTexts:
        """The texts of what was said, read once for each history."""
        texts: SearchableTexts = _once(
            facts, (self, "texts"), self.said(facts), lambda: SearchableTexts(self.values(facts))
        )
        return texts

    def held(self, facts: Facts, facet: Facet, context: PathContext, fold: bool) -> KeyedValues:
        """The values that a facet finds in what was said, read once for each history."""
        times = () if context.zone is None else self.times(facts)
        held: KeyedValues = _once(
            facts, (self, "held"), (*self.said(facts), times), lambda: self.read(facts, facet, context, fold)
        )
        return held

    def read(self, facts: Facts, facet: Facet, context: PathContext, fold: bool) -> KeyedValues:
        """The values that a facet finds in what was said. Where the bundle names a time zone, each text has its own
        day."""
        if context.zone is None:
            texts = SearchableTexts(self.values(facts))
            return KeyedValues(in_texts(texts, facet, context), fold, partial=texts.partial)
        read = [(SearchableTexts(values), said_at(context, at)) for values, at in self.dated(facts)]
        found = (value for texts, own in read for value in in_texts(texts, facet, own))
        return KeyedValues(found, fold, partial=any(texts.partial for texts, _ in read))


def _turns(
    turns: Sequence[str] | None, times: Sequence[float | None], parts: Parts
) -> list[tuple[list[Any], float | None]]:
    # The turns that a path leads to, each with its time.
    if len(parts) == 1 and isinstance(parts[0], Index):
        position = parts[0].position
        return [(at_path(turns, parts), time_of_turn(times, position))]
    if parts in ((), (Each(),)):
        return [([turn], time_of_turn(times, position)) for position, turn in enumerate(turns or ())]
    return [(at_path(turns, parts), None)]


class FromUser(FromInput):
    """What counts as the user's word in an execution that another one began, for the source with this path and root:
    the root's input at the same path, the root's turns, and the arguments that a person read."""

    __slots__ = ()

    def said(self, facts: Facts) -> tuple[Any, ...]:
        """The facts that `values` reads."""
        return (facts.root_input, facts.root_turns, facts.read_args)

    def values(self, facts: Facts) -> list[Any]:
        """What the user wrote, and a person read."""
        asked = at_path(facts.root_input, self.parts) if self.root == "input" else []
        return [*asked, *(facts.root_turns or ()), *at_path(facts.read_args, ())]

    def dated(self, facts: Facts) -> list[tuple[list[Any], float | None]]:
        """What the user wrote, each text with its time."""
        asked = at_path(facts.root_input, self.parts) if self.root == "input" else []
        return [(asked, facts.root_input_at), *_turns(facts.root_turns, facts.root_turn_times, ())]

    def times(self, facts: Facts) -> tuple[Any, ...]:
        """The times that `dated` gives."""
        return (facts.root_input_at, *facts.root_turn_times)

    def read(self, facts: Facts, facet: Facet, context: PathContext, fold: bool) -> KeyedValues:
        """The values that a facet finds in what the user wrote, and in arguments that a person read; these have no
        day."""
        held = super().read(facts, facet, context, fold)
        if context.zone is not None:
            texts = SearchableTexts(at_path(facts.read_args, ()))
            held.take(in_texts(texts, facet, context), fold, partial=texts.partial)
        return held


def at_path(said: Any, parts: Parts) -> list[Any]:
    """The values at a path below a fact, without those that are absent."""
    return [element for element in many(said, parts) if not absent(element)]


def in_texts(texts: SearchableTexts, facet: Facet, context: PathContext) -> Iterator[Any]:
    """The values that a facet finds in the texts and in the numbers of an input."""
    for text in texts.texts:
        yield from _found_by(facet, text, context)
    for number in texts.numbers:
        yield from through((facet,), [number], context)


def _once(facts: Facts, key: object, said: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    # What `make` reads of the facts in `said`, once for each history as long as they are the same objects.
    history = facts.history
    if history is None:
        return make()
    kept = history.indexes.get(key)
    if kept is None or any(not _same(one, other) for one, other in zip(kept[0], said, strict=True)):
        kept = history.indexes[key] = (said, make())
    return kept[1]


def _same(one: Any, other: Any) -> bool:
    # Times are compared, all other facts are the same objects.
    return one is other or (type(one) is tuple and type(other) is tuple and one == other)


class FromSteps:
    """The source `result of … at … where` or, with `approved`, the arguments that a person approved.

    `paths` are the places after `at`, each with the facets that read it. With `words` the texts there are read as the
    input is. `who` is `allowed`, `approved` or empty for both.
    """

    __slots__ = ("approved", "context", "paths", "subject", "where", "who", "words")

    def __init__(
        self,
        subject: Sequence[SubjectPattern],
        paths: Sequence[tuple[Parts, tuple[Facet, ...]]],
        context: PathContext,
        *,
        approved: bool,
        where: Where | None = None,
        words: bool = False,
        who: str = "",
    ) -> None:
        self.subject = tuple(subject)
        self.paths = tuple((*(split_at_last(parts) or ((), parts)), chain) for parts, chain in paths)
        self.approved = approved
        self.where = where
        self.words = words
        self.who = who
        self.context = context

    def counts(self, step: Evidence) -> Tri:
        """Whether the values of a step count: maybe if `who` is asked for and nothing, or nobody knows what, let the
        step in."""
        if self.approved:
            return step.approved
        if not step.succeeded:
            return False
        if not self.who or step.let_in == self.who:
            return True
        return False if step.let_in else None

    def size(self, step: Evidence) -> int:
        """The number of elements on the paths in a step that matches."""
        root = step.args if self.approved else step.result
        return sum(len(many(root, prefix)) for prefix, _, _ in self.paths)

    def elements(self, step: Evidence) -> Iterator[tuple[Any, list[Any], Facet | None]]:
        """The elements on the paths in a step that matches, each with the values that it gives and the facet that read
        them; an element that gives none is left out.

        An absent value, null, a list and an object give nothing; with `words` the texts and numbers in what is there
        are one value, a `SearchableTexts`.
        """
        root = step.args if self.approved else step.result
        for prefix, rest, chain in self.paths:
            contexts = source_contexts(root, (*prefix, *rest), chain, self.context)
            for element, context in zip(many(root, prefix), contexts, strict=False):
                values = in_items(through(chain, [one(element, rest)], context), words=self.words)
                if values:
                    yield element, values, chain[0] if chain else None

    def values(self, step: Evidence, item: SourceItem) -> Iterator[tuple[Any, Tri, Facet | None]]:
        """The values that one step gives, each with yes or maybe and the facet that read it. `item` holds the facts of
        the step, and this call changes it."""
        counts = self.counts(step)
        if counts is False or not matches_any(self.subject, step.kind, step.target):
            return
        for element, values, by in self.elements(step):
            item.look_at(element)
            answer = True if self.where is None else self.where(item)
            if answer is not False:
                for value in values:
                    yield value, answer and counts, by


def in_items(values: list[Any], *, words: bool) -> list[Any]:
    """What the values of a source give to a set. With `words` the texts and numbers in them are one value."""
    if not words:
        return [value for value in values if index_keys(value, False)]
    read: list[Any] = [value for value in values if isinstance(value, Reading)]
    texts = SearchableTexts([v for v in values if v is not UNREADABLE and not absent(v) and not isinstance(v, Reading)])
    return [*read, texts] if texts.texts or texts.numbers or texts.partial else read


def as_listed(value: Any, facet: Facet | None, context: PathContext) -> Iterator[Any]:
    """The values that a value of a list stands for: the value itself or, with a facet, the values that the facet reads
    in it."""
    if facet is None:
        yield value
        return
    with suppress(ValueError):
        yield facet.literal(value, context)
    yield from found_in(value, facet, context)


def normalised(value: Any, by: Facet | None, facet: Facet | None, context: PathContext) -> Iterable[Any]:
    """The values that a value of an earlier step stands for under `facet`; `by` is the facet of the source, if any."""
    if type(value) is SearchableTexts:
        read = [] if facet is None else list(in_texts(value, facet, context))
        return [*read, READER_FAILED] if value.partial else read
    if facet is None or by is not None:
        return [value]
    # Nothing tells where the commands in a value begin that no facet of the source has read.
    return found_in(value, facet, replace(context, begins=None) if facet.begins else context)


def searches(facet: Facet | None) -> bool:
    """Whether the facet finds its values in texts, so that they are not looked for as words."""
    return facet is not None and facet.find is not None


def incomparable(value: Any, by: Facet | None, facet: Facet | None) -> bool:
    """Whether the facet of the source, `by`, gives values that `facet` cannot compare, so that a miss is maybe."""
    return isinstance(value, Reading) and (facet is None or by is None or by.name != facet.name)
