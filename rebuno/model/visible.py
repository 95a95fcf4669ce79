"""Makes text that came from elsewhere safe and short enough to be read, on a terminal or a page."""

import json
import unicodedata
from typing import Any, Final

from rebuno.model import identity

LIMIT: Final = 200

_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format, surrogate, private and unassigned characters, and every separator but the blank.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters and marks that show nothing of their own: fillers, and selectors that can carry hidden text.
_BLANK: Final = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]
) | frozenset(range(0xE0100, 0xE01F0))


def escape(text: str | None, limit: int | None = LIMIT) -> str:
    """`text` on one line: what cannot be seen, or would move or hide other text, appears as `\\n`, `\\t`, `\\uXXXX` or
    `\\UXXXXXXXX`.

    At most `limit` characters of it (None: all), followed by the number of those left out. Nothing where there is no
    text (None).
    """
    if text is None:
        return ""
    left_out = 0 if limit is None else max(0, len(text) - limit)
    kept = text[: len(text) - left_out]
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(map(_visible, kept))
    return f"{kept}… (+{left_out:,} characters)" if left_out else kept


def spelled(text: str, limit: int | None = LIMIT) -> str:
    """The name of a tool, a model or a step, with its spelling in JSON beside it where letters outside ASCII may make
    it look like another, or where blanks stand at an end."""
    shown = escape(text, limit)
    if text.isascii() and text == text.strip():
        return shown
    return f"{shown} ({json.dumps(text if limit is None else text[:limit])})"


def value(data: Any, limit: int | None = LIMIT) -> str:
    """A JSON value as one line of JSON, strings in quotes so that blanks at their ends can be seen."""
    try:
        text = json.dumps(data, ensure_ascii=False)
    except ValueError:  # Python's own writer gives up on integers of thousands of digits
        text = identity.canonical(data)
    return escape(text, limit)


def stored(text: str, limit: int | None = LIMIT) -> str:
    """A canonical JSON text as people write it: canonical texts escape `&`, `<` and `>`, which hides a command."""
    return value(identity.parse(text), limit)


def _visible(char: str) -> str:
    if char == " ":
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if unicodedata.category(char) not in _HIDDEN and code not in _BLANK:
        return char
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
