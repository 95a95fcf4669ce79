"""`date`: the calendar day that a text names, as it is written."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from rebuno.policy.facets.date.words import Sentences
from rebuno.policy.facets.reading import Facet, PathContext, Reading, UncertainValue
from rebuno.policy.values import windows
from rebuno.policy.values.json_values import UNREADABLE, Marker, Tri, shown
from rebuno.policy.values.tokens import LONGEST_DATE, MAX_SEARCHED_TEXT, MONTH
from rebuno.policy.values.word_edges import stands_alone

# Days of one text whose neighbours are looked at; further ones are in doubt.
MAX_DAYS: Final = 10_000

_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NUMBERS: Final = {name[:3].lower(): number for number, name in enumerate(_NAMES, 1)}
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_TIME: Final = r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
_BLANK: Final = "[ \t\u00a0\u202f]"
_DAY: Final = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_DATE: Final = re.compile(
    rf"(?P<iso>(?P<iso_year>[0-9]{{4}})-(?P<iso_month>[0-9]{{2}})-(?P<iso_day>[0-9]{{2}}))(?:{_TIME})?"
    rf"|(?P<month>{MONTH})\.?{_BLANK}(?P<day>{_DAY})\b(?:,?{_BLANK}(?P<year>[0-9]{{4}})\b)?"
    rf"|(?P<day_first>{_DAY}){_BLANK}(?:of{_BLANK})?(?P<month_after>{MONTH})\b\.?(?:,?{_BLANK}(?P<year_after>[0-9]{{4}})\b)?",
    re.IGNORECASE | re.ASCII,
)
# A time of day beside the date. Any other digit may belong to a day in a way of writing that is not read (`01/11/2025`,
# `2026年1月1日`, `+ 5 days`): then the date that is read may not be the one that counts.
_CLOCK: Final = re.compile(r"(?<!\d)(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?(?!\d)")
_DIGIT: Final = re.compile(r"\d")
_RELATIVE: Final = re.compile(r"\b(?:today|tomorrow)\b", re.IGNORECASE | re.ASCII)
# A month and a number: `march 5` may be something else.
_BARE: Final = re.compile(rf"[^\W\d]+{_BLANK}[0-9]{{1,2}}|[0-9]{{1,2}}{_BLANK}[^\W\d]+")


@dataclass(frozen=True, slots=True)
class Day(Reading):
    """A calendar day; without a `year` that day in any year. It exists in the calendar."""

    year: int | None
    month: int
    day: int

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same day; one without a year is the same as that day of every year."""
        if type(right) is not Day:
            return None
        same = (self.month, self.day) == (right.month, right.day)
        return same and (self.year == right.year or self.year is None or right.year is None)

    def compare(self, right: Any) -> int | None:
        """Earlier or later; None where either has no year."""
        if type(right) is not Day or self.year is None or right.year is None:
            return None
        one, other = (self.year, self.month, self.day), (right.year, right.month, right.day)
        return (one > other) - (one < other)

    def index_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """The day, and that day of any year."""
        if self.year is None:
            return [(("any year", self.month, self.day), True)]
        return [((self.year, self.month, self.day), True), (("some year", self.month, self.day), True)]

    def lookup_keys(self, fold: bool) -> Iterable[tuple[Any, bool]]:
        """A full date finds itself and its day without a year, a day without a year finds every year's."""
        first = "some year" if self.year is None else self.year
        return [((first, self.month, self.day), True), (("any year", self.month, self.day), True)]

    def __str__(self) -> str:
        if self.year is None:
            return f"{_NAMES[self.month - 1]} {self.day}"
        return f"{self.year:04}-{self.month:02}-{self.day:02}"


def read(value: Any, context: PathContext) -> Any:
    """The one day that a string names, whatever stands around it (`2025-01-31T10:00Z`, `on May 5th`). In a text of the
    user, `today` and `tomorrow` are days too, if the bundle names a time zone.

    `UNREADABLE` where there is none, more than one, one that does not exist, any digit beside it that is no time of
    day (`11/01/2025`, `2025-05-05 + 5 days`), a word beside it that makes it another day (`until May 5`), and beyond
    1,048,576 characters.
    """
    if type(value) is not str or len(value) > MAX_SEARCHED_TEXT or _other_digits(value):
        return UNREADABLE
    days = set(_days(value, context.today))
    day = days.pop() if len(days) == 1 else None
    return day if type(day) is Day else UNREADABLE


def find(text: str, context: PathContext) -> Iterable[Any]:
    """The days that a text names; those in doubt that are not for sure the day that is written. `UNREADABLE` stands for
    today and tomorrow in a text whose time is unknown."""
    return (day for day in _days(text, context.today) if day is not None)


def _other_digits(text: str) -> bool:
    rest = windows.without(_DATE, text, ahead=LONGEST_DATE)
    return _DIGIT.search(windows.without(_CLOCK, rest, ahead=LONGEST_DATE)) is not None


def _days(text: str, today: date | Marker | None = None) -> Iterator[Day | UncertainValue | Marker | None]:
    # None for a day that does not exist, and for what is no whole word: the 5 of `May 5-7` is not all that it says.
    sentences: Sentences | None = None
    looked_at = 0
    for match in () if today is None else windows.each(_RELATIVE, text, ahead=LONGEST_DATE):
        alone = stands_alone(text, *match.span())
        if alone is False:
            continue
        found = _relative(match[0], today)
        sentences = sentences or Sentences(text)
        looked_at += 1
        doubt = alone is None or looked_at > MAX_DAYS or sentences.doubtful_word(*match.span())
        yield UncertainValue(found) if type(found) is Day and doubt else found
    for match in windows.each(_DATE, text, ahead=LONGEST_DATE):
        alone = stands_alone(text, *match.span())
        month = match["month"] or match["month_after"] or ""
        if alone is False:
            yield None
            continue
        if match["iso"]:
            day = _day(int(match["iso_year"]), int(match["iso_month"]), match["iso_day"])
        else:
            year = match["year"] or match["year_after"]
            day = _day(int(year) if year else None, _NUMBERS[month[:3].lower()], match["day"] or match["day_first"])
        sentences = sentences or Sentences(text)
        bare = bool(month) and _BARE.fullmatch(match[0]) is not None
        looked_at += 1
        doubt = alone is None or looked_at > MAX_DAYS or sentences.doubtful(*match.span(), month, bare=bare)
        if day is not None and doubt:
            yield UncertainValue(day)
        else:
            yield day


def _relative(word: str, today: date | Marker | None) -> Day | Marker:
    if not isinstance(today, date):
        return UNREADABLE
    try:
        day = today if word.lower() == "today" else today + timedelta(1)
    except OverflowError:
        return UNREADABLE
    return Day(day.year, day.month, day.day)


def _day(year: int | None, month: int, written: str) -> Day | None:
    day = int(written.rstrip("stndrhSTNDRH"))
    if year == 0 or not 1 <= month <= 12:
        return None
    leap = year is None or (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    length = 29 if month == 2 and leap else _LENGTHS[month - 1]
    return Day(year, month, day) if 1 <= day <= length else None


def _literal(value: Any, context: PathContext) -> Day:
    day = read(value, context)
    if type(day) is not Day:
        raise ValueError(f"`{shown(value)}` is no day; write `2025-01-31`, or `January 31` for that day of any year")
    return day


FACETS: Final = (
    Facet(
        name="date",
        of="a string that names one day",
        gives="the calendar day, as written",
        value="date",
        read=read,
        literal=_literal,
        find=find,
    ),
)
