"""The folder of the judge: its socket, and the lock of which there is one holder."""

import asyncio
import errno
import fcntl
import os
import socket
import stat
import time
from typing import Final

from rebuno.errors import RebunoError

SOCKET: Final = "judge.sock"
LOCK: Final = "judge.lock"
_LOOK: Final = 0.02
_BACKLOG: Final = 256


class JudgeError(RebunoError):
    """The judge cannot be had here. The message says why."""


class JudgeFolder:
    """An open folder that only this user may enter. All names are looked up in it, so no link comes between.

    Raises:
        JudgeError: it is no folder, another user's, or open to others.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise JudgeError(f"the folder {path} of the judge cannot be opened: {error.strerror}") from None
        if not _is_private(self._folder):
            os.close(self._folder)
            raise JudgeError(f"the folder {path} of the judge is not yours alone; it needs the mode 0700")
        self._lock = -1
        self._bound: tuple[int, int] | None = None

    async def lock(self, seconds: float) -> None:
        """Becomes the one judge of this folder, as soon as the one before has gone.

        Raises:
            JudgeError: it has not gone in time, or the lock is no file of ours.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._lock = os.open(LOCK, flags, 0o600, dir_fd=self._folder)
        except OSError as error:
            raise JudgeError(f"{self.path}/{LOCK} cannot be opened: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(self._lock).st_mode):
            raise JudgeError(f"{self.path}/{LOCK} is no file; remove it")
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) or time.monotonic() > until:
                    raise JudgeError("another judge runs and does not end") from None
            await asyncio.sleep(_LOOK)

    def bind(self) -> socket.socket:
        """The socket, in the place of one that a judge has left behind. Needs the lock.

        Raises:
            JudgeError: something else has its name.
        """
        found = self._found()
        if found is not None and not stat.S_ISSOCK(found.st_mode):
            raise JudgeError(f"{self.path}/{SOCKET} is no socket; remove it")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            if found is not None:
                os.unlink(SOCKET, dir_fd=self._folder)
            # From inside of the folder no path is too long for a socket.
            os.fchdir(self._folder)
            listening.bind(SOCKET)
        except OSError as error:
            listening.close()
            raise JudgeError(f"{self.path}/{SOCKET} cannot be made: {error.strerror}") from None
        finally:
            os.umask(before)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        made = os.stat(SOCKET, dir_fd=self._folder, follow_symlinks=False)
        self._bound = (made.st_dev, made.st_ino)
        return listening

    def is_bound(self) -> bool:
        """Whether clients still find the socket, and in a folder that they use: one for the time of a login is removed
        at its end."""
        try:
            found = os.stat(f"{self.path}/{SOCKET}", follow_symlinks=False)
        except OSError:
            return False
        if not _is_private(self._folder):
            return False
        return (found.st_dev, found.st_ino) == self._bound

    def unbind(self) -> None:
        """Takes the socket away, so that nobody comes any more."""
        found = self._found()
        if found is not None and (found.st_dev, found.st_ino) == self._bound:
            os.unlink(SOCKET, dir_fd=self._folder)
        self._bound = None

    def close(self) -> None:
        """Lets the next judge begin."""
        for file in (self._lock, self._folder):
            if file >= 0:
                os.close(file)
        self._lock = self._folder = -1

    def _found(self) -> os.stat_result | None:
        try:
            return os.stat(SOCKET, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


def _is_private(folder: int) -> bool:
    found = os.fstat(folder)
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077
