"""What a `known` set holds, found by reading everything again: slow, plain, and independent of the indexes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy.explain.elements import places
from rebuno.policy.explain.mentions import explain_mentions
from rebuno.policy.explain.wording import one_line, short
from rebuno.policy.facets.reading import Facet, PathContext, Reading
from rebuno.policy.matcher.facts import Evidence, Facts
from rebuno.policy.matcher.index import matches_any, subject_patterns
from rebuno.policy.matcher.operands import chain_of, literal, through
from rebuno.policy.matcher.paths import many
from rebuno.policy.matcher.provenance import (
    MAX_KNOWN_VALUES,
    READER_FAILED,
    KeyedValues,
    Keys,
    SourceItem,
    as_listed,
    in_texts,
    incomparable,
    index_keys,
    lookup_keys,
    normalised,
)
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import Tri, absent, key_of, shown
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


class KnownReader:
    """Reads the `known` sets of one bundle for one submission. `where` evaluates a condition on an item."""

    def __init__(self, bundle: tree.Bundle, values: Mapping[str, Any], context: PathContext, where: Where) -> None:
        self._bundle = bundle
        self._values = values
        self._context = context
        self._where = where

    def contains(
        self, known: tree.Known, value: Any, facts: Facts, fold: bool, facet: Facet | None = None
    ) -> tuple[Tri, str]:
        """Whether the value, which is there and was read by `facet`, is in the set, and why."""
        keys = lookup_keys(value, fold)
        if not keys:
            return None, "which no set of single values can be asked for"
        answer: Tri = False
        doubts: list[str] = []
        given, full = self._filed(known, facts, fold, facet)
        for position, source in enumerate(known.sources):
            text = self._text(source)
            mine = [(key, sure, step) for key, sure, step, at in given if at == position]
            found, why = self._from(source, value, keys, facts, fold, facet, mine)
            if found:
                return True, f"which {why} {text}{self._place(source, keys, facts, fold)}"
            if found is None:
                answer = None
                doubts.append(f"which {why} {text}")
        if full:
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
                    item.look_at(element)
                    found = [key for one in through(chain, [value], self._context) for key in index_keys(one, fold)]
                    if any(key in found for key in keys) and (where is None or self._where(where, item)):
                        return f", at `{place}`"
        return ""

    def _nowhere(self, known: tree.Known) -> str:
        looked = [self._text(source) for source in known.sources]
        return f"{looked[0]} not at all" if len(looked) == 1 else f"neither {' nor '.join(looked)}"

    def _text(self, source: tree.KnownSource) -> str:
        return f"`{short(one_line(self._bundle, source.span))}`"

    def _from(
        self,
        source: tree.KnownSource,
        value: Any,
        keys: Keys,
        facts: Facts,
        fold: bool,
        facet: Facet | None,
        given: list[tuple[Any, bool, Evidence]],
    ) -> tuple[Tri, str]:
        match source:
            case tree.ListSource(listed):
                options = _as_list(literal(listed, self._values))
                held = KeyedValues((one for option in options for one in as_listed(option, facet, self._context)), fold)
                found = held.find(keys)
                return found, "is in the list" if found else "may be in the list"
            case tree.InputSource(path):
                texts = SearchableTexts([item for item in many(facts.input, path.parts) if not absent(item)])
                found, why = self._in_input(value, keys, texts, fold, facet)
                if found and facts.parent:
                    return None, f"{why} what another execution passed on, and so perhaps not the user, as"
                return found, why
        sure = [step for key, certain, step in given if certain and (key, True) in keys]
        if sure:
            return True, f"step {shown(sure[0].target)} (event {sure[0].seq}) gave to"
        perhaps = any(key == one for key, _, _ in given for one, _ in keys)
        return (None, "may have been given to") if perhaps else (False, "")

    def _in_input(
        self, value: Any, keys: Keys, texts: SearchableTexts, fold: bool, facet: Facet | None
    ) -> tuple[Tri, str]:
        if facet is not None and facet.find is not None:
            found = KeyedValues(in_texts(texts, facet, self._context), fold, partial=texts.partial).find(keys)
            return found, f"a `{facet.name}` {'is' if found else 'may be'} found in"
        if type(value) is bool or isinstance(value, Reading):
            what = "a truth value" if type(value) is bool else "a value of this kind"
            return None, f"is {what}, which cannot be looked for in"
        answer = texts.find(value, fold=fold)
        if answer is None and texts.find(value, fold=True):
            return None, "occurs, but for upper and lower case, in"
        return answer, "occurs in" if answer else "may occur in what cannot be read of"

    def mentions(self, known: tree.Known, value: Any, facts: Facts, place: str) -> tuple[Tri, str]:
        """Whether a text, which is there, holds a value of the set, and why; `place` says where the text stands."""
        return explain_mentions(known.name.text, self._told(known, facts), value, place)

    def _told(self, known: tree.Known, facts: Facts) -> Iterator[tuple[Any, bool]]:
        # The values that can be told one by one, each with whether it is in the set for sure.
        for source in known.sources:
            if isinstance(source, tree.ListSource):
                for value in _as_list(literal(source.value, self._values)):
                    yield value, True
        for given in self._given(known, facts):
            yield given.value, given.sure

    def _given(self, known: tree.Known, facts: Facts) -> Iterator[GivenValue]:
        # What counts as of the submission.
        for step in facts.history.evidence if facts.history else ():
            if facts.as_of is not None and step.seq >= facts.as_of:
                break
            item = SourceItem(step, facts)
            for position, source in enumerate(known.sources):
                for value, sure, by in self._values_of(source, step, item):
                    yield GivenValue(value, position, step, sure, by)

    def _filed(
        self, known: tree.Known, facts: Facts, fold: bool, facet: Facet | None
    ) -> tuple[list[tuple[Any, bool, Evidence, int]], bool]:
        # The keys of everything that was given, and whether there is something that has none.
        found: list[tuple[Any, bool, Evidence, int]] = []
        keys: set[Any] = set()
        full = False
        for given in self._given(known, facts):
            if incomparable(given.value, given.by, facet):
                full = True
                continue
            for value in normalised(given.value, given.by, facet, self._context):
                full |= value is READER_FAILED
                for key, certain in index_keys(value, fold):
                    if key not in keys and len(keys) >= MAX_KNOWN_VALUES:
                        full = True
                        continue
                    keys.add(key)
                    found.append((key, given.sure and certain, given.step, given.source))
        return found, full

    def _values_of(
        self, source: tree.KnownSource, step: Evidence, item: SourceItem
    ) -> Iterator[tuple[Any, bool, Facet | None]]:
        where: tree.Expr | None = None
        match source:
            case tree.ResultSource(subject, ats, where) if step.succeeded:
                root = step.result
            case tree.ApprovedSource(subject, ats) if step.approved:
                root = step.args
            case _:
                return
        if not matches_any(subject_patterns(subject, self._values), step.kind, step.target):
            return
        for at in ats:
            chain = chain_of(at.facets)
            for element, value in _with_items(root, at.path.parts):
                for one in through(chain, [value], self._context):
                    if index_keys(one, False):
                        item.look_at(element)
                        answer = True if where is None else self._where(where, item)
                        if answer is not False:
                            yield one, answer is True, chain[0] if chain else None

    def listed(self, known: tree.Known, facts: Facts) -> list[Any]:
        """The values of the set that can be told one by one, at most fifty; those that the input holds cannot."""
        found: dict[Any, Any] = {}
        for source in known.sources:
            if isinstance(source, tree.ListSource):
                for value in _as_list(literal(source.value, self._values)):
                    found.setdefault(key_of(value), value)
        for given in self._given(known, facts):
            value = given.value.json() if isinstance(given.value, Reading) else given.value
            found.setdefault(key_of(value), value)
        return list(found.values())[:MAX_LISTED]


def _as_list(value: Any) -> list[Any]:
    return value if type(value) is list else [value]


def _with_items(root: Any, parts: tuple[tree.PathPart, ...]) -> Iterator[tuple[Any, Any]]:
    # Pairs of the innermost element on the path, or the whole root, and the value below it.
    last = max((n for n, part in enumerate(parts) if isinstance(part, tree.Each | tree.Values)), default=-1)
    for element in many(root, parts[: last + 1]):
        yield element, many(element, parts[last + 1 :])[0]
