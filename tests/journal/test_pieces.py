"""Long arguments in pieces: every store gives them back to the byte, and keeps what is repeated once."""

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import Stale, StoreCorrupt
from rebuno.journal import rows
from rebuno.journal.opening import open_store
from rebuno.journal.pieces import LONGEST, ExecutionPieces, KnownPieces, Laying, MissingPieceError, cut, joined
from rebuno.journal.records import Copied, StepRow, StepWrite, Tombstone
from rebuno.journal.rows import copied_step_values
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from rebuno.model.identity import canonical
from rebuno.model.step import StepStatus
from tests.journal.builders import Opener, batch, ending, event, execution, in_loop, starting, step, written

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.sampled_from(["},{", '"},{"', "}]", "\x1a0", "\n7:1-2", "\x00", "é" * 1500, "x" * 3000]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


def message(n: int, size: int = 600) -> dict[str, Any]:
    """One of a conversation, unlike all others."""
    words = random.Random(n)
    return {"role": ("user", "assistant")[n % 2], "content": "".join(words.choices('abc {}[],:"\\<é\n', k=size))}


def asked(messages: Sequence[Any], **more: Any) -> str:
    """The arguments of a model call."""
    return canonical({"model": "m", "messages": list(messages), "temperature": 0.5, **more})


def call(n: int, args: str, execution_id: str = "e1", **changes: Any) -> StepRow:
    """The step of a model call."""
    return step(f"{execution_id}-s{n}", execution_id, args=args, **changes)


def laid(known: ExecutionPieces, *texts: str) -> tuple[list[Any], Laying]:
    """The rows of steps with these arguments, with pieces in their place, and what they add."""
    laying = Laying(known)
    steps = [copied_step_values(call(n, text, decided_seq=n + 1)) for n, text in enumerate(texts)]
    return laying.lay_all(steps), laying


def span_of(store: dict[int, str], _: str, first: int, last: int) -> list[tuple[int, str]]:
    """The pieces of the one execution from a number to another."""
    return [(number, store[number]) for number in range(first, last + 1)]


# ---------------------------------------------------------------- cutting


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_the_pieces_of_a_text_are_the_text(value: object) -> None:
    """Whatever JSON it is; none is empty, and none is long."""
    text = canonical(value)
    pieces = cut(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= LONGEST for piece in pieces)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('},{"]:[ax\\')), st.integers(0, 3))
def test_the_pieces_of_what_is_no_json_are_the_text_too(text: str, times: int) -> None:
    """Nothing rests on what stands in it."""
    assert "".join(cut(text * 10**times)) == text * 10**times


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_calls_that_follow_each_other_come_back_to_the_byte(values: list[Any], chance: random.Random) -> None:
    """Grown, cut short, changed in the middle: known from the call before, from the rows, or by half."""
    known, store = ExecutionPieces(), dict[int, str]()
    said: list[Any] = [message(n) for n in range(20)]
    for value in values:
        said.insert(chance.randrange(len(said)), value)
        del said[: chance.choice((0, 0, 5))]
        texts = [asked(said), asked([*said, value], tools=values)]
        cut_up, laying = laid(known, *texts)
        store.update(laying.added)
        if chance.random() < 0.5:
            laying.keep()
        else:
            # As another process finds them.
            known = ExecutionPieces() if chance.random() < 0.5 else known
            assert known.learn((number, text) for number, text in store.items() if number >= known.last)
        found = partial(span_of, store)
        whole = joined(partial(list, cut_up), found)
        assert [row[5] for row in whole] == texts
        assert [row[3] for row in whole] == ["tool_call"] * 2
    assert list(store) == list(range(1, len(store) + 1))


def test_a_growing_conversation_adds_what_is_new() -> None:
    """Each call the two messages that came, and little more; numbers in a row are named as one."""
    known, sizes = ExecutionPieces(), []
    tools = [{"name": f"tool {n}", "description": f"{n}" * 300} for n in range(20)]
    said = [message(n) for n in range(20)]
    for n in range(20, 120, 2):
        said += [message(n), message(n + 1)]
        (row,), laying = laid(known, asked(said, tools=tools))
        laying.keep()
        sizes.append(sum(len(text) for _, text in laying.added))
        assert len(row[5]) < 120
    pair = len(canonical(message(0))) + len(canonical(message(1)))
    assert max(sizes[1:]) < 1.3 * pair
    (_,), again = laid(known, asked(said[40:], tools=tools))
    assert sum(len(text) for _, text in again.added) < pair, "the oldest messages were left out"


