"""Evaluates operands: the values at their paths, read through their facets; and normalises the right side of a test."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rebuno.policy.facets import registry
from rebuno.policy.facets.path.placed import Placed, unplaced, unplaced_all
from rebuno.policy.facets.reading import Facet, PathContext, Perhaps, Reading, reader_failed
from rebuno.policy.matcher.beginnings import around, begins, begun, begun_contexts
from rebuno.policy.matcher.paths import elements, many, one
from rebuno.policy.matcher.said_days import said_contexts
from rebuno.policy.syntax import tree
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, absent, given

if TYPE_CHECKING:
    from rebuno.policy.facets.shell.effects.table_set import TableSet

logger: Final = logging.getLogger("rebuno.policy.facets")

# Predicates whose right side is a part of a value, not a value.
_PARTS: Final = frozenset({Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS, Op.ENDS, Op.LIKE})
# With more values every quantifier is maybe, so that no value is read.
MAX_READ: Final = 100_000
# The facts that an execution or a tool may not have: there None stands for no value.
MAY_BE_MISSING: Final = frozenset({"parent", "turns", "definition"})
_WHOLE: Final = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IN})


@dataclass(frozen=True, slots=True)
class Block:
    """The block `has (…)` around a test. `facet` is the facet that `it` was read by, if any."""

    facet: Facet | None


@dataclass(frozen=True, slots=True)
class Lens:
    """The facets through which a test reads its left side: `chain`, outermost first. `facet` is the facet whose values
    the elements are: the outermost of the chain or, in a block, the facet that `it` was read by. `begins` is true if
    the chain reads commands, which begin in the `cwd` beside them."""

    chain: tuple[Facet, ...]
    facet: Facet | None
    begins: bool = False


def path_context(bundle: tree.Bundle) -> PathContext:
    """The context of paths in a bundle: its `workdir`, its `home`, its `zone` and its tables of programs. Under
    `workdir session` it is the one of a session without a folder; see `sessions`."""
    workdir = home = zone = None
    flavour: str | None = None
    texts: list[str] = []
    for statement in bundle.statements:
        if isinstance(statement, tree.Workdir):
            workdir = None if statement.path is None else str(statement.path.value)
        elif isinstance(statement, tree.Home):
            home = str(statement.path.value)
        elif isinstance(statement, tree.Zone):
            zone = str(statement.name.value)
        elif isinstance(statement, tree.EffectTables):
            if isinstance(statement.source, tree.Name):
                flavour = statement.source.text
            elif statement.text is not None:
                texts.append(statement.text)
    return PathContext(workdir, home, zone, tables=_tables(flavour, texts) if flavour or texts else None)


def _tables(flavour: str | None, texts: list[str]) -> "TableSet":
    # Few bundles name tables.
    from rebuno.policy.facets.shell.effects.table_set import GNU, TableSet

    return TableSet(flavour or GNU, tuple(texts))


def chain_of(names: Sequence[tree.FacetName]) -> tuple[Facet, ...]:
    """The facets of a chain, outermost first. The checker has made sure that they exist."""
    if not names:
        return ()
    found = [registry.find_facet(name.text) for name in names]
    return tuple(facet for facet in found if facet is not None)


def lens(operand: tree.Operand, op: Op, block: Block | None) -> Lens:
    """The lens of a test with this predicate and operand. `under` without a facet reads a text as a path."""
    chain = chain_of(operand.facets)
    facet = chain[0] if chain else inherited(operand, block)
    if facet is None and op is Op.UNDER:
        path = registry.find_facet("path")
        return Lens((path,) if path else (), path)
    return Lens(chain, facet, begins(chain))


def inherited(operand: tree.Operand, block: Block | None) -> Facet | None:
    """The facet whose values the elements of an operand without a facet are: if the operand is `it`, the facet that
    `it` was read by, else None.

    A quantifier splits a command into words, which are plain texts.
    """
    if block is None or block.facet is None or operand.facets or len(operand.paths) > 1:
        return None
    path = operand.paths[0]
    if path.root != "it" or path.parts or (operand.quantifier is not None and block.facet.value == "list"):
        return None
    return block.facet


# ---------------------------------------------------------------- the left side


def through(chain: Sequence[Facet], values: list[Any], context: PathContext, *, block: bool = False) -> list[Any]:
    """The values that the facets read. An absent value stays absent, an unreadable value stays unreadable, and a set
    gives its elements. With `block`, words keep their directories, for the facets of the block.

    With more than 100,000 values, all results are `UNREADABLE`.
    """
    for facet in reversed(chain):
        if len(values) > MAX_READ:
            return [UNREADABLE] * len(values)
        found: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is Perhaps:
                found += map(Perhaps, through((facet,), [value.value], context, block=True))
                continue
            if kind is Placed and not facet.placed:
                value = value.text
            if value is UNREADABLE:
                found.append(facet.of_unreadable)
            elif absent(value) and not (facet.sees_empty and type(value) is list):
                found.append(MISSING)
            else:
                try:
                    read = facet.read(value, context)
                except Exception as error:
                    # INVARIANT: no input makes evaluation raise, also with the facets of other packages.
                    logger.exception("the reader of `%s of` failed; what it was given counts as unreadable", facet.name)
                    read = reader_failed(facet.name, type(error).__name__)
                found.extend(read) if facet.many and type(read) is list else found.append(read)
        values = found
    return unplaced_all(values) if not block and chain and chain[0].commands else values


def read_operand(
    operand: tree.Operand,
    chain: Sequence[Facet],
    found: list[Any],
    facts: Any,
    context: PathContext,
    objects: Sequence[Any] | None = None,
    *,
    block: bool = False,
) -> list[Any]:
    """`through` for the values at the paths of an operand; *today* in what the user wrote is the day of that text.
    `objects` are what the values stand in, for a chain that reads commands."""
    contexts = said_contexts(operand, facts, context, len(found))
    if objects is not None and len(found) <= MAX_READ:
        contexts = begun_contexts(contexts, objects)
    if len(contexts) == 1 or len(found) > MAX_READ:
        return through(chain, found, contexts[0], block=block)
    return [
        read for value, own in zip(found, contexts, strict=True) for read in through(chain, [value], own, block=block)
    ]


def root_of(facts: Any, name: str) -> Any:
    """The value at the root of a path. What the facts do not have is missing, and no null."""
    value = getattr(facts, name)
    return MISSING if value is None and name in MAY_BE_MISSING else value


def values_of(
    operand: tree.Operand,
    chain: Sequence[Facet],
    facts: Any,
    context: PathContext,
    *,
    apart: bool,
    block: bool = False,
    begins: bool = False,
) -> list[Any]:
    """The elements of an operand. With `apart`, lists give their elements, as quantifiers need them. The result is
    empty only for an empty set. With `block`, the words of commands keep their directories. `begins` says that the
    chain reads commands."""
    roots = [root_of(facts, path.root) for path in operand.paths]
    apart = apart and splits(chain)
    parts = [path.parts for path in operand.paths]
    found = elements(roots, parts, apart=apart, whole=reads_commands(chain))
    if begins:
        objects = around(operand, chain, found, roots, facts, apart=apart)
        return read_operand(operand, chain, found, facts, context, objects, block=block)
    if chain or block or all(path.root != "it" for path in operand.paths):
        return read_operand(operand, chain, found, facts, context, block=block)
    return [unplaced(value) for value in found]


def elements_around(operand: tree.Operand, chain: Sequence[Facet], facts: Any, context: PathContext) -> Sequence[Any]:
    """What each element that a block goes through stands in, in the order of `values_of`."""
    roots = [root_of(facts, path.root) for path in operand.paths]
    apart = splits(chain)
    found = elements(roots, [path.parts for path in operand.paths], apart=apart, whole=reads_commands(chain))
    objects = around(operand, chain, found, roots, facts, apart=apart)
    if not chain:
        return objects
    if len(found) > MAX_READ:
        return [UNREADABLE] * len(found)
    pairs = zip(found, objects, strict=True)
    return [one for value, one in pairs for _ in through(chain, [value], begun(context, one))]


def splits(chain: Sequence[Facet]) -> bool:
    """Whether a quantifier splits a list before these facets read it."""
    return not chain or not chain[-1].structural


def reads_commands(chain: Sequence[Facet]) -> bool:
    """Whether these facets read a command as a whole, which a quantifier then does not split."""
    return bool(chain) and chain[-1].commands


def may_be_absent(chain: Sequence[Facet]) -> bool:
    """Whether the values of these facets may be `Perhaps`."""
    return any(facet.perhaps for facet in chain)


def unless_absent(value: Any, answer: Callable[[Any], Tri], every: bool) -> Tri:
    """The answer for one element of a set, for `every` or `any`: that for its value, and maybe where this would settle
    the answer of the set but the element may not be there."""
    if type(value) is not Perhaps:
        return answer(value)
    found = answer(value.value)
    return None if found is (not every) else found


def looked_up_by(facet: Facet | None) -> Facet | None:
    """The facet by which a `known` set is asked for values that `facet` gave; None for plain values."""
    return None if facet is None or facet.structural else facet


def right_of(operand: tree.Operand, facts: Any, context: PathContext) -> Any:
    """The value of a path on the right side; for several values, the list of those that are there."""
    path, chain = operand.paths[0], chain_of(operand.facets)
    root = root_of(facts, path.root)
    if path.many or any(facet.many for facet in chain):
        found = many(root, path.parts)
        objects = around(operand, chain, found, [root], facts, apart=False) if begins(chain) else None
        read = [_sure(value) for value in read_operand(operand, chain, found, facts, context, objects)]
        return [unplaced(value) for value in read if not absent(value)]
    return read_single(operand, chain, facts, context) if chain else unplaced(one(root, path.parts))


def read_single(operand: tree.Operand, chain: Sequence[Facet], facts: Any, context: PathContext) -> Any:
    """The single value that the facets of an operand read."""
    path = operand.paths[0]
    root = root_of(facts, path.root)
    found = [one(root, path.parts)]
    objects = around(operand, chain, found, [root], facts, apart=False) if begins(chain) else None
    return read_operand(operand, chain, found, facts, context, objects)[0]


def _sure(value: Any) -> Any:
    # What may not be there is unknown on the right side, and nothing if it would be nothing.
    return value if type(value) is not Perhaps else MISSING if value.value is MISSING else UNREADABLE


def is_given(value: Any) -> Tri:
    """The answer of `given`: whether a value is there; maybe for an unreadable value, and for one that may not be."""
    if type(value) is Perhaps:
        return None
    return True if isinstance(value, Reading) else given(value)


def weight(value: Any) -> int:
    """The number of element tests that a value counts for inside a block, which may test it once for each element: one
    for 256 characters of text, one for an element of a list or an object."""
    if type(value) is str:
        return len(value) >> 8
    return len(value) if type(value) is list or type(value) is dict else 0


# ---------------------------------------------------------------- the right side


@lru_cache(maxsize=4096, typed=True)
def normal(facet: Facet | None, op: Op, value: Any, context: PathContext) -> Any:
    """A literal of the right side in the form of the values of the facet, so that both can be compared.

    Raises:
        ValueError: the facet has no such value; the message says why.
    """
    if facet is None or value is None:
        return value
    if op in _WHOLE:
        return facet.literal(value, context)
    if type(value) is not str:
        return value
    if op is Op.UNDER:
        return facet.network(value, context) if facet.network else value
    if op is Op.LIKE and facet.pattern is not None:
        return facet.pattern(value, context)
    return value.lower() if facet.lower and op in _PARTS else value


def normal_right(facet: Facet | None, op: Op, right: Any, context: PathContext) -> Any:
    """`normal` for a literal, or for each element of a list.

    Raises:
        ValueError: as `normal`.
    """
    if type(right) is list:
        return [normal(facet, op, item, context) for item in right]
    return normal(facet, op, right, context)


def normal_operand(facet: Facet | None, op: Op, right: Any, context: PathContext) -> Any:
    """The value of a path on the right side, normalised for `under` and `like`, whose right sides are places and
    patterns: `UNREADABLE` for a value that is neither to the facet. All other values, and absent ones, stay."""
    if facet is None or absent(right) or (op is not Op.UNDER and (op is not Op.LIKE or facet.pattern is None)):
        return right
    if type(right) is list:
        return [_normal_operand(facet, op, item, context) for item in right]
    return _normal_operand(facet, op, right, context)


def _normal_operand(facet: Facet, op: Op, right: Any, context: PathContext) -> Any:
    if type(right) is not str:
        return right if isinstance(right, Reading) else UNREADABLE
    try:
        return normal(facet, op, right, context)
    except ValueError:
        return UNREADABLE


def literal(right: tree.Right | tree.FileValue | None, values: Mapping[str, Any]) -> Any:
    """The value of a literal, a list or a `let` name."""
    if isinstance(right, tree.Literal):
        return right.value
    if isinstance(right, tree.NullLiteral):
        return None
    if isinstance(right, tree.ListLiteral):
        return [item.value if isinstance(item, tree.Literal) else None for item in right.items]
    if isinstance(right, tree.Name):
        return values[right.text]
    raise AssertionError(f"no value for {type(right).__name__}")
