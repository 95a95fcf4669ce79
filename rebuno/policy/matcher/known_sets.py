"""Compiles the `known` sets of a bundle, each when a test asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.conditions import BundleNames, compile_expr
from rebuno.policy.matcher.growing import AskedInWhere, GrowingItems
from rebuno.policy.matcher.index import subject_patterns
from rebuno.policy.matcher.operands import chain_of, literal
from rebuno.policy.matcher.paths import Parts
from rebuno.policy.matcher.provenance import KnownSet
from rebuno.policy.matcher.sources import FromInput, FromSteps, SourceItem
from rebuno.policy.matcher.standing import asks_what_grows, stands_on, with_named
from rebuno.policy.syntax import tree


class KnownSets:
    """The sets of a bundle. A set is compiled once for each facet and way of comparing; all of these share its sources
    in earlier steps."""

    def __init__(self, sets: Mapping[str, tree.Known], values: Mapping[str, Any], context: PathContext) -> None:
        self._sets = sets
        self._values = values
        self._context = context
        self._compiled: dict[tuple[str, bool, str], KnownSet] = {}
        self._growing: dict[str, GrowingItems | None] = {}
        # The sources of each set in earlier steps, and the sets that their `where` asks.
        self._steps: dict[str, tuple[list[FromSteps], dict[KnownSet, None]]] = {}

    def find(self, name: str, fold: bool, facet: Facet | None) -> KnownSet | None:
        """The set of a name, with or without `ignoring case`, for values that `facet` reads; None for a name of
        something else."""
        if name not in self._sets:
            return None
        key = (name, fold, facet.name if facet else "")
        if key not in self._compiled:
            self._compiled[key] = self._known(self._sets[name], fold, facet)
        return self._compiled[key]

    def _known(self, known: tree.Known, fold: bool, facet: Facet | None) -> KnownSet:
        listed: list[Any] = []
        inputs: list[FromInput] = []
        owners: dict[str, None] = {}
        for owner, source in with_named(known, self._sets):
            match source:
                case tree.ListSource(value):
                    found = literal(value, self._values)
                    listed.extend(found if isinstance(found, list) else [found])
                case tree.InputSource(path):
                    inputs.append(FromInput(path.parts, path.root))
                case _:
                    owners[owner.name.text] = None
        steps = [one for owner in owners for one in self._sources(owner)[0]]
        name = known.name.text
        growing = self._items(known, steps)
        return KnownSet(
            name,
            listed=listed,
            inputs=inputs,
            steps=steps,
            growing=growing,
            fold=fold,
            facet=facet,
            context=self._context,
        )

    def _items(self, known: tree.Known, steps: Sequence[FromSteps]) -> GrowingItems | None:
        name = known.name.text
        if name not in self._growing:
            written = [source for _, source in with_named(known, self._sets)]
            self._growing[name] = None
            if any(asks_what_grows(source, self._sets) for source in written):
                owners = {owner.name.text for owner, _ in with_named(known, self._sets)}
                asked = [one for owner in sorted(owners) for one in self._sources(owner)[1]]
                below = [one for other in stands_on(known, self._sets) for one in self._sources(other.name.text)[0]]
                self._growing[name] = GrowingItems(steps, below, list(dict.fromkeys(asked)), SourceItem)
        return self._growing[name]

    def _sources(self, name: str) -> tuple[list[FromSteps], dict[KnownSet, None]]:
        if name in self._steps:
            return self._steps[name]
        steps: list[FromSteps] = []
        asked: dict[KnownSet, None] = {}

        def ask(name: str, fold: bool, facet: Facet | None) -> AskedInWhere | None:
            found = self.find(name, fold, facet)
            if found is None:
                return None
            asked[found] = None
            return AskedInWhere(found)

        # A `where` can use the lists and the sets of the bundle, but not its conditions.
        names = BundleNames(self._values, ask, self._context)
        for source in self._sets[name].sources:
            match source:
                case tree.ResultSource(subject, ats, where, who=who, words=words):
                    condition = compile_expr(where, names) if where else None
                    about = subject_patterns(subject, self._values)
                    places = _places(ats)
                    steps.append(
                        FromSteps(about, places, self._context, approved=False, where=condition, words=words, who=who)
                    )
                case tree.ApprovedSource(subject, ats):
                    about = subject_patterns(subject, self._values)
                    steps.append(FromSteps(about, _places(ats), self._context, approved=True))
                case _:
                    pass
        self._steps[name] = (steps, asked)
        return self._steps[name]


def _places(ats: Sequence[tree.At]) -> list[tuple[Parts, tuple[Facet, ...]]]:
    return [(at.path.parts, chain_of(at.facets)) for at in ats]