def test_a_growing_text_adds_its_end() -> None:
    """A prompt that is one string."""
    known, prompt = ExecutionPieces(), "word " * 4000
    laid(known, canonical({"prompt": prompt}))[1].keep()
    _, laying = laid(known, canonical({"prompt": prompt + "and more"}))
    assert sum(len(text) for _, text in laying.added) < 2 * LONGEST


def test_what_is_known_is_forgotten_by_size() -> None:
    """The executions that nobody asked about for the longest go first."""
    kept = KnownPieces(200)
    for n in range(5):
        pieces = ExecutionPieces()
        pieces.learn((number, f"{n} {number}") for number in range(1, 61))
        kept.put(f"e{n}", pieces, n)
    assert [kept.take(f"e{n}") is None for n in range(5)] == [True, True, True, False, False]
    assert not kept


def test_other_pieces_than_those_that_were_known_are_noticed() -> None:
    """As where a store was put back to an earlier state: then all is read anew."""
    known = ExecutionPieces()
    assert known.learn([(1, "a"), (2, "b")])
    assert not known.learn([(2, "c"), (3, "d")])
    assert known.learn([(1, "a"), (2, "c"), (3, "d")])
    assert not known.learn([])
    with pytest.raises(MissingPieceError, match="piece 3 follows piece 1"):
        known.learn([(1, "a"), (3, "d")])


# ---------------------------------------------------------------- stores


async def kept(store: Store, execution_id: str = "e1") -> dict[str, str]:
    """The arguments of an execution's steps."""
    found: dict[str, str] = {}
    after = 0
    while page := await store.steps(execution_id, after=after, limit=3):
        found.update((one.step_id, one.args) for one in page)
        after = page[-1].decided_seq
    for step_id, args in found.items():
        assert (await store.step(step_id)).args == args
    unread = await store.steps(execution_id, unread=True)
    assert {one.step_id: one.args for one in unread} == found
    return found


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(JSON, max_size=4), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_any_arguments_come_back_from_a_store(values: list[list[Any]], chance: random.Random) -> None:
    """Of two executions that are written by turns, short calls among the long ones."""

    @in_loop
    async def run() -> None:
        store = await SQLiteStore.open(":memory:")
        await round_trip(store, store, values, chance)
        await store.close()

    run()


@in_loop
async def test_any_arguments_come_back_from_every_store(opener: Opener) -> None:
    """Two stores on one database write to the same executions by turns; then one is opened anew."""
    chance = random.Random(5)
    values = [[message(chance.randrange(9), 200), {"é\u2028": [1.5, 10**30, None, "\x00\x1a1"]}] for _ in range(6)]
    async with opener() as one:
        in_memory = isinstance(one, SQLiteStore) and one.path == ":memory:"
        if in_memory:
            await round_trip(one, one, values, chance)
            return
        async with opener() as other:
            texts = await round_trip(one, other, values, chance)
    async with opener() as again:
        for execution_id in ("e1", "e2"):
            assert await kept(again, execution_id) == texts[execution_id]


async def round_trip(
    one: Store, other: Store, values: list[list[Any]], chance: random.Random
) -> dict[str, dict[str, str]]:
    """Writes calls of two executions, ends and copies them; what each step was given."""
    texts: dict[str, dict[str, str]] = {"e1": {}, "e2": {}}
    said = {name: [message(n) for n in range(15)] for name in texts}
    for name in texts:
        await one.create(execution(name), [event("execution.created")])
    for n, value in enumerate(values):
        for name in texts:
            store = chance.choice((one, other))
            said[name] = [*said[name][chance.choice((0, 0, 3)) :], *value]
            args = asked(said[name]) if chance.random() < 0.8 else canonical(value)
            made = call(n, args, name)
            texts[name][made.step_id] = args
            await written(store, starting(made))
            ended = made.ended(StepStatus.SUCCEEDED, result='"ok"')
            await written(chance.choice((one, other)), batch(name, event(), steps=(StepWrite(ended, settled=0),)))
    for name, expected in texts.items():
        assert await kept(other, name) == expected
        copied = [
            replace(found, step_id=f"f{found.step_id}", execution_id=f"f{name}") for found in await one.steps(name)
        ]
        await other.create(execution(f"f{name}"), [event("execution.forked")] * 40, Copied(tuple(copied)))
        assert await kept(one, f"f{name}") == {f"f{step_id}": args for step_id, args in expected.items()}
    return texts


