"""`statement of` and `table of` say what SQL does and touches where the dialects agree, and maybe elsewhere."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.sql import facets, tree
from rebuno.policy.facets.sql.facets import Table
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import Text, values

NOWHERE = PathContext()
STATEMENT, TABLE, WRITTEN, FUNCTION = facets.FACETS


def tables(text: str) -> list[str]:
    """The names of the tables, as a trace shows them."""
    return [str(table) for table in TABLE.read(text, NOWHERE)]


@pytest.mark.parametrize(
    ("text", "statements", "names"),
    [
        ("SELECT a FROM t", "select", "t"),
        ("select*from t;", "select", "t"),
        ("SELECT 1", "select", ""),
        ("(SELECT 1) UNION SELECT * FROM a", "select", "a"),
        ("SELECT * FROM a JOIN Hr.People p ON a.id = p.id WHERE x IN (SELECT y FROM c)", "select", "a c hr.people"),
        ('SELECT * FROM "Hr"."People"', "select", "hr.people"),
        ("SELECT 1; DROP TABLE x", "drop select", "x"),
        ("SELECT 1; -- the end", "select", ""),
        ("SELECT /* all */ 1", "select", ""),
        ("SELECT 'a--b; DROP TABLE x', 'it''s', '/*!', '$$'", "select", ""),  # words in quotes are data
        ("INSERT INTO a (x) VALUES ($1) RETURNING id", "insert", "a"),
        ("INSERT INTO a SELECT * FROM b", "insert", "a b"),  # a query inside is no statement
        ("INSERT INTO a VALUES (1) ON CONFLICT (x) DO UPDATE SET y = 1", "insert update", "a"),
        ("INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING", "insert", "a"),
        ("INSERT OR REPLACE INTO a VALUES (1)", "insert update", "a"),
        ("UPDATE a SET x = (SELECT max(y) FROM c) FROM b", "update", "a b c"),
        ("DELETE FROM a USING b WHERE a.x = b.x", "delete", "a b"),
        ("MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE", "delete merge", "a b"),
        ("MERGE INTO a USING b ON a.x = b.x WHEN NOT MATCHED THEN INSERT (x) VALUES (1)", "insert merge", "a b"),
        ("SELECT * INTO x FROM y", "create select", "x y"),
        ("CREATE TABLE a AS SELECT * FROM b", "create", "a b"),
        ("CREATE VIEW v AS SELECT * FROM t", "create", "t v"),
        ("TRUNCATE TABLE a, b", "truncate", "a b"),
        ("ALTER TABLE a ADD COLUMN b int", "alter", "a"),
        ("GRANT SELECT ON t TO u", "grant", "t"),
        ("EXPLAIN SELECT * FROM t", "explain select", "t"),
        ("explain analyze verbose DELETE FROM t", "delete explain", "t"),
        ("EXPLAIN (ANALYZE, FORMAT json) UPDATE t SET a = 1", "explain update", "t"),
        ("EXPLAIN QUERY PLAN SELECT * FROM t", "explain select", "t"),
        ("EXPLAIN (SELECT * FROM a) UNION SELECT * FROM b", "explain select", "a b"),
        ("EXPLAIN SELECT 1; DROP TABLE t", "drop explain select", "t"),
        ("SELECT * FROM t FOR UPDATE", "lock select", "t"),
        ("SELECT * FROM (SELECT * FROM t FOR SHARE SKIP LOCKED) x", "lock select", "t"),
        ("SELECT * FROM t LOCK IN SHARE MODE", "lock select", "t"),
        ("SELECT * FROM t WITH (XLOCK)", "lock select", "t"),
        ("SELECT * FROM t WITH (NOLOCK)", "select", "t"),
        ("SELECT `a` FROM `Hr`.`People`", "select", "hr.people"),
        ("SELECT '`' FROM t", "select", "t"),
        ("WITH `a` AS (SELECT 1) SELECT * FROM `a`", "select", ""),
        ("SELECT * FROM generate_series(1, 2) g", "select", "generate_series"),
        ("SELECT * FROM dblink('x', 'y') t(a int)", "select", "dblink"),
        ("DELETE o FROM orders o JOIN people p ON true", "delete", "orders people"),
        ("COPY (SELECT * FROM t) TO PROGRAM 'sh'", "copy", "t"),
        ("SET x = 1", "set", ""),
        ("PRAGMA writable_schema = 1", "pragma", ""),
        ("BEGIN; UPDATE t SET a = 1; COMMIT; ROLLBACK", "begin commit rollback update", "t"),
        # `with` names are no tables, where they can be seen
        ("WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", "delete select", "a"),
        ("WITH a AS (SELECT * FROM A) SELECT * FROM a", "select", "a"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b", "select", "b"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT n FROM R) SELECT * FROM r", "select", ""),
        ("WITH q AS (SELECT 1) SELECT * FROM (SELECT * FROM q) x", "select", ""),
        ("SELECT * FROM (WITH q AS (SELECT 1) SELECT * FROM q) x, q", "select", "q"),
        ("WITH q AS (SELECT 1) SELECT * FROM hr.q", "select", "hr.q"),
        ("WITH t AS (SELECT 1) INSERT INTO t SELECT * FROM t", "insert", "t"),  # what is written to is a table
        ("WITH t AS (SELECT 1) SELECT * FROM t; SELECT * FROM t", "select", "t"),
    ],
)
def test_what_sql_does(text: str, statements: str, names: str) -> None:
    """Each kind of statement once, and every table wherever it stands."""
    assert STATEMENT.read(text, NOWHERE) == statements.split()
    assert tables(text) == names.split()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ;",
        "-- nothing",
        "hello",
        "1",
        "SELECT 1 --1; DROP TABLE x",  # a comment to some, minus minus to MySQL
        "SELECT 1 --\u00a0b or (select p from users)='x'",  # no blank to MySQL
        "SELECT 1 # ; DROP TABLE x",
        'WITH "Users" AS (SELECT 1) SELECT * FROM users, orders',  # two names to PostgreSQL
        'WITH Users AS (SELECT 1) SELECT * FROM "Users", orders',
        "WITH ban\u212a AS (SELECT 1) SELECT * FROM bank, orders",  # a Kelvin sign is a k only to some
        "WITH RECURSIVE x AS (SELECT * FROM users), users AS (SELECT 1) SELECT * FROM x",  # MySQL looks at earlier ones
        "SELECT * FROM orders WHERE a IN users",  # SQLite reads a table here
        "SELECT 1 /*! ; DROP TABLE x */",  # MySQL runs it
        "SELECT 1 /*M! ; DROP TABLE x */",
        "SELECT 1 /* a /* b */ ; DROP TABLE x; */",  # where does it end?
        "SELECT 1; /*! DROP TABLE x */",
        "SELECT /*+ SET_VAR(a=1) */ 1",
        r"SELECT '\'; DROP TABLE x; -- '",  # is the quote escaped?
        r"SELECT E'\'; DROP TABLE x; -- '",
        "SELECT `a b` FROM t",
        "SELECT ` FROM t",
        "SELECT `a` FROM t # `",
        "SELECT * FROM `a.b`",
        "SELECT * FROM [t]",
        "SELECT $$a$$",
        "SELECT $x$a$x$",
        "DO $$ BEGIN END $$",
        "CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
        "SELECT * FROM \u00a0 t",  # a name to PostgreSQL and SQLite
        "SELECT\x0b1",
        "SELECT " + "f" * 64 + "(1)",  # PostgreSQL leaves out what is more
        "SELECT * FROM " + "t" * 64,
        "EXPLAIN VACUUM",
        "EXPLAIN PLAN FOR SELECT 1",
        "EXPLAIN (ANALYZE, SELECT) SELECT 1",
        "EXPLAIN t",
        "SELECT 1; EXPLAIN DELETE FROM t",
        "SELECT * FROM orders@remote",
        "SELECT * FROM orders @ remote",
        'SELECT * FROM "orders"@remote',
        "SELECT * FROM hr.orders@remote o",
        "DELETE FROM orders@remote",
        "SELECT @@datadir",
        "SELECT a, @@global.x FROM t",
        r'SELECT U&"\0070g_sleep"(1)',
        r'SELECT * FROM u&"\0061", t',
        r'SELECT "a\b"(1)',
        "CALL f()",
        "VACUUM",
        "EXEC foo",
        "SELECT 1 SHUTDOWN",  # two statements to SQL Server
        "SELECT * FROM t ROLLBACK",
        "SELECT 1\nGO\nDROP TABLE x",
        "\\! sh",
        ".shell ls",
        "REPLACE INTO a VALUES (1)",
        "SELECT * FROM dual INTO OUTFILE '/x'",
        'SELECT * FROM "a.b"',  # a name with a dot, or a schema
        "SELECT 1 INTO @x",
        "SELECT 1\0; DROP TABLE x",
        "SELECT '\ud800'",
        "SELECT " + "(" * 17 + "1" + ")" * 17,
        "SELECT " + "NOT " * 17 + "a",
        "SELECT " + "CASE WHEN a THEN " * 17 + "1" + " END" * 17,
        "SELECT " + "(" * 20_000,
        "SELECT " + "NOT " * 16_000 + "a",
        "SELECT 1" + " " * 65_536,
        5,
        ["SELECT 1"],
        Text("SELECT 1"),
    ],
)
def test_what_cannot_be_told(text: Any) -> None:
    """Text that some server reads in another way, or that is not understood, is not read at all."""
    for facet in facets.FACETS:
        assert facet.read(text, NOWHERE) is UNREADABLE


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("people", "PEOPLE", True),
        ("hr.people", "hr.people", True),
        ("hr.people", "hr.staff", False),
        ("hr.people", "crm.people", False),
        ("people", "hr.people", None),  # in which schema?
        ("people", "hr.staff", False),
        ("db.hr.people", "hr.people", None),
        ("db.hr.people", "people", None),
        ("db.hr.people", "db.people", False),
    ],
)
def test_tables_compare(one: str, other: str, same: Tri) -> None:
    """Without regard to case; a name without its schema may be anybody's. A set answers as equality does."""
    for left, right in [(one, other), (other, one)]:
        filed, asked = TABLE.literal(left, NOWHERE), TABLE.literal(right, NOWHERE)
        assert filed.equals(asked, False) is same
        found = dict(filed.index_keys(False))
        shared = [sure and found[key] for key, sure in asked.lookup_keys(False) if key in found]
        assert (True if any(shared) else None if shared else False) is same


