"""What SQLite's authorizer and PostgreSQL's parser say of a text of SQL, beside what the facets say.

By hand, for longer than the suite takes: `python -m tests.policy.facets.sql_oracles sqlite SEED TEXTS` (or `postgres`).
"""

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pglast
from pglast.parser import parse_sql_json

from rebuno.policy.facets.sql import tree as sql_tree
from rebuno.policy.facets.sql.tree import SqlScript
from tests.policy.facets.sql_texts import SEEDS, texts


@dataclass(slots=True)
class Seen:
    """What an oracle saw. `written` and `tables` are names without what stands before them; of functions with it."""

    statements: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Counts:
    """How many texts were made, how many the reader was sure of, how many of those the oracle read; what differs."""

    made: int = 0
    sure: int = 0
    read: int = 0
    different: list[str] = field(default_factory=list)


def compare(oracle: Callable[[str], Seen | None], seed: int, made: int) -> Counts:
    """Asks an oracle of each text that the reader is sure of."""
    counts = Counts()
    source = texts(seed, [one for one in SEEDS if sql_tree.read_sql(one) and oracle(one)])
    text = next(source)
    while counts.made < made:
        counts.made += 1
        script, seen = sql_tree.read_sql(text), None
        if isinstance(script, SqlScript):
            counts.sure += 1
            seen = oracle(text)
            if seen is not None:
                counts.read += 1
                counts.different += [f"{text!r}: {one}" for one in missing(seen, script)]
        text = source.send(seen is not None)
    return counts


def missing(seen: Seen, script: SqlScript) -> Iterator[str]:
    """What the oracle saw and the facets do not name."""
    named = {
        "statements": set(script.statements),
        "tables": {name[-1] for name in script.tables},
        "written": {name[-1] for name in script.written},
        "functions": {".".join(name) for name in script.functions} | {name[-1] for name in script.functions},
    }
    for what, names in named.items():
        less = getattr(seen, what) - names
        if less:
            yield f"{what} {sorted(less)}"


# --- SQLite

TABLES = ("orders", "customers", "products", "order_items", "users")
# Functions that SQLite has not of itself.
FUNCTIONS = re.findall(
    r"\w+",
    "f g set filter over any regexp match now left concat year date_trunc to_char age if greatest least mod md5 "
    "date_format datediff date_sub curdate split_part regexp_replace extract right version to_date date_part array row",
)
# Operators, which SQLite carries out as functions.
OPERATORS = {"like", "glob", "regexp", "match", "->", "->>"}
# What SQLite does beside: the schema's own table, and a transaction.
_OWN = {"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema", "sqlite_sequence"}
_WRITES = {sqlite3.SQLITE_INSERT: "insert", sqlite3.SQLITE_UPDATE: "update", sqlite3.SQLITE_DELETE: "delete"}
_MAKES = {
    **dict.fromkeys((sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_TEMP_TABLE), "create"),
    **dict.fromkeys((sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_TEMP_VIEW), "create"),
    **dict.fromkeys((sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_TEMP_TABLE), "drop"),
    **dict.fromkeys((sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_TEMP_VIEW), "drop"),
}
_OTHERS = {
    sqlite3.SQLITE_ALTER_TABLE: "alter", sqlite3.SQLITE_ANALYZE: "analyze", sqlite3.SQLITE_PRAGMA: "pragma",
    sqlite3.SQLITE_ATTACH: "attach", sqlite3.SQLITE_DETACH: "detach", sqlite3.SQLITE_REINDEX: "reindex",
    sqlite3.SQLITE_CREATE_INDEX: "create", sqlite3.SQLITE_CREATE_TEMP_INDEX: "create",
    sqlite3.SQLITE_DROP_INDEX: "drop", sqlite3.SQLITE_DROP_TEMP_INDEX: "drop",
    sqlite3.SQLITE_CREATE_TRIGGER: "create trigger", sqlite3.SQLITE_CREATE_VTABLE: "create virtual",
}  # fmt: skip


