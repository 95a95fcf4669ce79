"""A text as a reader of markup takes it, where that may show links that do not stand in it as it is written."""

import html
import re
from typing import Final

# A value in quotes behind a `=`. Browsers drop line breaks and tabs from a URL, wherever they stand in it.
_QUOTED: Final = re.compile(r"""=\s*+(?:"[^"]*"|'[^']*')""")
_DROPPED: Final = re.compile(r"[\t\n\r]")
# Without a `;`, names are read in texts but not in attributes, where `&copy=` is a part of a query.
_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,9};?|#[xX][0-9A-Fa-f]{1,8};?|[A-Za-z][A-Za-z0-9]{1,31};)")
# What a style sheet loads, and where it ends or is escaped: `url(\\68 ttps://evil.example/x)`.
_LOADS: Final = re.compile(r"(?i:url\s{0,8}\(|@import)")
_ENDS: Final = re.compile(r"[)\\]")


def as_markup(text: str) -> str:
    """`text` with its character references read, and without line breaks and tabs in values that stand in quotes behind
    a `=`. Linear in the text."""
    if "&" in text:
        text = _REFERENCE.sub(lambda match: html.unescape(match[0]), text)
    if _DROPPED.search(text) and "=" in text:
        text = _QUOTED.sub(lambda match: _DROPPED.sub("", match[0]), text)
    return text


def loaded_by_style(text: str) -> str:
    """What a style sheet in `text` loads from an address that is written with escapes; empty where there is none.
    Linear in the text."""
    position = 0
    while "\\" in text and (start := _LOADS.search(text, position)) and (end := _ENDS.search(text, start.end())):
        if end[0] == "\\":
            return text[start.start() : end.end()]
        position = end.end()
    return ""
