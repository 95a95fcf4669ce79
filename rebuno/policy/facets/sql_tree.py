"""What a text of SQL does and touches, where every dialect that is asked reads it alike."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from sqlglot import ErrorLevel, Parser, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from rebuno.policy.values import valid

MAX_BYTES: Final = 65_536
MAX_DEPTH: Final = 16  # of brackets and `case`, and signs in a row
_DIALECTS: Final = ("", "postgres", "mysql", "sqlite")

_TYPES: Final[dict[type[exp.Expr], str]] = {
    exp.Alter: "alter",
    exp.Analyze: "analyze",
    exp.Comment: "comment",
    exp.Commit: "commit",
    exp.Copy: "copy",
    exp.Create: "create",
    exp.Delete: "delete",
    exp.Describe: "describe",
    exp.Drop: "drop",
    exp.Except: "select",
    exp.Grant: "grant",
    exp.Insert: "insert",
    exp.Intersect: "select",
    exp.Kill: "kill",
    exp.Merge: "merge",
    exp.Pragma: "pragma",
    exp.Revoke: "revoke",
    exp.Rollback: "rollback",
    exp.Select: "select",
    exp.Set: "set",
    exp.Subquery: "select",
    exp.Transaction: "begin",
    exp.TruncateTable: "truncate",
    exp.Union: "select",
    exp.Update: "update",
    exp.Use: "use",
    exp.Values: "select",
}
STATEMENTS: Final = frozenset(_TYPES.values())
# A query inside another statement is no statement; one that changes data is, wherever it stands.
_CHANGES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
# What is kept as text because it is not understood, and `$$ … $$`, which may be a body in another language.
_OPAQUE: Final = (exp.Command, exp.RawString)
_KINDS: Final = frozenset({"DATABASE", "INDEX", "SCHEMA", "SEQUENCE", "TABLE", "VIEW"})
# Some servers need no `;` and would run these where others read a name: `SELECT 1 SHUTDOWN`.
_WORDS: Final = frozenset(
    {"begin", "checkpoint", "commit", "delimiter", "exec", "execute"}
    | {"go", "reconfigure", "revert", "rollback", "shutdown"}
)
# A comment that some servers run, that some do not end here, or that some do not begin.
_COMMENT: Final = re.compile(r"/\*[!+mM]|--[^ \t-\r]|/\*(?:(?!\*/).)*/\*", re.DOTALL)
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_SIGNS: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})

# Its own errors, and those of Python's that a parser of its size may let through on texts that are no SQL.
_FAILURES: Final = (
    SqlglotError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip

Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """The types of a text's statements, and the tables that it names, as lower-case parts (`("hr", "people")`)."""

    statements: frozenset[str]
    tables: frozenset[Name]


class _UnclearError(SqlglotError):
    """The text may say something else than it seems to."""


@lru_cache(maxsize=32)
def script(text: str) -> Script | None:
    """What the text does; None where it cannot be told.

    That is: more than 65,536 bytes, more than 16 nested brackets, no statement at all, what sqlglot cannot read
    or keeps as it stands, comments that some servers run, bodies in another language, and whatever the general
    reading and those for PostgreSQL, MySQL and SQLite do not agree on.
    """
    if not valid(text) or len(text.encode()) > MAX_BYTES or "\0" in text:
        return None
    found: Script | None = None
    for name in _DIALECTS:
        try:
            read = _script(text, name)
        except _FAILURES:
            return None
        if found is not None and read != found:
            return None
        found = read
    return found


def _script(text: str, name: str) -> Script:
    dialect = Dialect.get_or_raise(name)
    tokens = dialect.tokenize(text)
    _look_over(text, tokens)
    trees = _parser(name)(error_level=ErrorLevel.IMMEDIATE, dialect=dialect).parse(tokens, text)
    statements: set[str] = set()
    tables: set[Name] = set()
    for tree in trees:
        if tree is None or isinstance(tree, exp.Semicolon):
            continue
        kind = _TYPES.get(type(tree))
        if kind is None:
            raise _UnclearError(f"no statement: {type(tree).__name__}")
        statements.add(kind)
        for node, names in _walk(tree):
            statements.update(_changes(node))
            if isinstance(node, exp.Table):
                table = _table(node, names)
                if table:
                    tables.add(table)
    if not statements:
        raise _UnclearError("no statement")
    return Script(frozenset(statements), frozenset(tables))


@cache
def _parser(name: str) -> type[Parser]:
    # What sqlglot keeps as text it says in a log; here it is an error.
    base = Dialect.get_or_raise(name).parser_class
    return type(base.__name__, (base,), {"_warn_unsupported": _refuse})