class Database:
    """A store on disk, and the rows behind its back. `schema` stands before the names of its tables."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.schema = "rebuno." if where.startswith("postgresql:") else ""

    async def open(self) -> Store:
        return await open_store(self.where)

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """What a statement gives back; `rebuno.` stands before the tables where it has to."""
        sql = sql.replace("rebuno.", self.schema)
        if not self.schema:
            # By the store's own library: another one would take its locks along where it closes the file.
            with closing(apsw.Connection(self.where)) as file:
                file.set_busy_timeout(5000)
                file.pragma("foreign_keys", True)
                return file.execute(sql).fetchall()
        with psycopg.connect(self.where, autocommit=True) as connection:
            done = connection.execute(sql)
            return done.fetchall() if done.description else []

    def pieces(self) -> list[str]:
        """The text of every piece, as they came."""
        text = "unnest(texts)" if self.schema else "text"
        return [text for (text,) in self.execute(f"SELECT {text} FROM rebuno.pieces ORDER BY 1")]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """A database of each kind."""
    return Database(request.getfixturevalue("postgres") if request.param == "postgres" else str(tmp_path / "store.db"))


LONG_CALL = asked([message(n) for n in range(20)])
LONGER_CALL = asked([message(n) for n in range(22)])


async def begun(store: Store, *calls: StepRow) -> None:
    """An execution with these calls."""
    await store.create(execution(), [event("execution.created")])
    for made in calls:
        await written(store, starting(made))


@in_loop
async def test_a_repetition_is_stored_once(database: Database) -> None:
    """Also where it is said in another process, or again by one that was killed; short arguments stay as they are."""
    store = await database.open()
    await begun(store, call(0, LONG_CALL), call(1, '{"short":1}'))
    once = len(database.pieces())
    await written(store, starting(call(2, LONG_CALL)))
    other = await database.open()
    await written(other, starting(call(3, LONG_CALL)))
    assert len(database.pieces()) == once
    await written(other, starting(call(4, LONGER_CALL)))
    # Nobody closed the first: it knows nothing of the second's pieces.
    await written(store, starting(call(5, LONGER_CALL)))
    found = sum(map(len, database.pieces()))
    assert len(LONGER_CALL) <= found < len(LONGER_CALL) + 700
    assert set((await kept(store)).values()) == {LONG_CALL, LONGER_CALL, '{"short":1}'}
    (short,) = database.execute("SELECT kind, args FROM rebuno.steps WHERE step_id = 'e1-s1'")
    assert short == ("tool_call", '{"short":1}')
    await other.close()
    await store.close()


@in_loop
async def test_a_change_that_is_refused_leaves_no_piece(database: Database) -> None:
    """And what it would have brought has to be brought by the next."""
    store = await database.open()
    await begun(store)
    stale = replace(starting(call(0, LONG_CALL)), base=7)
    store.write(stale)
    with pytest.raises(Stale):
        await stale.committed
    done = call(1, LONG_CALL, status=StepStatus.SUCCEEDED, result="1")
    await written(store, batch("e1", event(), steps=(StepWrite(done, 0, 0, 0),)))
    once = database.pieces()
    # Its first step is written, its second has settled: neither stays.
    half = batch("e1", event(), event(), steps=(StepWrite(call(2, LONGER_CALL), 0, 0), StepWrite(done, settled=1)))
    beside = starting(call(3, LONG_CALL))
    for change in (half, beside):
        store.write(change)
    with pytest.raises(Stale):
        await half.committed
    await beside.committed
    assert database.pieces() == once
    await written(store, starting(call(4, LONGER_CALL)))
    assert await kept(store) == {"e1-s1": LONG_CALL, "e1-s3": LONG_CALL, "e1-s4": LONGER_CALL}
    await store.close()


@in_loop
async def test_calls_beside_each_other_share_what_is_new(database: Database) -> None:
    """In one batch, and in batches that are committed together."""
    store = await database.open()
    await begun(store)
    both = (StepWrite(call(0, LONG_CALL), 0, 0), StepWrite(call(1, LONGER_CALL), 1, 1))
    changes = [batch("e1", event(), event(), steps=both), *(starting(call(n, LONGER_CALL)) for n in (2, 3))]
    for change in changes:
        store.write(change)
    for change in changes:
        await change.committed
    assert await kept(store) == dict(
        zip(["e1-s0", "e1-s1", "e1-s2", "e1-s3"], [LONG_CALL, *[LONGER_CALL] * 3], strict=True)
    )
    assert sum(map(len, database.pieces())) < len(LONGER_CALL) + 700
    await store.close()


@in_loop
async def test_retention_drops_pieces_and_those_of_others_stay(database: Database) -> None:
    """An execution's with it, also where an older kernel removes its rows, which knows no pieces."""
    store = await database.open()
    await begun(store, call(0, LONG_CALL))
    for name in ("e2", "e3"):
        await store.create(execution(name), [event("execution.created")])
        await written(store, starting(call(0, LONG_CALL, name)))
    alone = len(database.pieces()) // 3
    for name in ("e1", "e2"):
        await written(store, ending(name))
    found = await store.execution("e1")
    assert await store.bury(Tombstone("e1", "agent", None, found.status, "", found.head_hash, 1.0))
    assert len(database.pieces()) == 2 * alone
    assert await store.steps("e1") == []
    # As the older kernel does.
    for statement in (
        ["DELETE FROM rebuno.contents WHERE execution_id = 'e2'"]
        if database.schema
        else [
            "DELETE FROM steps WHERE execution_id = 'e2'",
            "DELETE FROM events WHERE execution_id = 'e2'",
            "DELETE FROM contents WHERE n = (SELECT n FROM executions WHERE id = 'e2')",
            "DELETE FROM executions WHERE id = 'e2'",
        ]
    ):
        database.execute(statement)
    assert len(database.pieces()) == alone
    assert await kept(store, "e3") == {"e3-s0": LONG_CALL}
    await store.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM rebuno.pieces WHERE number > 2", "piece [13] of the arguments of step `e1-s0` is missing"),
        (
            "UPDATE rebuno.pieces SET {texts}",
            "piece of the arguments of step `e1-s0`|piece [0-9]+ of",
        ),
        ("UPDATE rebuno.steps SET args = '7:1-2'", "a piece of the arguments of step `e1-s0` was changed"),
        ("UPDATE rebuno.steps SET args = '{}'", "a row cannot be read"),
        ("UPDATE rebuno.steps SET kind = 'tool_call'", "not JSON"),
    ],
)
@in_loop
async def test_a_piece_that_is_missing_is_damage(database: Database, damage: str, said: str) -> None:
    """Whichever way the step is read; nothing is made of half the arguments."""
    store = await database.open()
    await begun(store, call(0, LONG_CALL))
    texts = "texts = texts[1:2] || texts[4:]" if database.schema else "text = text || 'x' WHERE number = 3"
    database.execute(damage.replace("{texts}", texts))
    for ask in (store.step("e1-s0"), store.steps("e1"), store.steps("e1", unread=True)):
        with pytest.raises(StoreCorrupt, match=said):
            await ask
    await store.close()


