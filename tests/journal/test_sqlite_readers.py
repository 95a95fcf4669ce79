"""A reader that stays: SQLite's log cannot be copied into the file meanwhile, and grows; once the reader is gone, it is
copied, and is short again."""

from contextlib import closing
from pathlib import Path

import apsw

from rebuno.journal.chain import verify
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.store import Store
from tests.journal.builders import batch, event, in_loop, started, written

MIB = 1024 * 1024
# A log that was copied whole keeps so much of its file.
KEPT = 64 * MIB


def _count(connection: apsw.Connection) -> int:
    return int(next(connection.execute("SELECT count(*) FROM events"))[0])


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


async def _grow(store: Store) -> int:
    """One more event, of a mebibyte."""
    return await written(store, batch("e1", event(text="x" * MIB)))


@in_loop
async def test_a_reader_that_stays_costs_room_and_nothing_else(tmp_path: Path) -> None:
    """The reader sees what it saw first, everybody else all of it; nothing is lost, and the room is given back."""
    path = tmp_path / "store.db"
    log = Path(f"{path}-wal")
    store = await SQLiteStore.open(path)
    await started(store)
    number = await _grow(store)
    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN")
        assert _count(reader) == number
        while number < 80:
            number = await _grow(store)
        assert _size(log) > 78 * MIB
        assert _count(reader) == 2
        with closing(apsw.Connection(str(path))) as another:
            assert _count(another) == number
        reader.execute("ROLLBACK")
        # It is not copied at each commit, and begins at its start again with a later one.
        while _size(log) > KEPT:
            number = await _grow(store)
            assert number < 120, "the log is as long as ever"
    while number < 130:
        number = await _grow(store)
    assert _size(log) <= KEPT
    head = (await store.execution("e1")).head_hash
    await store.close()
    assert _size(log) == 0
    again = await SQLiteStore.open(path, create=False)
    chain = verify(await again.events("e1"))
    assert (chain.fault, chain.seq, chain.hash) == ("", 130, head)
    await again.close()
