"""`known` sets: values from lists, from the input of the execution, and from earlier steps."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext, Reading, UncertainValue, reader_failed
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.matcher.index import SubjectPattern, matches_any
from rebuno.policy.matcher.mentions import Mentions
from rebuno.policy.matcher.operands import through
from rebuno.policy.matcher.paths import Parts, many, one, split_at_last
from rebuno.policy.matcher.words import WordsIndex
from rebuno.policy.values.json_values import UNREADABLE, Marker, Tri, absent, key_of
from rebuno.policy.values.tokens import SearchableTexts

# The bound of values in one set. Beyond it a miss is maybe.
MAX_KNOWN_VALUES: Final = 100_000

# Marks a failure of a facet among the values that it found in a text.
READER_FAILED: Final = Marker("failed")
logger: Final = logging.getLogger("rebuno.policy.facets")

# The keys of a value in a set, each with whether it stands for the value for certain.
Keys = Sequence[tuple[Any, bool]]


class SourceItem(Facts):
    """The facts for the `where` of a source: `kind`, `target`, `args`, `result` and `definition` of an earlier step,
    and the `item` on the path. `agent` and `input` are those of the execution. Each step has its own count of element
    tests."""

    __slots__ = ("item", "result")

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
        yield from facet.find(text, context)
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
        self.partial = partial
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

    def texts(self, facts: Facts) -> SearchableTexts:
        """The texts of what was said, read once for each history."""
        texts: SearchableTexts = _once(
            facts, (self, "texts"), self.said(facts), lambda: SearchableTexts(self.values(facts))
        )
        return texts

    def held(self, facts: Facts, facet: Facet, context: PathContext, fold: bool) -> KeyedValues:
        """The values that a facet finds in what was said, read once for each history."""
        held: KeyedValues = _once(
            facts,
            (self, "held"),
            self.said(facts),
            lambda: KeyedValues(in_texts(self.texts(facts), facet, context), fold, partial=self.texts(facts).partial),
        )
        return held


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
    if kept is None or any(one is not other for one, other in zip(kept[0], said, strict=True)):
        kept = history.indexes[key] = (said, make())
    return kept[1]


class FromSteps:
    """The source `result of … at … where` or, with `approved`, the arguments that a person approved.

    `paths` are the places after `at`, each with the facets that read it. With `words` the texts there are read as the
    input is.
    """

    __slots__ = ("approved", "context", "paths", "subject", "where", "words")

    def __init__(
        self,
        subject: Sequence[SubjectPattern],
        paths: Sequence[tuple[Parts, tuple[Facet, ...]]],
        context: PathContext,
        *,
        approved: bool,
        where: Where | None = None,
        words: bool = False,
    ) -> None:
        self.subject = tuple(subject)
        self.paths = tuple((*(split_at_last(parts) or ((), parts)), chain) for parts, chain in paths)
        self.approved = approved
        self.where = where
        self.words = words
        self.context = context

    def values(self, step: Evidence, item: SourceItem) -> Iterator[tuple[Any, Tri, Facet | None]]:
        """The values that one step gives, each with the answer of `where` (yes or maybe) and the facet that read it.

        `item` holds the facts of the step, and this call changes it. An absent value, null, a list and an object give
        nothing; with `words` the texts and numbers in what is there are one value, a `SearchableTexts`.
        """
        counts = step.approved if self.approved else step.succeeded
        if not counts or not matches_any(self.subject, step.kind, step.target):
            return
        root = step.args if self.approved else step.result
        for prefix, rest, chain in self.paths:
            for element in many(root, prefix):
                item.look_at(element)
                values = in_items(through(chain, [one(element, rest)], self.context), words=self.words)
                if not values:
                    continue
                answer = True if self.where is None else self.where(item)
                if answer is not False:
                    for value in values:
                        yield value, answer, chain[0] if chain else None


def in_items(values: list[Any], *, words: bool) -> list[Any]:
    """What the values of a source give to a set. With `words` the texts and numbers in them are one value."""
    if not words:
        return [value for value in values if index_keys(value, False)]
    read: list[Any] = [value for value in values if isinstance(value, Reading)]
    texts = SearchableTexts([v for v in values if v is not UNREADABLE and not absent(v) and not isinstance(v, Reading)])
    return [*read, texts] if texts.texts or texts.numbers or texts.partial else read


class _StepValues:
    """The values of one history so far. `sure` and `possible` map the key of a value to the first event that gave
    it. `words` are the texts of `words at`, None without any."""

    __slots__ = ("agent", "count", "full_at", "input", "possible", "read", "sure", "words")

    def __init__(self, facts: Facts) -> None:
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

    def add(self, key: Any, sure: bool, seq: int) -> None:
        """Adds one key of a value."""
        if key not in self.sure and key not in self.possible and self._full():
            self.doubt(seq)
        else:
            (self.sure if sure else self.possible).setdefault(key, seq)

    def add_words(self, texts: SearchableTexts, sure: bool, seq: int) -> None:
        """Adds the texts of one item."""
        if self._full():
            self.doubt(seq)
            return
        self.words = self.words or WordsIndex()
        self.count += 1
        for _ in self.words.add(texts, sure, seq):
            pass
        if texts.partial:
            self.doubt(seq)

    def _full(self) -> bool:
        return len(self.sure) + len(self.possible) + self.count >= MAX_KNOWN_VALUES

    def doubt(self, seq: int) -> None:
        """Notes that the set holds an unknown value from this event on."""
        if self.full_at is None:
            self.full_at = seq


class KnownSet:
    """One `known` set: the three-valued or of its sources.

    With `fold` it is the set for `in NAME ignoring case`. With `facet` it is the set for values that the facet reads:
    the facet then reads the values of each source and the input too. A source with a facet of its own gives values that
    are read already.
    """

    __slots__ = ("context", "facet", "fold", "inputs", "listed", "mentions", "name", "steps", "users")

    def __init__(
        self,
        name: str,
        *,
        listed: Sequence[Any] = (),
        inputs: Sequence[FromInput] = (),
        steps: Sequence[FromSteps] = (),
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
        self.mentions = Mentions(listed, self._given)

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

        def by_then(seq: int | None) -> bool:
            return seq is not None and (before is None or seq < before)

        if any(sure and by_then(seen.sure.get(key)) for key, sure in keys):
            return True
        doubts = any(by_then(seen.sure.get(key)) or by_then(seen.possible.get(key)) for key, _ in keys)
        answer: Tri = None if doubts or by_then(seen.full_at) else False
        if seen.words is None:
            return answer
        if type(value) is bool or isinstance(value, Reading):
            return None if by_then(seen.words.first) else answer
        return _either(answer, seen.words.find(value, by_then, fold=self.fold))

    def _read(self, facts: Facts, history: History) -> _StepValues:
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
    return [value] if facet is None or by is not None else found_in(value, facet, context)


def searches(facet: Facet | None) -> bool:
    """Whether the facet finds its values in texts, so that they are not looked for as words."""
    return facet is not None and facet.find is not None


def incomparable(value: Any, by: Facet | None, facet: Facet | None) -> bool:
    """Whether the facet of the source, `by`, gives values that `facet` cannot compare, so that a miss is maybe."""
    return isinstance(value, Reading) and (facet is None or by is None or by.name != facet.name)


def _either(one: Tri, other: Tri) -> Tri:
    if one or other:
        return True
    return None if one is None or other is None else False
