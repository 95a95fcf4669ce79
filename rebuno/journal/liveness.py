"""Detects dead processes: each open store locks a file of its own, and the system drops the lock when the process dies.

The lock is `flock`: it works between processes of one machine, containers included, and not on network file systems.
"""

import fcntl
import os
import re
import socket
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from rebuno.errors import StoreForeign
from rebuno.journal.own_files import make_folder, mode_in, open_own
from rebuno.journal.records import Holder


def this_host() -> str:
    """The machine's name and the start of its boot id, so that equal names are told apart where the system has one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        boot = ""
    return f"{socket.gethostname()}/{boot}" if boot else socket.gethostname()


# How long the file of a dead store is kept where it is the only sign of its death, in seconds: longer than any lease.
KEEP_SECONDS: Final = 24 * 3600.0

# How an owner file is called; it is empty. Whatever else is in the folder is somebody else's.
_OWN_NAME: Final = re.compile(r"[0-9a-f]{32}\Z")


def own_folder(name: str) -> Path | None:
    """A folder for the owner files of this user's stores, below the system's for temporary files; None where that
    cannot be had safely: another user made it, or may write to it."""
    folder = Path(tempfile.gettempdir()) / f"rebuno-{os.getuid()}"
    try:
        for each in (folder, folder / name):
            each.mkdir(mode=0o700, exist_ok=True)
            found = each.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
                return None
    except OSError:
        return None
    return folder / name


class Owner:
    """This open store as a holder of leases. `folder` is None for a store in memory, which has no file.

    `shared`: all who may hold a lease keep their files in this folder, so one without a file is dead, and the files of
    the dead are removed at once. Otherwise a missing file says nothing: its store may be in another container or of
    another user.
    """

    def __init__(
        self, folder: Path | None, *, shared: bool = True, holds: bool = True, store: Path | None = None
    ) -> None:
        """`holds`: whether it may hold leases, and needs a file. `store`: the file whose mode says who may enter a
        folder that is made. Raises `OSError` or `StoreForeign` where the file cannot be made."""
        self._shared = shared
        self.holder: Final = Holder(uuid4().hex, this_host(), os.getpid())
        self._folder = folder
        self._file: int | None = None
        self._roles: list[int] = []
        if folder is not None and holds:
            make_folder(folder, folder if store is None else store)
            self._sweep()
            self._file = self._locked_file(folder / self.holder.owner)
            _OPEN.add(self)

    @property
    def file(self) -> Path | None:
        """The file that is locked; None for a store in memory."""
        return None if self._folder is None else self._folder / self.holder.owner

    def alive(self, holder: Holder) -> bool | None:
        """Whether the holder's process lives; None where only its lease can tell: it is of another host, or of a user
        whose files are closed to us."""
        if holder.owner == self.holder.owner:
            return True
        if holder.host != self.holder.host:
            return None
        if self._folder is None or not _OWN_NAME.match(holder.owner):
            return False if self._shared else None
        try:
            return _locked(self._folder / holder.owner, remove=self._shared)
        except FileNotFoundError:
            return False if self._shared else None
        except (PermissionError, StoreForeign):
            return None

    def claim(self, role: str) -> str | None:
        """Takes a role for as long as this is open; None, or who has it. Of all whose files are in one folder one has
        it, those in other containers too. Raises `OSError` or `StoreForeign` where its file cannot be made."""
        if self._folder is None:
            return None
        # Hidden: it is nobody's own file, and stays, for the next to take, who may be another user of the same group.
        file = _role_file(self._folder / f".{role}", mode_in(self._folder))
        self._roles.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.read(file, 1000).decode("utf-8", "replace") or "another process"
        os.ftruncate(file, 0)
        os.write(file, str(self.holder).encode())
        return None

    def close(self) -> None:
        """Removes the file and lets go of the lock."""
        if self._folder is not None and self._file is not None:
            _remove(self._folder / self.holder.owner)
        self.forget()

    def forget(self) -> None:
        """Closes this process's hold on its files; their locks go with the last one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        while self._roles:
            os.close(self._roles.pop())

    def _locked_file(self, path: Path) -> int:
        # INVARIANT: a file under its final name is locked, so one that can be locked is a dead store's.
        hidden = path.with_name(f".{path.name}")
        file = open_own(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode_in(path.parent))
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            hidden.rename(path)
        except OSError:
            os.close(file)
            hidden.unlink(missing_ok=True)
            raise
        return file

    def _sweep(self) -> None:
        assert self._folder is not None
        oldest = time.time() - KEEP_SECONDS
        for path in self._folder.iterdir():
            if not _OWN_NAME.match(path.name):
                continue
            with suppress(PermissionError, FileNotFoundError, StoreForeign):
                if self._shared or path.lstat().st_mtime < oldest:
                    _locked(path, remove=True)


def in_use(folder: Path) -> bool:
    """Whether an open store holds a file in this folder.

    Raises:
        PermissionError: a file is closed to us, so that nobody can tell.
    """
    if not folder.is_dir():
        return False
    for path in folder.iterdir():
        if _OWN_NAME.match(path.name):
            with suppress(FileNotFoundError, StoreForeign):
                if _locked(path, remove=False):
                    return True
    return False


def _role_file(path: Path, mode: int) -> int:
    with suppress(FileExistsError):
        return open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    return open_own(path, os.O_RDWR)


def _locked(path: Path, *, remove: bool) -> bool:
    """Whether somebody holds the file; one that nobody holds may be removed.

    Raises:
        PermissionError: it is closed to us.
        FileNotFoundError: it is not there.
        StoreForeign: it is no owner file.
    """
    file = open_own(path, os.O_RDONLY)
    try:
        # Shared: two that ask at once must not take each other for the owner.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # Ours are empty.
        if remove and os.fstat(file).st_size == 0:
            _remove(path)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _remove(path: Path) -> None:
    # What cannot be removed, as where the disk has become read-only, is a dead store's file from now on.
    with suppress(OSError):
        path.unlink()


_OPEN: Final[weakref.WeakSet[Owner]] = weakref.WeakSet()


def _in_child() -> None:
    # A forked child shares the lock: were it to keep the file, its dead parent would seem to live.
    for owner in list(_OPEN):
        owner.forget()


os.register_at_fork(after_in_child=_in_child)
