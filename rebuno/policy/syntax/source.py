"""Reads bundle files and the files that they use. No other module of the language opens a file."""

import errno
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.syntax.diagnostics import Code, Diagnostic
from rebuno.policy.values.spans import NO_SPAN as NO_SPAN
from rebuno.policy.values.spans import Span

LARGEST_READ: Final = 1 << 26  # bytes of any file
LARGEST_FILE: Final = 1 << 20  # bytes of a file that a bundle uses


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a bundle. Diagnostics print `path`. `stem` is the name of a bundle without a `bundle` line. `folder`
    is the folder of the files that the bundle uses; it is None for a text that is from no file."""

    text: str
    path: str = "<text>"
    stem: str = "bundle"
    folder: Path | None = None


class FileError(Exception):
    """A file that a bundle names and cannot use."""

    def __init__(self, code: Code, message: str, help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


def read_source(path: str | Path) -> Source:
    """The bundle at `path`.

    Raises:
        BundleError: the file cannot be read, is not a regular file, is larger than 64 MiB, or is not UTF-8 (with the
            place of the byte).
    """
    shown = str(path)
    try:
        data = _bytes(Path(path), LARGEST_READ)
    except OSError as error:
        message = f"cannot read `{shown}`: {_why(error)}"
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, message, NO_SPAN, shown)]) from None
    if len(data) > LARGEST_READ:
        message = f"`{shown}` has more than {LARGEST_READ:,} bytes"
        raise BundleError([Diagnostic(Code.FILE_TOO_BIG, message, NO_SPAN, shown, "split it")])
    return Source(_text(data, shown), shown, Path(path).stem, Path(path).parent)


def read_used_file(folder: Path, name: str, *, inside: bool) -> tuple[Source, Path]:
    """The file `name` in the `folder` of a bundle, and its place after symbolic links.

    With `inside` that place must be in the folder or below it.

    Raises:
        FileError: there is no such file, it is not a regular file, larger than 1 MiB, or stands outside.
        BundleError: it is not UTF-8.
    """
    path = folder / name
    try:
        place = path.resolve(strict=True)
        if inside and not place.is_relative_to(folder.resolve()):
            help = "move the file there; a bundle cannot read files outside of its folder"
            raise FileError(Code.OUTSIDE_FOLDER, f"`{path}` is not in the bundle's folder or below it", help)
        data = _bytes(place, LARGEST_FILE)
    except OSError as error:
        raise FileError(Code.UNREADABLE_FILE, f"cannot read `{path}`: {_why(error)}") from None
    except RuntimeError:
        raise FileError(Code.UNREADABLE_FILE, f"cannot read `{path}`: its symbolic links go in a circle") from None
    if len(data) > LARGEST_FILE:
        raise FileError(Code.FILE_TOO_BIG, f"`{path}` has more than {LARGEST_FILE:,} bytes", "split it")
    return Source(_text(data, str(path)), str(path), path.stem), place


def _bytes(path: Path, most: int) -> bytes:
    """The bytes of the file, at most `most` + 1."""
    mode = path.stat().st_mode
    # A pipe or a device may have no end. A directory gives a better error when it is opened.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as file:
        return file.read(most + 1)


def _why(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()


def _text(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        span = Span(line, column, line, column + 1, error.start, error.start + 1)
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x}"
        raise BundleError([Diagnostic(Code.NOT_UTF8, message, span, shown, "save it as UTF-8")]) from None
