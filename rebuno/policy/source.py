"""Reads bundle files; the only place in the language that touches a file system."""

from dataclasses import dataclass
from pathlib import Path

from rebuno.errors import BundleError
from rebuno.policy.diagnostics import Code, Diagnostic
from rebuno.policy.syntax import Span

NOWHERE = Span(1, 1, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Source:
    """A bundle's text. `path` is what diagnostics print, `stem` the bundle's name where no `bundle` line gives one."""

    text: str
    path: str = "<text>"
    stem: str = "bundle"


def read(path: str | Path) -> Source:
    """The bundle at `path`.

    Raises:
        BundleError: the file cannot be read, or is not UTF-8 (with the byte's place).
    """
    shown = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        why = (error.strerror or "cannot be read").lower()
        raise BundleError([Diagnostic(Code.UNREADABLE_FILE, f"cannot read `{shown}`: {why}", NOWHERE, shown)]) from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        span = Span(line, column, line, column + 1, error.start, error.start + 1)
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x}"
        raise BundleError([Diagnostic(Code.NOT_UTF8, message, span, shown, "save it as UTF-8")]) from None
    return Source(text, shown, Path(path).stem)
