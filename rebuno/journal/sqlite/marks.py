"""Keeps the mark of the log under one open store, and looks before each write whether the file is still the one that
the log belongs to."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from rebuno.errors import StoreForeign
from rebuno.journal.own_files import SAFE_FLAGS
from rebuno.journal.sqlite.file_watch import taken_away
from rebuno.journal.sqlite.log_mark import NONE, FileState, LogState, Mark, fault, read_file, read_log, read_marked
from rebuno.journal.sqlite.sql import SQL

# How often, and after how many seconds, a file and a log that seem to be strangers are looked at again: a process of an
# earlier version, or another program, may be copying the log at this moment.
_LOOKS: Final = 20
_PAUSE: Final = 0.025
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")


def check_pair(file: Path, shown: str, vfs: str | None) -> None:
    """Refuses a store whose log belongs to another file, before SQLite copies it. Blocks.

    Raises:
        StoreForeign: so it is. Nothing was changed.
    """
    for look in range(_LOOKS):
        try:
            why = _pair_fault(file, vfs)
        except OSError:
            # Whatever it is, SQLite says it better.
            return
        if not why:
            return
        if look < _LOOKS - 1:
            time.sleep(_PAUSE)
    raise strangers(shown, why)


def _pair_fault(file: Path, vfs: str | None) -> str:
    # INVARIANT: a store's file is made before it has a journal, and is not empty any more before it has a log.
    journal = _journal_of(file)
    if journal and not file.exists():
        return "the file is not there, and has a rollback journal"
    if _size_of(file) == 0:
        log = read_log(log_of(file))
        # SQLite would remove it. Another process may be making the store at this moment.
        if log.stray or (log.frames and _size_of(file) == 0):
            return fault(FileState(0, 0, 0, readable=True), log) or "the file is empty"
        return _journal_fault(journal)
    state = read_file(file, vfs)
    if journal and state.mark is not None:
        return "it has a rollback journal, and no store writes one"
    log = read_log(log_of(file))
    return _journal_fault(journal) or fault(read_marked(file, state, log, vfs), log)


def _journal_of(file: Path) -> bytes:
    """How the file's rollback journal begins, empty where it has none. One may be left by a process that was killed
    while it made the store."""
    try:
        opened = os.open(file.with_name(f"{file.name}-journal"), os.O_RDONLY | SAFE_FLAGS)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(opened, len(_JOURNAL_MAGIC), 0)
    finally:
        os.close(opened)


def _journal_fault(begins: bytes) -> str:
    strange = any(begins) and not _JOURNAL_MAGIC.startswith(begins)
    return "what is called like its rollback journal is none" if strange else ""


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def strangers(shown: str, why: str) -> StoreForeign:
    """The error for a file and a log that do not belong together."""
    return StoreForeign(
        f"the store `{shown}` and its log of writes `{shown}-wal` do not belong together: {why}; nothing was changed. "
        f"To go on with the file as it is, move `{shown}-wal`, `-shm` and `-journal` away; to go on where the log "
        "ends, put the file back that was there",
        path=shown,
    )


def log_of(file: Path) -> Path:
    """Where the log of a store's file is."""
    return file.with_name(f"{file.name}-wal")


def first_mark(connection: apsw.Connection, file: Path) -> None:
    """Puts the mark of a store that is made or brought up to date, inside that transaction. The log is copied next."""
    row = connection.execute(SQL["mark"]).fetchone()
    known = Mark.read(row[0]) if row is not None else None
    number, before = os.urandom(8), NONE if known is None else known.number
    put(connection, _described(connection, file, Mark(number, before)).sealed())


def put(connection: apsw.Connection, mark: Mark) -> None:
    """Writes the row."""
    connection.execute(SQL["put-mark"], (mark.to_bytes(),))


def _described(connection: apsw.Connection, file: Path, mark: Mark) -> Mark:
    found = os.stat(file)
    log_inode = 0
    with suppress(OSError):
        log_inode = os.stat(log_of(file)).st_ino
    cookie = int(connection.pragma("schema_version"))
    return Mark(mark.number, mark.before, cookie, found.st_ino, log_inode, found.st_mtime_ns, mark.copied)


