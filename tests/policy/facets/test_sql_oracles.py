"""The facets of SQL name whatever SQLite's authorizer and PostgreSQL's own parser see in the same text."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebuno.policy.facets.sql import tree
from tests.policy.facets.sql_oracles import Seen, Sqlite, compare, missing, postgres

# Changed only together with what a longer run has found. Each takes some three seconds of processor.
SEED = 20_251_130
TEXTS = 1_500


@pytest.mark.parametrize(("oracle", "read"), [(Sqlite(), 50), (postgres, 150)], ids=["sqlite", "postgres"])
def test_what_a_server_sees_is_named(oracle: Callable[[str], Seen | None], read: int) -> None:
    """Every statement, table, changed table and function, of texts made by chance that the reader is sure of."""
    counts = compare(oracle, SEED, TEXTS)
    assert counts.different == []
    assert counts.read >= read, "the texts are no test any more"


@pytest.mark.parametrize("oracle", [Sqlite(), postgres], ids=["sqlite", "postgres"])
@pytest.mark.parametrize("lost", ["statements", "tables", "written", "functions"])
def test_what_a_reader_leaves_out_is_found(oracle: Callable[[str], Seen | None], lost: str) -> None:
    """A reader that forgets one of the four differs from the server."""
    text = "delete from users where f(a)"
    seen, script = oracle(text), tree.read_sql(text)
    assert seen is not None
    assert isinstance(script, tree.SqlScript)
    assert list(missing(seen, script)) == []
    assert len(list(missing(seen, replace(script, **{lost: frozenset()})))) == 1


@pytest.mark.parametrize(
    ("text", "statements", "tables", "written", "functions"),
    [
        ("delete from users where f(1)", "delete", "users", "users", "f"),
        ("insert into users (a) select g(a) from orders", "insert", "orders users", "users", "g"),
        ("with users as (select * from orders) select * from users", "", "orders", "", ""),
    ],
)
def test_the_oracles_see(text: str, statements: str, tables: str, written: str, functions: str) -> None:
    """Both tell of the same texts what they do."""
    for oracle in (Sqlite(), postgres):
        seen = oracle(text)
        assert seen is not None
        assert seen.statements - {"select"} == set(statements.split())
        assert seen.tables | seen.written == set(tables.split())
        assert seen.written == set(written.split())
        assert seen.functions == set(functions.split())
