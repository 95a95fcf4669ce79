"""The readings of a text that may hide a value: as written, decoded, normalised, and without blanks."""

import re
from functools import cache
from html import unescape
from typing import Final
from unicodedata import combining, normalize

from rebuno.policy.values.invisible import without_blanks, without_unseen
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT

# The number of rounds in which escapes are decoded: the decoded text may contain escapes again.
ROUNDS: Final = 3
# The bound of a reading, which may be longer than its text: one ligature can stand for several words.
_LONGEST: Final = 4 * MAX_SEARCHED_TEXT
# The bound of marks on one letter. To put marks in order takes the square of their number.
_MOST_MARKS: Final = 64

_ESCAPE: Final = re.compile(
    r"(?P<bytes>(?:%[0-9A-Fa-f]{2})+)"
    r"|&#0*+(?P<decimal>[0-9]{1,7});?|&#[xX]0*+(?P<hex>[0-9A-Fa-f]{1,6});?|(?P<named>&[A-Za-z][A-Za-z0-9]{1,31};?)"
    r"|(?:%|(?<!\\)\\++)u(?P<unit>[0-9A-Fa-f]{4})|(?<!\\)\\++(?:u\{0*+(?P<braced>[0-9A-Fa-f]{1,6})\}|x(?P<pair>[0-9A-Fa-f]{2}))"
    r"|\\(?P<json>[\"\\/bfnrt])"
)
_OF_JSON: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MIGHT_ESCAPE: Final = re.compile(r"[%&\\]")

# Words for the reading in which a value was found.
AS_IT_STANDS: Final = ""
DECODED: Final = "once `%XX`, `&#…;` and `\\uXXXX` are read"
PLAIN: Final = "once it is made plain"
CLOSED: Final = "without its blanks"


def readings(text: str) -> dict[str, str] | None:
    """The readings of a text in lower case, each with the words for it; the first is the text as written. None if a
    reading is too long, or if the text has very many marks on one letter. Linear in the text."""
    found = {text.casefold(): AS_IT_STANDS}
    raw = text
    for _ in range(ROUNDS):
        read = _unescaped(raw)
        if read == raw:
            break
        raw = read
        found.setdefault(raw.casefold(), DECODED)
    plain = _plain(raw)
    if plain is None:
        return None
    found.setdefault(plain, PLAIN)
    # Escapes may be written in letters of another width, or with blanks between.
    for words in (PLAIN, CLOSED):
        if words is CLOSED:
            found.setdefault(without_blanks(plain), CLOSED)
            plain = _closed(plain)
            found.setdefault(plain, CLOSED)
        for _ in range(ROUNDS):
            read = _unescaped(plain)
            made = _plain(read) if read != plain else None
            if made is None:
                break
            plain = _closed(made) if words is CLOSED else made
            found.setdefault(plain, words)
    return found if max(map(len, found)) <= _LONGEST else None


def plain_text(text: str) -> str | None:
    """The text without differences of compatibility forms, of case, of white space and of what cannot be seen. None
    where it is too long, or has very many marks on one letter."""
    plain = _plain(text)
    return None if plain is None else without_blanks(plain)


def _unescaped(text: str) -> str:
    if not _MIGHT_ESCAPE.search(text):
        return text
    read = _ESCAPE.sub(_character, text)
    if read.isascii():
        return read
    # Two halves of a pair that were escaped one by one are a character; a half alone is none.
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    body = match[kind]
    if kind == "bytes":
        data = bytes.fromhex(body.replace("%", ""))
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    if kind == "json":
        return _OF_JSON.get(body, body)
    if kind == "named":
        return unescape(body)
    code = int(body, 10 if kind == "decimal" else 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _closed(text: str) -> str:
    # A form sends a blank as `+`.
    return without_blanks(text).replace("+", "")


def _plain(text: str) -> str | None:
    if text.isascii():
        return without_unseen(text).casefold()
    text = without_unseen(text)
    # Two ligatures stand for whole sentences.
    if many_marks(text) or 18 * text.count("\ufdfa") + 8 * text.count("\ufdfb") > _LONGEST:
        return None
    text = normalize("NFKC", text)
    if len(text) > _LONGEST:
        return None
    return without_unseen(normalize("NFKC", text.casefold()))


def many_marks(text: str) -> bool:
    """Whether a letter has so many marks that putting them in order would take long."""
    return not text.isascii() and _many_marks().search(text) is not None


@cache
def _many_marks() -> re.Pattern[str]:
    # Built on first use, because a search for all marks takes a few milliseconds.
    marks = [chr(code) for code in range(0x300, 0x1F000) if combining(chr(code))]
    return re.compile(f"[{''.join(marks)}]{{{_MOST_MARKS},}}")
