"""`function of` and `written_table of` say what SQL calls and changes, however it is written."""

import pytest

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.facets.sql import facets
from rebuno.policy.values.json_values import UNREADABLE

NOWHERE = PathContext()
_, _, WRITTEN, FUNCTION = facets.FACETS


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT count(*), Sum(a) FROM t", "count sum"),
        ("SELECT a FROM t", ""),
        ("SELECT pg_sleep (1)", "pg_sleep"),
        ("SELECT pg_sleep/* x */(1)", "pg_sleep"),
        ("SELECT pg_sleep\n-- x\n(1)", "pg_sleep"),
        ("SELECT `PG_Sleep`(1)", "pg_sleep"),
        ("SELECT pg_catalog.pg_sleep(1), a . b . c (2)", "a.b.c pg_catalog.pg_sleep"),
        ("SELECT len(a), length(a), char_length(a) FROM t", "char_length len length"),  # as it is written
        ("SELECT f(g(h(1)))", "f g h"),
        ("SELECT * FROM f(1) AS x, g(2) y", "f g"),
        ("SELECT * FROM t JOIN f(1) x ON g(x)", "f g"),
        ("SELECT * FROM t WHERE f(a) AND NOT g(b) OR a IN (h(1), 2) AND EXISTS (SELECT i(1))", "f g h i"),
        ("SELECT * FROM t GROUP BY f(a) HAVING g(a) ORDER BY h(a) LIMIT i(1)", "f g h i"),
        ("SELECT CASE f(a) WHEN g(1) THEN h(2) ELSE i(3) END", "f g h i"),
        ("INSERT INTO t (a, b) VALUES (f(1), 2) RETURNING g(a)", "f g"),
        ("UPDATE t SET a = f(b) WHERE g(a)", "f g"),
        ("WITH x AS (SELECT f(1)) SELECT * FROM x", "f"),
        ("SELECT sum(a) FILTER (WHERE f(b)) OVER (PARTITION BY g(c) ORDER BY h(d)) FROM t", "f g h sum"),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f(a)) FROM t", "f percentile_cont"),
        ("SELECT current_date, CURRENT_USER", "current_date current_user"),
        ("SELECT t.current_date FROM t", ""),
        ("SELECT coalesce(a, 1), extract(year FROM b), substring(c FROM 1) FROM t", "coalesce extract substring"),
        ("SELECT left(a, 1), right(b, 1), if(a, b, c), replace(a, b, c) FROM t", "if left replace right"),
        ("SELECT date(a), time(b), char(65) FROM t", "char date time"),
        # no calls
        ("SELECT CAST(a AS varchar(10)), a::numeric(10, 2) FROM t", ""),
        ("SELECT (1), (a) FROM (SELECT 1) x WHERE a IN (1) AND (b) AND NOT (c)", ""),
        ("SELECT a FROM t JOIN u USING (a)", ""),
        ("WITH x(a, b) AS (SELECT 1, 2), y(c) AS MATERIALIZED (SELECT 3) SELECT * FROM x, y", ""),
        ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x", ""),
        ("SELECT * FROM (VALUES (1, 2)) AS v(a, b)", ""),
        ("SELECT * FROM (VALUES (1, 2)) v(a, b) JOIN t u(c) ON true JOIN generate_series(1, 2) w(d) ON true",
         "generate_series"),
        ("SELECT * FROM a JOIN (SELECT 1) b ON true LEFT JOIN (SELECT 2) c ON true", ""),
        ("SELECT * FROM t WHERE a IS (b)", ""),
        ("INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 2", ""),
        ("UPDATE t SET (a, b) = (1, 2)", ""),
        ("MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a) VALUES (1)", ""),
        ("SELECT DISTINCT ON (a) b FROM t", ""),
        ("SELECT * FROM t WHERE a LIKE ('x') AND b NOT LIKE ('y') AND c = ANY (SELECT 1)", ""),
        ("SELECT a FROM t WINDOW w AS (PARTITION BY a)", ""),
        ("CREATE TABLE t (a varchar(10), b numeric(10, 2), PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES u (c))", ""),
        ("CREATE UNIQUE INDEX i ON t (a)", ""),
        ("COPY (SELECT 1) TO '/x'", ""),
        # words of the language that are functions where they stand
        ("SELECT DISTINCT ON (a) f(b) FROM t f(a)", "f"),
        ("SELECT a, NOT f(b) FROM t f(a)", "f"),
        ("SELECT a = any(b) FROM t", "any"),  # an operator or a function of one's own
        ("SELECT regexp(a, b), offset(1) FROM t", "offset regexp"),
        ("SELECT a FROM t WHERE like(a, b)", "like"),
        ("CREATE TABLE t AS SELECT varchar(a) FROM u", "varchar"),
        ("CREATE TABLE t (a int DEFAULT f(1))", "f"),
        ("CREATE INDEX i ON t (f(a))", "f"),
        ("SELECT * FROM t TABLESAMPLE f(10)", "f"),
        ("SELECT a OPERATOR(s.+) b FROM t", "operator"),
        # calls that look like lists of columns
        ("WITH f(x) AS (SELECT 1) SELECT * FROM t, f(a) AS (b int)", "f"),
        ("WITH f(x) AS (SELECT 1) SELECT f(a) FROM t", "f"),
        ("SELECT f(a) FROM t f(a)", "f"),
        ("INSERT INTO openrowset('a', 'b') SELECT 1", "openrowset"),
        ("SELECT f(a) FROM (SELECT 1) f(a)", "f"),
        # columns that are functions of a package
        ("SELECT utl_inaddr.get_host_name FROM t", "utl_inaddr.get_host_name"),
        ("SELECT t.a, u.b, x.c, y.d FROM t, hr.u JOIN v AS x ON true JOIN (SELECT 1) y ON true", ""),
        ("SELECT hr.u.b FROM hr.u", ""),
        ("SELECT s.nextval FROM t", "s.nextval"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.b", ""),
        ("WITH x AS (SELECT 1 AS a) SELECT x.a FROM x", ""),
        ("SELECT (SELECT t.a) FROM t", ""),
        ("SELECT f(1); SELECT g(2)", "f g"),
    ],
)  # fmt: skip
def test_what_sql_calls(text: str, names: str) -> None:
    """Every call by its written name, and nothing where the language itself puts a bracket."""
    assert [str(name) for name in FUNCTION.read(text, NOWHERE)] == names.split()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM t FOR UPDATE", ""),
        ("INSERT INTO t SELECT * FROM u", "t"),
        ("INSERT INTO Hr.T (a) VALUES (1)", "hr.t"),
        ("UPDATE t SET a = 1 FROM u", "t"),
        ("UPDATE t AS x SET a = 1", "t"),
        ("UPDATE t JOIN u ON true SET u.a = 1", "t u"),
        ("UPDATE t, u SET u.a = 1", "t u"),
        ("UPDATE x SET a = 1 FROM t x", "t x"),  # an alias to one server, a table to another
        ("DELETE FROM t", "t"),
        ("DELETE FROM t USING u", "t"),
        ("DELETE FROM t, u USING t JOIN u ON true", "t u"),
        ("DELETE t FROM t JOIN u ON true", "t"),
        ("DELETE t, u FROM t JOIN u ON true", "t u"),
        ("DELETE x FROM t x JOIN u ON true", "t"),
        ("MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", "t"),
        ("WITH a AS (DELETE FROM t RETURNING *), b AS (UPDATE u SET a = 1) SELECT * FROM v", "t u"),
        ("WITH t AS (SELECT 1) INSERT INTO t SELECT * FROM t", "t"),
        ("EXPLAIN ANALYZE DELETE FROM t", "t"),
        ("SELECT * INTO t FROM u", "t"),
        ("CREATE TABLE t AS SELECT * FROM u", "t"),
        ("CREATE VIEW v AS SELECT * FROM u", "v"),
        ("CREATE INDEX i ON t (a)", "t"),
        ("DROP TABLE t, u", "t u"),
        ("TRUNCATE t, u", "t u"),
        ("ALTER TABLE t RENAME TO u", "t u"),
        ("COPY t FROM '/x'", "t"),
        ("COPY t TO '/x'", ""),
        ("SELECT 1; DELETE FROM t; UPDATE u SET a = 1", "t u"),
        ("DELETE FROM `t`", "t"),
    ],
)
def test_what_sql_changes(text: str, names: str) -> None:
    """The targets and not what is read beside them, wherever the change stands."""
    found = WRITTEN.read(text, NOWHERE)
    assert found is not UNREADABLE
    assert [str(name) for name in found] == names.split()
