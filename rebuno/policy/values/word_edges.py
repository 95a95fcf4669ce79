"""The edges of a whole word: where a value stands for itself in a text, for sure or perhaps."""

import re
from functools import cache
from typing import Final
from unicodedata import category

from rebuno.policy.values.json_values import Tri

QUOTES: Final = "\"'`´“”‘’„‚«»‹›"
OPENING: Final = "([{<（［｛〈《「『【"
CLOSING: Final = ")]}>）］｝〉》」』】"
STOPS: Final = ",;:!?."
# A run of stops longer than this is no end of a sentence; without a bound the search would not be linear.
MAX_STOPS: Final = 8

_BEFORE: Final = frozenset(QUOTES + OPENING + ",;")
_AFTER: Final = frozenset(QUOTES + CLOSING)
# No edges for sure inside a word; the last ones are no edges at all, but may stand beside one.
_SOFT: Final = frozenset(QUOTES + "{}｛｝" + "‛‟＂＇ʼ′″")
# Quotes of scripts that are written without blanks: beside a letter of such a script they cut nothing off.
_CORNERS: Final = "「」『』"
# Ends of a sentence, behind which a word may go on (`bob.'x@…`); a comma or semicolon goes on with another one.
_GOES_ON: Final = ":!?."
# Stand inside words too: in the name of a mailbox, a file or a variable.
_JOINERS: Final = frozenset("_.+-@&~/\\")
_BLANKS: Final = frozenset(" \t\u00a0\u202f\u205f\u3000").union(map(chr, range(0x2000, 0x200B)))
# What may stand beside the blanks between two groups of one number: `(030) 90 18 20`, `1,100`.
_BETWEEN_GROUPS: Final = frozenset("()[]" + QUOTES)
# A run of quotes or blanks is looked through no further; beyond it the answer is perhaps.
_FAR: Final = 64
# The beginning of an account number in groups of four, `DE89 3704`, and what stands before and after more of them.
_ACCOUNT: Final = re.compile(r"[A-Za-z]{2}[0-9]{2}(?:[^\S\n][A-Za-z0-9]{4}){1,8}")
_NEXT_GROUP: Final = re.compile(r"[^\S\n]{1,2}(?:(?=[A-Za-z]{0,3}[0-9])[A-Za-z0-9]{1,4}|[A-Z]{4})(?![^\W_])")


def stands_alone(text: str, start: int, end: int) -> Tri:
    """Whether `text[start:end]` is a whole word.

    Before it: the start, white space, a quote, an opening bracket, `,` or `;`. After it: the end, white space, a quote
    or a closing bracket, where up to eight of `, ; : ! ? .` may come between. Maybe where a quote or a brace that is
    its edge stands inside a word (`o'neil`, `Bob's`), where it is a group of digits beside another one (`5121 0800`,
    `1,100`), and where it is the first groups of a longer account number (`DE89 3704` of `DE89 3704 0044`).
    """
    if not (_starts(text, start) and _ends(text, end)):
        return False
    if cut_before(text, start) or cut_after(text, end) or _grouped(text, start, end) or _begins_more(text, start, end):
        return None
    return True


def _starts(text: str, position: int) -> bool:
    return position == 0 or text[position - 1] in _BEFORE or text[position - 1].isspace()


def _ends(text: str, position: int) -> bool:
    for _ in range(MAX_STOPS + 1):
        if position == len(text) or text[position] in _AFTER or text[position].isspace():
            return True
        if text[position] not in STOPS:
            return False
        position += 1
    return False


def cut_before(text: str, start: int) -> bool:
    """Whether what begins here is cut off a word by nothing but quotes and braces."""
    at = start - 1
    if at < 0 or not _soft(text[at]):
        return False
    far = max(-1, at - _FAR)
    part = text[far + 1 : start]
    left = part.rstrip(_passed())
    at = far + len(left)
    return at >= 0 and (not left or _cuts(text[at], corners=not part[len(left) :].strip(_CORNERS)))


def cut_after(text: str, end: int) -> bool:
    """Whether what ends here is cut off a word by nothing but quotes, braces and ends of sentences."""
    part = text[end : end + _FAR]
    if not part or not (_soft(part[0]) or part[0] in _GOES_ON or not part[0].isascii()):
        return False
    left = part.lstrip(_passed() + _GOES_ON)
    run = part[: len(part) - len(left)]
    at = end + len(run)
    if at == len(text) or not run.lstrip(_unseen() + _GOES_ON):
        return False
    return not left or _cuts(text[at], corners=not run.lstrip(_unseen() + _GOES_ON + _CORNERS))


def _soft(character: str) -> bool:
    return character in _SOFT or character in _CORNERS


@cache
def _unseen() -> str:
    # Characters that cannot be seen: they hide no edge. Built on first use. All of them stand in these planes.
    codes = (*range(0x80, 0x20000), *range(0xE0000, 0xE1000))
    return "".join(chr(code) for code in codes if category(chr(code)) == "Cf")


@cache
def _passed() -> str:
    # What is looked through, in one call: a long run of quotes stands before each of its own characters.
    return "".join(sorted(_SOFT)) + _CORNERS + _unseen()


def _cuts(character: str, *, corners: bool) -> bool:
    return _in_word(character) and not (corners and category(character) == "Lo")


def _in_word(character: str) -> bool:
    return character.isalnum() or character in _JOINERS or category(character)[0] == "M"


def _grouped(text: str, start: int, end: int) -> bool:
    # Digits alone beside another group of digits may be a part of a card, an account or a telephone number.
    if not (text[start].isdigit() and text[end - 1].isdigit()):
        return False
    if not all(character.isdigit() or character in _BLANKS for character in text[start:end]):
        return False
    return _digit_before(text, start - 1) or _digit_after(text, end)


def _begins_more(text: str, start: int, end: int) -> bool:
    if end - start > _FAR or not _ACCOUNT.fullmatch(text, start, end):
        return False
    return _NEXT_GROUP.match(text, end) is not None


def _digit_before(text: str, at: int) -> bool:
    if at > 0 and text[at] in ",;" and text[at - 1].isdigit():
        return True
    far = max(-1, at - _FAR)
    while at > far and (text[at] in _BLANKS or text[at] in _BETWEEN_GROUPS):
        at -= 1
    if at == far and at >= 0:
        return True
    word = _word_before(text, at)
    if len(word) == 4 and word.isalpha() and text[at - 4 : at - 3] in _BLANKS:
        # The letters of a bank: `GB29 NWBK 6016`.
        country = _word_before(text, at - 5)
        word = country if len(country) == 4 and country[:2].isalpha() else ""
    # A group may end in a letter: `000M 02606`.
    return any(map(str.isdigit, word))


def _word_before(text: str, at: int) -> str:
    start = at
    while start >= max(0, at - _FAR) and text[start].isalnum():
        start -= 1
    return text[start + 1 : at + 1]


def _digit_after(text: str, at: int) -> bool:
    if at + 1 < len(text) and text[at] in ",;" and text[at + 1].isdigit():
        return True
    far = min(len(text), at + _FAR)
    while at < far and (text[at] in _BLANKS or text[at] in _BETWEEN_GROUPS):
        at += 1
    if at == far and at < len(text):
        return True
    far = min(len(text), at + _FAR)
    while at < far and text[at].isalnum():
        if text[at].isdigit():
            return True
        at += 1
    return False
