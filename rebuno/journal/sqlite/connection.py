"""Opens the file and checks it: its owner, its permissions, its schema version."""

import errno
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from rebuno.errors import SchemaTooNew, StoreCorrupt, StoreError, StoreForeign, StoreReadOnly, StoreUnreachable
from rebuno.journal.liveness import in_use
from rebuno.journal.migrate import migrations
from rebuno.journal.own_files import check_file, check_folder, check_index, kind, make_file
from rebuno.journal.pieces import PIECES
from rebuno.journal.sqlite.failures import named
from rebuno.journal.sqlite.marks import check_pair, first_mark
from rebuno.journal.sqlite.sql import SQL

MEMORY: Final = ":memory:"
# "rbno": tells our files from another application's.
APPLICATION_ID: Final = 0x72626E6F
# Before it, two connections that write and checkpoint at once can lose committed writes.
OLDEST_SQLITE: Final = (3, 51, 3)
_MIGRATIONS: Final = migrations(__package__)


class Patience:
    """How many `seconds` a connection waits for another process's write; none while it is `hurried`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.hurried = False
        self._start = 0.0

    def __call__(self, tries: int) -> bool:
        """SQLite's busy handler: asks again every millisecond or so, while SQLite's own sleeps up to 100 ms and starves
        beside a busy writer."""
        if tries == 0:
            self._start = time.monotonic()
        if self.hurried or time.monotonic() - self._start >= self.seconds:
            return False
        time.sleep(random.uniform(0.0003, 0.0015))
        return True


def connect(path: str, *, patience: Patience, create: bool, vfs: str | None) -> apsw.Connection:
    """An open connection to the store at `path`, with its schema up to date. Blocks. Without `create` one that may not
    be written is opened for reading only, where it can be read.

    Raises:
        StoreUnreachable: it is a directory or a link to itself, its folder is missing, or it does not exist and
            `create` is False.
        StoreForeign: it is a pipe, a socket or a device, or what stands beside it is not the store's own.
        StoreReadOnly, StoreCorrupt, SchemaTooNew, StoreBusy: as they say. Nothing of another's file is changed.
    """
    _check_library(path)
    with named(path):
        new = path == MEMORY or _is_new(Path(path), path, create)
        may_write = path == MEMORY or _may_write(Path(path), path, create)
        if path != MEMORY:
            _check_beside(Path(path), path)
            check_pair(Path(path).resolve(), path, vfs)
            if new and may_write:
                # SQLite would make it as the mask says, and its log and index after it.
                make_file(Path(path).resolve())
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if may_write else apsw.SQLITE_OPEN_READONLY
        connection = apsw.Connection(path, flags=flags, vfs=vfs)
        try:
            connection.set_busy_handler(patience)
            version = _recognise(connection, path)
            if not may_write:
                _check_current(version, path)
                return connection
            _prepare(connection, path, patience.seconds)
            if _migrate(connection, path, new):
                _settle(connection, patience)
            _use_pieces(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def connect_unchanged(path: str, *, patience: Patience) -> apsw.Connection:
    """An open connection to the store at `path`, of which nothing is written and no schema is brought up to date.
    Raises as `connect` without `create` does."""
    _check_library(path)
    with named(path):
        _is_new(Path(path), path, create=False)
        may_write = _may_write(Path(path), path, create=False)
        _check_beside(Path(path), path)
        check_pair(Path(path).resolve(), path, None)
        # Who may write opens it so: one who only reads leaves the files beside it behind.
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE if may_write else apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_handler(patience)
            connection.pragma("query_only", True)
            if _recognise(connection, path) == 0:
                raise _emptied(path)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_library(path: str) -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(
            f"apsw carries SQLite {apsw.sqlite_lib_version()}, {wanted} is needed; upgrade apsw", path=path
        )


def _is_new(file: Path, path: str, create: bool) -> bool:
    """Whether the file is yet to be made, or empty. Raises what forbids to open it."""
    # `Path` raises what forbids the look, and takes everything else that goes wrong for no.
    try:
        directory = file.is_dir()
    except PermissionError:
        raise StoreUnreachable(
            f"the store `{path}` is in a folder that may not be entered; ask for the right to", path=path
        ) from None
    if directory:
        raise StoreUnreachable(f"the store `{path}` is a directory; name a file in it", path=path)
    if _circular(file):
        raise StoreUnreachable(
            f"the store `{path}` cannot be found: its symbolic links go in a circle; name the file itself", path=path
        )
    if file.is_symlink() and not file.exists():
        raise StoreForeign(
            f"the store `{path}` is a symbolic link to a file that does not exist; name the file itself", path=path
        )
    folder = file.resolve().parent
    if not folder.is_dir():
        raise StoreUnreachable(f"the store `{path}` has no folder: `{folder}` does not exist; make it first", path=path)
    exists = file.exists()
    if not exists and not create:
        raise StoreUnreachable(f"there is no store at `{path}`; check the path", path=path)
    if exists and not file.is_file():
        raise StoreForeign(f"the store `{path}` is {kind(file.resolve())}, not a file; name a file", path=path)
    empty = exists and file.stat().st_size == 0
    if empty and (not create or (owners_folder(file).exists() and _stays_empty(file))):
        raise _emptied(path)
    if exists and _cut_off(file):
        raise StoreCorrupt(f"the store `{path}` is damaged; restore a copy (its last page is cut off)", path=path)
    return empty or not exists


def _check_beside(file: Path, path: str) -> None:
    """Refuses what stands under the names of the store's own files and is none of them. Raises `StoreForeign`."""
    store = file.resolve()
    try:
        for end in ("-wal", "-shm", "-journal"):
            check_file(_beside(file, end), store)
        check_index(_beside(file, "-shm"))
        check_folder(owners_folder(file), store)
    except StoreForeign as error:
        raise StoreForeign(f"the store `{path}` cannot be used: {error}", path=path) from None