class Marks:
    """The mark under one connection, which is used by anyone who has the writer's turn.

    INVARIANT: before the log is copied into the file its mark says so (`seal`), so a file that has changed while no
    mark says so was changed by somebody else.
    """

    def __init__(self, connection: apsw.Connection, file: Path | None, shown: str) -> None:
        """`file` is None for a store in memory, and for one that is only read: neither has a log to write."""
        self._connection = connection
        self._file = file
        self._vfs: str | None = connection.open_vfs
        self._shown = shown
        # Whether the next change is to bring a new mark: the log may begin anew with it.
        self._due = True
        self._putting: Mark | None = None
        self._known: bytes | None = None
        # The file as it was when it was ours, its mark, and whether its log had frames then.
        self._seen: tuple[int, int, int] | None = None
        self._in_file: bytes | None = None
        self._had_frames = False
        self._path = "" if file is None else os.fspath(file)
        if file is not None:
            row = connection.execute(SQL["mark"]).fetchone()
            mark = None if row is None else Mark.read(row[0])
            self._known = None if mark is None else mark.number
            # Before the file is looked at: another process may be copying all of the log at this moment.
            self._had_frames = self._log_size() > 0
            self._see()

    def renewed(self) -> None:
        """The log has begun anew, or may with the next change."""
        self._due = True

    def undisturbed(self) -> bool:
        """Whether the file is as it was seen last, at the price of one look at its entry."""
        return self._file is None or self._entry() == self._seen

    def begin(self) -> None:
        """At the start of a transaction that writes: makes sure that the file is ours, and puts the mark that is due.

        Raises:
            StoreForeign, StoreUnreachable: it is not, or is another or gone; nothing was written.
            apsw.Error
        """
        if self._file is None:
            return
        entry = self._entry()
        if entry != self._seen:
            if self._seen is not None and (entry is None or entry[0] != self._seen[0]):
                raise taken_away(self._shown, self._path)
            self._look()
            self._due = True
        self._putting = None
        if self._due:
            row = self._connection.execute(SQL["mark"]).fetchone()
            old = None if row is None else Mark.read(row[0])
            mark = Mark(os.urandom(8), NONE) if old is None else old.next(os.urandom(8))
            self._putting = _described(self._connection, self._file, mark)
            put(self._connection, self._putting)

    def committed(self) -> None:
        """What was put is on the disk."""
        if self._putting is not None:
            self._due, self._known, self._putting = False, self._putting.number, None
        self._had_frames = True

    def seal(self) -> bool:
        """Says in the mark that the log is about to be copied into the file; False where there is nothing to copy.

        Raises:
            StoreForeign, StoreUnreachable: the file is not ours, and nothing may be copied into it.
            apsw.Error
        """
        if self._file is None or not self._log_size():
            return False
        self._connection.execute(SQL["begin"])
        try:
            self.begin()
            row = self._connection.execute(SQL["mark"]).fetchone()
            mark = None if row is None else Mark.read(row[0])
            if mark is not None and not mark.copied:
                put(self._connection, mark.sealed())
            self._connection.execute(SQL["commit"])
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute(SQL["rollback"])
            raise
        self.committed()
        return True

    def copied(self, *, whole: bool) -> None:
        """We have copied the log, wholly or in part: the file has changed, and the log may begin anew."""
        self._see()
        self._due = True
        if whole and self._in_file != self._known and self._seen is not None:
            # Somebody wrote to it meanwhile: the next write looks who.
            self._in_file, self._seen = self._known, (self._seen[0], -1, -1)

    def leave(self) -> None:
        """From now on the log is not copied into the file any more, not even by closing."""
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def _entry(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _see(self) -> None:
        assert self._file is not None
        self._seen = self._entry()
        with suppress(OSError):
            found = read_file(self._file, self._vfs)
            self._in_file = None if found.mark is None else found.mark.number

    def _log_size(self) -> int:
        assert self._file is not None
        try:
            return os.stat(log_of(self._file)).st_size
        except OSError:
            return 0

    def _look(self) -> None:
        """The file is not as it was seen last. Raises `StoreForeign` where none of us has changed it."""
        assert self._file is not None
        why = ""
        for look in range(_LOOKS):
            try:
                state, log = read_file(self._file, self._vfs), read_log(log_of(self._file))
                state = read_marked(self._file, state, log, self._vfs)
            except OSError:
                why = "the file is gone"
            else:
                why = self._fault(state, log)
                if not why:
                    self._seen = (state.inode, state.changed_ns, state.size)
                    self._in_file = None if state.mark is None else state.mark.number
                    if not log.frames:
                        self._known = self._in_file
                    return
            if look < _LOOKS - 1:
                time.sleep(_PAUSE)
        raise strangers(self._shown, why)

    def _fault(self, state: FileState, log: LogState) -> str:
        if not log.frames:
            return self._alone_fault(state)
        numbers = {mark.number for mark in log.marks}
        if log.marks and self._in_file in numbers and (state.mark is None or state.mark.number not in numbers):
            # All of the log may be in the file, and nothing of it is read from the log any more.
            return "the file was written over while it was open"
        return fault(state, log, live=True)

    def _alone_fault(self, state: FileState) -> str:
        """The same where the log is empty. Where it was not before, somebody has copied all of it and cut it off, which
        other programs may; where it was, the file must be as it was, or what the next log made of it."""
        if state.mark is None:
            return "the file has no mark"
        if self._had_frames or state.mark.before == self._known:
            return ""
        return "the file was written over while it was open"
