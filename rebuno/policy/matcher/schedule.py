"""`during`: whether the time of a submission is within a weekly schedule in a time zone."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import floor
from typing import Final

from rebuno.policy.matcher.facts import Facts
from rebuno.policy.values.json_values import Tri, invert

EXAMPLE_SCHEDULE: Final = "Mon-Fri 09:00-17:00 Europe/London"
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_DAY: Final = {
    name: number
    for number, names in enumerate(
        ("mon monday", "tue tuesday", "wed wednesday", "thu thursday", "fri friday", "sat saturday", "sun sunday")
    )
    for name in names.split()
}
_TIMES: Final = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)", re.ASCII)
_ZONE: Final = re.compile(r"[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", re.ASCII)
_MIDNIGHT: Final = 24 * 60


class ScheduleError(ValueError):
    """A schedule that cannot be read; `help` says how to write it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Schedule:
    """A weekly schedule in a time zone. `days` are the days on which a range of `times` starts; Monday is 0. A range is
    a start and an end in minutes of the day; the end is exclusive and at most 1440. A range that ends before it starts
    continues after midnight."""

    days: frozenset[int]
    times: tuple[tuple[int, int], ...]
    zone: tzinfo

    def local(self, now: float | None) -> datetime | None:
        """The local time in the time zone, to the second; None without a time, or for a time outside of the calendar.
        `now` is in seconds since 1970."""
        try:
            return None if now is None else datetime.fromtimestamp(floor(now), self.zone)
        except (OverflowError, OSError, ValueError):
            return None

    def holds(self, now: float | None) -> Tri:
        """Whether the time is in one of the ranges; maybe without a time."""
        local = self.local(now)
        if local is None:
            return None
        today, minute = local.weekday(), local.hour * 60 + local.minute
        return any(self._within(today, minute, start, end) for start, end in self.times)

    def _within(self, today: int, minute: int, start: int, end: int) -> bool:
        if start < end:
            return today in self.days and start <= minute < end
        return (today in self.days and minute >= start) or ((today - 1) % 7 in self.days and minute < end)


def parse_schedule(text: str) -> Schedule:
    """Reads `Mon-Fri 09:00-12:00,13:00-17:00 Europe/London`: days and ranges of them, times, a time zone.

    Raises:
        ScheduleError: the text is no schedule, or the time zone does not exist.
    """
    words = re.sub(r"\s*,\s*", ",", text.strip()).split()
    if len(words) != 3:
        raise ScheduleError("a schedule is days, times and a time zone", f"write it like `{EXAMPLE_SCHEDULE}`")
    days, times, zone = words
    found = frozenset(day for part in days.split(",") for day in _days(part))
    return Schedule(found, tuple(_times(part) for part in times.split(",")), time_zone(zone))


def _days(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    for name in (first, last) if dash else (first,):
        if name.lower() not in _DAY:
            raise ScheduleError(
                f"there is no day `{name}`", f"the days are {', '.join(WEEKDAYS)}, as in `{EXAMPLE_SCHEDULE}`"
            )
    start = _DAY[first.lower()]
    length = (_DAY[last.lower()] - start) % 7 if dash else 0
    return [(start + day) % 7 for day in range(length + 1)]


def _times(text: str) -> tuple[int, int]:
    read = _TIMES.fullmatch(text)
    if read is None:
        raise ScheduleError(f"`{text}` is no range of times", "write hours and minutes, as in `09:00-17:00`")
    start, end = int(read[1]) * 60 + int(read[2]), int(read[3]) * 60 + int(read[4])
    if int(read[2]) > 59 or int(read[4]) > 59 or start >= _MIDNIGHT or end > _MIDNIGHT:
        raise ScheduleError(f"there is no such time as in `{text}`", "a day goes from 00:00 to 24:00")
    if start == end:
        raise ScheduleError(f"`{text}` ends when it starts", "write `00:00-24:00` for the whole day")
    return start, end


def time_zone(name: str) -> tzinfo:
    """The time zone of a name like `Europe/London`.

    Raises:
        ScheduleError: there is none.
    """
    from zoneinfo import ZoneInfo

    if _ZONE.fullmatch(name):
        try:
            return ZoneInfo(name)
        except (LookupError, OSError, ValueError):
            pass  # reported below
    help = "name it like `Europe/London` or `UTC`; the names come from the system or from the package `tzdata`"
    raise ScheduleError(f"there is no time zone `{name}`", help)


def schedule_check(text: str, negated: bool) -> Callable[[Facts], Tri]:
    """The check of a valid schedule, or of its negation."""
    holds = parse_schedule(text).holds
    return lambda facts: invert(holds(facts.now)) if negated else holds(facts.now)
