"""The characters of a bundle: lines and columns, refused characters, and comments."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final
from unicodedata import category

from rebuno.policy.syntax.diagnostics import Code, Diagnostic
from rebuno.policy.syntax.tree import Comment, Span
from rebuno.policy.values.invisible import blank, ignorable

_HIDDEN: Final = {
    "\u00a0": "a no-break space",
    "\u00ad": "a soft hyphen",
    "\u061c": "a character that changes the direction of text",
    "\u180e": "a zero-width character",
    "\u2028": "a line separator",
    "\u2029": "a paragraph separator",
    "\u2060": "a zero-width character",
    "\ufeff": "a zero-width character",
}
# Tab, LF and CR before LF are the only control characters that pass, in comments too.
_REFUSED: Final = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_PERHAPS: Final = re.compile(f"{_REFUSED.pattern}|[^\\x00-\\x7f]")
# Invisible and unknown characters by their Unicode category. They are allowed in comments.
_UNKNOWN: Final = {
    "Cf": "a format character",
    "Cn": "a character that Unicode does not assign",
    "Co": "a character for private use",
    "Cs": "half a surrogate pair",
}
_COMMENT: Final = re.compile(r'(?<![A-Za-z0-9_])r"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|#[^\n]*')


class Place(Span):
    """A place whose lines and columns are counted once they are asked for: of most nodes of a large bundle never."""

    __slots__ = ("_lines",)
    # While it is made and counted it is written to; it is as frozen to everyone else, which mypy sees to.
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init__(self, start: int, end: int, lines: "Lines") -> None:
        self.start = start  # type: ignore[misc]
        self.end = end  # type: ignore[misc]
        self._lines = lines

    def __getattr__(self, name: str) -> Any:
        if name not in Span.__slots__:
            raise AttributeError(name)
        found = self._lines.span(self.start, self.end)
        for counted in Span.__slots__:
            object.__setattr__(self, counted, getattr(found, counted))
        return getattr(found, name)

    def __eq__(self, other: object) -> bool:
        return self._counted() == (other._counted() if isinstance(other, Place) else other)

    def __hash__(self) -> int:
        return hash(self._counted())

    def __reduce__(self) -> tuple[Any, ...]:
        return Span, tuple(getattr(self, name) for name in Span.__slots__)

    def __repr__(self) -> str:
        return repr(self._counted())

    def _counted(self) -> Span:
        return self._lines.span(self.start, self.end)


class Lines:
    """Turns offsets into places. Lines end at LF. Lines and columns count from 1; a column is a character."""

    __slots__ = ("_starts", "path", "text")

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """The place from `start` to `end` (exclusive)."""
        starts = self._starts
        first = bisect_right(starts, start)
        last = first if first == len(starts) or end < starts[first] else bisect_right(starts, end)
        return Span(first, start - starts[first - 1] + 1, last, end - starts[last - 1] + 1, start, end, self.path)


def refused(
    lines: Lines, path: str, limit: int, commented: Callable[[], Sequence[tuple[int, int]]] | None = None
) -> tuple[str, list[Diagnostic]]:
    """The text with a blank in place of each refused character, and a diagnostic for each.

    Control characters, and characters that change how the text around them is displayed, are refused everywhere. Other
    invisible characters, and blanks other than the space, are allowed in comments. `commented` gives the places of the
    comments in order, or None for the comments of a bundle. At most `limit` characters are reported.
    """
    text = lines.text
    bad = frozenset() if text.isascii() else frozenset(c for c in set(_NOT_ASCII.findall(text)) if hidden(c))
    found: list[Diagnostic] = []
    spans: Sequence[tuple[int, int]] | None = None
    taken: list[int] = []
    # INVARIANT: linear, also for very many different characters, which a character class tries one by one.
    for match in (_PERHAPS if bad else _REFUSED).finditer(text):
        at = match.start()
        if bad and not _REFUSED.match(text, at):
            if match[0] not in bad:
                continue
            if spans is None:
                spans = (commented or (lambda: _comment_spans(text)))()
            if _inside(spans, at):
                continue
        taken.append(at)
        if len(found) < limit:
            found.append(_finding(lines, at, path))
    if not found:
        return text, found
    clean = list(text)
    for at in taken:
        clean[at] = " "
    return "".join(clean), found


def hidden(character: str) -> bool:
    """Whether a character beyond ASCII is invisible or a blank, so that it is allowed in comments only."""
    return category(character) in _UNKNOWN or ignorable(character) or blank(character)


def _comment_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _COMMENT.finditer(text) if match[0].startswith("#")]


def _inside(spans: Sequence[tuple[int, int]], at: int) -> bool:
    position = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return position >= 0 and at < spans[position][1]


def _finding(lines: Lines, at: int, path: str) -> Diagnostic:
    char = lines.text[at]
    point = f"U+{ord(char):04X}"
    span = lines.span(at, at + 1)
    if char == "\r":
        return Diagnostic(
            Code.BAD_CHARACTER, f"a carriage return alone ({point})", span, path, "end lines with LF or CRLF"
        )
    if "\ud800" <= char <= "\udfff":
        return Diagnostic(Code.BAD_CHARACTER, f"half a surrogate pair ({point})", span, path, "save the file as UTF-8")
    help = f"remove it; in a string it is written `{_escaped(char)}`"
    return Diagnostic(Code.BAD_CHARACTER, f"{_what(char)} ({point})", span, path, help)


def _what(char: str) -> str:
    if char in _HIDDEN:
        return _HIDDEN[char]
    if "\u200b" <= char <= "\u200d":
        return "a zero-width character"
    if char < "\u00a0":
        return "a control character"
    if _REFUSED.match(char):
        return "a character that changes the direction of text"
    if blank(char):
        return "a blank other than a space"
    if category(char) != "Cn" and ignorable(char):
        return "an invisible character"
    return _UNKNOWN[category(char)]


def _escaped(char: str) -> str:
    # JSON writes a character beyond U+FFFF as a surrogate pair.
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def comments(text: str, lines: Lines) -> tuple[Comment, ...]:
    """All comments of the text, in order. `lines` gives their places."""
    found: list[Comment] = []
    for match in _COMMENT.finditer(text):
        if match[0].startswith("#"):
            start = match.start()
            before = text[text.rfind("\n", 0, start) + 1 : start]
            body = match[0].rstrip("\r")
            found.append(Comment(body[1:], not before.strip(), lines.span(start, start + len(body))))
    return tuple(found)
