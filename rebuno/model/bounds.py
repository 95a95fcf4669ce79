"""Bounds of a JSON text from outside, checked before its values are created.

A text of ten million bytes may be three million empty objects, or one number of ten million digits: each takes seconds
of a process that serves many.
"""

import re
from dataclasses import dataclass
from typing import Final

from rebuno.errors import ValidationError

# INVARIANT: matches at every quote (an unclosed string reaches to the end), or the search would be quadratic.
STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


_DIGITS: Final = b"0123456789"
_ROW: Final = re.compile(rb"[0-9]+")


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
        for strings, match in enumerate(STRING.finditer(data)):
            values += self._between(data, end, match.start())
            end = match.end()
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
