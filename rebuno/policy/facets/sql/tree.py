"""What a text of SQL does and touches, where every dialect that is asked reads it alike."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from rebuno.policy.facets.sql.calls import Calls, words
from rebuno.policy.facets.sql.log import quiet
from rebuno.policy.facets.sql.names import CHANGES, Name, UnclearError, table, walk
from rebuno.policy.facets.sql.written import queries, targets
from rebuno.policy.values.json_values import valid

MAX_SQL_BYTES: Final = 65_536
# sqlglot takes some 30 microseconds a token, and a text is read once for each dialect. A bound on tokens and not on
# time, so that the same text is read alike on every machine and at every replay.
MAX_TOKENS: Final = 4_096
MAX_DEPTH: Final = 16  # of brackets and `case`, and signs in a row
# Each with whether it knows names in backticks.
_DIALECTS: Final = (("", False), ("postgres", False), ("mysql", True), ("sqlite", True))

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
# `explain` stands before another statement, `lock` in a query: `for update`.
STATEMENTS: Final = frozenset(_TYPES.values()) | {"explain", "lock"}
# What is kept as text because it is not understood, and `$$ … $$`, which may be a body in another language.
_OPAQUE: Final = (exp.Command, exp.RawString)
_KINDS: Final = frozenset({"DATABASE", "INDEX", "SCHEMA", "SEQUENCE", "TABLE", "VIEW"})
# Some servers need no `;` and would run these where others read a name: `SELECT 1 SHUTDOWN`.
_WORDS: Final = frozenset(
    {"begin", "checkpoint", "commit", "delimiter", "exec", "execute"}
    | {"go", "reconfigure", "revert", "rollback", "setuser", "shutdown"}
)
# Oracle moves a sequence by `s.nextval`, whatever else is named `s`.
_OF_SEQUENCES: Final = frozenset({"nextval", "currval"})
# Hints of SQL Server under which a query takes no locks for long.
_READING_HINTS: Final = frozenset({"nolock", "readuncommitted", "readpast", "readcommitted", "index", "forceseek"})
# Before a statement that is explained; what else stands here (`for`, `plan for`) is not read.
_EXPLAIN: Final = re.compile(
    r"\s*explain\s+(?:query\s+plan\s+|\(([a-z0-9_,\s]*)\)\s*"
    r"|(?:(?:analy[sz]e|verbose|extended|format\s*=\s*[a-z]+)\s+)*)"
    r"(?=(?:select|with|insert|update|delete|merge|values)\b|\()",
    re.IGNORECASE | re.ASCII,
)
_EXPLAINING: Final = words(
    "analyze analyse verbose costs settings generic_plan buffers serialize wal timing summary memory format text json "
    "xml yaml on off true false none binary 0 1"
)
_PLAIN: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
# A comment that some servers run, that some do not end here, or that some do not begin.
_COMMENT: Final = re.compile(r"/\*[!+mM]|--[^ \t-\r]|/\*(?:(?!\*/).)*/\*", re.DOTALL)
_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_SIGNS: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})

_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
# A value begins after these.
_BEFORE_VALUE: Final = words(
    "all and as between by case distinct else from having ilike in into is join like limit not offset on or return "
    "returning select set then using values when where"
)

logger: Final = logging.getLogger("rebuno.policy.facets")


@dataclass(frozen=True, slots=True)
class SqlScript:
    """What a text does: the types of its statements, the tables that it names, those of them that it changes, and the
    functions that it calls. Names are lower-case parts (`("hr", "people")`)."""

    statements: frozenset[str]
    tables: frozenset[Name]
    written: frozenset[Name]
    functions: frozenset[Name]


@dataclass(frozen=True, slots=True)
class SqlReaderFailure:
    """sqlglot failed on the text with an exception of this name: its fault, and not the text's."""

    error: str


