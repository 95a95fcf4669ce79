"""The nodes of a tree of SQL, each with the `with` names that it can see; tables, and the sources of columns."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

Name = tuple[str, ...]

LONGEST: Final = 63  # bytes of a name, of which PostgreSQL leaves out the rest
CHANGES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)


class UnclearError(SqlglotError):
    """The text may say something else than it seems to."""


class SqlNames:
    """The `with` names that one query can see: the first `limit` of `order`, and those around it."""

    __slots__ = ("context", "limit", "order", "own")

    def __init__(
        self,
        order: "dict[str, list[tuple[exp.Identifier, int]]]",
        limit: int,
        context: "SqlNames | None",
        own: int | None = None,
    ) -> None:
        self.order = order
        self.own = limit if own is None else own  # MySQL sees no later one, `recursive` or not
        self.limit = limit
        self.context = context

    def holds(self, name: exp.Identifier) -> bool:
        """Whether it is one of them. Raises where servers differ: by case, by quotes, and by names that come later."""
        names: SqlNames | None = self
        while names is not None:
            for other, position in names.order.get(name.name.casefold(), ()):
                quoted = other.args.get("quoted") or name.args.get("quoted")
                same = (
                    name.name.isascii()
                    and other.name.isascii()
                    and (not quoted or other.name == name.name == name.name.lower())
                )
                if position < names.limit and (not same or position > names.own):
                    raise UnclearError("a name that is a table elsewhere")
                if position < names.limit:
                    return True
            names = names.context
        return False


def walk(tree: exp.Expr) -> "Iterator[tuple[exp.Expr, SqlNames | None]]":
    """Every node, each with the names that it can see."""
    stack: list[tuple[exp.Expr, SqlNames | None]] = [(tree, None)]
    while stack:
        node, context = stack.pop()
        yield node, context
        names = context
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            parts = clause.expressions
            order: dict[str, list[tuple[exp.Identifier, int]]] = {}
            for position, part in enumerate(parts):
                alias = part.args["alias"].this
                order.setdefault(alias.name.casefold(), []).append((alias, position))
            names = SqlNames(order, len(parts), context)
            recursive = bool(clause.args.get("recursive"))
            for position, part in enumerate(parts):
                stack.append((part, SqlNames(order, len(parts) if recursive else position, context, position)))
        for key, child in children(node):
            if child is clause or (key == "tables" and isinstance(node, exp.Delete) and _aliased(child, node)):
                continue
            # What is changed is a table, whatever name a `with` gives.
            target = key == "this" and isinstance(node, (*CHANGES, exp.Into))
            stack.append((child, None if target else names))


def children(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The nodes right below one, each with the name of its place."""
    for key, value in node.args.items():
        for child in value if type(value) is list else (value,):
            if isinstance(child, exp.Expr):
                yield key, child


def sources(statement: exp.Expr) -> list[exp.Table]:
    """The tables right in an `update` or `delete`: the target, those joined to it, and those of `from` and `using`."""
    found: list[exp.Table] = []
    stack = [child for key, child in children(statement) if key in ("this", "from_", "using", "joins")]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Table):
            found.append(node)
            stack.extend(node.args.get("joins") or ())
        elif isinstance(node, exp.From | exp.Join | exp.Schema):
            stack.append(node.this)
    return found


def _aliased(target: exp.Expr, delete: exp.Delete) -> bool:
    # `delete o from orders o`: MySQL and SQL Server take `o` for the alias, others do not read it.
    return (
        len(target.parts) == 1 and any(one.alias == target.name for one in sources(delete) if one.alias)
        if isinstance(target, exp.Table)
        else False
    )


def table(node: exp.Table, names: SqlNames | None, written: Mapping[int, str]) -> Name | None:
    """The name of a table as lower-case parts; None for one that a `with` gives. A function that stands for a table
    has its name as the text has it: `written` says what is written where a token starts.

    Raises:
        UnclearError: it has no name, one of more than 63 bytes, or one with a dot, a backslash or an at sign in it.
    """
    parts: list[Any] = node.parts
    if not all(isinstance(part, exp.Identifier | exp.Func | exp.Dot) for part in parts):
        raise UnclearError("a table without a name")
    name = tuple(_part(part, written) for part in parts)
    if any(not part or len(part.encode()) > LONGEST or not set(part).isdisjoint(".\\@") for part in name):
        raise UnclearError("a table with an odd name")
    return None if len(name) == 1 and names is not None and names.holds(parts[0]) else name


def _part(part: exp.Expr, written: Mapping[int, str]) -> str:
    if isinstance(part, exp.Func) and not isinstance(part, exp.Anonymous):
        return written.get(part.meta.get("start", -1), "").lower()
    return part.name.lower()
