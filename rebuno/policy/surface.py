"""What a bundle's text may be made of: lines and columns, the characters that are refused, and the comments."""

import re
from bisect import bisect_right
from typing import Final

from rebuno.policy.diagnostics import Code, Diagnostic
from rebuno.policy.syntax import Comment, Span

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
# Tab, LF and CR before LF are the only control characters that pass.
_REFUSED: Final = re.compile(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_COMMENT: Final = re.compile(r'(?<![A-Za-z0-9_])r"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|#[^\n]*')


class Lines:
    """Turns offsets into places. Lines end at LF and count from 1, columns count characters from 1."""

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


def refused(lines: Lines, path: str, limit: int) -> tuple[str, list[Diagnostic]]:
    """The text with a blank for each character that may not stand in a bundle, and a finding for each.

    At most `limit` are found.
    """
    found: list[Diagnostic] = []
    for match in _REFUSED.finditer(lines.text):
        if len(found) == limit:
            break
        found.append(_finding(lines, match.start(), path))
    return (_REFUSED.sub(" ", lines.text) if found else lines.text), found


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
    if char in _HIDDEN:
        what = _HIDDEN[char]
    elif "\u200b" <= char <= "\u200d":
        what = "a zero-width character"
    elif char < "\u00a0":
        what = "a control character"
    else:
        what = "a character that changes the direction of text"
    help = f"remove it; in a string it is written `\\u{ord(char):04x}`"
    return Diagnostic(Code.BAD_CHARACTER, f"{what} ({point})", span, path, help)


def comments(text: str, lines: Lines) -> tuple[Comment, ...]:
    """Every comment of the text, in order; `lines` knows its places."""
    found: list[Comment] = []
    for match in _COMMENT.finditer(text):
        if match[0].startswith("#"):
            start = match.start()
            before = text[text.rfind("\n", 0, start) + 1 : start]
            body = match[0].rstrip("\r")
            found.append(Comment(body[1:], not before.strip(), lines.span(start, start + len(body))))
    return tuple(found)
