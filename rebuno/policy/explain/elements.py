"""The names of the elements that a path with `.*` gives: `args.variants["95"].price`."""

from collections.abc import Iterator, Sequence
from typing import Any

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.operands import splits, through
from rebuno.policy.matcher.paths import keyed, left_out, spread, step
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import shown

# A key in a name is cut to so many characters.
_LONGEST_KEY = 40


def element_names(
    operand: tree.Operand, chain: Sequence[Facet], facts: Any, context: PathContext, *, apart: bool
) -> list[str] | None:
    """A name for each element of an operand, in the order of `values_of`; None for an operand without `.*`."""
    if not any(isinstance(part, tree.Values) for path in operand.paths for part in path.parts):
        return None
    names: list[str] = []
    for path in operand.paths:
        root = getattr(facts, path.root)
        if len(operand.paths) > 1 and left_out(root, path.parts):
            continue
        for name, value in _walk(path, root, apart=apart and splits(chain)):
            names += [name] * len(through(chain, [value], context))
    return names


def _walk(path: tree.Path, root: Any, *, apart: bool) -> Iterator[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [(path.root, root)]
    for part in path.parts:
        match part:
            case tree.Values():
                found = [(_at_key(name, key), one) for name, value in found for key, one in keyed(value)]
            case tree.Each():
                found = [pair for name, value in found for pair in _listed(name, value)]
            case _:
                found = [(_below(name, part), step(value, part)) for name, value in found]
    if apart and not path.many:
        found = [pair for name, value in found for pair in _listed(name, value)]
    yield from found


def _listed(name: str, value: Any) -> list[tuple[str, Any]]:
    return [(f"{name}[{at}]" if type(value) is list else name, one) for at, one in enumerate(spread(value))]


def _at_key(name: str, key: str | None) -> str:
    return f"{name}.*" if key is None else f"{name}[{shown(key, _LONGEST_KEY)}]"


def _below(name: str, part: tree.Key | tree.Index) -> str:
    if isinstance(part, tree.Index):
        return f"{name}[{part.position}]"
    return f"{name}[{shown(part.name)}]" if part.quoted else f"{name}.{part.name}"
