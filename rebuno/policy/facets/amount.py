"""`amount`: a number beside a currency in a text, or a JSON number."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from rebuno.policy.facets.number import plain_number
from rebuno.policy.facets.reading import Facet, PathContext, UncertainValue
from rebuno.policy.values.json_values import UNREADABLE, is_number, shown, valid
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT
from rebuno.policy.values.word_edges import CLOSING, MAX_STOPS, OPENING, QUOTES, STOPS, cut_after, cut_before

# More digits name an account, and not an end of a range.
_SHORT: Final = 6
# A longer text is no single amount.
MAX_TEXT: Final = 100
# More digits and separators are no amount.
_LONGEST: Final = 40
# Numbers beside a word or a currency in one text; those behind them are not read.
MAX_AMOUNTS: Final = 10_000
_SIGNS: Final = "$€£¥₹₩₽₺₪฿"

_CODE: Final = (
    "(?:AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|RON|SAR|SEK|SGD|THB"
    "|TRY|TWD|UAH|USD|VND|ZAR|eur|usd|gbp|chf)"
)
_SIGN: Final = r"(?:(?:US|CA|AU|NZ|HK|[ACSR])?\$|[€£¥₹₩₽₺₪฿])"
_NAME: Final = (
    "(?i:dollars?|euros?|francs?|yen|rupees?|pesos?|kron(?:a|or|e|er)|zlotys?|roubles?|rubles?|liras?|yuan|pounds?)"
)
_BLANKS: Final = r"[ \t\u00a0\u2000-\u200a\u202f]{0,2}"
_MINUS: Final = "[+\\-\u2212]"

_NUMBER: Final = re.compile(
    r"(?<![0-9])(?<![0-9][.,'’`´])(?:"
    r"(?P<grouped>[1-9][0-9]{0,2}(?:[ \u00a0\u2009\u202f][0-9]{3}(?![0-9]))++(?:[.,][0-9]{1,2}(?![0-9]))?+)"
    r"|[0-9]++(?:[.,'’`´][0-9]++)*+)"
)
_BEFORE: Final = re.compile(rf"(?P<first>{_MINUS}?)(?P<currency>{_CODE}|{_SIGN}){_BLANKS}(?P<second>{_MINUS}?)\Z")
_BARE: Final = re.compile(rf"(?P<second>{_MINUS}?)\Z")
_AFTER: Final = re.compile(rf"{_BLANKS}(?P<currency>(?:{_CODE}|{_NAME})(?![\w])|{_SIGN})")
_ENDS: Final = re.compile(rf"[{re.escape(STOPS)}]{{0,{MAX_STOPS}}}(?:[\s{re.escape(QUOTES + CLOSING)}]|\Z)")
_BEGINS: Final = frozenset(QUOTES + OPENING + ",;")
_DIGIT_BEFORE: Final = re.compile(rf"[0-9]{_BLANKS}\Z")
_DIGIT_AFTER: Final = re.compile(rf"{_BLANKS}{_MINUS}?[0-9]")
_SIZE: Final = re.compile(
    r"[\s\u00a0-]{0,16}(?i:(?:hundred|thousand|million|billion|trillion|dozen|lakh|crore|mio|mrd|tsd|mln|mn|bn|tn|k|m|b|t)s?)"
    r"(?![\w])"
)
_DASH: Final = r"(?:-|–|—|\u2212|~|\.\.+|…|/)"
_TO: Final = r"(?:to|bis|till|until|through|thru)"
_MONEY: Final = rf"(?:{_CODE}|{_SIGN}|{_NAME})"
_ANY_MONEY: Final = re.compile(_MONEY)
_RANGE_BEFORE: Final = re.compile(rf"[0-9]\s?(?:{_MONEY}\s?)?(?:{_DASH}|\s(?i:{_TO})\s)\s?(?:{_MONEY}\s?)?\Z")
_AND_BEFORE: Final = re.compile(rf"(?i:\bbetween)\s[^.;\n]{{1,40}}\s(?i:and)\s(?:{_MONEY}\s?)?\Z")
_FROM: Final = re.compile(rf"(?i:\bfrom)\s(?:{_MONEY}\s?)?\Z")
_BETWEEN: Final = re.compile(rf"(?i:\bbetween)\s(?:{_MONEY}\s?)?\Z")
_DASH_AFTER: Final = re.compile(rf"\s?{_DASH}\s?(?:{_MONEY}\s?)?[0-9]")
_TO_AFTER: Final = re.compile(rf"\s(?i:{_TO})\s(?P<pre>{_MONEY}\s?)?(?P<number>[0-9][0-9.,]*)(?P<post>\s?{_MONEY})?")
# One end of a range without the other, and what is no exact amount.
_OPEN_BEFORE: Final = re.compile(
    r"(?:\b(?i:up to|at most|at least|more than|less than|over|under|above|below|max|maximum|min|minimum|about|around"
    rf"|approx|approximately|circa|ca)\.?|[<>≤≥~])\s?=?\s?(?:{_MONEY}\s?)?{_MINUS}?\Z"
)
_OPEN_AFTER: Final = re.compile(r"\s?(?:\+|(?i:or (?:more|less)|and (?:up|more|above)))")


def read(value: Any, _: PathContext) -> Any:
    """A JSON number as it is; of a text the number, if the text is nothing but one amount. Else `UNREADABLE`."""
    if is_number(value):
        return value
    if type(value) is not str or len(value) > MAX_TEXT or not valid(value):
        return UNREADABLE
    text = value.strip()
    found = list(_amounts(text))
    if len(found) != 1 or found[0][2:] != (0, len(text)) or not found[0][1]:
        return UNREADABLE
    return plain_number(found[0][0])


def find(text: str, _: PathContext) -> Iterable[int | float | UncertainValue]:
    """The amounts in a text, each once; those that the text may not mean are uncertain. Linear in the text, of whose
    numbers beside a word or a currency the first 10,000 are read."""
    if len(text) > MAX_SEARCHED_TEXT or not valid(text):
        return
    found: dict[Decimal, bool] = {}
    for number, sure, _start, _end in _amounts(text):
        found[number] = found.get(number, False) or sure
    for number, sure in found.items():
        plain = plain_number(number)
        if plain is not UNREADABLE:
            yield plain if sure else UncertainValue(plain)


def _amounts(text: str) -> Iterator[tuple[Decimal, bool, int, int]]:
    """The amounts in a text: each number, whether it is sure, and where it begins and ends with its currency."""
    if not _ANY_MONEY.search(text):
        return
    left = MAX_AMOUNTS
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if end - start <= _LONGEST and (_money(text[max(0, start - 4) : start]) or _money(text[end : end + 3])):
            left -= 1
            if left < 0:
                return
            yield from _amount(text, match)


def _money(beside: str) -> bool:
    """Whether a currency may stand in these characters beside a number: a quick look before the exact one."""
    return not beside.isspace() and any(one.isalpha() or one in _SIGNS for one in beside)


def _amount(text: str, match: re.Match[str]) -> Iterator[tuple[Decimal, bool, int, int]]:
    start, end = match.span()
    left, right = text[max(0, start - 16) : start], text[end : end + 32]
    if _SIZE.match(right):
        return
    before = _BEFORE.search(left)
    if before is not None and not _begins(text, start - len(left) + before.start()):
        before = None
    after = _AFTER.match(right)
    if before is None and after is None:
        return
    sign = before or _BARE.search(left)
    begin = start - len(left) + sign.start() if sign else start
    finish = end + after.end() if after else end
    signs = "".join(part or "" for part in sign.groupdict().values() if part in ("+", "-", "\u2212")) if sign else ""
    tail = text[finish : finish + 64]
    if len(signs) > 1 or not _begins(text, begin) or not _ENDS.match(tail) or _SIZE.match(tail):
        return
    ends = _in_range(text, start, finish, opened=before is not None and after is None)
    if ends:
        return
    sure = ends is False and not (cut_before(text, begin) or cut_after(text, finish))
    sure = sure and not (before and _DIGIT_BEFORE.search(text[max(0, begin - 4) : begin]))
    sure = sure and not _DIGIT_AFTER.match(tail)
    sure = sure and not (after and not before and after["currency"].lower().startswith("pound"))
    if before is None and _DIGIT_BEFORE.search(text[max(0, begin - 4) : begin]):
        return  # the last group of a longer number
    for number, certain in _values(match[0], grouped=match["grouped"] is not None):
        yield number.copy_negate() if signs in ("-", "\u2212") else number, sure and certain, begin, finish


def _begins(text: str, at: int) -> bool:
    return (
        at == 0
        or text[at - 1].isspace()
        or text[at - 1] in _BEGINS
        or (text[at - 1] == ":" and not text[at - 2 : at - 1].isdigit())
    )


def _in_range(text: str, start: int, finish: int, *, opened: bool) -> bool | None:
    """Whether an amount is one end of a range; None for perhaps. `opened`: its currency stands before it only."""
    left, right = text[max(0, start - 64) : start], text[finish : finish + 64]
    if _RANGE_BEFORE.search(left) or _AND_BEFORE.search(left) or _DASH_AFTER.match(right):
        return True
    if _BETWEEN.search(left):
        return True
    to = _TO_AFTER.match(right)
    if to is not None:
        if to["pre"] or to["post"]:
            return True
        if _FROM.search(left) and len(to["number"]) <= _SHORT:
            return True
        # `$20 to 12345678` names an account, `$20 to 30` perhaps a range.
        if opened and len(to["number"]) <= _SHORT:
            return None
    return None if _OPEN_BEFORE.search(left) or _OPEN_AFTER.match(right) else False


def _values(written: str, *, grouped: bool) -> list[tuple[Decimal, bool]]:
    """The numbers that digits with separators may stand for, each with whether it is sure."""
    if grouped:
        joined = re.sub(r"[ \u00a0\u2009\u202f]", "", written).replace(",", ".")
        return [(Decimal(joined), False)]
    groups = re.split(r"[.,'’`´]", written)
    marks = [sign for sign in written if not sign.isdigit()]
    if not marks:
        return [] if _padded(written) else [(Decimal(written), True)]
    whole, last = "".join(groups[:-1]), groups[-1]
    apart = all(len(group) == 3 for group in groups[1:-1]) and 1 <= len(groups[0]) <= 3 and not _padded(groups[0])
    alike = len(set(marks)) == 1
    if len(marks) == 1 and marks[0] in ".,":
        return _one_mark(marks[0], groups[0], last)
    if alike and apart and len(last) == 3 and groups[0] != "0":
        return [(Decimal(whole + last), True)]
    if len(marks) > 1 and len(set(marks[:-1])) == 1 and not alike and marks[-1] in ".," and apart and groups[0] != "0":
        return [(Decimal(f"{whole}.{last}"), True)]
    return []


def _one_mark(mark: str, whole: str, last: str) -> list[tuple[Decimal, bool]]:
    if _padded(whole):
        return []
    decimal = Decimal(f"{whole}.{last}")
    if len(last) == 3 and len(whole) <= 3 and whole != "0":
        thousands = Decimal(whole + last)
        return [(thousands, True)] if mark == "," else [(thousands, False), (decimal, False)]
    return [(decimal, mark == "." or len(last) <= 2 or whole == "0")]


def _padded(digits: str) -> bool:
    return len(digits) > 1 and digits.startswith("0")


def _literal(value: Any, context: PathContext) -> int | float:
    number = read(value, context)
    if number is UNREADABLE:
        raise ValueError(f"`{shown(value)}` is no amount; write a number, or one with its currency like `5 EUR`")
    found: int | float = number
    return found


FACETS: Final = (
    Facet(
        name="amount",
        of="a number, or a string that is a number beside a currency",
        gives="the number",
        value="number",
        read=read,
        literal=_literal,
        find=find,
    ),
)
