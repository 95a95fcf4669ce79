"""Texts of SQL that are made by chance from queries, by putting pieces in and taking pieces out."""

import random
import re
from collections.abc import Generator, Sequence

from tests.policy.queries import ASKED, USUAL

SEEDS = [
    *USUAL,
    *ASKED,
    "select f(a), g(b, 1) from orders",
    "select * from orders, users where orders.a = users.a",
    "with x as (select * from orders) select * from x",
    "with recursive t(n) as (select id from orders union all select n + 1 from t where n < 5) select n from t",
    "select (select max(id) from products) from orders",
    "select * from (select * from orders) t",
    'select "a" from "orders"',
    "select users.id from orders users",
    "with users as (select * from orders) select * from users",
    "select * from orders as users",
    "delete from users",
    "update users set a = 1",
    "insert into users (a) select a from orders",
    "select * from orders; select * from customers",
    "create table x (a int, b varchar(10))",
    "create table x as select * from orders",
    "create index i on orders (a)",
    "drop table users",
    "alter table users add column z int",
    "merge into orders using users on orders.a = users.a when matched then delete",
    "select * into copied from orders",
    "select * from (values (1, 2)) v(a, b)",
    "select * from f(1) as x(a, b)",
]
PIECES = [
    "users", " users ", "from users", ", users", '"users"', "[users]", "`users`", "'users'", "main.users", "hr.users",
    "union select * from users", "(select * from users)", "join users on true", "with users as (select 1 id) ",
    "as users", "u", "orders", "customers", "as f(a)", "f(a)", "users f(a)", ", f(a)", "f", "f(a) as (b int)",
    "x(a) as (", "--", "-- x\n", "/*", "*/", "/* x */", "\n", '"', "'", "`", "[", "]", "(", ")", "()", ",", ";", "*",
    ".", "::", "||", "&", "<<", "=", "==", "<>", "is", "not", "null", "in", "in users", "in (1)", "exists", "between",
    "and", "or", "like", "glob", "regexp", "match", "collate nocase", "cast(a as text)", "cast(a as varchar(3))",
    "values (1)", "select", "from", "where", "group by a", "having 1", "order by", "limit 1", "offset 1", "union all",
    "intersect", "except", "natural", "left", "cross", "full", "using(id)", "on 1", "indexed by", "not indexed",
    "distinct", "all", "recursive", "materialized", "not materialized", "over ()", "over w", "filter (where 1)",
    "window w as ()", "returning *", "insert into orders", "delete from orders", "update orders set a=1",
    "delete from users", "table users", "pragma", "0x1", "1e5", "x'41'", "?", "?1", ":a", "@a", "$a", "$1", "$a::b",
    "#a", "é", "\u00a0", "{", "}", "\\", "^", "~", "->", "->>", "->'a'", "json_each(a)", "temp.users",
    "sqlite_master", "lateral", "lateral f(1)", "unnest(a)", "only", "tablesample f(1)", "at time zone f(a)",
    "interval", "escape", "isnull", "notnull", "end", "begin", "case", "when", "then", "else", "f(1)", "g(f(1))",
    "hr.f(1)", '"f"(1)', "`f`(1)", "f (1)", "f/**/(1)", "current_date", "set", "set(1)", "filter(1)", "over(1)",
    "any(1)", "some", "row(1)", "array[1]", "array(select 1)", "extract(year from a)", "coalesce(a)", "for update",
    "for share of orders", "into x", "into temp x", "explain", "explain analyze", "explain (analyze) ",
    "on conflict do nothing", "on conflict (a) do update set a = f(1)", "default", "grouping sets ((a))",
    "rollup (a)", "within group (order by f(a))", "like f(a)", "not like f(a)", "symmetric f(a)", "x.f", "f.x",
    "orders.f", "as (a int)", "as materialized (", "with ordinality", "rows from (f(1))", "operator(hr.+)",
    'U&"\\0061"', "e'a\\'", "$$a$$", "@", "@@", "create table t as", "create view v as", "truncate users",
    "drop table users", "grant", "copy users from stdin", "do", "is(1)", "join(1)", "inner(1)", "left(1)",
    "overlaps(1)", "similar to f(a)", "variadic f(a)", "binary f(a)", "not f(a)", "distinct on (a) f(b)",
    "like any (f(1))", "= any (f(1))", "= some(array[1])", "cube(1)", "grouping(a)", "nullif(a, 1)",
    "trim(both from a)", "interval '1 day'", "date '2025-01-01'", "a::f(1)", "cast(a as f(1))",
    "generate_series(1, 2) g(x)", "(a).f", "(f(1)).b", "order by f(a) using <", "fetch first f(1) rows only",
    "limit f(1)", "xmlelement(name f, f(1))", "t(a)", "(select 1) t(a)", "json_object('a': f(1))",
]  # fmt: skip
LONGEST = 250
_WORD = re.compile(r"\w+|[^\w\s]")


def texts(seed: int, seeds: Sequence[str] = SEEDS) -> Generator[str, bool | None]:
    """Texts without end, none twice, made from `seeds`; the same for one number. `send(True)` says that the last one is
    worth changing further."""
    chance = random.Random(seed)
    pool = list(seeds)
    seen: set[str] = set()
    while True:
        text = _changed(chance.choice(pool if chance.random() < 0.6 else seeds), chance)
        if text in seen or len(text) > LONGEST:
            continue
        seen.add(text)
        if (yield text) and len(pool) < 1_000:
            pool.append(text)


def _changed(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        places = [0, len(text)] + [at for at, letter in enumerate(text) if letter in " ,();"]
        at = chance.choice(places) if chance.random() < 0.8 else chance.randint(0, len(text))
        kind = chance.random()
        if kind < 0.3:
            word = chance.choice([*_WORD.finditer(text)] or [*_WORD.finditer("x")])
            text = text[: word.start()] + chance.choice(PIECES) + text[word.end() :]
        elif kind < 0.8:
            before, after = (" " * (chance.random() < 0.7) for _ in range(2))
            text = text[:at] + before + chance.choice(PIECES) + after + text[at:]
        else:
            text = text[:at] + text[at + chance.randint(1, 8) :]
    return text
