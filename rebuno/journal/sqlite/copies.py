"""Copies of a store's file: made while it is in use, and put back in its place."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from rebuno.errors import StoreBusy, StoreCorrupt, StoreError, StoreForeign, StoreUnreachable
from rebuno.journal.liveness import in_use
from rebuno.journal.own_files import check_file, make_file
from rebuno.journal.sqlite.connection import APPLICATION_ID, Patience, connect, owners_folder
from rebuno.journal.sqlite.failures import named
from rebuno.journal.sqlite.marks import check_pair
from rebuno.journal.sqlite.sql import SQL

_PATIENCE: Final = 5.0
# Pages copied at once, so that writers wait for no longer than that takes.
_PAGES: Final = 1000
_BESIDE: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class CopiedStore:
    """A copy that was made or put back: its path, its size in bytes, how many executions it has, and when its newest
    event was written (seconds since 1970, 0: it has none). `kept` is where the file that it replaced stands now."""

    path: str
    size: int
    executions: int
    newest: float
    kept: str = ""


def backup(source: str | Path, target: str | Path) -> CopiedStore:
    """Copies a store as it stands at one moment into a new file, which only its owner may read. The store may be in
    use. Blocks.

    Raises:
        StoreUnreachable, StoreForeign, StoreCorrupt, StoreReadOnly, StoreBusy: the store cannot be read; or the target
            exists, or its folder does not.
    """
    shown = str(source)
    place = Path(target)
    if place.is_symlink() or place.exists():
        raise StoreForeign(f"`{place}` exists; name a new file, or remove it", path=str(place))
    if not place.resolve().parent.is_dir():
        raise StoreUnreachable(f"the folder of `{place}` does not exist; make it first", path=str(place))
    store = connect(shown, patience=Patience(_PATIENCE), create=False, vfs=None)
    with closing(store), named(shown), _made(place) as temporary:
        with closing(_connected(temporary)) as copy:
            _copy(store, copy)
            told = _told(copy, place)
        _synced(temporary)
        os.replace(temporary, place)
    _synced(place.resolve().parent)
    return told


def restore(source: str | Path, target: str | Path, *, by: str) -> CopiedStore:
    """Puts a copy in the place of a store that nobody has open, and says in it that it was restored: from then on a
    person is asked before anything runs in it that may not run twice, until that is accepted. What stood there is kept
    beside it. Blocks. `by` is the name of who does so.

    Raises:
        StoreBusy: a process has the store open.
        StoreCorrupt: the copy is damaged.
        StoreUnreachable, StoreForeign, SchemaTooNew, StoreReadOnly: the copy or the place of the store cannot be used.
    """
    place = Path(target).resolve()
    _check_place(Path(source), place)
    kept = ""
    with _alone_in(place.parent), _made(place) as temporary:
        with named(str(source)), closing(_read(Path(source))) as store, closing(_connected(temporary)) as copy:
            _copy(store, copy)
            _check_whole(copy, str(source))
            told = _told(copy, Path(target))
        # By the newest version, so that an older copy has the table.
        copied = connect(os.fspath(temporary), patience=Patience(_PATIENCE), create=False, vfs=None)
        with closing(copied), named(str(target)):
            copied.execute(SQL["add-restoration"], (time.time(), by))
            _alone(copied)
        for end in _BESIDE:
            with suppress(FileNotFoundError):
                os.unlink(temporary.with_name(temporary.name + end))
        _remove_folder(owners_folder(temporary))
        _synced(temporary)
        if place.exists():
            _check_nobody_else(place)
            kept = _keep(place)
        try:
            # A log that was left would be written into the copy.
            for end in _BESIDE:
                with suppress(FileNotFoundError):
                    os.rename(place.with_name(place.name + end), f"{kept or _kept(place)}.left{end}")
            os.replace(temporary, place)
        except BaseException:
            # A store under two names would have two logs, where somebody opens both.
            if kept and place.exists():
                os.unlink(kept)
            raise
    _synced(place.parent)
    return CopiedStore(str(target), place.stat().st_size, told.executions, told.newest, kept)


def _check_place(source: Path, place: Path) -> None:
    if not place.parent.is_dir():
        raise StoreUnreachable(f"the folder of `{place}` does not exist; make it first", path=str(place))
    if source.exists() and place.exists() and os.path.samefile(source, place):
        raise StoreForeign(f"`{source}` is the store itself, not a copy of it", path=str(source))
    if place.exists() and not place.is_file():
        raise StoreForeign(f"`{place}` is not a file; name a file", path=str(place))
    for end in _BESIDE:
        check_file(place.with_name(place.name + end), place)
    try:
        used = in_use(owners_folder(place))
    except PermissionError:
        raise StoreBusy(
            f"another user may have the store `{place}` open; ask them to do this", path=str(place)
        ) from None
    if used:
        raise StoreBusy(f"the store `{place}` is open in another process; end it first", path=str(place))


def _check_nobody_else(place: Path) -> None:
    """Raises `StoreBusy` where another connection has the file open: who only reads holds no file of its own."""
    try:
        check_pair(place, str(place), None)
        old = apsw.Connection(os.fspath(place), flags=apsw.SQLITE_OPEN_READWRITE)
    except (StoreForeign, apsw.Error):
        # What no store can open nobody uses; and SQLite would write a foreign log into it.
        return
    with closing(old):
        old.set_busy_timeout(1000)
        try:
            # Only the one connection that has the file may leave the mode with a log beside it.
            mode = old.pragma("journal_mode", "delete")
        except apsw.BusyError:
            mode = "wal"
        except apsw.Error:
            mode = ""
    if mode == "wal":
        raise StoreBusy(f"the store `{place}` is open in another process; end it first", path=str(place))


def _connected(file: Path) -> apsw.Connection:
    return apsw.Connection(os.fspath(file), flags=apsw.SQLITE_OPEN_READWRITE)


def _read(copy: Path) -> apsw.Connection:
    """A copy, opened so that nothing of it changes."""
    if not copy.is_file():
        raise StoreUnreachable(f"there is no copy at `{copy}`; check the path", path=str(copy))
    log = copy.resolve().with_name(f"{copy.resolve().name}-wal")
    if log.exists() and log.stat().st_size:
        why = (
            f"`{copy}` has a log of writes beside it; `rebuno store backup --db {copy} NEW` makes a copy that is whole"
        )
        raise StoreForeign(why, path=str(copy))
    return apsw.Connection(
        f"{copy.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )


def _copy(store: apsw.Connection, copy: apsw.Connection) -> None:
    copy.pragma("journal_mode", "delete")
    with copy.backup("main", store, "main") as work:
        while not work.done:
            work.step(_PAGES)
    _alone(copy)


def _alone(copy: apsw.Connection) -> None:
    """The copy is one file, with no log beside it."""
    copy.pragma("journal_mode", "delete")


def _check_whole(copy: apsw.Connection, shown: str) -> None:
    (found,) = next(iter(copy.execute("PRAGMA quick_check(1)")))
    if found != "ok":
        raise StoreCorrupt(f"the copy `{shown}` is damaged: {found}; use another one", path=shown)


def _told(copy: apsw.Connection, place: Path) -> CopiedStore:
    if copy.pragma("application_id") != APPLICATION_ID:
        raise StoreForeign(f"`{place}` is an SQLite file of another application; name another one", path=str(place))
    executions, newest = next(iter(copy.execute(SQL["copied"])))
    size = copy.pragma("page_count") * copy.pragma("page_size")
    return CopiedStore(str(place), size, executions, newest or 0.0)


@contextmanager
def _made(place: Path) -> Iterator[Path]:
    """An empty file beside `place` that only its owner may read; it is gone at the end, unless it was renamed."""
    temporary = place.resolve().with_name(f".{place.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        if not make_file(temporary):
            raise StoreError(f"`{temporary}` exists already", path=str(temporary))
        yield temporary
    except OSError as error:
        raise StoreUnreachable(f"`{place}` cannot be written: {error.strerror or error}", path=str(place)) from error
    finally:
        for end in ("", *_BESIDE):
            with suppress(FileNotFoundError):
                os.unlink(temporary.with_name(temporary.name + end))
        _remove_folder(owners_folder(temporary))


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _kept(place: Path) -> str:
    """A name for what stood there that nothing has."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = place.with_name(f"{place.name}.before-restore-{stamp}")
    number = 1
    while name.exists():
        number += 1
        name = place.with_name(f"{place.name}.before-restore-{stamp}-{number}")
    return os.fspath(name)


def _keep(place: Path) -> str:
    """Gives what stands there a second name, so that a store stands there at every moment: who dies here, or opens it
    now, makes no empty one."""
    while True:
        kept = _kept(place)
        try:
            os.link(place, kept)
        except FileExistsError:
            continue
        except OSError:
            # A file system without hard links.
            os.rename(place, kept)
        return kept


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One restore at a time in a folder: the second would take the name under which the first keeps a store."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Where the file system has no locks, it is up to the operator.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _synced(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
