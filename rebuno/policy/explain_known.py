"""What a `known` set holds, found by reading everything again: slow, plain, and independent of the indexes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rebuno.policy import syntax
from rebuno.policy.element_tests import literal
from rebuno.policy.explain_words import one_line, short
from rebuno.policy.facts import Evidence, Facts
from rebuno.policy.known import MAX_VALUES, Item
from rebuno.policy.paths import many
from rebuno.policy.subjects import about, patterns
from rebuno.policy.tokens import Texts
from rebuno.policy.values import UNREADABLE, Tri, absent, equal, key_of, shown, type_name

Where = Callable[[syntax.Expr, Item], Tri]

MAX_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Given:
    """One value that an earlier step gave: which source took it, from which step, and whether for sure."""

    value: Any
    source: int
    step: Evidence
    sure: bool


class KnownReader:
    """Reads the `known` sets of one bundle for one submission. `where` evaluates a condition on an item."""

    def __init__(self, bundle: syntax.Bundle, values: Mapping[str, Any], where: Where) -> None:
        self._bundle = bundle
        self._values = values
        self._where = where

    def contains(self, known: syntax.Known, value: Any, facts: Facts, fold: bool) -> tuple[Tri, str]:
        """Whether the value, which is there, is in the set, and why."""
        if value is UNREADABLE or type_name(value) in ("list", "object") or key_of(value) is None:
            return None, "which no set of single values can be asked for"
        answer: Tri = False
        doubts: list[str] = []
        given, full = self._given(known, facts, fold)
        for position, source in enumerate(known.sources):
            text = self._text(source)
            found, why = self._from(source, position, value, facts, fold, given)
            if found:
                return True, f"which {why} {text}"
            if found is None:
                answer = None
                doubts.append(f"which {why} {text}")
        if full:
            answer = None
            doubts.append(f"and `{known.name.text}` holds more than {MAX_VALUES:,} values")
        if answer is None:
            return None, "; ".join(doubts)
        looked = [self._text(source) for source in known.sources]
        return False, "which occurs in " + (looked[0] if len(looked) == 1 else f"neither {' nor '.join(looked)}") + (
            " not at all" if len(looked) == 1 else ""
        )

    def _text(self, source: syntax.Source) -> str:
        return f"`{short(one_line(self._bundle, source.span))}`"

    def _from(
        self, source: syntax.Source, position: int, value: Any, facts: Facts, fold: bool, given: list[Given]
    ) -> tuple[Tri, str]:
        match source:
            case syntax.ListSource(listed):
                return _any_equal(value, _as_list(literal(listed, self._values)), fold), "is in the list"
            case syntax.InputSource(path):
                found = many(facts.input, path.parts)
                if type(value) is bool:
                    return None, "is a truth value, which cannot be looked for in"
                texts = Texts([item for item in found if not absent(item)])
                answer = texts.find(value, fold=fold)
                if answer is None and texts.find(value, fold=True):
                    return None, "occurs, but for upper and lower case, in"
                return answer, "occurs in" if answer else "may occur in what cannot be read of"
        mine = [g for g in given if g.source == position and equal(value, g.value, fold)]
        sure = [g for g in mine if g.sure]
        if sure:
            return True, f"step {shown(sure[0].step.target)} (event {sure[0].step.seq}) gave to"
        return (None, "may have been given to") if mine else (False, "")

    def _given(self, known: syntax.Known, facts: Facts, fold: bool) -> tuple[list[Given], bool]:
        # Everything that counts as of the submission, and whether the set overflowed on the way.
        given: list[Given] = []
        keys: set[Any] = set()
        full = False
        for step in facts.history.evidence if facts.history else ():
            if facts.as_of is not None and step.seq >= facts.as_of:
                break
            item = Item(step, facts)
            for position, source in enumerate(known.sources):
                for value, sure in self._values_of(source, step, item):
                    key = key_of(value, fold)
                    if key not in keys and len(keys) >= MAX_VALUES:
                        full = True
                        continue
                    keys.add(key)
                    given.append(Given(value, position, step, sure))
        return given, full

    def _values_of(self, source: syntax.Source, step: Evidence, item: Item) -> Iterator[tuple[Any, bool]]:
        where: syntax.Expr | None = None
        match source:
            case syntax.ResultSource(subject, ats, where) if not step.approved:
                root = step.result
            case syntax.ApprovedSource(subject, ats) if step.approved:
                root = step.args
            case _:
                return
        if not about(patterns(subject, self._values), step.kind, step.target):
            return
        for at in ats:
            for element, value in _with_items(root, at.path.parts):
                if key_of(value) is None:
                    continue
                item.item = element
                answer = True if where is None else self._where(where, item)
                if answer is not False:
                    yield value, answer is True

    def listed(self, known: syntax.Known, facts: Facts) -> list[Any]:
        """The values of the set that can be told one by one, at most fifty; those that the input holds cannot."""
        found: dict[Any, Any] = {}
        for source in known.sources:
            if isinstance(source, syntax.ListSource):
                for value in _as_list(literal(source.value, self._values)):
                    found.setdefault(key_of(value), value)
        for given in self._given(known, facts, False)[0]:
            found.setdefault(key_of(given.value), given.value)
        return list(found.values())[:MAX_LISTED]


def _as_list(value: Any) -> list[Any]:
    return value if type(value) is list else [value]


def _any_equal(value: Any, options: list[Any], fold: bool) -> Tri:
    return any(equal(value, option, fold) for option in options if type_name(option) == type_name(value))


def _with_items(root: Any, parts: tuple[syntax.PathPart, ...]) -> Iterator[tuple[Any, Any]]:
    # Pairs of the innermost list element on the path, or the whole root, and the value below it.
    last = max((n for n, part in enumerate(parts) if isinstance(part, syntax.Each)), default=-1)
    for element in many(root, parts[: last + 1]):
        yield element, many(element, parts[last + 1 :])[0]
