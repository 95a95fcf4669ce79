"""`number`: the number that a value is, or that a text writes out."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.values import tokens
from rebuno.policy.values.json_values import UNREADABLE, is_number, shown

# A longer text is no number that anybody wrote; it is maybe.
MAX_TEXT: Final = 1_000

# These may stand before or after a number without changing it. Three capitals alone would not do: `5 MIO`.
_CODE: Final = (
    "(?:AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|SAR|SEK|SGD|THB"
    "|TRY|TWD|UAH|USD|VND|ZAR)"
)
_AMOUNT: Final = re.compile(rf"(?:{_CODE}\s)?(?P<number>\S+)(?:\s{_CODE})?")


def read(value: Any, _: PathContext) -> Any:
    """A number as it is; of a string the number that is all it says, but for a currency's sign or code.

    Signs and thousands separators are read (`-1,100` is -1100). A number among other words is `UNREADABLE`, for words
    may change it (`5 million`); so is a fraction that no double holds exactly as written.
    """
    if is_number(value):
        return value
    if type(value) is not str or len(value) > MAX_TEXT:
        return UNREADABLE
    match = _AMOUNT.fullmatch(value.strip())
    number = None if match is None else tokens.number(match["number"])
    return UNREADABLE if number is None else plain_number(number)


def plain_number(number: Decimal) -> Any:
    """A decimal as an int or a float, so that what is written compares exactly with what is JSON; `UNREADABLE` where no
    double holds it exactly as written."""
    whole = int(number)
    if whole == number:
        return whole
    real = float(number)
    return real if Decimal(repr(real)) == number else UNREADABLE


def _literal(value: Any, context: PathContext) -> int | float:
    number = read(value, context)
    if number is UNREADABLE:
        raise ValueError(f"`{shown(value)}` is no number; write it in digits, such as `1100` or `-0.5`")
    found: int | float = number
    return found


def find(text: str, _: PathContext) -> Iterable[int | float]:
    """The numbers that stand in a text as whole tokens; those of more than 1,000 digits are left out."""
    for number in tokens.numbers(text):
        if len(number.as_tuple().digits) <= MAX_TEXT:
            found = plain_number(number)
            if found is not UNREADABLE:
                yield found


FACETS: Final = (
    Facet(
        name="number",
        of="a number, or a string that is one",
        gives="the number",
        value="number",
        read=read,
        literal=_literal,
        find=find,
    ),
)