def _refuse(_: Parser) -> None:
    raise _UnclearError("not understood")


def _look_over(text: str, tokens: list[Token]) -> None:
    # INVARIANT: sqlglot calls itself for each bracket, `case` and sign; within this bound it needs some 400 frames, so
    # that the answer does not depend on how deep the caller stands.
    depth, signs, end = 0, 0, -1
    for token in tokens:
        if _COMMENT.search(text[end + 1 : token.start]):
            raise _UnclearError("a comment that servers read differently")
        end = token.end
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        signs = signs + 1 if token.token_type in _SIGNS else 0
        if max(depth, signs) > MAX_DEPTH:
            raise _UnclearError("nested too deep")
    if _COMMENT.search(text[end + 1 :]):
        raise _UnclearError("a comment that servers read differently")


def _changes(node: exp.Expr) -> Iterator[str]:
    # What one node does to data; raises where it cannot be told.
    if isinstance(node, _OPAQUE):
        raise _UnclearError("kept as text")
    if isinstance(node, exp.Identifier):
        if not node.args.get("quoted") and node.name.lower() in _WORDS:
            raise _UnclearError("a name that is a statement elsewhere")
    elif isinstance(node, exp.Create):
        if node.kind not in _KINDS:
            raise _UnclearError("a body in another language")
    elif isinstance(node, exp.In) and node.args.get("field") is not None:
        raise _UnclearError("a table without `select`")  # SQLite: `a in users`
    elif isinstance(node, exp.Into):
        yield "create"
    elif isinstance(node, _CHANGES):
        yield _TYPES[type(node)]
        if isinstance(node, exp.Insert) and (node.args.get("alternative") or node.args.get("overwrite")):
            yield "update"
    elif isinstance(node, exp.When):
        # `then delete` is one word.
        yield from STATEMENTS & {node.args["then"].name.lower()}
    elif isinstance(node, exp.OnConflict) and node.args.get("expressions"):
        yield "update"


class _Names:
    """The `with` names that one query can see: the first `limit` of `order`, and those around it."""

    __slots__ = ("around", "limit", "order", "own")

    def __init__(
        self,
        order: "dict[str, list[tuple[exp.Identifier, int]]]",
        limit: int,
        around: "_Names | None",
        own: int | None = None,
    ) -> None:
        self.order = order
        self.own = limit if own is None else own  # MySQL sees no later one, `recursive` or not
        self.limit = limit
        self.around = around

    def holds(self, name: exp.Identifier) -> bool:
        """Whether it is one of them. Raises where servers differ: by case, by quotes, and by names that come later."""
        names: _Names | None = self
        while names is not None:
            for other, position in names.order.get(name.name.casefold(), ()):
                quoted = other.args.get("quoted") or name.args.get("quoted")
                same = (
                    name.name.isascii()
                    and other.name.isascii()
                    and (not quoted or other.name == name.name == name.name.lower())
                )
                if position < names.limit and (not same or position > names.own):
                    raise _UnclearError("a name that is a table elsewhere")
                if position < names.limit:
                    return True
            names = names.around
        return False


def _walk(tree: exp.Expr) -> Iterator[tuple[exp.Expr, _Names | None]]:
    # Every node, each with the names that it can see.
    stack: list[tuple[exp.Expr, _Names | None]] = [(tree, None)]
    while stack:
        node, around = stack.pop()
        yield node, around
        names = around
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            parts = clause.expressions
            order: dict[str, list[tuple[exp.Identifier, int]]] = {}
            for position, part in enumerate(parts):
                alias = part.args["alias"].this
                order.setdefault(alias.name.casefold(), []).append((alias, position))
            names = _Names(order, len(parts), around)
            recursive = bool(clause.args.get("recursive"))
            for position, part in enumerate(parts):
                stack.append((part, _Names(order, len(parts) if recursive else position, around, position)))
        for key, child in _children(node):
            if child is not clause:
                # What is changed is a table, whatever name a `with` gives.
                target = key == "this" and isinstance(node, (*_CHANGES, exp.Into))
                stack.append((child, None if target else names))


def _children(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    for key, value in node.args.items():
        for child in value if type(value) is list else (value,):
            if isinstance(child, exp.Expr):
                yield key, child


def _table(node: exp.Table, names: _Names | None) -> Name | None:
    parts: list[Any] = node.parts
    if not all(isinstance(part, exp.Identifier | exp.Func | exp.Dot) for part in parts):
        raise _UnclearError("a table without a name")
    name = tuple(part.name.lower() for part in parts)
    if any(not part or "." in part for part in name):
        raise _UnclearError("a table with an odd name")
    return None if len(name) == 1 and names is not None and names.holds(parts[0]) else name
