"""Whole words and numbers in what a user wrote."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.values import windows
from rebuno.policy.values.json_values import Tri, is_number, type_name, valid
from rebuno.policy.values.word_edges import (
    CLOSING,
    MAX_STOPS,
    OPENING,
    QUOTES,
    STOPS,
    cut_after,
    cut_before,
    stands_alone,
)

# Beyond either bound what is not found is maybe.
MAX_TEXT: Final = 1 << 20
MAX_VALUES: Final = 1 << 20

# Between two texts: no value holds half a surrogate pair, and white space ends what stands before and after it.
_BETWEEN: Final = " \ud800 "
_FEW: Final = 64  # searches of one text before it is taken into pieces


def occurs(text: str, value: str) -> Tri:
    """Whether `value` stands in `text` as a whole word, as `edges.stands_alone` says, in time linear in both: yes where
    one of its places is sure, maybe where one may be. A blank value never occurs."""
    if not value.strip():
        return False
    # Each find that hits may look at as much as the value is long; what overlaps itself again and again is left to
    # `places`, which never looks back.
    left = len(text)
    position = text.find(value)
    answer: Tri = False
    while position >= 0:
        if left < 0:
            return _best(text, places(text, value, position), len(value), answer)
        here = stands_alone(text, position, position + len(value))
        if here:
            return True
        if here is None:
            answer = None
        left -= len(value)
        position = text.find(value, position + 1)
    return answer


def _best(text: str, starts: Iterable[int], size: int, answer: Tri = False) -> Tri:
    for start in starts:
        here = stands_alone(text, start, start + size)
        if here:
            return True
        if here is None:
            answer = None
    return answer


def places(text: Sequence[str], value: Sequence[str], start: int) -> Iterator[int]:
    """Where `value`, which is not empty, begins in `text` from `start` on, overlaps included; by Knuth, Morris and
    Pratt."""
    fallback = [0] * len(value)
    size = 0
    for index in range(1, len(value)):
        letter = value[index]
        while size and value[size] != letter:
            size = fallback[size - 1]
        size += value[size] == letter
        fallback[index] = size
    size = 0
    for index in range(start, len(text)):
        letter = text[index]
        while size and (size == len(value) or value[size] != letter):
            size = fallback[size - 1]
        size += value[size] == letter
        if size == len(value):
            yield index + 1 - size


_EDGE: Final = re.escape(QUOTES)
_BREAKS: Final = rf"\s{_EDGE}{re.escape(OPENING + CLOSING + STOPS)}"
_PIECE: Final = re.compile(f"[^{_BREAKS}]+|[{_BREAKS}]")


def pieces(text: str) -> list[str]:
    """The text cut before and after everything that can stand beside a token.

    INVARIANT: where a value `occurs`, its pieces are pieces of the text.
    """
    return _PIECE.findall(text)


_SIGN: Final = "[+\\-−]?"
_CURRENCY: Final = "[$€£¥₹₩₽₺₪฿¢]?"
# INVARIANT: a digit group beside another one (a card, a telephone number, an IBAN) is no number, nor is a part of
# `12,50`, of `1'100`, of `1.2.3` or of what begins with a needless zero.
_BEGINS: Final = (
    rf"(?<![^\s{_EDGE}{re.escape(OPENING)},;])(?<![0-9][,;.'’`´])(?<![0-9][ \u00a0\u2000-\u200a\u202f\u205f])"
    rf"(?P<sign>{_SIGN}){_CURRENCY}(?P<second>{_SIGN})"
)
_NUMBER_HEAD: Final = re.compile(rf"{_BEGINS}[0-9]")
_NUMBER: Final = re.compile(
    _BEGINS + r"(?P<digits>(?:[1-9][0-9]{0,2}(?:,[0-9]{3})++|0|[1-9][0-9]*+)(?:\.[0-9]++)?+)"
    rf"{_CURRENCY}"
    r"(?![ \u00a0\u2000-\u200a\u202f\u205f][0-9])(?!['’`´][0-9])"
    rf"(?=[{re.escape(STOPS)}]{{0,{MAX_STOPS}}}(?:[\s{_EDGE}{re.escape(CLOSING)}]|\Z))"
)
MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE: Final = re.compile(
    rf"\b{MONTH}\.?\s(?:[0-9]{{1,2}}(?:st|nd|rd|th)?(?:,?\s[0-9]{{4}})?|[0-9]{{4}})\b"
    rf"|\b[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}\b\.?(?:,?\s[0-9]{{4}}\b)?",
    re.IGNORECASE,
)


LONGEST_DATE: Final = 64


def numbers(text: str) -> set[Decimal]:
    """The numbers that stand in `text` as whole words for sure, exactly as written.

    A sign, a currency sign directly before or after, and thousands separators (`1,100` is 1100) are read. Parts of
    dates, of codes and of groups of digits are none, nor is `5k`.
    """
    return {number for number, sure in found_numbers(text) if sure}


def found_numbers(text: str) -> Iterator[tuple[Decimal, bool]]:
    """What `numbers` finds, and with False what may be a part of a word: the 5 of `o'5`."""
    dates = [match.span() for match in windows.each(_DATE, text, ahead=LONGEST_DATE)]
    current = 0
    for match in windows.each(_NUMBER, text, ahead=LONGEST_DATE, head=_NUMBER_HEAD):
        start, end = match.span("digits")
        while current < len(dates) and dates[current][1] <= start:
            current += 1
        if current < len(dates) and dates[current][0] < end:
            continue
        number = _value(match)
        if number is not None:
            yield number, not (cut_before(text, match.start()) or cut_after(text, match.end()))


def number(text: str) -> Decimal | None:
    """The number that the whole of `text` writes out, read as `numbers` reads it; None where there is more, or none."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else _value(match)


