"""The tables that a statement of SQL changes."""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from rebuno.policy.facets.sql.names import CHANGES, children, sources

# What they name they change, wherever it stands in them.
_WHOLE: Final = (exp.Alter, exp.Comment, exp.Drop, exp.TruncateTable)


def targets(node: exp.Expr) -> Iterator[exp.Table]:
    """The tables that this node changes, those of the nodes below it left out."""
    if isinstance(node, _WHOLE):
        yield from node.find_all(exp.Table)
    elif isinstance(node, exp.Insert | exp.Merge | exp.Into):
        yield from _named(node.this)
    elif isinstance(node, exp.Create):
        target = node.this
        yield from _named(target.args.get("table") if isinstance(target, exp.Index) else target)
    elif isinstance(node, exp.Copy) and node.args.get("kind") is not False:
        yield from _named(node.this)
    elif isinstance(node, exp.Update):
        yield from _with_aliased(_joined(node.this), node)
    elif isinstance(node, exp.Delete):
        listed = [one for one in node.args.get("tables") or () if isinstance(one, exp.Table)]
        yield from _with_aliased(listed or _joined(node.this), node)


def queries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The queries whose tables this node may change: what it changes is a query itself, or has the name of one. SQL
    Server changes `people` in `with o as (select * from people) delete from o`, and in `update o set … from (…) o`."""
    if not isinstance(node, CHANGES):
        return
    listed = node.args.get("tables") or ()
    names: set[str] = set()
    for target in (node.this, *listed):
        if isinstance(target, exp.Subquery):
            yield target
        names.update(one.name.lower() for one in _joined(target) if len(one.parts) == 1)
    for one in _derived(node):
        if one.alias.lower() in names:
            yield one
    context: exp.Expr | None = node
    while context is not None:
        clause = context.args.get("with_")
        if isinstance(clause, exp.With):
            yield from (part for part in clause.expressions if part.alias.lower() in names)
        context = context.parent


def _derived(node: exp.Expr) -> Iterator[exp.Subquery]:
    # The queries that stand for a table right in a statement.
    stack = [child for key, child in children(node) if key in ("this", "from_", "using", "joins")]
    while stack:
        one = stack.pop()
        if isinstance(one, exp.Subquery):
            yield one
        if isinstance(one, exp.Table | exp.Subquery):
            stack.extend(one.args.get("joins") or ())
        elif isinstance(one, exp.From | exp.Join):
            stack.append(one.this)


def _named(target: exp.Expr | None) -> Iterator[exp.Table]:
    if isinstance(target, exp.Schema):
        target = target.this
    if isinstance(target, exp.Table):
        yield target


def _joined(target: exp.Expr) -> list[exp.Table]:
    # MySQL changes more than one: `update a join b …`, `delete from a, b using …`.
    found = list(_named(target))
    for one in found:
        found.extend(table for join in one.args.get("joins") or () for table in _named(join.this))
    return found


def _with_aliased(tables: list[exp.Table], statement: exp.Expr) -> Iterator[exp.Table]:
    # A bare name may be an alias of the statement's sources: `update o set … from orders o` changes `orders` for SQL
    # Server and `o` for PostgreSQL, so it is both; `delete o from orders o` has one reading.
    context = sources(statement)
    for table in tables:
        aliased = [one for one in context if one.alias and one.alias.lower() == table.name.lower() and one is not table]
        if not (isinstance(statement, exp.Delete) and statement.args.get("tables") and aliased):
            yield table
        if len(table.parts) == 1:
            yield from aliased
