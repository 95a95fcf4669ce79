"""Files that a crash or a disk tore: what is left is whole or told to be damaged, and never silently begun anew."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from rebuno.errors import NotFoundError, StoreCorrupt
from rebuno.journal.chain import Chain, verify
from rebuno.journal.records import EventRow, ExecutionRow, StepRow
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import batch, event, in_loop, started, starting, step, written

PAGE = 4096
# A page in the log stands behind its own header of 24 bytes; the log's header has 32.
FRAME = PAGE + 24


def contents(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


async def wal_of(folder: Path, batches: int, *, before: int = 0) -> Path:
    """A store as kill -9 leaves it after so many batches in its log of writes, and others `before` in the file."""
    path, copy = folder / "live.db", folder / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    for n in range(before + batches):
        if n == before > 0:
            # The store's thread may be growing the log.
            with store._writer._turn:
                store._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        await written(store, batch("e1", event(n=n, text="x" * 3000)))
    shutil.copyfile(path, copy)
    put(Path(f"{copy}-wal"), frames(contents(Path(f"{path}-wal"))))
    await store.close()
    return copy


def frames(log: bytes) -> bytes:
    """The log without what it was grown ahead by: each frame repeats the salt of the log's header."""
    end = 32
    while log[end + 8 : end + 16] == log[16:24]:
        end += FRAME
    return log[:end]


async def whole(path: Path) -> Chain:
    """The log of the execution as it can be read; it is whole up to its head, and takes another batch."""
    store = await SQLiteStore.open(path, create=False)
    log = await store.events("e1")
    found = verify(log)
    read = await store.execution("e1")
    assert (found.fault, found.seq, found.hash) == ("", read.head_seq, read.head_hash)
    assert await written(store, batch("e1")) == found.seq + 1
    await store.close()
    return found


def cut(by: int) -> Callable[[bytearray], None]:
    """Takes so many bytes from the end."""

    def tear(log: bytearray) -> None:
        del log[-by:]

    return tear


def flip(at: int) -> Callable[[bytearray], None]:
    """Changes one byte, counted from the end where negative."""

    def tear(log: bytearray) -> None:
        log[at] ^= 0xFF

    return tear


def zero(last: int) -> Callable[[bytearray], None]:
    """Writes zeros over so many bytes at the end."""

    def tear(log: bytearray) -> None:
        log[-last:] = bytes(last)

    return tear


