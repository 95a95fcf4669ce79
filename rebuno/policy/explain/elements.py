"""The names of the elements and places that a path with `.*` gives: `args.variants["95"].price`."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.operands import splits, through
from rebuno.policy.matcher.paths import keyed, left_out, split_at_last, spread, step
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import shown

# A key in a name is cut to so many characters.
_LONGEST_KEY: Final = 40


def element_names(
    operand: tree.Operand, chain: Sequence[Facet], facts: Any, context: PathContext, count: int
) -> list[str] | None:
    """A name for each of the `count` elements that a quantifier tests, in the order of `values_of`. None for an operand
    without `.*`, if all its paths are left out, and beyond the bound of what facets read."""
    if not any(isinstance(part, tree.Values) for path in operand.paths for part in path.parts):
        return None
    names: list[str] = []
    for path in operand.paths:
        root = getattr(facts, path.root)
        if len(operand.paths) > 1 and left_out(root, path.parts):
            continue
        found = _walk(path.root, root, path.parts)
        if splits(chain) and not path.many:
            found = [pair for name, value in found for pair in _listed(name, value)]
        for name, value in found:
            names += [name] * len(through(chain, [value], context))
    return names if len(names) == count else None


def places(root: Any, parts: tuple[tree.PathPart, ...]) -> Iterator[tuple[str, Any, Any]]:
    """Where a path of a source leads in a result, if it has `.*`: the name of each place, the innermost element on the
    path, and the value there."""
    if not any(isinstance(part, tree.Values) for part in parts):
        return
    before, rest = split_at_last(parts) or (parts, ())
    for name, element in _walk("", root, before):
        for place, value in _walk(name, element, rest):
            yield place, element, value


def _walk(start: str, root: Any, parts: Sequence[tree.PathPart]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [(start, root)]
    for part in parts:
        match part:
            case tree.Values():
                found = [(_at_key(name, key), one) for name, value in found for key, one in keyed(value)]
            case tree.Each():
                found = [pair for name, value in found for pair in _listed(name, value)]
            case _:
                found = [(_below(name, part), step(value, part)) for name, value in found]
    return found


def _listed(name: str, value: Any) -> list[tuple[str, Any]]:
    return [(f"{name}[{at}]" if type(value) is list else name, one) for at, one in enumerate(spread(value))]


def _at_key(name: str, key: str | None) -> str:
    return f"{name}.*" if key is None else f"{name}[{shown(key, _LONGEST_KEY)}]"


def _below(name: str, part: tree.Key | tree.Index) -> str:
    if isinstance(part, tree.Index):
        return f"{name}[{part.position}]"
    if part.quoted:
        return f"{name}[{shown(part.name)}]"
    return f"{name}.{part.name}" if name else part.name
