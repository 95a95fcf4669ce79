"""Writes finished text and JSON to a stream, whatever it is connected to."""

import os
import sys

TYPE_CHECKING = False  # the module `typing` is a tenth of what `rebuno version` takes
if TYPE_CHECKING:
    from typing import Any, Final, TextIO

# No pipe has a width: lines stay whole there unless COLUMNS asks otherwise.
UNBOUNDED: "Final" = 10_000


class ReaderGoneError(Exception):
    """The other end of the pipe that we write to is closed."""


def write_text(text: str, *, to: "TextIO | None" = None) -> None:
    """Writes one line. What the stream's encoding cannot hold appears as an escape.

    Raises:
        ReaderGoneError: the other end of the pipe is closed.
    """
    stream = to or sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        raise ReaderGoneError("the reader is gone") from None


def write_json(data: "Any", *, to: "TextIO | None" = None, indent: int | None = 2) -> None:
    """Writes `data` as JSON. Only ASCII, so that nothing in it can act on a terminal. Raises as `write_text` does."""
    import json

    try:
        text = json.dumps(data, indent=indent)
    except ValueError:  # Python's own writer gives up on integers of thousands of digits
        text = _huge(data)
    write_text(text, to=to)


def _huge(data: "Any") -> str:
    import json
    import re

    from rebuno.model import identity

    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], identity.canonical(data))


def width(stream: "TextIO") -> int:
    """The columns that there are: what COLUMNS says, else the terminal's, else so many that nothing is wrapped."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and 0 < int(asked) < UNBOUNDED:
        return int(asked)
    if not stream.isatty():
        return UNBOUNDED
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80