def _may_write(file: Path, path: str, create: bool) -> bool:
    """Whether the file may be written; False where it can only be read. Raises `StoreReadOnly` where it cannot."""
    # WAL needs its companions beside the file, so the folder must be writable too.
    folder = file.resolve().parent
    refused = [place for place in (file, folder) if place.exists() and not os.access(place, os.W_OK)]
    if not refused:
        return True
    why = f"the store `{path}` cannot be written: `{refused[0]}` is read-only"
    if create:
        raise StoreReadOnly(why, path=path)
    # INVARIANT: who may not write makes none of them: those who may could not write them afterwards.
    if not all(_beside(file, end).exists() for end in ("-wal", "-shm")):
        raise StoreReadOnly(f"{why}; it can be read while another process has it open, or from a copy", path=path)
    return False


def _check_current(version: int, path: str) -> None:
    if version < len(_MIGRATIONS):
        raise StoreReadOnly(
            f"the store `{path}` is of an older version; who may write it must open it first", path=path
        )


def _beside(file: Path, end: str) -> Path:
    place = file.resolve()
    return place.with_name(f"{place.name}{end}")


def _emptied(path: str) -> StoreCorrupt:
    return StoreCorrupt(f"the store `{path}` is empty; restore a copy, or name another file", path=path)


def _stays_empty(file: Path) -> bool:
    """Whether nobody is making the store at this moment."""
    for _ in range(20):
        if file.stat().st_size > 0:
            return False
        time.sleep(0.01)
    return True


def owners_folder(file: Path) -> Path:
    """Where those who have the store at `file` open keep their owner files; it stays when they leave."""
    return _beside(file, "-owners")


def _cut_off(file: Path) -> bool:
    """Whether the file ends within a page, which SQLite would read as if zeros followed."""
    real = file.resolve()
    log = _beside(file, "-wal")
    if log.exists() and log.stat().st_size > 0:
        # Then the last page may stand there: a disk that was full cuts a page off without loss.
        return False
    # INVARIANT: nobody else closes a descriptor of a store's file: that would take from this process every lock that it
    # has on it, and with them from an open store its log of writes. SQLite keeps one that it must not close yet.
    with suppress(apsw.CantOpenError):
        store = apsw.VFSFile("", os.fspath(real), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
        try:
            head = store.xRead(18, 0)
            size = int.from_bytes(head[16:18]) if head.startswith(b"SQLite format 3\0") else 0
            return size > 0 and store.xFileSize() % (65536 if size == 1 else size) != 0
        finally:
            store.xClose()
    return False


def _circular(file: Path) -> bool:
    try:
        file.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _recognise(connection: apsw.Connection, path: str) -> int:
    """The version of the schema (0: none yet)."""
    application, version, schema = next(connection.execute(SQL["identity"]))
    empty = (application, version, schema) == (0, 0, 0)
    if application != APPLICATION_ID and not empty:
        raise StoreCorrupt(f"`{path}` is an SQLite file of another application; name another one", path=path)
    known = len(_MIGRATIONS)
    if version > known:
        raise SchemaTooNew(found=version, known=known, path=path)
    return int(version)


def _prepare(connection: apsw.Connection, path: str, patience: float) -> None:
    # SQLite does not ask the busy handler when two connections change to WAL at once.
    until = time.monotonic() + patience
    while True:
        try:
            mode = connection.pragma("journal_mode", "wal")
            break
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.005)
    if mode != "wal" and path != MEMORY:
        raise StoreUnreachable(f"the store `{path}` is where WAL does not work; use a local disk", path=path)
    connection.pragma("synchronous", "full")
    connection.pragma("foreign_keys", True)
    connection.pragma("journal_size_limit", 64 * 1024 * 1024)
    # In KiB where negative: the index of step ids is met at random places.
    connection.pragma("cache_size", -16_000)


def _settle(connection: apsw.Connection, patience: Patience) -> None:
    """Copies the log of a store that was just made into the file, so that the file bears its mark."""
    patience.hurried = True
    try:
        with suppress(apsw.Error):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        patience.hurried = False


def _use_pieces(connection: apsw.Connection, path: str) -> None:
    """Has long arguments written in pieces from now on, unless a process of an older version may have the store open:
    it could not read them."""
    if connection.execute(SQL["has-feature"], (PIECES,)).fetchone() is not None:
        return
    try:
        alone = not in_use(owners_folder(Path(path)))
    except PermissionError:
        return
    if alone:
        connection.execute(SQL["add-feature"], (PIECES, time.time()))


def _migrate(connection: apsw.Connection, path: str, new: bool) -> bool:
    """Brings the schema up to date; whether there was something to do."""
    if _recognise(connection, path) == len(_MIGRATIONS):
        return False
    connection.execute(SQL["begin"])
    try:
        # Another process may have been faster.
        found = _recognise(connection, path)
        if found == 0 and not new and owners_folder(Path(path)).exists():
            # It was a store, and all that it held stood in its log of writes, which is gone.
            raise _emptied(path)
        if found == len(_MIGRATIONS):
            connection.execute(SQL["rollback"])
            return False
        for migration in _MIGRATIONS[found:]:
            connection.execute(migration.sql)
            connection.pragma("user_version", migration.number)
        if found == 0:
            # No older version can open it.
            connection.execute(SQL["add-feature"], (PIECES, time.time()))
        connection.pragma("application_id", APPLICATION_ID)
        if path != MEMORY:
            first_mark(connection, Path(path).resolve())
        connection.execute(SQL["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(SQL["rollback"])
        raise
    return True