TORN: list[tuple[str, Callable[[bytearray], None], bool]] = [
    # What became of the log, and whether the newest batch is lost with it.
    ("nothing", lambda log: None, False),
    ("nothing, and zeros follow", lambda log: log.extend(bytes(10 * FRAME)), False),
    ("the last byte", cut(1), True),
    ("half a frame", cut(FRAME // 2), True),
    ("a frame", cut(FRAME), True),
    ("two frames and a half", cut(FRAME * 5 // 2), True),
    ("a byte of the last frame", flip(-100), True),
    ("a byte of the last frame's header", flip(-FRAME + 9), True),
    ("the last frame is zero", zero(FRAME), True),
]


@pytest.mark.parametrize(("tear", "loses"), [case[1:] for case in TORN], ids=[case[0] for case in TORN])
@in_loop
async def test_a_torn_log_of_writes_loses_its_end_only(
    tmp_path: Path, tear: Callable[[bytearray], None], loses: bool
) -> None:
    """The batch whose commit is torn is gone whole; everything before it stands, and the store goes on from there."""
    path = await wal_of(tmp_path, 20)
    log = Path(f"{path}-wal")
    data = bytearray(contents(log))
    assert (len(data) - 32) % FRAME == 0
    tear(data)
    put(log, bytes(data))
    found = await whole(path)
    assert (found.seq < 21) is loses
    assert found.seq >= 19


@in_loop
async def test_a_log_of_writes_torn_anywhere_leaves_a_beginning(tmp_path: Path) -> None:
    """Wherever it is cut off after the schema, what is left is the log up to some event."""
    path = await wal_of(tmp_path, 12)
    log = Path(f"{path}-wal")
    data, file = contents(log), contents(path)
    seen = set()
    for end in range(len(data), len(data) - 30 * FRAME, -1777):
        put(path, file)
        put(log, data[:end])
        seen.add((await whole(path)).seq)
    assert seen > {13, 12, 11, 10, 9}


def lose_the_log_of_writes(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@in_loop
async def test_a_lost_log_of_writes_leaves_a_beginning(tmp_path: Path) -> None:
    """What had reached the file itself stands, whole up to some event."""
    path = await wal_of(tmp_path, 7, before=5)
    lose_the_log_of_writes(path)
    assert (await whole(path)).seq == 6


@in_loop
async def test_a_store_that_stood_in_a_lost_log_of_writes_is_not_begun_anew(tmp_path: Path) -> None:
    """Nothing of it had reached the file, as in a store of an earlier version; that others had it open tells that it is
    no new one."""
    path = await wal_of(tmp_path, 5)
    lose_the_log_of_writes(path)
    path.unlink()
    bare = apsw.Connection(str(path))
    bare.pragma("journal_mode", "wal")
    bare.close()
    shutil.copytree(tmp_path / "live.db-owners", f"{path}-owners")
    before = contents(path)
    with pytest.raises(StoreCorrupt, match="is empty; restore a copy"):
        await SQLiteStore.open(path)
    assert contents(path) == before


# ---------------------------------------------------------------- the file itself


def rest(path: Path, executions: int = 3, steps: int = 12) -> Path:
    """A closed store with some pages of each kind."""

    async def make() -> None:
        store = await SQLiteStore.open(path)
        for e in range(executions):
            await started(store, f"e{e}")
            for n in range(steps):
                await written(store, starting(step(f"e{e}s{n}", f"e{e}", args=f'{{"text":"{"x" * 1000}"}}')))
        await store.close()

    asyncio.run(make())
    return path


def truncated(to: Callable[[int], int]) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, to(path.stat().st_size))


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * 100)


def a_text(path: Path) -> None:
    path.write_text("hello\n" * 1000)


DAMAGE: list[tuple[str, Callable[[Path], None], str]] = [
    ("a byte shorter", truncated(lambda size: size - 1), "is damaged; restore a copy"),
    ("a page shorter", truncated(lambda size: size - PAGE), "is damaged; restore a copy"),
    ("half as long", truncated(lambda size: size // 2), "is damaged; restore a copy"),
    ("one page long", truncated(lambda size: PAGE), "is damaged; restore a copy"),
    ("a hundred bytes long", truncated(lambda size: 100), "is damaged; restore a copy"),
    ("nothing left", truncated(lambda size: 0), "is empty; restore a copy"),
    ("its first 100 bytes are something else", overwritten, "is not an SQLite file"),
    ("a text in its place", a_text, "is not an SQLite file"),
]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(("harm", "says"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_a_file_that_was_harmed_is_refused_and_left_alone(
    tmp_path: Path, harm: Callable[[Path], None], says: str, create: bool
) -> None:
    """Also where a store may be made: one that begun anew would run everything a second time."""
    path = rest(tmp_path / "store.db")
    harm(path)
    before = path.read_bytes()

    async def use() -> None:
        store = await SQLiteStore.open(path, create=create)
        try:
            await store.executions()
        finally:
            await store.close()

    with pytest.raises(StoreCorrupt, match=says) as caught:
        asyncio.run(use())
    assert caught.value.path == str(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("with_what", ["zeros", "noise", "another page"])
@in_loop
async def test_a_damaged_page_gives_an_error_or_the_truth(tmp_path: Path, with_what: str) -> None:
    """Whichever page it is, an answer is what was written, or an error, or breaks the chain of hashes."""
    path = await asyncio.to_thread(rest, tmp_path / "store.db", steps=24)
    good = contents(path)
    pages = len(good) // PAGE
    truth: dict[str, Rows] = {}
    store = await SQLiteStore.open(path)
    for id in ("e0", "e1", "e2"):
        truth[id] = (await store.execution(id), await store.events(id), await store.steps(id))
    await store.close()
    told = 0
    for page in range(1, pages):
        other = (page % (pages - 1)) + 1
        junk = {
            "zeros": bytes(PAGE),
            "noise": bytes((page * 31 + n * 7 + n // 255) % 256 for n in range(PAGE)),
            "another page": good[other * PAGE : (other + 1) * PAGE],
        }[with_what]
        put(path, good[: page * PAGE] + junk + good[(page + 1) * PAGE :])
        told += await errors(path, truth)
    # The rest are pages of empty tables, and of indexes that none of these questions goes through.
    assert told > pages / 3


Rows = tuple[ExecutionRow, list[EventRow], list[StepRow]]


async def errors(path: Path, truth: dict[str, Rows]) -> bool:
    """Whether the store says that something is wrong, in a read or by its chains; a wrong answer fails the test."""
    told = False
    try:
        store = await SQLiteStore.open(path)
    except StoreCorrupt:
        return True
    for id, known in truth.items():
        try:
            found = (await store.execution(id), await store.events(id), await store.steps(id))
        except (StoreCorrupt, NotFoundError):
            told = True
            continue
        if found != known:
            execution, events, steps = found
            chain = verify(events)
            assert chain.fault or chain.hash != execution.head_hash or len(steps) != len(known[2]), found
            told = True
    await store.close()
    return told
