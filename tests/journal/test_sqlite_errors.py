"""What can be wrong with a file is told apart, names the path, and changes nothing."""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from benchmarks.sqlite_syncs import Counter
from rebuno.errors import (
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnreachable,
)
from rebuno.journal.chain import verify
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import batch, event, execution, in_loop, started, written


async def opened_and_closed(path: Path) -> None:
    await (await SQLiteStore.open(path, busy_timeout=0.1)).close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def a_folder(path: Path) -> None:
    path.mkdir()


def of_another_application(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def marked_by_another_application(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("application_id", 42)
    connection.close()


def of_a_newer_schema(path: Path) -> None:
    asyncio.run(opened_and_closed(path))
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 999)
    connection.close()


def with_a_damaged_schema(path: Path) -> None:
    asyncio.run(opened_and_closed(path))
    data = bytearray(path.read_bytes())
    data[100:4096] = os.urandom(3996)
    path.write_bytes(data)


CASES: list[tuple[str, Callable[[Path], object], type[StoreError], str]] = [
    ("a directory", a_folder, StoreUnreachable, "is a directory"),
    ("a text file", lambda p: p.write_text("hello"), StoreCorrupt, "is not an SQLite file"),
    ("a larger text file", lambda p: p.write_text("hello\n" * 2000), StoreCorrupt, "is not an SQLite file"),
    ("another application's tables", of_another_application, StoreCorrupt, "another application"),
    ("another application's mark", marked_by_another_application, StoreCorrupt, "another application"),
    ("a newer schema", of_a_newer_schema, SchemaTooNew, "upgrade rebuno"),
    ("random bytes in the first page", with_a_damaged_schema, StoreCorrupt, "is damaged"),
]


@pytest.mark.parametrize(("make", "kind", "says"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_file_that_is_no_store_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], kind: type[StoreError], says: str
) -> None:
    """The error says what the file is, and not a byte of it changes."""
    path = tmp_path / "store.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(kind, match=says) as caught:
        asyncio.run(opened_and_closed(path))
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


@in_loop
async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The folder is not made: the path may be mistyped."""
    with pytest.raises(StoreUnreachable, match=r"`.*/no` does not exist"):
        await SQLiteStore.open(tmp_path / "no" / "store.db")
    assert names(tmp_path) == []


@in_loop
async def test_a_store_is_made_only_where_it_may_be(tmp_path: Path) -> None:
    """With `create=False` a missing file is an error, and no file appears."""
    with pytest.raises(StoreUnreachable, match="there is no store at"):
        await SQLiteStore.open(tmp_path / "store.db", create=False)
    assert names(tmp_path) == []
    await opened_and_closed(tmp_path / "store.db")
    await (await SQLiteStore.open(tmp_path / "store.db", create=False)).close()


@pytest.mark.parametrize("create", [True, False])
@in_loop
async def test_links_in_a_circle_lead_to_no_store(tmp_path: Path, create: bool) -> None:
    """A link to itself, or a folder on the way that is one."""
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "loop", tmp_path / "loop" / "store.db"):
        with pytest.raises(StoreUnreachable, match="symbolic links go in a circle"):
            await SQLiteStore.open(path, create=create)
    assert names(tmp_path) == ["loop"]


@in_loop
async def test_an_empty_file_becomes_a_store_only_where_one_may_be_made(tmp_path: Path) -> None:
    """With `create=False` it is what is left of a store, and stays as it is."""
    path = tmp_path / "store.db"
    path.touch()
    with pytest.raises(StoreCorrupt, match="is empty; restore a copy"):
        await SQLiteStore.open(path, create=False)
    assert (names(tmp_path), path.read_bytes()) == (["store.db"], b"")
    await opened_and_closed(path)
    await (await SQLiteStore.open(path, create=False)).close()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_says_so(tmp_path: Path, what: str) -> None:
    """A file or a folder without write permission, for a user who is not root."""
    path = tmp_path / "store.db"
    asyncio.run(opened_and_closed(path))
    for place in (path, tmp_path / "store.db-owners"):
        place.chmod(0o777)
    tmp_path.chmod(0o555 if what == "folder" else 0o777)
    if what == "file":
        path.chmod(0o444)
    program = (
        "import os, sys\n"
        "from rebuno.errors import StoreReadOnly\n"
        "from rebuno.journal.sqlite.connection import Patience, connect\n"
        "if os.getuid() == 0:\n    os.setuid(65534)\n"
        "try:\n    connect(sys.argv[1], patience=Patience(1), create=True, vfs=None)\n"
        "except StoreReadOnly as error:\n    sys.stdout.write(str(error))\n"
    )
    let_in(tmp_path)
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    place = path if what == "file" else tmp_path
    assert run.stdout == f"the store `{path}` cannot be written: `{place}` is read-only", run.stderr


# Reads a store without the right to write it, and says what it found.
LOOKS = """
import asyncio, os, sys
from rebuno.errors import StoreError
from rebuno.journal.sqlite import SQLiteStore

async def look():
    store = await SQLiteStore.open(sys.argv[1], create=False)
    found = await store.execution("e1")
    events = await store.events("e1")
    print(found.head_seq, len(events), await store.alive(found))
    try:
        await store.save_bundle("digest", [])
        await store.lead("sweeps", 1)
    except StoreError as error:
        print(type(error).__name__)
    await store.close()

async def load():
    # Who is somebody else afterwards may not be let to Python's own files.
    await (await SQLiteStore.open(":memory:")).close()

asyncio.run(load())
if os.getuid() == 0:
    os.setuid(65534)
try:
    asyncio.run(look())
except StoreError as error:
    print(type(error).__name__, error)
"""


def let_in(folder: Path) -> None:
    """Lets every user go down to a test's folder: pytest's own are closed, and each process of xdist has one more."""
    for outer in folder.parents:
        if outer.name.startswith(("pytest-", "popen-")):
            outer.chmod(0o755)


def for_reading(folder: Path, mode: int) -> None:
    """Lets nobody but root write a store's files; its folder has the mode."""
    for file in folder.iterdir():
        file.chmod(0o755 if file.is_dir() else 0o444)
    folder.chmod(mode)
    let_in(folder)


@pytest.mark.parametrize("mode", [0o555, 0o777])
@in_loop
async def test_who_may_not_write_reads_while_another_has_it_open(tmp_path: Path, mode: int) -> None:
    """With what was written a moment ago, and told who lives; no file is made that the others could not write."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    await written(store, batch())
    for_reading(tmp_path, mode)

    async def looks() -> str:
        command = [sys.executable, "-c", LOOKS, str(path)]
        return await asyncio.to_thread(subprocess.check_output, command, text=True)

    assert await looks() == "2 2 True\nStoreReadOnly\n"
    assert await written(store, batch()) == 3
    assert await looks() == "3 3 True\nStoreReadOnly\n"
    for_reading(tmp_path, 0o755)
    await store.close()
    for_reading(tmp_path, mode)
    said = await looks()
    assert said.startswith("StoreReadOnly ")
    assert "it can be read while another process has it open, or from a copy" in said
    assert names(tmp_path) == ["store.db", "store.db-owners"]
    for_reading(tmp_path, 0o755)


@in_loop
async def test_a_lock_held_too_long_is_busy(tmp_path: Path) -> None:
    """A write waits for another process's transaction as long as it was told to, then fails; the store goes on."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path, busy_timeout=0.05)
    await started(store)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="locked by another process"):
        await written(store, batch())
    other.execute("ROLLBACK")
    other.close()
    assert await written(store, batch()) == 2
    await store.close()


