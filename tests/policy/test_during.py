"""`during`: times of the week by the clocks of a place."""

import zoneinfo
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import nextafter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.model.clock import from_rfc3339
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.compile import compile_text
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.matcher.schedule import WEEKDAYS, parse_schedule
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from tests.policy.bundles import answer

OFFICE = "Mon-Fri 09:00-17:00 Europe/London"
NIGHT = "Fri 22:00-06:00 Europe/London"


@pytest.mark.parametrize(
    ("times", "at", "holds"),
    [
        # 2026-11-30 is a Monday; London is on UTC.
        (OFFICE, "2026-11-30T09:00:00Z", True),
        (OFFICE, "2026-11-30T08:59:59.999Z", False),
        (OFFICE, "2026-11-30T16:59:59.9999999Z", True),
        (OFFICE, "2026-11-30T17:00:00Z", False),  # the end is exclusive
        (OFFICE, "2026-11-29T12:00:00Z", False),  # a Sunday
        # In summer London is an hour ahead.
        (OFFICE, "2026-06-29T08:00:00Z", True),
        (OFFICE, "2026-06-29T16:00:00Z", False),
        (OFFICE, "2026-06-29T09:30:00+02:00", False),
        # Across midnight the day is the one on which it starts.
        (NIGHT, "2026-12-04T21:59:00Z", False),
        (NIGHT, "2026-12-04T22:00:00Z", True),
        (NIGHT, "2026-12-05T05:59:00Z", True),
        (NIGHT, "2026-12-05T06:00:00Z", False),
        (NIGHT, "2026-12-05T22:00:00Z", False),
        (NIGHT, "2026-12-04T05:00:00Z", False),  # the night after Thursday
        ("Sun 22:00-06:00 UTC", "2026-11-30T01:00:00Z", True),  # the week goes round
        # Days and ranges of them, several times.
        ("Fri-Mon 09:00-10:00 UTC", "2026-11-29T09:00:00Z", True),
        ("Fri-Mon 09:00-10:00 UTC", "2026-12-01T09:00:00Z", False),
        ("Mon,wednesday-THU 09:00-10:00 UTC", "2026-12-03T09:00:00Z", True),
        ("Mon,wednesday-THU 09:00-10:00 UTC", "2026-12-01T09:00:00Z", False),
        ("Mon-Mon 09:00-10:00 UTC", "2026-12-01T09:00:00Z", False),
        ("Mon-Fri 9:00-12:00, 13:00-17:00 UTC", "2026-11-30T12:30:00Z", False),
        ("Mon-Fri 9:00-12:00, 13:00-17:00 UTC", "2026-11-30T13:30:00Z", True),
        ("Mon , Tue   00:00-24:00  UTC", "2026-12-01T23:59:59Z", True),
        ("Mon 00:00-24:00 UTC", "2026-12-01T00:00:00Z", False),
        # The zone decides which day it is.
        ("Tue 00:00-24:00 Asia/Tokyo", "2026-11-30T15:00:00Z", True),
        ("Mon 00:00-24:00 America/Argentina/Buenos_Aires", "2026-12-01T02:59:00Z", True),
        ("Mon 18:30-19:00 Asia/Kolkata", "2026-11-30T13:00:00Z", True),  # half an hour off
        # An hour that the clocks skip, and one that they show twice (London, 29 March and 25 October 2026).
        ("Sun 01:30-02:30 Europe/London", "2026-03-29T00:59:59Z", False),
        ("Sun 01:30-02:30 Europe/London", "2026-03-29T01:00:00Z", True),  # it is two o'clock
        ("Sun 01:00-02:00 Europe/London", "2026-03-29T01:00:00Z", False),
        ("Sun 01:00-02:00 Europe/London", "2026-10-25T00:30:00Z", True),
        ("Sun 01:00-02:00 Europe/London", "2026-10-25T01:30:00Z", True),
        ("Sun 01:00-02:00 Europe/London", "2026-10-25T02:00:00Z", False),
    ],
)
def test_times(times: str, at: str, holds: bool) -> None:
    """A moment is looked up on the clocks of the place."""
    assert parse_schedule(times).holds(from_rfc3339(at)) is holds


def test_the_last_moment_is_not_rounded_up() -> None:
    """A time just before the end is before the end."""
    assert parse_schedule(OFFICE).holds(nextafter(from_rfc3339("2026-11-30T17:00:00Z"), 0)) is True


@pytest.mark.parametrize("now", [None, float("nan"), float("inf"), -float("inf"), 1e20, -1e20, 10**400])
def test_without_a_clock_it_is_maybe(now: Any) -> None:
    """So it is where the clock says what no calendar has; neither side raises."""
    facts = Facts("tool_call", "t", now=now)
    assert answer("", f'during "{OFFICE}"', facts) is None
    assert answer("", f'not during "{OFFICE}"', facts) is None
    policy = compile_text(f'default allow\nrule r {{ deny tool "*" when not during "{OFFICE}" because "closed" }}')
    (node,) = explain_decision(policy, facts).rules[0].tests
    assert (node.answer, node.why, node.seen) == ("maybe", "the time of the submission is not known", ())