def _value(match: re.Match[str]) -> Decimal | None:
    signs = match["sign"] + match["second"]
    if len(signs) > 1:
        return None
    number = Decimal(match["digits"].replace(",", ""))
    # Unlike `-number` it does not round.
    return number.copy_negate() if signs in ("-", "−") else number


class _Searched:
    """A text that is searched again and again: after some searches by its pieces, each with its places."""

    __slots__ = ("_places", "_searches", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._searches = 0
        self._places: dict[str, list[int]] = {}

    def holds(self, value: str) -> Tri:
        """Whether the value occurs, as `occurs` says."""
        self._searches += 1
        if self._searches <= _FEW:
            return occurs(self._text, value)
        if not self._places:
            start = 0
            for piece in pieces(self._text):
                self._places.setdefault(piece, []).append(start)
                start += len(piece)
        return self._holds(value) if value.strip() else False

    def _holds(self, value: str) -> Tri:
        rarest: Sequence[int] = range(len(self._text))
        offset = before = 0
        for piece in pieces(value):
            there = self._places.get(piece, ())
            if len(there) < len(rarest):
                rarest, offset = there, before
            before += len(piece)
        if len(rarest) * len(value) > len(self._text):
            return occurs(self._text, value)
        starts = (at - offset for at in rarest if at >= offset)
        return _best(self._text, (at for at in starts if self._text.startswith(value, at)), len(value))


class Texts:
    """The texts and numbers of one JSON value, ready to be searched.

    What lies beyond 1,048,576 characters of text or as many values, text that is not valid Unicode, and what is no
    JSON are left out and the rest is `partial`: what is then not found is maybe. `numbers` are the JSON numbers.
    """

    __slots__ = ("_exact", "_folded", "_written", "numbers", "partial", "texts")

    def __init__(self, values: list[Any]) -> None:
        self.texts: list[str] = []
        self.numbers: set[int | float] = set()
        self.partial = False
        self._exact: _Searched | None = None
        self._folded: _Searched | None = None
        self._written: dict[Decimal | int | float, bool] | None = None
        self._read(values)

    def _read(self, values: list[Any]) -> None:
        # Depth first and in order, so that what falls to the bound does not depend on chance.
        stack = values[::-1]
        room, left = MAX_TEXT, MAX_VALUES
        while stack:
            value = stack.pop()
            left -= 1
            if left < 0:
                self.partial = True
                return
            if type(value) is str:
                room -= len(value)
                if room >= 0 and valid(value):
                    self.texts.append(value)
                else:
                    self.partial = True
            elif is_number(value):
                self.numbers.add(value)
            elif type(value) is list:
                stack.extend(reversed(value))
            elif type(value) is dict:
                stack.extend(reversed(value.values()))
            elif not type_name(value) or type(value) is float:
                self.partial = True

    def find(self, value: str | int | float, *, fold: bool = False) -> Tri:
        """Whether the value occurs: text as a whole word, a number as a JSON number or as one in a text.

        Text that differs only in upper and lower case is maybe, with `fold` yes; so is what may be a part of a word.
        """
        if not isinstance(value, str):
            return self._find_number(value)
        if self._exact is None or self._folded is None:
            whole = _BETWEEN.join(self.texts)
            self._exact, self._folded = _Searched(whole), _Searched(whole.casefold())
        exact = False if fold else self._exact.holds(value)
        if exact:
            return True
        folded = self._folded.holds(value.casefold())
        if folded and fold:
            return True
        return False if folded is False and exact is False and not self.partial else None

    def _find_number(self, value: int | float) -> Tri:
        if value in self.numbers:
            return True
        if self._written is None:
            self._written = {}
            for text in self.texts:
                for number, sure in found_numbers(text):
                    self._written[number] = self._written.get(number, False) or sure
        # A real stands for the decimal that its shortest form writes: 0.1 is the 0.1 of a text.
        found = self._written.get(Decimal(repr(value)) if type(value) is float else value)
        if found:
            return True
        return None if self.partial or found is False else False