class Sqlite:
    """SQLite, which tells an authorizer what each statement would do while it prepares it. Nothing is run."""

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:", cached_statements=0)  # a cached one tells nothing
        for table in TABLES:
            columns = (
                "id int, a text, b text, name text, total int, status text, note text, customer_id int, order_id int"
            )
            self._base.execute(f"create table {table} ({columns}, created_at text, country text, price int)")
        for name in FUNCTIONS:
            self._base.create_function(name, -1, lambda *_: 0)
        self._told: list[tuple[int, str | None, str | None]] = []
        self._base.set_authorizer(self._tell)

    def _tell(self, action: int, one: str | None, two: str | None, _: str | None, __: str | None) -> int:
        self._told.append((action, one, two))
        return sqlite3.SQLITE_OK

    def __call__(self, text: str) -> Seen | None:
        """What its statements would do; None where SQLite does not read one of them."""
        seen = Seen()
        for statement in _statements(text):
            self._told.clear()
            explained = re.match(r"\s*explain\s+(query\s+plan\s+)?", statement, re.IGNORECASE)
            try:
                self._base.execute("explain " + statement[explained.end() if explained else 0 :], {"a": 1})
            except sqlite3.ProgrammingError:
                try:
                    self._base.execute("explain " + statement[explained.end() if explained else 0 :], [1, 1])
                except sqlite3.Error:
                    return None
            except sqlite3.Error:
                return None
            self._add(seen)
        return seen

    def _add(self, seen: Seen) -> None:
        makes = {_MAKES.get(action) or _OTHERS.get(action) for action, _, _ in self._told} - {None, "pragma"}
        makes -= {"reindex"} if "create" in makes else set()
        for action, one, two in self._told:
            table = (one or "").lower()
            if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() not in OPERATORS:
                # `alter table` and `drop table` rewrite the schema with functions of SQLite's own.
                if not (makes and (two or "").startswith("sqlite_")) and not makes & {"alter", "drop"}:
                    seen.functions.add((two or "").lower())
            elif makes and table in _OWN:
                continue
            elif action == sqlite3.SQLITE_READ and table and (two or table in TABLES):
                # Without a column it also tells of a `with` that reads itself.
                seen.tables.add(table)
            elif action in _WRITES and not (makes and "drop" in makes):
                seen.statements.add(_WRITES[action])
                seen.written.add(table)
            elif action in _MAKES:
                seen.statements.add(_MAKES[action])
                seen.written.add(table)
            elif action in _OTHERS and _OTHERS[action] in makes | {"pragma"}:
                seen.statements.add(_OTHERS[action])


def _statements(text: str) -> Iterator[str]:
    part = ""
    for letter in text:
        part += letter
        if letter == ";" and sqlite3.complete_statement(part):
            yield part
            part = ""
    if part.strip():
        yield part


# --- PostgreSQL

_PG = {
    "SelectStmt": "select", "InsertStmt": "insert", "UpdateStmt": "update", "DeleteStmt": "delete",
    "MergeStmt": "merge", "ExplainStmt": "explain", "CreateStmt": "create", "CreateTableAsStmt": "create",
    "ViewStmt": "create", "IndexStmt": "create", "DropStmt": "drop", "AlterTableStmt": "alter", "RenameStmt": "alter",
    "TruncateStmt": "truncate", "CopyStmt": "copy", "VariableSetStmt": "set", "CommentStmt": "comment",
    "CreateSchemaStmt": "create", "CreatedbStmt": "create", "CreateSeqStmt": "create", "DropdbStmt": "drop",
}  # fmt: skip
_CHANGES = {"InsertStmt": "insert", "UpdateStmt": "update", "DeleteStmt": "delete", "MergeStmt": "merge"}
_MERGES = {"CMD_INSERT": "insert", "CMD_UPDATE": "update", "CMD_DELETE": "delete"}
_TRANSACTIONS = {
    "TRANS_STMT_BEGIN": "begin", "TRANS_STMT_START": "begin", "TRANS_STMT_COMMIT": "commit",
    "TRANS_STMT_ROLLBACK": "rollback",
}  # fmt: skip


