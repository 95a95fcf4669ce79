"""Integers of any length to decimal digits and back, past the limit that Python sets on `int` and `str`.

The limit is a setting of the whole process, which a library must not change. Splitting keeps both conversions fast.
"""

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Final

# Below the smallest limit that a process can set (640 digits), so that no setting matters.
SAFE_DIGITS: Final = 600
_SAFE_BITS: Final = 1990


def to_digits(value: int) -> str:
    """The decimal digits of `value`, with `-` where it is negative."""
    if value.bit_length() <= _SAFE_BITS:
        return str(value)
    sign, value = ("-", -value) if value < 0 else ("", value)
    exact = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
    powers: dict[int, Decimal] = {}
    return f"{sign}{_decimal(value, value.bit_length(), exact, powers):f}"


def _decimal(value: int, bits: int, exact: Context, powers: dict[int, Decimal]) -> Decimal:
    if bits <= _SAFE_BITS:
        return Decimal(value)
    half = bits >> 1
    if half not in powers:
        powers[half] = exact.power(2, half)
    high = _decimal(value >> half, bits - half, exact, powers)
    low = _decimal(value & ((1 << half) - 1), half, exact, powers)
    return exact.add(exact.multiply(high, powers[half]), low)


def from_digits(text: str) -> int:
    """The integer that `text` writes: ASCII digits, with `-` before them where it is negative."""
    powers: dict[int, int] = {}
    return -_integer(text[1:], powers) if text.startswith("-") else _integer(text, powers)


def _integer(digits: str, powers: dict[int, int]) -> int:
    if len(digits) <= SAFE_DIGITS:
        return int(digits)
    half = len(digits) >> 1
    if half not in powers:
        powers[half] = 5**half << half
    return _integer(digits[:-half], powers) * powers[half] + _integer(digits[-half:], powers)
