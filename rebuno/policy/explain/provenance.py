"""What a `known` set holds, found by reading everything again: slow, plain, and independent of the indexes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rebuno.policy.explain.elements import places
from rebuno.policy.explain.mentions import explain_mentions
from rebuno.policy.explain.wording import one_line, short
from rebuno.policy.facets.reading import Facet, PathContext, Reading
from rebuno.policy.matcher.beginnings import source_contexts
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.growing import MAX_ITEMS
from rebuno.policy.matcher.index import matches_any, subject_patterns
from rebuno.policy.matcher.operands import chain_of, literal, through
from rebuno.policy.matcher.paths import many
from rebuno.policy.matcher.sources import (
    MAX_KNOWN_VALUES,
    READER_FAILED,
    FromInput,
    FromUser,
    KeyedValues,
    Keys,
    SourceItem,
    as_listed,
    in_items,
    incomparable,
    index_keys,
    lookup_keys,
    normalised,
    searches,
)
from rebuno.policy.matcher.standing import asks_what_grows, stands_on, with_named
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri, key_of, shown
from rebuno.policy.values.tokens import SearchableTexts

Where = Callable[[tree.Expr, SourceItem], Tri]

MAX_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class GivenValue:
    """One value that an earlier step gave: which source took it, from which step, whether for sure, and the facet that
    the source reads it by."""

    value: Any
    source: int
    step: Evidence
    sure: bool
    by: Facet | None


@dataclass(slots=True)
class FiledValues:
    """The values that earlier steps gave, by the source that took them: those with the same key, each with whether it
    stands for the key for sure, and the texts of `words at`. With `full` there is something that has no key."""

    by_key: dict[tuple[int, Any], list[tuple[bool, Evidence]]] = field(default_factory=dict)
    texts: dict[int, list[tuple[SearchableTexts, bool, Evidence]]] = field(default_factory=dict)
    full: bool = False


class KnownReader:
    """Reads the `known` sets of one bundle for one submission. `where` evaluates a condition on an item. What was read
    of a set is kept, as the `where` of another set may ask for each of its items."""

    def __init__(self, bundle: tree.Bundle, values: Mapping[str, Any], context: PathContext, where: Where) -> None:
        self._bundle = bundle
        self._values = values
        self._context = context
        self._where = where
        self._sets = {line.name.text: line for line in bundle.statements if isinstance(line, tree.Known)}
        self._kept: dict[tuple[Any, ...], Any] = {}

    def _once(self, facts: Facts, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        # The facts of the items in one submission differ in what no set asks for, and in the event.
        key = (*key, facts.as_of, facts.agent, id(facts.history), id(facts.input), id(facts.turns))
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _sources(self, known: tree.Known) -> list[tree.KnownSource]:
        return [source for _, source in with_named(known, self._sets)]

    def contains(
        self, known: tree.Known, value: Any, facts: Facts, fold: bool, facet: Facet | None = None
    ) -> tuple[Tri, str]:
        """Whether the value, which is there and was read by `facet`, is in the set, and why."""
        keys = lookup_keys(value, fold)
        if not keys:
            return None, "which no set of single values can be asked for"
        answer: Tri = False
        doubts: list[str] = []
        filed = self._filed(known, facts, fold, facet)
        for position, source in enumerate(self._sources(known)):
            text = self._text(source)
            found, why = self._from(source, value, keys, facts, fold, facet)
            if isinstance(source, tree.ResultSource | tree.ApprovedSource):
                found, why = _given_by(filed, position, value, keys, fold)
            if found:
                return True, f"which {why} {text}{self._place(source, keys, facts, fold)}"
            if found is None:
                answer = None
                doubts.append(f"which {why} {text}")
        if filed.full:
            answer = None
            doubts.append(
                f"and `{known.name.text}` holds more than {MAX_KNOWN_VALUES:,} values, or some of another kind"
            )
        if answer is None:
            return None, "; ".join(doubts)
        return False, f"which occurs in {self._nowhere(known)}"

    def _place(self, source: tree.KnownSource, keys: Keys, facts: Facts, fold: bool) -> str:
        # The place with its keys, if the path of the source has `.*`.
        if not isinstance(source, tree.ResultSource | tree.ApprovedSource):
            return ""
        about = subject_patterns(source.subject, self._values)
        where = source.where if isinstance(source, tree.ResultSource) else None
        for given in facts.history.evidence if facts.history else ():
            if facts.as_of is not None and given.seq >= facts.as_of:
                break
            counts = given.succeeded if isinstance(source, tree.ResultSource) else given.approved
            if not counts or not matches_any(about, given.kind, given.target):
                continue
            root = given.result if isinstance(source, tree.ResultSource) else given.args
            for at in source.ats:
                chain = chain_of(at.facets)
                for place, element, value in places(root, at.path.parts):
                    item = SourceItem(given, facts)
                    item.history, item.as_of = facts.history, facts.as_of
                    item.look_at(element)
                    found = [key for one in through(chain, [value], self._context) for key in index_keys(one, fold)]
                    if any(key in found for key in keys) and (where is None or self._where(where, item)):
                        return f", at `{place}`"
        return ""

    def _nowhere(self, known: tree.Known) -> str:
        looked = [self._text(source) for source in self._sources(known)]
        return f"{looked[0]} not at all" if len(looked) == 1 else f"neither {' nor '.join(looked)}"

    def _text(self, source: tree.KnownSource) -> str:
        return f"`{short(one_line(self._bundle, source.span))}`"

    def _from(
        self, source: tree.KnownSource, value: Any, keys: Keys, facts: Facts, fold: bool, facet: Facet | None
    ) -> tuple[Tri, str]:
        # What a list or the input says.
        match source:
            case tree.ListSource(listed):
                options = _as_list(literal(listed, self._values))
                held = KeyedValues((one for option in options for one in as_listed(option, facet, self._context)), fold)
                found = held.find(keys)
                return found, "is in the list" if found else "may be in the list"
            case tree.InputSource(path):
                found, why = self._in_input(value, keys, FromInput(path.parts, path.root), facts, fold, facet)
                if not found or not facts.delegated:
                    return found, why
                if self._in_input(value, keys, FromUser(path.parts, path.root), facts, fold, facet)[0]:
                    return True, f"{why} what the user wrote to the root execution, or a person read, and so in"
                return None, f"{why} what another execution passed on, and so perhaps not the user, as"
        return False, ""

    def _in_input(
        self, value: Any, keys: Keys, source: FromInput, facts: Facts, fold: bool, facet: Facet | None
    ) -> tuple[Tri, str]:
        if facet is not None and searches(facet):
            found = source.read(facts, facet, self._context, fold).find(keys)
            return found, f"a `{facet.name}` {'is' if found else 'may be'} found in"
        if type(value) is bool or isinstance(value, Reading):
            what = "a truth value" if type(value) is bool else "a value of this kind"
            return None, f"is {what}, which cannot be looked for in"
        texts = SearchableTexts(source.values(facts))
        answer = texts.find(value, fold=fold)
        if answer is None and texts.find(value, fold=True):
            return None, "occurs, but for upper and lower case, in"
        return answer, "occurs in" if answer else "may occur in what cannot be read of"

    def mentions(self, known: tree.Known, value: Any, facts: Facts, place: str) -> tuple[Tri, str]:
        """Whether a text, which is there, holds a value of the set, and why; `place` says where the text stands."""
        found, why = explain_mentions(known.name.text, self._told(known, facts), value, place)
        if found is not False or not self._full(known, facts):
            return found, why
        return None, f"{why}, and `{known.name.text}` stands on more than {MAX_ITEMS:,} items"

    def _told(self, known: tree.Known, facts: Facts) -> Iterator[tuple[Any, bool]]:
        # The values that can be told one by one, each with whether it is in the set for sure.
        for source in self._sources(known):
            if isinstance(source, tree.ListSource):
                for value in _as_list(literal(source.value, self._values)):
                    yield value, True
        for given in self._given(known, facts):
            if type(given.value) is not SearchableTexts:
                yield given.value, given.sure

    def _given(self, known: tree.Known, facts: Facts) -> list[GivenValue]:
        found: list[GivenValue] = self._once(facts, ("given", known.name.text), lambda: list(self._give(known, facts)))
        return found

    def _give(self, known: tree.Known, facts: Facts) -> Iterator[GivenValue]:
        # What counts as of the submission.
        sources = self._sources(known)
        grows = any(asks_what_grows(source, self._sets) for source in sources)
        before = self._closed(known, facts) if grows else facts.as_of
        for step in facts.history.evidence if facts.history else ():
            if before is not None and step.seq >= before:
                break
            item = SourceItem(step, facts)
            if grows:
                item.history, item.as_of = facts.history, before
            for position, source in enumerate(sources):
                for value, sure, by in self._values_of(source, step, item, apart=grows):
                    yield GivenValue(value, position, step, sure, by)

    def _closed(self, known: tree.Known, facts: Facts) -> int | None:
        # The event before which a set that stands on others is read: that of the submission or, if there are too many
        # items, the one that exceeds the bound.
        count = 0
        below = [source for one in stands_on(known, self._sets) for source in one.sources]
        for step in facts.history.evidence if facts.history else ():
            if facts.as_of is not None and step.seq >= facts.as_of:
                break
            for source in below:
                root = self._root_of(source, step)
                if root is not None and isinstance(source, tree.ResultSource | tree.ApprovedSource):
                    count += sum(len(_with_items(root[0], at.path.parts)) for at in source.ats)
            if count > MAX_ITEMS:
                return step.seq
        return facts.as_of

    def _full(self, known: tree.Known, facts: Facts) -> bool:
        grows = any(asks_what_grows(source, self._sets) for source in self._sources(known))
        return grows and self._closed(known, facts) != facts.as_of

    def _filed(self, known: tree.Known, facts: Facts, fold: bool, facet: Facet | None) -> FiledValues:
        key = ("filed", known.name.text, fold, facet.name if facet else "")
        filed: FiledValues = self._once(facts, key, lambda: self._file(known, facts, fold, facet))
        return filed

    def _file(self, known: tree.Known, facts: Facts, fold: bool, facet: Facet | None) -> FiledValues:
        grows = any(asks_what_grows(source, self._sets) for source in self._sources(known))
        filed = FiledValues(full=self._full(known, facts))
        counted: set[Any] = set()

        def counts(one: Any) -> bool:
            if not grows and one not in counted and len(counted) >= MAX_KNOWN_VALUES:
                filed.full = True
                return False
            counted.add(one)
            return True

        for number, given in enumerate(self._given(known, facts)):
            if type(given.value) is SearchableTexts and not searches(facet):
                if counts(("texts", number)):
                    filed.full |= given.value.partial
                    filed.texts.setdefault(given.source, []).append((given.value, given.sure, given.step))
                continue
            if incomparable(given.value, given.by, facet):
                filed.full = True
                continue
            for value in normalised(given.value, given.by, facet, self._context):
                filed.full |= value is READER_FAILED
                for key, certain in index_keys(value, fold):
                    if counts(key):
                        mine = filed.by_key.setdefault((given.source, key), [])
                        mine.append((given.sure and certain, given.step))
        return filed

    def _root_of(self, source: tree.KnownSource, step: Evidence) -> tuple[Any, bool] | None:
        # What a source looks at in a step, and whether its values are certain; None for a step that it is not about.
        match source:
            case tree.ResultSource(who=who) if step.succeeded and (not who or step.let_in in (who, "", None)):
                root = (step.result, not who or step.let_in == who)
            case tree.ApprovedSource() if step.approved:
                root = (step.args, True)
            case _:
                return None
        about = subject_patterns(source.subject, self._values)
        return root if matches_any(about, step.kind, step.target) else None

    def _values_of(
        self, source: tree.KnownSource, step: Evidence, item: SourceItem, *, apart: bool
    ) -> Iterator[tuple[Any, bool, Facet | None]]:
        # With `apart` the tests of each item are counted by themselves.
        root = self._root_of(source, step)
        if root is None or not isinstance(source, tree.ResultSource | tree.ApprovedSource):
            return
        where = source.where if isinstance(source, tree.ResultSource) else None
        words = isinstance(source, tree.ResultSource) and source.words
        for at in source.ats:
            chain = chain_of(at.facets)
            contexts = source_contexts(root[0], at.path.parts, chain, self._context)
            for (element, value), context in zip(_with_items(root[0], at.path.parts), contexts, strict=False):
                item.look_at(element)
                item.tests = 0 if apart else item.tests
                values = in_items(through(chain, [value], context), words=words)
                answer = True if where is None or not values else self._where(where, item)
                if answer is not False:
                    for one in values:
                        yield one, answer is True and root[1], chain[0] if chain else None

    def listed(self, known: tree.Known, facts: Facts) -> list[Any]:
        """The values of the set that can be told one by one, at most fifty; those that the input holds cannot."""
        found: dict[Any, Any] = {}
        for source in self._sources(known):
            if isinstance(source, tree.ListSource):
                for value in _as_list(literal(source.value, self._values)):
                    found.setdefault(key_of(value), value)
        for given in self._given(known, facts):
            if type(given.value) is SearchableTexts:
                continue
            value = given.value.json() if isinstance(given.value, Reading) else given.value
            found.setdefault(key_of(value), value)
        return list(found.values())[:MAX_LISTED]


def _given_by(filed: FiledValues, position: int, value: Any, keys: Keys, fold: bool) -> tuple[Tri, str]:
    # What the steps of one source gave.
    mine = [(key, certain, one) for key, certain in keys for one in filed.by_key.get((position, key), ())]
    for _, certain, (sure, step) in mine:
        if sure and certain:
            return True, f"step {shown(step.target)} (event {step.seq}) gave to"
    doubt = "may have been given to" if mine else ""
    for texts, sure, step in filed.texts.get(position, ()):
        if type(value) is bool or isinstance(value, Reading):
            doubt = doubt or "is of a kind that cannot be looked for in the texts of"
            continue
        found = texts.find(value, fold=fold)
        if found and sure:
            return True, f"occurs in what step {shown(step.target)} (event {step.seq}) gave to"
        if found or (found is None and not texts.partial):
            doubt = doubt or _perhaps(texts, value, step, sure=sure)
    return (None, doubt) if doubt else (False, "")


def _perhaps(texts: SearchableTexts, value: Any, step: Evidence, *, sure: bool) -> str:
    there = f"what step {shown(step.target)} (event {step.seq})"
    if texts.find(value):
        return f"occurs in {there} may have given to"
    if sure and texts.find(value, fold=True):
        return f"occurs, but for upper and lower case, in {there} gave to"
    return f"may occur in {there} gave to"


def _as_list(value: Any) -> list[Any]:
    return value if type(value) is list else [value]


def _with_items(root: Any, parts: tuple[tree.PathPart, ...]) -> list[tuple[Any, Any]]:
    # Pairs of the innermost element on the path, or the whole root, and the value below it.
    last = max((n for n, part in enumerate(parts) if isinstance(part, tree.Each | tree.Values)), default=-1)
    return [(element, many(element, parts[last + 1 :])[0]) for element in many(root, parts[: last + 1])]
