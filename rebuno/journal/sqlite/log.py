"""SQLite's log of writes (`-wal`): grown ahead of the commits, and copied into the file once it is long."""

import os
from contextlib import AbstractContextManager, suppress
from typing import Final

import apsw

from rebuno.errors import StoreError
from rebuno.journal.own_files import SAFE_FLAGS
from rebuno.journal.sqlite.connection import Patience
from rebuno.journal.sqlite.file_watch import FileWatch
from rebuno.journal.sqlite.marks import Marks
from rebuno.journal.sqlite.sql import SQL

# In pages. Each copy into the file costs two syncs more than the commits that it follows.
LONG: Final = 4000
# How many pages a log that could not be copied whole grows until the next try.
_AGAIN: Final = 1000
# In bytes: a log as short as this is left as it is; a longer one is grown ahead by a stride once it has less than the
# least left.
_SHORT: Final = 256 * 1024
_STRIDE: Final = 1024 * 1024
_LEAST: Final = 512 * 1024
# In bytes: what the disk must have left for that.
_SPARE: Final = 256 * 1024 * 1024
# A page with its header.
_FRAME: Final = 4096 + 24
_ZEROS: Final = bytes(64 * 1024)


class Log:
    """The log under one connection. A sync that moves the end of a file takes about twice as long as one that does not,
    so a busy log gets zeros at its end, which SQLite reads as no frames.

    INVARIANT: `connection` is used only by the thread that holds the lock given to `tend`.
    """

    def __init__(self, connection: apsw.Connection, patience: Patience, marks: Marks, watch: FileWatch | None) -> None:
        self._connection = connection
        self._marks = marks
        self._patience = patience
        # A store in memory has none.
        self._path, self._identity = ("", None) if watch is None else watch.log
        self._pages = 0
        self._copy_at = LONG
        # Up to where no commit moves the end; 0: it was not looked at yet, or will not be any more.
        self._size = 0
        # Another VFS may keep something else in its files than SQLite's pages; macOS has no `fdatasync`.
        self._grows = self._identity is not None and connection.open_vfs == "unix" and hasattr(os, "fdatasync")
        # It takes the place of SQLite's own copying, which would come within a commit.
        connection.set_wal_hook(self._committed)

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:
            # It begins at its start again: all of it had been copied.
            self._copy_at = LONG
            self._marks.renewed()
        self._pages = pages
        return apsw.SQLITE_OK

    @property
    def due(self) -> bool:
        """Whether `tend` has something to do."""
        return self._pages >= self._copy_at or self._short_of_room()

    def _short_of_room(self) -> bool:
        used = self._pages * _FRAME
        return self._grows and used > _SHORT and used + _LEAST > self._size

    def tend(self, turn: AbstractContextManager[object]) -> None:
        """Copies or grows the log, holding `turn` meanwhile. What fails is tried again later, or left; the next write
        says so where the file is not ours any more."""
        if self._pages >= self._copy_at:
            self._copy_at = self._pages + _AGAIN
            with turn, suppress(apsw.Error, StoreError):
                self._marks.seal()
                whole = False
                try:
                    long, done = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    whole = long == done
                finally:
                    self._marks.copied(whole=whole)
        elif self._short_of_room():
            self._grow(turn)

    def _grow(self, turn: AbstractContextManager[object]) -> None:
        try:
            with open(self._path, "r+b", buffering=0, opener=_safely) as file:
                with turn:
                    self._append(file.fileno())
                # Not within a commit, and while others commit.
                os.fdatasync(file)
        except OSError:
            self._grows = False

    def _append(self, file: int) -> None:
        """Adds zeros; raises `OSError`, and takes them back, where the disk has no room for them."""
        found = os.fstat(file)
        left = os.fstatvfs(file)
        if (found.st_dev, found.st_ino) != self._identity or left.f_bavail * left.f_frsize < _SPARE:
            self._grows = False
            return
        # It can wait for longer than those who wait for the turn.
        self._patience.hurried = True
        try:
            # INVARIANT: who may write has this lock, so the end of the log stays where it is meanwhile.
            self._connection.execute(SQL["begin"])
        except apsw.Error:
            return
        finally:
            self._patience.hurried = False
        try:
            if not self._marks.undisturbed():
                # The next write looks what became of the file.
                return
            end = os.fstat(file).st_size
            try:
                for offset in range(end, end + _STRIDE, len(_ZEROS)):
                    os.pwrite(file, _ZEROS, offset)
            except OSError:
                os.ftruncate(file, end)
                raise
            self._size = end + _STRIDE
        finally:
            with suppress(apsw.Error):
                self._connection.execute(SQL["rollback"])


def _safely(path: str, flags: int) -> int:
    return os.open(path, flags | SAFE_FLAGS)