@lru_cache(maxsize=256)
def read_sql(text: str) -> SqlScript | SqlReaderFailure | None:
    """What the text does; None where it cannot be told.

    That is: more than 65,536 bytes or 4,096 tokens, more than 16 nested brackets, no statement at all, what sqlglot
    cannot read or keeps as it stands, comments that some servers run, bodies in another language, and whatever the
    general reading and those for PostgreSQL, MySQL and SQLite do not agree on.
    """
    if not valid(text) or len(text.encode()) > MAX_SQL_BYTES or "\0" in text:
        return None
    found: SqlScript | None = None
    try:
        explained, text = _explained(text)
        requoted = _requoted(text) if "`" in text else text
        for name, backticks in _DIALECTS:
            read = _read_dialect(text if backticks else requoted, Dialect.get_or_raise(name))
            if found is not None and read != found:
                return None
            found = read
    except SqlglotError:
        return None
    except Exception as error:
        logger.exception("sqlglot failed on a text of SQL, which counts as unreadable")
        return SqlReaderFailure(type(error).__name__)
    return replace(found, statements=found.statements | {"explain"}) if found and explained else found


def _explained(text: str) -> tuple[bool, str]:
    # What is explained is read as if it ran, which it does after `analyze`.
    match = _EXPLAIN.match(text)
    if match and not _EXPLAINING.issuperset((match[1] or "").lower().replace(",", " ").split()):
        raise UnclearError("explained in an unknown way")
    return (False, text) if match is None else (True, " " * match.end() + text[match.end() :])


def _requoted(text: str) -> str:
    # A server that does not know backticks refuses such a text: to PostgreSQL they are operators that do not exist. So
    # its reading of names in backticks may be that of the others, as long as they are plain names.
    found = list(text)
    for token in Dialect.get_or_raise("mysql").tokenize(text):
        if token.token_type is TokenType.IDENTIFIER and text[token.start] == "`" == text[token.end]:
            if not _PLAIN.fullmatch(text[token.start + 1 : token.end]):
                raise UnclearError("an odd name in backticks")
            found[token.start] = found[token.end] = '"'
    return "".join(found)


def _read_dialect(text: str, dialect: Dialect) -> SqlScript:
    tokens = dialect.tokenize(text)
    _look_over(text, tokens)
    written = {token.start: token.text for token in tokens}
    with quiet():
        trees = dialect.parser_class(error_level=ErrorLevel.IMMEDIATE, dialect=dialect).parse(tokens, text)
    found = _Found()
    for tree in trees:
        if tree is not None and not isinstance(tree, exp.Semicolon):
            _statement(tree, written, found)
    if not found.statements:
        raise UnclearError("no statement")
    called = set(Calls(tokens, found.columned).found())
    called.update(name for name in found.columns if name[-2] not in found.sources or name[-1] in _OF_SEQUENCES)
    return SqlScript(frozenset(found.statements), frozenset(found.tables), frozenset(found.written), frozenset(called))


@dataclass(slots=True)
class _Found:
    statements: set[str] = field(default_factory=set)
    tables: set[Name] = field(default_factory=set)
    written: set[Name] = field(default_factory=set)
    columned: set[str] = field(default_factory=set)  # names that list their columns
    sources: set[str] = field(default_factory=lambda: {"excluded", "new", "old", "inserted", "deleted"})
    columns: set[Name] = field(default_factory=set)  # those that name where they come from


def _statement(tree: exp.Expr, written: dict[int, str], found: _Found) -> None:
    kind = _TYPES.get(type(tree))
    if kind is None:
        raise UnclearError(f"no statement: {type(tree).__name__}")
    found.statements.add(kind)
    for node, names in walk(tree):
        found.statements.update(_changes(node))
        for target in (*targets(node), *(one for query in queries(node) for one in query.find_all(exp.Table))):
            name = table(target, None, written)
            if name:
                found.written.add(name)
        if isinstance(node, exp.Table):
            name = table(node, names, written)
            if name:
                found.tables.add(name)
            found.sources.add(node.name.lower())
        if isinstance(node, exp.TableAlias):
            found.sources.add(node.name.lower())
            if node.args.get("columns"):
                found.columned.add(node.name.lower())
        elif isinstance(node, exp.Column) and node.table and not isinstance(node.this, exp.Star):
            # Oracle calls a function of a package without brackets: `utl_inaddr.get_host_name`.
            found.columns.add(tuple(part.name.lower() for part in node.parts))


