"""Settings files: read with all that an edit must keep, written whole or not at all, and restored."""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rebuno.errors import ValidationError

_BOM: Final = b"\xef\xbb\xbf"
# Settings hold keys of providers: nobody else reads a file that is made here.
_PRIVATE: Final = 0o600
_LONGEST: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class Content:
    """What stands at `path`: its bytes, or None where there is no file. A symbolic link is followed to `target`."""

    path: Path
    target: Path
    data: bytes | None
    mode: int = _PRIVATE

    @property
    def digest(self) -> str | None:
        """SHA-256 of the bytes, or None where there is no file."""
        return None if self.data is None else digest(self.data)

    def text(self) -> str:
        """The text without its byte order mark.

        Raises:
            ValidationError: it is not UTF-8.
        """
        data = (self.data or b"").removeprefix(_BOM)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValidationError(f"`{self.path}` is not UTF-8 (byte {error.start}); nothing was changed") from None

    def encoded(self, text: str) -> bytes:
        """The bytes of a new text, with the byte order mark that was there."""
        return (_BOM if (self.data or b"").startswith(_BOM) else b"") + text.encode("utf-8", "surrogatepass")


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> Content:
    """What stands at `path` now.

    Raises:
        ValidationError: it is no plain file, or larger than any settings file.
        OSError: it cannot be read.
    """
    target = Path(os.path.realpath(path))
    try:
        with target.open("rb") as file:
            data = file.read(_LONGEST + 1)
            mode = os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        return Content(path, target, None)
    except IsADirectoryError:
        raise ValidationError(f"`{path}` is a folder, not a settings file; nothing was changed") from None
    if len(data) > _LONGEST:
        raise ValidationError(f"`{path}` is larger than {_LONGEST:,} bytes; nothing was changed")
    return Content(path, target, data, mode)


def write(content: Content, data: bytes | None) -> list[Path]:
    """Puts `data` in the place of `content`, in one step and with its mode; None removes the file.

    Returns the folders that were made for it, outermost first.

    Raises:
        ValidationError: another program changed the file since it was read.
        OSError: the folder cannot be written.
    """
    made = _folders(content.target.parent) if data is not None else []
    if read(content.path).data != content.data:
        raise ValidationError(f"`{content.path}` was changed by another program meanwhile; run the command again")
    if data is None:
        content.target.unlink(missing_ok=True)
    else:
        _replaced(content.target, data, content.mode)
    return made


def _replaced(target: Path, data: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            # Of an administrator who installs for somebody else the file stays that person's.
            with contextlib.suppress(OSError):
                owner = target.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _folders(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    return missing[::-1]


def remove_empty(folders: list[Path]) -> None:
    """Removes those of the folders, innermost first, that hold nothing."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the one lock of all installations of this user while the block runs."""
    _folders(folder)
    with (folder / "install.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