@pytest.mark.parametrize(
    ("at", "negated", "rule", "why"),
    [
        ("2026-06-29T08:15:30Z", False, "r", "it is Mon 2026-06-29 09:15:30+01:00 there, which is in the schedule"),
        (
            "2026-06-29T08:15:30Z",
            True,
            "default",
            "it is Mon 2026-06-29 09:15:30+01:00 there, which is in the schedule",
        ),
        ("2026-06-28T08:00:00Z", True, "r", "it is Sun 2026-06-28 09:00:00+01:00 there, which is not in the schedule"),
    ],
)
def test_explain_tells_the_time_there(at: str, negated: bool, rule: str, why: str) -> None:
    """With the day and how far it is from UTC, and both evaluators decide alike."""
    test = f'{"not " if negated else ""}during "{OFFICE}"'
    policy = compile_text(f'default deny\nrule r {{ allow tool "t" when {test} }}')
    facts = Facts("tool_call", "t", now=from_rfc3339(at))
    trace = explain_decision(policy, facts)
    assert policy.decide(facts).rule_id == trace.decision.rule_id == rule
    assert trace.rules[0].tests[0].why == why


@pytest.mark.parametrize(
    ("times", "message", "help"),
    [
        ("", "a schedule is days, times and a time zone", "write it like"),
        ("Mon-Fri 09:00-17:00", "a schedule is days, times and a time zone", "Europe/London"),  # no zone
        ("09:00-17:00 UTC", "a schedule is days, times and a time zone", "Mon-Fri"),
        ("Mon 09:00-10:00 UTC now", "a schedule is days, times and a time zone", ""),
        ("Mo 09:00-17:00 UTC", "there is no day `Mo`", "the days are Mon, Tue"),
        ("Mon- 09:00-17:00 UTC", "there is no day ``", ""),
        ("Mon-Wed-Fri 09:00-17:00 UTC", "there is no day `Wed-Fri`", ""),
        ("Mon, 09:00-17:00 UTC", "a schedule is days, times and a time zone", ""),
        ("Mon 9-17 UTC", "`9-17` is no range of times", "09:00-17:00"),
        ("Mon 09:00 UTC", "`09:00` is no range of times", ""),
        ("Mon 09:00–17:00 UTC", "`09:00–17:00` is no range of times", ""),
        ("Mon 09:00-17:00, UTC", "a schedule is days, times and a time zone", ""),
        ("Mon ٠9:00-17:00 UTC", "`٠9:00-17:00` is no range of times", ""),  # another script's digit
        ("Mon 09:60-17:00 UTC", "there is no such time as in `09:60-17:00`", "from 00:00 to 24:00"),
        ("Mon 09:00-24:01 UTC", "there is no such time as in `09:00-24:01`", ""),
        ("Mon 24:00-06:00 UTC", "there is no such time as in `24:00-06:00`", ""),
        ("Mon 09:00-09:00 UTC", "`09:00-09:00` ends when it starts", "00:00-24:00"),
        ("Mon 09:00-17:00 Europe/Lodnon", "there is no time zone `Europe/Lodnon`", "`tzdata`"),
        ("Mon 09:00-17:00 Europe", "there is no time zone `Europe`", ""),  # a folder
        ("Mon 09:00-17:00 ../UTC", "there is no time zone `../UTC`", ""),
        ("Mon 09:00-17:00 /etc/localtime", "there is no time zone `/etc/localtime`", ""),
        ("Mon 09:00-17:00 localtime", "there is no time zone `localtime`", ""),  # what this machine is set to
        ("Mon 09:00-17:00 +02:00", "there is no time zone `+02:00`", ""),
        (f"Mon 09:00-17:00 {'A' * 5000}", "there is no time zone", ""),
    ],
)
def test_a_bad_schedule_is_an_error(times: str, message: str, help: str) -> None:
    """At the place of its text, with how to write it."""
    bundle, errors = parse_bundle(Source(f'default deny\ncondition open = during "{times}"'))
    assert errors == []
    (found,) = [d for d in check_bundle(bundle) if d.severity is Severity.ERROR]
    assert (found.code, found.span.line, found.span.column) == ("bad-schedule", 2, 25)
    assert message in found.message
    assert help in found.help


def test_it_may_stand_in_no_where() -> None:
    """An earlier step is not asked for the time of this one."""
    bundle, _ = parse_bundle(Source('condition c = after tool "a" where (during "Mon 09:00-10:00 UTC")'))
    assert "misplaced-test" in [d.code for d in check_bundle(bundle)]


@pytest.fixture
def no_system_zones() -> Iterator[None]:
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


def test_zones_come_from_a_package_where_the_system_has_none(no_system_zones: None) -> None:
    """A slim container decides as a full machine does."""
    assert parse_schedule(OFFICE).holds(from_rfc3339("2026-06-29T08:00:00Z")) is True


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.integers(0, 6), min_size=1),
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.sampled_from(["UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)),
)
def test_it_is_a_walk_back_to_the_start(days: set[int], start: int, length: int, zone: str, at: datetime) -> None:
    """A time is in a range where its start, at most a day back on the clocks, falls on a named day."""
    end = (start + length - 1) % 1440 + 1
    if end == start:
        return
    named = ",".join(WEEKDAYS[day] for day in days)
    written = f"{named} {start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02} {zone}"
    local = at.replace(tzinfo=zoneinfo.ZoneInfo(zone), microsecond=0)
    into = (local.hour * 60 + local.minute - start) % 1440
    began = local.replace(tzinfo=None) - timedelta(minutes=into)
    expected: Tri = into < (end - start) % 1440 and began.weekday() in days
    if (start, end) == (0, 1440):
        expected = local.weekday() in days
    # An hour that the clocks skip is none.
    if datetime.fromtimestamp(local.timestamp(), local.tzinfo).replace(fold=0) == local.replace(fold=0):
        assert parse_schedule(written).holds(local.timestamp()) is expected
