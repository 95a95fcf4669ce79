"""The time: the wall clock, a fixed clock for tests, and RFC 3339 texts."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Clock(Protocol):
    """A source of the time."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        ...


class WallClock:
    """The clock of this machine. It may be set back."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()


class FixedClock:
    """A clock that moves only when told to."""

    def __init__(self, at: float | str = "2026-01-01T00:00:00Z") -> None:
        """`at`: seconds since 1970, or an RFC 3339 text."""
        self._now = from_rfc3339(at) if isinstance(at, str) else at

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Moves by this many seconds; backwards if negative."""
        self._now += seconds


def rfc3339(seconds: float) -> str:
    """Seconds since 1970 as `2026-01-31T08:30:00.000000Z`: always UTC and six digits, so that texts sort like times."""
    whole, microseconds = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{microseconds:06d}Z"


# Thousands of events may be of one second.
@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def from_rfc3339(text: str) -> float:
    """The seconds since 1970 of an RFC 3339 text.

    Raises:
        ValueError: it is none, or has no offset from UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"`{text}` has no offset from UTC; end it with `Z`")
    return (moment - _EPOCH) / _MICROSECOND / 1_000_000