@in_loop
async def test_a_full_disk_fails_the_write_whole(tmp_path: Path) -> None:
    """Nothing of it is kept, its lease is poisoned, and the store goes on once there is room."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    lease = await started(store)
    pages = store._connection.pragma("page_count")
    store._connection.pragma("max_page_count", pages)
    with pytest.raises(StoreFull, match="disk is full"):
        await written(store, batch("e1", event(text="x" * 100_000), lease=lease))
    store._connection.pragma("max_page_count", pages + 1000)
    with pytest.raises(StoreFull):
        await written(store, batch("e1", lease=lease))
    assert await written(store, batch("e1")) == 2
    assert verify(await store.events("e1")).seq == 2
    await store.close()


@in_loop
async def test_a_full_disk_within_a_group_leaves_every_log_whole(tmp_path: Path) -> None:
    """The member that does not fit fails; the others are written or fail with it, as they are told."""
    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    for n in range(4):
        await started(store, f"e{n}")
    pages = store._connection.pragma("page_count")
    store._connection.pragma("max_page_count", pages + 4)
    counter.on_sync = lambda: time.sleep(0.02)
    made = [batch(f"e{n}", event(text="x" * (100_000 if n == 2 else 1))) for n in range(4)]
    for one in made:
        store.write(one)
    found = await asyncio.gather(*(one.committed for one in made), return_exceptions=True)
    counter.on_sync = None
    assert isinstance(found[2], StoreFull)
    store._connection.pragma("max_page_count", pages + 1000)
    for n, answer in enumerate(found):
        checked = verify(await store.events(f"e{n}"))
        assert (checked.fault, checked.seq) == ("", answer if isinstance(answer, int) else 1)
        assert await written(store, batch(f"e{n}")) == checked.seq + 1
    await store.close()


@in_loop
async def test_a_file_that_may_not_grow_fails_the_write_whole(tmp_path: Path) -> None:
    """The write to the log itself fails (here by a limit on the size of files), and is taken back."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await started(store)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(StoreError, match="disk"):
            await written(store, batch("e1", event(text="x" * 1_000_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await written(store, batch()) == 2
    await store.close()


@in_loop
async def test_a_sync_that_fails_fails_the_whole_group(tmp_path: Path) -> None:
    """No member is told that it is durable, and every lease of the group is poisoned; later writes build on the row."""

    def refuse() -> None:
        raise apsw.IOError

    counter = Counter()
    store = await SQLiteStore.open(tmp_path / "store.db", vfs=counter.vfs)
    leases = [await started(store, f"e{n}") for n in range(3)]
    counter.on_sync = refuse
    made = [batch(lease.execution_id, lease=lease) for lease in leases]
    for one in made:
        store.write(one)
    found = await asyncio.gather(*(one.committed for one in made), return_exceptions=True)
    counter.on_sync = None
    assert [type(f) for f in found] == [StoreError] * 3
    assert all(isinstance(lease.poison, StoreError) for lease in leases)
    for n in range(3):
        assert await written(store, batch(f"e{n}")) == 2
        assert verify(await store.events(f"e{n}")).fault == ""
    await store.close()


@in_loop
async def test_a_payload_damaged_on_disk_is_told(tmp_path: Path) -> None:
    """The event that cannot be read is named."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    await store.create(execution(), [event("execution.created")])
    other = apsw.Connection(str(path))
    other.execute("UPDATE events SET payload = '{'")
    other.close()
    with pytest.raises(StoreCorrupt, match="event 1 of execution `e1`"):
        await store.events("e1")
    await store.close()


@in_loop
async def test_the_oldest_sqlite_that_is_safe_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apsw that carries an older one is refused."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StoreError, match=r"3\.51\.3 is needed; upgrade apsw"):
        await SQLiteStore.open(tmp_path / "store.db")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@in_loop
async def test_a_forked_child_must_open_its_own(tmp_path: Path) -> None:
    """In the child every call is refused; the parent's store goes on."""
    store = await SQLiteStore.open(tmp_path / "store.db")
    await started(store)
    late = batch()
    assert in_a_child(lambda: store.write(late)) == 0
    assert await written(store, late) == 2
    assert await store.alive(execution(holder=store.holder))
    await store.close()


def in_a_child(call: Callable[[], object]) -> int:
    """0 if the call says in a forked child that the store was opened before the fork."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call()
        except StoreError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
