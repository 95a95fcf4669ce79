"""Reads and writes whole texts: a bundle from standard input, a file that a reader never finds half written."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rebuno.errors import ValidationError


def standard_input() -> str:
    """Standard input as text, its line ends as they are.

    Raises:
        ValidationError: it is not UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValidationError(f"standard input is not UTF-8: byte 0x{error.object[error.start]:02x}") from None


def json_value(given: str, what: str) -> Any:
    """The value of a JSON text of the command line; `@FILE` reads a file, `-` standard input.

    Raises:
        OSError: the file cannot be read.
        ValidationError: it is no JSON; the message says that of `what`.
    """
    from rebuno.model.identity import parse

    text: str | bytes = given
    if given == "-":
        text = sys.stdin.buffer.read()
    elif given.startswith("@"):
        text = Path(given[1:]).read_bytes()
    try:
        return parse(text)
    except ValidationError as error:
        raise ValidationError(f"{what}: {error.message}") from None


def named(file: str) -> str:
    """How an error names what `lines` reads."""
    return "standard input" if file == "-" else f"`{file}`"


def lines(file: str, most: int) -> Iterator[bytes]:
    """The lines of a file, or of standard input for `-`, each with its end; one of more than `most` bytes in pieces.

    Raises:
        OSError: it cannot be read.
    """
    if file == "-":
        yield from iter(lambda: sys.stdin.buffer.readline(most), b"")
        return
    with Path(file).open("rb") as opened:
        yield from iter(lambda: opened.readline(most), b"")


def replace(path: Path, text: str, *, private: bool = False) -> None:
    """Puts `text` as UTF-8 in the place of the file `path`, whose mode it keeps; links to it stay links. A pipe or a
    device is written to. A new file is as the mask says, a `private` one for its owner alone.

    Raises:
        OSError: the folder or the disk takes no file; the old one is untouched.
    """
    import contextlib
    import tempfile

    # A device that was replaced would be one no more, for every program.
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.write(text.encode("utf-8"))
        return
    place = path.resolve()
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            os.fchmod(file.fileno(), _mode(place, private))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        # Nobody has heard of the temporary one.
        error.filename, error.filename2 = str(path), None
        raise


def _mode(place: Path, private: bool) -> int:
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except FileNotFoundError:
        if private:
            return 0o600
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
