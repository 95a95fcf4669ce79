"""Bounds of a JSON text from outside, checked before its values are created.

A text of ten million bytes may be three million empty objects, or one number of ten million digits: each takes seconds
of a process that serves many.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rebuno.errors import ValidationError

# INVARIANT: matches at every quote (an unclosed string reaches to the end), or the search would be quadratic.
STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_INSIDE: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
# Bytes that one search goes through: it holds the interpreter to its end, and ten million take it a tenth of a second.
_WINDOW: Final = 65_536


_DIGITS: Final = b"0123456789"
_ROW: Final = re.compile(rb"[0-9]+")


def strings_in(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the strings of a JSON text begin and end, quotes included; an unclosed one reaches to the end. Others may
    run meanwhile, however long a string is."""
    start = data.find(b'"')
    while start >= 0:
        at, end = start + 1, len(data)
        while at < len(data):
            # It stops at a quote, at a backslash that is the last byte of the window, or at its end.
            at = _stop(data, at)
            if data[at : at + 1] == b'"':
                end = at + 1
                break
            if at == len(data) - 1:
                break
        yield start, end
        start = data.find(b'"', end)


def _stop(data: bytes, at: int) -> int:
    match = _INSIDE.match(data, at, at + _WINDOW)
    return match.end() if match else at


@dataclass(frozen=True, slots=True)
class Bounds:
    """`digits` is how many digits may stand in a row in a number, `values` how many values a text may hold, lists and
    objects among them."""

    digits: int = 4_300
    values: int = 100_000

    def __post_init__(self) -> None:
        if self.digits < 20 or self.values < 100:
            raise ValidationError("a number may have at least 20 digits, and a body at least 100 values")

    def check(self, data: bytes) -> None:
        """Raises `ValidationError` where a JSON text in UTF-8 holds more. Linear in it; it makes no value."""
        # Commas and opening brackets are at least as many as values; most texts are let through by counting them all.
        if not self._long(data, 0, len(data)) and data.count(b",") + data.count(b"[") + data.count(b"{") < self.values:
            return
        values, end = 1, 0
        for strings, (start, after) in enumerate(strings_in(data)):
            values += self._between(data, end, start)
            end = after
            # A text of more strings than this has as many values, or is no JSON.
            if values > self.values or strings > 2 * self.values:
                raise self._too_many()
        if values + self._between(data, end, len(data)) > self.values:
            raise self._too_many()

    def _between(self, data: bytes, start: int, end: int) -> int:
        if self._long(data, start, end):
            raise ValidationError(f"a number of more than {self.digits:,} digits; pass it as text")
        return data.count(b",", start, end) + data.count(b"[", start, end) + data.count(b"{", start, end)

    def _long(self, data: bytes, start: int, end: int) -> bool:
        # Whether too many digits stand in a row. INVARIANT: a search for all of them holds the interpreter for half a
        # second; of such a row one of every so many bytes is a digit, and few bytes are looked at.
        most = self.digits
        for at in range(start + most, end, most + 1):
            if data[at] in _DIGITS:
                last = _ROW.match(data, at, min(end, at + most + 1))
                before = data[max(start, at - most) : at]
                if last and last.end() - at + len(before) - len(before.rstrip(_DIGITS)) > most:
                    return True
        return False

    def _too_many(self) -> ValidationError:
        return ValidationError(f"JSON of more than {self.values:,} values; pass a reference, or the values as one text")
