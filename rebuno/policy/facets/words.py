"""`word`: the words of a text, as runs of letters, digits and `_`."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from unicodedata import category, normalize

from rebuno.policy.facets.reading import Facet, PathContext, UncertainText, UncertainValue
from rebuno.policy.values.invisible import IGNORABLE, without_unseen
from rebuno.policy.values.json_values import UNREADABLE, shown, valid
from rebuno.policy.values.readings import many_marks
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT

_ASCII: Final = re.compile(r"[A-Za-z0-9_]+")
_UNSEEN: Final = re.compile(f"[{IGNORABLE}]")


@cache
def _word() -> re.Pattern[str]:
    # A mark belongs to its letter, and a character that cannot be seen may stand inside a word. Built on first use.
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if category(chr(code))[0] == "M")
    return re.compile(rf"[\w{marks}{IGNORABLE}]+")


def words_of(text: str) -> dict[str, bool]:
    """The words of a text in lower case and in composed form, each once and in order. With False a word in which
    characters stand that cannot be seen, so that it may be two. Linear in the text."""
    if text.isascii():
        return dict.fromkeys(map(str.lower, _ASCII.findall(text)), True)
    found: dict[str, bool] = {}
    for run in _word().findall(normalize("NFC", text)):
        seen = without_unseen(run)
        word = normalize("NFC", seen.lower())
        if word and any(character.isalnum() or character == "_" for character in word):
            found[word] = found.get(word, False) or not _UNSEEN.search(run)
    return found


def read(value: Any, _: PathContext) -> Any:
    """The words of a text; the empty set for a text without words. `UNREADABLE` for a value that is no text, for text
    that is not valid Unicode, beyond 1,048,576 characters, and for 64 marks on one letter."""
    if type(value) is not str or not _readable(value):
        return UNREADABLE
    return [word if sure else UncertainText(word) for word, sure in words_of(value).items()]


def _readable(text: str) -> bool:
    return len(text) <= MAX_SEARCHED_TEXT and valid(text) and not many_marks(text)


def find_words(text: str) -> Iterator[str | UncertainValue]:
    """The words of a text for a `known` set."""
    if _readable(text):
        for word, sure in words_of(text).items():
            yield word if sure else UncertainValue(word)


def word_literal(value: Any, _: PathContext) -> str:
    """One word in lower case.

    Raises:
        ValueError: the value is no text of exactly one word.
    """
    words = words_of(value) if type(value) is str and _readable(value) else {}
    if len(words) == 1 and all(words.values()):
        word = next(iter(words))
        if word == normalize("NFC", normalize("NFC", value).lower()):
            return word
    raise ValueError(f"`{shown(value)}` is not one word; a word has letters, digits and `_` only")


FACETS: Final = (
    Facet(
        name="word",
        of="any text",
        gives="its words in lower case",
        value="string",
        read=read,
        literal=word_literal,
        many=True,
        lower=True,
        find=lambda text, context: find_words(text),
    ),
)
