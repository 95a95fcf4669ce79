"""The mark that ties a store's file to its log of writes (`-wal`).

SQLite copies every frame of a log with sound checksums into whatever file stands beside it: into a copy that was put in
the place of the file too, which that destroys. So the first change that is written to a log also writes a row of our
own, the mark: a random number for this log, the number of the log before, and what the file looked like. Read apart,
the file holds the mark of this log or of the one before, or it is another file.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import apsw

from rebuno.journal.sqlite.sql import SQL
from rebuno.model.dataclass import dataclass

_MAGIC: Final = b"rbno-log"
# Number, number of the log before, schema cookie, inodes of the file and its log, time of the file's last change in
# nanoseconds, whether the log may have been copied into the file.
_BODY: Final = struct.Struct(">8s8s8sIQQq?")
_SIZE: Final = _BODY.size + 4
# How the only row of the table stands in its page: its length, its key, two types (none, a blob), the mark.
_CELL: Final = bytes((_SIZE + 3, 1, 3, 0, 2 * _SIZE + 12)) + _MAGIC
_LEAF: Final = 13
NONE: Final = bytes(8)

_WAL_HEADER: Final = 32
# How a log begins, its last byte apart; one that was made and not written yet, or that a power cut took, has zeros.
_WAL_MAGIC: Final = b"\x37\x7f\x06"
_FRAME_HEADER: Final = struct.Struct(">6I")
_CHUNK_FRAMES: Final = 256
# Of page 1: the schema's cookie, our number of its version, the application.
_IDENTITY: Final = struct.Struct(">I16xI4xI")
_IDENTITY_AT: Final = 40
_FILE_MAGIC: Final = b"SQLite format 3\0"

Identity = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """One state of the row. `copied`: the log may have been copied into the file, wholly or in part, since the row was
    first written to this log."""

    number: bytes
    before: bytes
    cookie: int = 0
    file_inode: int = 0
    log_inode: int = 0
    changed_ns: int = 0
    copied: bool = False

    def next(self, number: bytes) -> "Mark":
        """The mark of the log that follows."""
        return Mark(number, self.number)

    def sealed(self) -> "Mark":
        """The same, once the log may be copied."""
        return replace(self, copied=True)

    def to_bytes(self) -> bytes:
        """What the row holds."""
        body = _BODY.pack(
            _MAGIC,
            self.number,
            self.before,
            self.cookie & 0xFFFFFFFF,
            self.file_inode & (2**64 - 1),
            self.log_inode & (2**64 - 1),
            self.changed_ns,
            self.copied,
        )
        return body + struct.pack(">I", zlib.crc32(body))

    @staticmethod
    def read(data: bytes) -> "Mark | None":
        """What such bytes say; None where they are damaged, as where a page is torn."""
        if len(data) != _SIZE or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:]):
            return None
        magic, *fields = _BODY.unpack(data[:-4])
        return Mark(*fields) if magic == _MAGIC else None


@dataclass(frozen=True, slots=True)
class FileState:
    """A store's file read apart from its log: `mark` is None where it has none, `readable` False where it is no
    database that can be read by itself."""

    inode: int
    changed_ns: int
    size: int
    readable: bool
    identity: Identity = (0, 0, 0)
    mark: Mark | None = None
    # When its entry changed last: a file that is put in another's place is put there after its log was written.
    entered_ns: int = 0


@dataclass(frozen=True, slots=True)
class LogState:
    """A log: what SQLite would take for its frames. `marks` and `identities` (of page 1) stand in the log's order.
    `begun_marked`: its first transaction brought a mark. `stray`: it is no log, but something else under its name.
    `mark_at`: where the mark's page stands in the file, and how long it is."""

    inode: int
    changed_ns: int
    frames: int = 0
    marks: tuple[Mark, ...] = ()
    identities: tuple[Identity, ...] = ()
    begun_marked: bool = False
    stray: bool = False
    mark_at: tuple[int, int] = (0, 0)


def read_file(file: Path, vfs: str | None) -> FileState:
    """Reads a store's file as if it had no log. Raises `OSError` where it cannot be looked at.

    INVARIANT: through SQLite, which closes no descriptor of a file on which this process has locks.
    """
    found = os.stat(file)
    try:
        connection = apsw.Connection(
            f"{file.as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, vfs=vfs
        )
        try:
            application, version, _ = next(connection.execute(SQL["identity"]))
            identity = (int(connection.pragma("schema_version")), int(version), int(application) & 0xFFFFFFFF)
            has = connection.execute(SQL["has-mark"]).fetchone() is not None
            row = connection.execute(SQL["mark"]).fetchone() if has else None
        finally:
            connection.close()
    except apsw.Error:
        entered_ns = found.st_ctime_ns
        return FileState(found.st_ino, found.st_mtime_ns, found.st_size, readable=False, entered_ns=entered_ns)
    mark = None if row is None else Mark.read(row[0])
    readable = row is None or mark is not None
    return FileState(found.st_ino, found.st_mtime_ns, found.st_size, readable, identity, mark, found.st_ctime_ns)


