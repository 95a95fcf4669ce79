"""The facets of SQL: what a text does, touches and calls. They need the extra `sql`."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, Reading, Surroundings, failed
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.globs import GlobError, glob
from rebuno.policy.values.json_values import UNREADABLE, Tri, shown, valid


@dataclass(frozen=True, slots=True)
class Table(Reading):
    """The name of a table or a function as lower-case parts, the schema and the like before it. Without a schema it may
    be in any."""

    parts: tuple[str, ...]

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same parts; maybe where one has more of them and the rest are the same."""
        if type(right) is not Table:
            return None
        shorter = min(len(self.parts), len(right.parts))
        same = self.parts[-shorter:] == right.parts[-shorter:]
        return same if len(self.parts) == len(right.parts) else None if same else False

    def text_test(self, op: Op, right: Any, fold: bool) -> Tri:
        """`like` goes by the name with its schema; maybe where either leaves the schema open."""
        if op is not Op.LIKE or type(right) is not str or not valid(right):
            return None
        try:
            matches = glob(right.lower()).matches
        except GlobError:
            return None
        if matches(str(self)):
            return True
        _, dot, last = right.lower().rpartition(".")
        bare = len(self.parts) == 1 and dot and glob(last).matches(self.parts[0])
        return None if bare or any(matches(".".join(self.parts[at:])) for at in range(1, len(self.parts))) else False

    def keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The whole name for sure; in doubt for a rule that names less of it, and for a rule that names more."""
        less = [(("less", self.parts[at:]), False) for at in range(1, len(self.parts))]
        return [(self.parts, True), (("more", self.parts), False), *less]

    def sought(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The whole name, what names more than it, and what names less."""
        more = [(("more", self.parts[at:]), False) for at in range(1, len(self.parts))]
        return [(self.parts, True), (("less", self.parts), False), *more]

    def __str__(self) -> str:
        return ".".join(self.parts)


def _read(value: Any, facet: str = "") -> Any:
    from rebuno.policy.facets.sql import tree as sql_tree

    script = sql_tree.script(value) if type(value) is str else None
    if isinstance(script, sql_tree.Failed):
        failed(facet, script.error)
        return None
    return script


def statements(value: Any, _: Surroundings) -> Any:
    """The types of the statements in a text of SQL, those that change data inside others too, as lower-case words."""
    script = _read(value, "statement")
    return UNREADABLE if script is None else sorted(script.statements)


def tables(value: Any, _: Surroundings) -> Any:
    """The tables that a text of SQL names, subqueries included; the names that a `with` gives are none."""
    script = _read(value, "table")
    return UNREADABLE if script is None else [Table(parts) for parts in sorted(script.tables)]


def written_tables(value: Any, _: Surroundings) -> Any:
    """The tables that the statements in a text of SQL change, create or drop."""
    script = _read(value, "written_table")
    return UNREADABLE if script is None else [Table(parts) for parts in sorted(script.written)]


def functions(value: Any, _: Surroundings) -> Any:
    """The functions that a text of SQL calls, as they are written."""
    script = _read(value, "function")
    return UNREADABLE if script is None else [Table(parts) for parts in sorted(script.functions)]


def _statement(value: Any, _: Surroundings) -> str:
    from rebuno.policy.facets.sql import tree as sql_tree

    word = value.lower() if type(value) is str else ""
    if word not in sql_tree.STATEMENTS:
        known = " ".join(sorted(sql_tree.STATEMENTS))
        raise ValueError(f"`{shown(value)}` is no type of statement; there are `{known}`")
    return word


def _table(value: Any, _: Surroundings) -> Table:
    return _named(value, "table; write `people` or `hr.people`, without quotes")


def _function(value: Any, _: Surroundings) -> Table:
    return _named(value, "function; write `lower` or `cron.schedule`, without quotes and brackets", "()")


def _named(value: Any, what: str, but: str = "") -> Table:
    parts = tuple(value.lower().split(".")) if type(value) is str and valid(value) else ()
    if not parts or any(not part or part != part.strip() or set('"`' + but) & set(part) for part in parts):
        raise ValueError(f"`{shown(value)}` names no {what}")
    return Table(parts)


# A bundle that names them where sqlglot is not installed is refused: there is no such facet.
FACETS: Final[tuple[Facet, ...]] = (
    (
        Facet(
            name="statement",
            of="SQL",
            gives="the types of its statements",
            value="string",
            read=statements,
            literal=_statement,
            many=True,
            lower=True,
            ahead=_read,
        ),
        Facet(
            name="table",
            of="SQL",
            gives="the tables that it names",
            value="string",
            read=tables,
            literal=_table,
            many=True,
            lower=True,
            ahead=_read,
        ),
        Facet(
            name="written_table",
            of="SQL",
            gives="the tables that it changes",
            value="string",
            read=written_tables,
            literal=_table,
            many=True,
            lower=True,
            ahead=_read,
        ),
        Facet(
            name="function",
            of="SQL",
            gives="the functions that it calls",
            value="string",
            read=functions,
            literal=_function,
            many=True,
            lower=True,
            ahead=_read,
        ),
    )
    if find_spec("sqlglot")
    else ()
)