def _look_over(text: str, tokens: list[Token]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise UnclearError("too many tokens")
    _look_at_signs(text, tokens)
    # INVARIANT: sqlglot calls itself for each bracket, `case` and sign; within this bound it needs some 400 frames, so
    # that the answer does not depend on how deep the caller stands.
    depth, signs, end = 0, 0, -1
    for token in tokens:
        _look_between(text[end + 1 : token.start])
        end = token.end
        if token.token_type in _OPENING:
            depth += 1
        elif token.token_type in _CLOSING:
            depth -= 1
        signs = signs + 1 if token.token_type in _SIGNS else 0
        if max(depth, signs) > MAX_DEPTH:
            raise UnclearError("nested too deep")
    _look_between(text[end + 1 :])


def _look_between(text: str) -> None:
    # What stands between two tokens. To some servers other blanks than these are letters.
    if _COMMENT.search(text):
        raise UnclearError("a comment that servers read differently")
    if any(letter.isspace() and letter not in " \t\n\r\f" for letter in text):
        raise UnclearError("a blank that is a letter elsewhere")


def _look_at_signs(text: str, tokens: list[Token]) -> None:
    ends_value = False
    for token in tokens:
        kind = token.token_type
        # `orders@remote` is a table of another server to Oracle; `@@datadir` is a setting, after a value an operator.
        if kind is TokenType.PARAMETER and text[token.start] == "@" and ends_value:
            raise UnclearError("a link to another server")
        if text[token.start : token.start + 2] == "@@" and not ends_value and kind not in _QUOTED:
            raise UnclearError("a setting")
        # `U&"\0070g_sleep"` is a name with escapes.
        if token.text in ("U", "u") and text[token.end + 1 : token.end + 3] in ('&"', "&'"):
            raise UnclearError("a name with escapes")
        if kind is TokenType.IDENTIFIER and "\\" in token.text:
            raise UnclearError("a name with a backslash")
        word = token.text.rpartition(" ")[2].lower()  # `GROUP BY` is one token
        closed = kind in _QUOTED or kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER)
        ends_value = closed or (word.isidentifier() and word not in _BEFORE_VALUE)


def _changes(node: exp.Expr) -> Iterator[str]:
    # What one node does to data; raises where it cannot be told.
    if isinstance(node, _OPAQUE):
        raise UnclearError("kept as text")
    if isinstance(node, exp.Identifier):
        if not node.args.get("quoted") and node.name.lower() in _WORDS:
            raise UnclearError("a name that is a statement elsewhere")
    elif isinstance(node, exp.Create):
        if node.kind not in _KINDS:
            raise UnclearError("a body in another language")
    elif isinstance(node, exp.In) and node.args.get("field") is not None:
        raise UnclearError("a table without `select`")  # SQLite: `a in users`
    elif isinstance(node, exp.Into):
        yield "create"
    elif isinstance(node, exp.Lock):
        yield "lock"
    elif isinstance(node, exp.WithTableHint):
        if {hint.name.lower() for hint in node.expressions} - _READING_HINTS:
            yield "lock"
    elif isinstance(node, CHANGES):
        yield _TYPES[type(node)]
        if isinstance(node, exp.Insert) and (node.args.get("alternative") or node.args.get("overwrite")):
            yield "update"
    elif isinstance(node, exp.When):
        # `then delete` is one word.
        yield from STATEMENTS & {node.args["then"].name.lower()}
    elif isinstance(node, exp.OnConflict) and node.args.get("expressions"):
        yield "update"