def read_marked(file: Path, state: FileState, log: LogState, vfs: str | None) -> FileState:
    """The same file by its pages alone, where it cannot be read as a database: a log that was copied in part, as far as
    a reader lets it, leaves pages of several moments. As it was where they say nothing."""
    at, size = log.mark_at
    if state.readable or not size:
        return state
    with suppress(apsw.Error):
        # Through SQLite too, for the same reason.
        opened = apsw.VFSFile(vfs or "", os.fspath(file), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
        try:
            head, page = opened.xRead(100, 0), opened.xRead(size, at)
        finally:
            opened.xClose()
        mark = _mark_in(page) if len(page) == size else None
        if mark is not None and head.startswith(_FILE_MAGIC):
            return replace(state, readable=True, identity=_IDENTITY.unpack_from(head, _IDENTITY_AT), mark=mark)
    return state


def read_log(log: Path) -> LogState:
    """Reads a log. Raises `OSError` where it cannot be read; one that is not there has no frames."""
    try:
        opened = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return LogState(0, 0)
    try:
        found = os.fstat(opened)
        header = os.pread(opened, _WAL_HEADER, 0)
        size = _page_size(header)
        stray = any(header[:3]) and not _WAL_MAGIC.startswith(header[:3])
        frames, marks, identities = 0, [], []
        begun = begun_marked = False
        mark_at = (0, 0)
        if size:
            for page_number, ends, page in _pages(opened, size, header[16:24]):
                frames += 1
                if page_number == 1:
                    identities.append(_IDENTITY.unpack_from(page, _IDENTITY_AT))
                elif (mark := _mark_in(page)) is not None:
                    marks.append(mark)
                    mark_at = ((page_number - 1) * size, size)
                    begun_marked = begun_marked or not begun
                begun = begun or ends
    finally:
        os.close(opened)
    return LogState(
        found.st_ino, found.st_mtime_ns, frames, tuple(marks), tuple(identities), begun_marked, stray, mark_at
    )


def _page_size(header: bytes) -> int:
    """The size of a page; 0 where SQLite would take the log for empty."""
    if len(header) < _WAL_HEADER or header[:3] != _WAL_MAGIC or header[3] not in (0x82, 0x83):
        return 0
    words = struct.unpack(">6I" if header[3] & 1 else "<6I", header[:24])
    first = second = 0
    for at in range(0, 6, 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    if struct.pack(">2I", first, second) != header[24:32]:
        return 0
    size = int.from_bytes(header[8:12])
    return size if 512 <= size <= 65536 else 0


def _pages(opened: int, size: int, salts: bytes) -> Iterator[tuple[int, bool, bytes]]:
    """The frames that belong to the log as it was last begun: the number of each page, whether a transaction ends with
    it, and the page."""
    step = _FRAME_HEADER.size + size
    at = _WAL_HEADER
    while data := os.pread(opened, _CHUNK_FRAMES * step, at):
        for start in range(0, len(data) - step + 1, step):
            if data[start + 8 : start + 16] != salts:
                return
            number, ends = int.from_bytes(data[start : start + 4]), any(data[start + 4 : start + 8])
            yield number, ends, data[start + _FRAME_HEADER.size : start + step]
        if len(data) % step:
            return
        at += len(data)


def _mark_in(page: bytes) -> Mark | None:
    """The mark, where this is the page of its table."""
    if page[0] != _LEAF or page[3:5] != b"\x00\x01":
        return None
    cell = int.from_bytes(page[8:10])
    if page[cell : cell + len(_CELL)] != _CELL:
        return None
    start = cell + len(_CELL) - len(_MAGIC)
    return Mark.read(page[start : start + _SIZE])


def fault(file: FileState, log: LogState, *, live: bool = False) -> str:
    """Why a file and its log do not belong together, in words; empty where they do, or where nothing speaks against it.
    `live`: the log is in use, so that it was written after the file was put there only if we did it.

    What counts as proof: the file's mark is that of this log or of the one before; its schema is as old as the mark
    says (a copy that SQLite makes counts its schema anew); and a file that this log was not copied into is as old as it
    was when the log began. That last is no proof where another version, or another program, began the log: it may have
    copied what came before the mark.
    """
    if log.stray:
        return "what is called like its log is none"
    if not log.frames:
        return ""
    if not log.marks:
        return _unmarked_fault(file, log)
    first, copied = log.marks[0], any(mark.copied for mark in log.marks)
    if not file.readable:
        # Where a copying was cut off, a page may be torn, and the log has it whole.
        return "" if copied or first.before == NONE else "the file cannot be read by itself"
    if file.mark is None:
        return "" if first.before == NONE else "the file has no mark"
    numbers = {mark.number for mark in log.marks}
    if file.mark.number not in numbers and file.mark.number != first.before:
        return "the log was begun after another state of the file"
    if first.before == NONE:
        return ""
    cookies = {mark.cookie for mark in log.marks} | {identity[0] for identity in log.identities}
    if file.identity[0] not in cookies:
        return "the file is a copy that was made while the log was written"
    last = log.marks[-1]
    replaced = last.log_inode == log.inode and last.file_inode != file.inode
    # Where both were copied, the log may have got its number again once it was removed; it came last then.
    if replaced and (live or file.entered_ns > log.changed_ns):
        return "the file was replaced after the log was begun"
    changed_ns = max(mark.changed_ns for mark in log.marks)
    written_over = (
        not copied
        and log.begun_marked
        and file.mark.number == first.before
        and (last.log_inode, last.file_inode) == (log.inode, file.inode)
        and file.changed_ns > changed_ns
        # Where both were put back, the log came last.
        and (live or file.changed_ns > log.changed_ns)
    )
    return "the file was written over after the log was begun" if written_over else ""


def _unmarked_fault(file: FileState, log: LogState) -> str:
    """The same where no version that marks its logs has written to the log."""
    if not file.readable or not log.identities:
        return ""
    cookie, version, application = file.identity
    if (cookie, version) == (0, 0):
        # All that it is stands in the log.
        return ""
    if all(identity[2] != application for identity in log.identities):
        return "the log is another application's"
    newest = max(identity[1] for identity in log.identities)
    if version > newest:
        return "the log was written to an older version of the store"
    if version == newest and all(identity[0] != cookie for identity in log.identities):
        return "the log was written to another file"
    return ""
