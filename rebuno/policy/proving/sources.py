"""What the names of a bundle stand for, so that equal questions of two bundles are one question."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from rebuno.policy.syntax import tree


class Definitions:
    """The definitions of a bundle, and the sources of its `known` sets with those of the sets that they name."""

    def __init__(self, bundle: tree.Bundle) -> None:
        self._defined: dict[str, Any] = {}
        self._known: dict[str, tree.Known] = {}
        places: list[tree.Statement] = []
        for statement in bundle.statements:
            match statement:
                case tree.Let(name, value):
                    self._defined[name.text] = value
                case tree.Known(name, sources):
                    self._defined[name.text] = sources
                    self._known[name.text] = statement
                case tree.Condition(name, expr):
                    self._defined[name.text] = expr
                case tree.Workdir() | tree.Home() | tree.Zone() | tree.EffectTables():
                    places.append(statement)
                case _:
                    pass
        # Facets read paths from these places, and days in this zone.
        self.places = repr(places)
        self._keys: dict[str, str] = {}
        self.sources: Mapping[str, frozenset[str]] = {name: self._sources(name, frozenset()) for name in self._known}

    def key(self, node: object) -> str:
        """A text that is equal for parts of bundles that ask the same."""
        shown = repr(node)
        found = self._keys.get(shown)
        if found is None:
            used: dict[str, Any] = {}
            waiting = list(_names(node))
            while waiting:
                name = waiting.pop()
                if name in self._defined and name not in used:
                    used[name] = self._defined[name]
                    waiting += _names(used[name])
            found = self._keys[shown] = f"{shown} {sorted((name, repr(value)) for name, value in used.items())}"
        return found

    def known(self, name: str) -> tree.Known | None:
        """A `known` set by its name."""
        return self._known.get(name)

    @property
    def written(self) -> Mapping[str, tuple[tree.KnownSource, ...]]:
        """The sources of every `known` set as they are written."""
        return {name: known.sources for name, known in self._known.items()}

    def _sources(self, name: str, above: frozenset[str]) -> frozenset[str]:
        found: set[str] = set()
        for source in self._known[name].sources:
            inner = (
                source.value.text if isinstance(source, tree.ListSource) and isinstance(source.value, tree.Name) else ""
            )
            if inner in self._known and inner not in above:
                found |= self._sources(inner, above | {name})
            else:
                found.add(self.key(source))
        return frozenset(found)


def _names(node: object) -> Iterator[str]:
    stack: list[Any] = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, tree.Name):
            yield found.text
        elif isinstance(found, tuple | list):
            stack.extend(found)
        elif is_dataclass(found) and not isinstance(found, tree.Span):
            stack.extend(getattr(found, field.name) for field in fields(found))