def postgres(text: str) -> Seen | None:
    """What PostgreSQL's own parser reads; None where it reads none. A name in backticks is one in quotes: where they
    are operators there is no such text."""
    try:
        tree = json.loads(parse_sql_json(re.sub("`([a-zA-Z0-9_]*)`", r'"\1"', text)))
    except (pglast.Error, ValueError):
        return None
    seen = Seen()
    for one in tree.get("stmts", ()):
        _top(one.get("stmt", {}), seen)
    if "pg_catalog" not in text.lower():
        # Those that the parser puts in the place of an operator: `similar to`.
        seen.functions = {name for name in seen.functions if not name.startswith("pg_catalog.")}
    return seen


def _top(statement: dict[str, Any], seen: Seen) -> None:
    for kind, body in statement.items():
        if kind == "TransactionStmt":
            seen.statements.add(_TRANSACTIONS.get(body.get("kind", ""), kind))
        else:
            seen.statements.add(_PG.get(kind, kind))
        if kind == "ExplainStmt":
            _top(body.get("query", {}), seen)
            return
    _node(statement, frozenset(), seen)


def _node(node: Any, names: frozenset[str], seen: Seen) -> None:
    # INVARIANT: `names` are those of `with` that can be seen here.
    if isinstance(node, list):
        for part in node:
            _node(part, names, seen)
        return
    if not isinstance(node, dict):
        return
    clause = node.get("withClause")
    if isinstance(clause, dict):
        names = _with(clause, names, seen)
    for key, body in node.items():
        if key == "withClause":
            continue
        if isinstance(body, dict):
            _look(key, body, names, seen)
        _node(body, names, seen)


def _with(clause: dict[str, Any], names: frozenset[str], seen: Seen) -> frozenset[str]:
    parts = [part["CommonTableExpr"] for part in clause.get("ctes", ())]
    every = names | {part["ctename"] for part in parts}
    for part in parts:
        _node(part, every if clause.get("recursive") else names, seen)
        names |= {part["ctename"]}
    return names


def _look(key: str, body: dict[str, Any], names: frozenset[str], seen: Seen) -> None:
    if key in _CHANGES:
        seen.statements.add(_CHANGES[key])
        seen.written.add(body["relation"]["relname"].lower())
        seen.tables.add(body["relation"]["relname"].lower())
    elif key == "onConflictClause" and body.get("action") == "ONCONFLICT_UPDATE":
        seen.statements.add("update")
    elif key == "MergeWhenClause" and body.get("commandType") in _MERGES:
        seen.statements.add(_MERGES[body["commandType"]])
    elif key == "LockingClause":
        seen.statements.add("lock")
    elif key == "intoClause":
        seen.statements.add("create")
        seen.written.add(body["rel"]["relname"].lower())
    elif key == "IndexStmt" or (key == "CopyStmt" and body.get("is_from")) or key == "CreateStmt":
        seen.written.add(body["relation"]["relname"].lower())
    elif key == "RangeVar" and ("schemaname" in body or body["relname"] not in names):
        seen.tables.add(body["relname"].lower())
    elif key == "FuncCall" and body.get("funcformat") != "COERCE_SQL_SYNTAX":
        seen.functions.add(".".join(part["String"]["sval"].lower() for part in body["funcname"]))
    elif key == "RangeTableSample":
        seen.functions.add(".".join(part["String"]["sval"].lower() for part in body["method"]))


if __name__ == "__main__":
    found = compare(Sqlite() if sys.argv[1] == "sqlite" else postgres, int(sys.argv[2]), int(sys.argv[3]))
    figures = {"made": found.made, "sure": found.sure, "read": found.read, "different": len(found.different)}
    sys.stdout.write("\n".join([json.dumps(figures), *found.different[:40], ""]))