@pytest.mark.parametrize(
    ("table", "pattern", "answer"),
    [
        ("hr.people", "hr.*", True),
        ("hr.people", "HR.p*", True),
        ("hr.people", "crm.*", False),
        ("people", "p*", True),
        ("people", "hr.*", None),  # it may be in there
        ("people", "hr.s*", False),
        ("hr.people", "p*", None),
        ("hr.people", "s*", False),
        ("db.hr.people", "hr.*", None),
        ("people", "[", None),
    ],
)
def test_tables_like_a_pattern(table: str, pattern: str, answer: Tri) -> None:
    """The schema counts, and is in doubt where either leaves it out."""
    assert TABLE.literal(table, NOWHERE).text_test(Op.LIKE, pattern, False) is answer


def test_tables_compare_with_nothing_else() -> None:
    """What is no table is maybe."""
    table = TABLE.literal("a", NOWHERE)
    assert table.equals("a", False) is None
    assert table.text_test(Op.ENDS, "a", False) is None
    assert table.text_test(Op.LIKE, 5, False) is None


def test_literals() -> None:
    """Types of statements that there are, names without quotes."""
    assert WRITTEN.literal("Hr.People", NOWHERE) == Table(("hr", "people"))
    assert FUNCTION.literal("Cron.Schedule", NOWHERE) == Table(("cron", "schedule"))
    assert STATEMENT.literal("SELECT", NOWHERE) == "select"
    assert TABLE.literal("Hr.People", NOWHERE) == Table(("hr", "people"))


