"""The contexts in which facets read the commands at an operand: each text begins in the `cwd` beside it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

from rebuno.policy.facets.path.begins import CWD, beginning
from rebuno.policy.facets.reading import Facet, PathContext, Reading
from rebuno.policy.matcher.paths import Parts, holders, last_key, many
from rebuno.policy.syntax import tree
from rebuno.policy.values.json_values import MISSING, UNREADABLE


def begins(chain: Sequence[Facet]) -> bool:
    """Whether one of the facets reads commands."""
    return any(facet.begins for facet in chain)


def asks_around(expr: tree.Expr, chain_of: Callable[[Sequence[tree.FacetName]], Sequence[Facet]]) -> bool:
    """Whether a test in a block reads commands in `it` itself, so that it asks what is around `it`."""
    stack: list[tree.Expr] = [expr]
    while stack:
        found = stack.pop()
        if isinstance(found, tree.And | tree.Or):
            stack += found.items
        elif isinstance(found, tree.Not):
            stack.append(found.item)
        elif isinstance(found, tree.Test):
            for side in (found.operand, found.right):
                # A block on the elements of `it` hands on what is around `it`.
                if not isinstance(side, tree.Operand) or not _reads_it(side):
                    continue
                if found.block is not None or begins(chain_of(side.facets)):
                    return True
    return False


def _reads_it(operand: tree.Operand) -> bool:
    return any(path.root == "it" and last_key(path.parts) is None for path in operand.paths)


def single_holder(operand: tree.Operand, chain: Sequence[Facet]) -> Parts | None:
    """The path to the one object that all texts at an operand stand in: where no `cwd` is in it, all of them begin in
    `workdir`. None for an operand whose texts may stand in several objects."""
    path = operand.paths[0]
    last = last_key(path.parts)
    if len(operand.paths) > 1 or path.many or last is None or not chain[-1].begins:
        return None
    return path.parts[:last]


def around(
    operand: tree.Operand,
    chain: Sequence[Facet],
    found: Sequence[Any],
    roots: Sequence[Any],
    facts: Any,
    *,
    apart: bool,
) -> list[Any]:
    """The object that each of the values `found` at the paths of an operand stands in. `MISSING` if there is none, and
    for a command, whose places are resolved. `UNREADABLE` for a word of a command, and if the facets take texts out of
    a list or an object, which may hold others."""
    outer = [_outer(path.root, facts) for path in operand.paths]
    whole = any(facet.commands for facet in chain[-1:])
    objects = holders(roots, [path.parts for path in operand.paths], outer, apart=apart, whole=whole)
    return _of_texts(chain, found, objects)


def _outer(root: str, facts: Any) -> Any:
    if root == "it":
        return UNREADABLE if isinstance(facts.it, Reading) else facts.around
    # What an item of a source stands in is not known.
    return UNREADABLE if root == "item" else MISSING


def _of_texts(chain: Sequence[Facet], found: Sequence[Any], objects: list[Any]) -> list[Any]:
    if any(isinstance(value, Reading) for value in found):
        pairs = zip(found, objects, strict=True)
        objects = [MISSING if isinstance(value, Reading) else one for value, one in pairs]
    if not chain or chain[-1].begins:
        return objects
    pairs = zip(found, objects, strict=True)
    return [UNREADABLE if type(value) is list or type(value) is dict else one for value, one in pairs]


def source_contexts(root: Any, parts: Parts, chain: Sequence[Facet], context: PathContext) -> Iterable[PathContext]:
    """The contexts of the values at a path of a source: without end the same one for a chain that reads no commands."""
    if not begins(chain):
        return repeat(context)
    objects = holders([root], [parts], [MISSING], apart=False)
    return [begun(context, one) for one in _of_texts(chain, many(root, parts), objects)]


def begun(context: PathContext, holder: Any) -> PathContext:
    """The context of the commands in a text that stands in this object."""
    return beginning(UNREADABLE if holder is UNREADABLE else _cwd(holder), context)


def _cwd(holder: Any) -> Any:
    return holder.get(CWD, MISSING) if type(holder) is dict else MISSING


def begun_contexts(contexts: Sequence[PathContext], objects: Sequence[Any]) -> list[PathContext]:
    """The contexts of values that stand in these objects: `contexts` has one for all values, or one for each of them.
    The result too."""
    if len(contexts) == 1:
        first = objects[0]
        if all(one is first for one in objects):
            return [begun(contexts[0], first)]
        contexts = [*contexts] * len(objects)
    return [begun(context, holder) for context, holder in zip(contexts, objects, strict=True)]