@in_loop
async def test_an_older_kernel_cannot_read_such_a_step(database: Database) -> None:
    """It has this very check of a row's kind, and reads nothing else of it: it finds the row damaged, and never runs or
    replays the step. Nor is it in a page of successes, which has no such check."""
    store = await database.open()
    done = call(0, LONG_CALL, status=StepStatus.SUCCEEDED, result="1")
    await begun(store)
    await written(store, batch("e1", event(), steps=(StepWrite(done, 0, 0, 0),)))
    columns = ", ".join(field.name for field in fields(StepRow)[:29])
    (row,) = database.execute(f"SELECT {columns} FROM rebuno.steps")
    with pytest.raises(ValueError, match="not JSON"):
        rows.step(row)
    with pytest.raises(ValueError, match="`tool_call/pieces`"):
        rows.unread_step(row)
    assert await store.successes("e1", after=0, limit=9) is None
    await store.close()


@in_loop
async def test_a_store_that_older_kernels_may_use_has_no_pieces(database: Database) -> None:
    """Until somebody says that none does."""
    store = await database.open()
    assert await store.pieces_in_use()
    await store.close()
    database.execute("DELETE FROM rebuno.features")
    older = await database.open() if database.schema else await held(database)
    store = await database.open()
    assert not await store.pieces_in_use()
    await begun(store, call(0, LONG_CALL))
    assert (database.pieces(), await kept(store)) == ([], {"e1-s0": LONG_CALL})
    await store.use_pieces()
    await store.use_pieces()
    assert await older.pieces_in_use()
    fresh = await database.open()
    await written(fresh, starting(call(1, LONG_CALL)))
    assert len(database.pieces()) > 10
    assert await kept(older) == {"e1-s0": LONG_CALL, "e1-s1": LONG_CALL}
    for one in (fresh, store, older):
        await one.close()


async def held(database: Database) -> Store:
    """A store that is open; a file says so to the next who opens it."""
    made = await database.open()
    database.execute("DELETE FROM rebuno.features")
    return made


@in_loop
async def test_a_file_that_nobody_else_has_open_gets_pieces(tmp_path: Path) -> None:
    """A process that opens it alone is of the newest version, and no older one can open it any more."""
    database = Database(str(tmp_path / "store.db"))
    await (await database.open()).close()
    database.execute("DELETE FROM rebuno.features")
    store = await database.open()
    assert await store.pieces_in_use()
    await store.close()