@pytest.mark.parametrize("written", ["selct", "vacuum", "", 5, None])
def test_an_unknown_type_of_statement_is_refused(written: Any) -> None:
    """A rule about it could never match; the message lists what there is."""
    with pytest.raises(ValueError, match=r"is no type of statement; there are `alter .* use`"):
        STATEMENT.literal(written, NOWHERE)


@pytest.mark.parametrize("written", ["", ".", "a.", "a b. c", '"a"', "`a`", 5, "\ud800"])
def test_what_names_no_table_is_refused(written: Any) -> None:
    """A quoted name would never be equal to what is read."""
    with pytest.raises(ValueError, match=r"names no table; write `people` or `hr\.people`, without quotes"):
        TABLE.literal(written, NOWHERE)


@pytest.mark.parametrize("written", ["", "a.", "count()", '"a"', "a b ", 5])
def test_what_names_no_function_is_refused(written: Any) -> None:
    """A bracket belongs to the call and not to the name."""
    with pytest.raises(ValueError, match=r"names no function; write `lower` or `cron\.schedule`"):
        FUNCTION.literal(written, NOWHERE)


@pytest.mark.parametrize(
    ("begin", "again", "tokens"),
    [
        ("", "SELECT a, b FROM t WHERE x = 1;", 11),
        ("SELECT 1", " UNION SELECT 1 FROM t", 5),
        ("SELECT a FROM t", ",t", 2),
        ("SELECT a FROM t WHERE a = 1", " AND b = 1", 4),
        ("SELECT f(1) FROM t WHERE a", " + f(1)", 5),
    ],
)
def test_sql_is_read_up_to_a_number_of_tokens(begin: str, again: str, tokens: int) -> None:
    """The bound is a function of the text alone: the longest text below it is read, one piece more is maybe."""
    most = (tree.MAX_TOKENS - len(Dialect.get_or_raise("").tokenize(begin))) // tokens
    assert tables(begin + again * most) == ["t"]
    for facet in facets.FACETS:
        assert facet.read(begin + again * (most + 1), NOWHERE) is UNREADABLE


WORDS = "SELECT FROM ( ) , ; * t.x 'x' \"q\" `z` 1 NOT - CASE WHEN END WITH AS UNION INTO INSERT DROP -- /* :: $"


@settings(max_examples=150, deadline=None)
@given(st.one_of(values, st.lists(st.sampled_from(WORDS.split(" ")), max_size=20).map(" ".join)))
def test_no_value_is_too_odd(value: Any) -> None:
    """Reading never raises; all facets read a text, or none does."""
    statements, *found = (facet.read(value, NOWHERE) for facet in facets.FACETS)
    assert {one is UNREADABLE for one in found} == {statements is UNREADABLE}
    assert statements is UNREADABLE or statements
