"""Checks that a file beside a store is the store's own before it is opened, locked or removed.

A link, a pipe, a socket or a device under the name of such a file is somebody else's, and so is a file of a user who
has no right to write the store: nothing is read from it, written to it or removed.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from rebuno.errors import StoreForeign

_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISREG, "a file"),
)

_SECOND_NAME: Final = "it has a second name"

# In bytes: an index grows by pages, and SQLite cuts one that was left down to a few bytes before it makes it anew.
_INDEX_PAGE: Final = 4096
_INDEX_LEFT: Final = 3

# Who writes or locks a file of ours neither follows a link nor waits for the other end of a pipe.
SAFE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def check_file(file: Path, store: Path) -> None:
    """Whether what stands at `file`, if anything does, is a regular file of a user who may write `store`, and has this
    one name.

    Raises:
        StoreForeign: it is not. It names the file.
        PermissionError: the folder may not be entered.
    """
    found = _found(file)
    if found is not None:
        _check(file, found, "a file", stat.S_ISREG(found.st_mode), _found(store, follow=True))
        if found.st_nlink > 1:
            raise _foreign(file, _SECOND_NAME)


def check_index(file: Path) -> None:
    """Whether what stands at `file` may be an index of a log, by its size. Raises `StoreForeign`.

    INVARIANT: it is not opened: to close it would take this process's locks on it from a store that is open.
    """
    found = _found(file)
    if found is not None and found.st_size % _INDEX_PAGE and found.st_size != _INDEX_LEFT:
        raise _foreign(file, "it is no index of a log")


def check_folder(folder: Path, store: Path) -> None:
    """The same for a folder that holds files of the store. Raises as `check_file`."""
    found = _found(folder)
    if found is not None:
        _check(folder, found, "a folder", stat.S_ISDIR(found.st_mode), _found(store, follow=True))


def make_file(file: Path) -> bool:
    """Makes an empty file that only its owner may read and write, whatever the mask says; False where something has
    that name. Raises `OSError` as the system does.

    INVARIANT: no descriptor of it is opened under its name. To close one would take every lock from a thread of this
    process that has opened the file meanwhile.
    """
    try:
        os.mknod(file, 0o600 | stat.S_IFREG)
    except FileExistsError:
        return False
    except PermissionError:
        # Some systems let only their administrator do that.
        return _make_linked(file)
    if stat.S_IMODE(os.lstat(file).st_mode) != 0o600:
        os.chmod(file, 0o600)
    return True


def _make_linked(file: Path) -> bool:
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFE_FLAGS, 0o600))
    try:
        os.link(temporary, file)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def make_folder(folder: Path, store: Path) -> None:
    """Makes a folder for files of the store, if nothing has its name: its owner may enter it, and a group that may
    write the store, whatever the mask says. Raises `OSError`."""
    found = _found(store, follow=True)
    of_group = found is not None and bool(found.st_mode & stat.S_IWGRP)
    mode = 0o770 if of_group else 0o700
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        return
    if stat.S_IMODE(folder.lstat().st_mode) & 0o777 != mode:
        # What the group's own folders pass on (the setgid bit) stays.
        folder.chmod(mode | (folder.lstat().st_mode & stat.S_ISGID))


def mode_in(folder: Path) -> int:
    """The mode of a file that is made in a folder: its owner's alone, unless the group may write the folder."""
    return 0o660 if folder.stat().st_mode & stat.S_IWGRP else 0o600


def open_own(file: Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a regular file that has this one name; where it is made, it has the mode `mode`.

    Raises:
        FileNotFoundError, PermissionError, OSError: as the system says.
        StoreForeign: it is something else; a pipe is not waited for and a link not followed.
    """
    try:
        opened = os.open(file, flags | SAFE_FLAGS, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR, errno.ENODEV):
            raise _foreign(file, f"it is {kind(file)}, not a file") from None
        raise
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(opened)
        what = _SECOND_NAME if stat.S_ISREG(found.st_mode) else f"it is {kind(file)}, not a file"
        raise _foreign(file, what)
    if flags & os.O_EXCL:
        os.fchmod(opened, mode)
    return opened


def kind(file: Path) -> str:
    """What stands there, in words."""
    found = _found(file)
    if found is None:
        return "gone"
    return next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "no file")


def _check(file: Path, found: os.stat_result, wanted: str, fits: bool, store: os.stat_result | None) -> None:
    if not fits:
        raise _foreign(file, f"it is {kind(file)}, not {wanted}")
    if not _trusted(found, store):
        raise _foreign(file, f"it belongs to the user {found.st_uid}, who may not write the store")


def _trusted(found: os.stat_result, store: os.stat_result | None) -> bool:
    """Whether a file belongs to somebody who may write the store."""
    if found.st_uid in (0, os.geteuid()):
        return True
    if store is None:
        return False
    if found.st_uid == store.st_uid or store.st_mode & stat.S_IWOTH:
        return True
    # INVARIANT: who is not in the group cannot give a file to it.
    return bool(store.st_mode & stat.S_IWGRP) and found.st_gid == store.st_gid


def _found(file: Path, *, follow: bool = False) -> os.stat_result | None:
    try:
        return file.stat() if follow else file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _foreign(file: Path, why: str) -> StoreForeign:
    return StoreForeign(
        f"`{file}` is not a file of the store: {why}; nothing in it was changed; move it away, or name another store",
        path=os.fspath(file),
    )
