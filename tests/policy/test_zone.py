"""`zone`: *today* and *tomorrow* in what the user wrote, counted from when that text was recorded."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.date import facets as dates
from rebuno.policy.facets.reading import PathContext, UncertainValue
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.soft_roots import read_soft_roots
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"
LONDON = 'zone "Europe/London"\n'


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


LATE = at("2026-05-01T23:30")  # 2 May in London


def ask(test: str, day: Any, known: str = "known said = input or turns", zone: str = LONDON, **facts: Any) -> Tri:
    """The answer of a test of `date of args.day`, by both evaluators."""
    policy = policy_of(
        f"{zone}{known}\nrule sure {{ allow any step when {test} }}\nrule perhaps {{ deny any step when {test} }}"
    )
    given = Facts(TOOL, "t", {"day": day}, **facts)
    rule = policy.decide(given).rule_id
    assert explain_decision(policy, again(given)).decision.rule_id == rule
    return {"sure": True, "perhaps": None}.get(rule, False)


IN_SAID = "date of args.day in said"


@pytest.mark.parametrize(
    ("zone", "text", "time", "day", "answer"),
    [
        (LONDON, "lunch tomorrow", LATE, "2026-05-03", True),
        (LONDON, "lunch tomorrow", LATE, "2026-05-02", False),
        (LONDON, "Today, please", LATE, "2026-05-02", True),
        (LONDON, "today or TOMORROW", LATE, "2026-05-03", True),
        ('zone "UTC"\n', "lunch tomorrow", LATE, "2026-05-02", True),
        ('zone "Pacific/Auckland"\n', "today", LATE, "2026-05-02", True),
        ("", "lunch tomorrow", LATE, "2026-05-02", False),  # without a zone the words are no days
        (LONDON, "lunch tomorrow", None, "2026-05-03", None),  # no time: it may be any day
        (LONDON, "lunch on May 4th", None, "2026-05-03", False),
        (LONDON, "lunch on May 4th or tomorrow", None, "2026-05-04", True),
        (LONDON, "lunch tomorrow", float("inf"), "2026-05-03", None),
        (LONDON, "lunch tomorrow", at("9999-12-31T12:00"), "2026-05-03", None),
        (LONDON, "May 4th, or tomorrow", LATE, "2026-05-04", True),
        (LONDON, "not today", LATE, "2026-05-02", None),
        (LONDON, "until tomorrow", LATE, "2026-05-03", None),
        (LONDON, "the day after tomorrow", LATE, "2026-05-03", None),
        (LONDON, "the day after tomorrow", LATE, "2026-05-04", False),
        (LONDON, "a week tomorrow", LATE, "2026-05-03", None),
        (LONDON, "today week", LATE, "2026-05-02", None),
        (LONDON, "tomorrow in two weeks", LATE, "2026-05-03", None),
        (LONDON, "every day from today", LATE, "2026-05-02", None),
        (LONDON, "tomorrow's list", LATE, "2026-05-03", None),
        (LONDON, "tomorrow@shop.example", LATE, "2026-05-03", False),
        (LONDON, "todays", LATE, "2026-05-02", False),
        (LONDON, "on Friday, next week", LATE, "2026-05-08", False),  # not read
        (LONDON, "yesterday", LATE, "2026-05-01", False),
    ],
)
def test_today_and_tomorrow_in_the_input(zone: str, text: str, time: float | None, day: str, answer: Tri) -> None:
    """The day is that of the zone at the time of the text."""
    facts: dict[str, Any] = {"input": {"request": text}, "input_at": time}
    assert ask(IN_SAID, day, zone=zone, **facts) is answer
    assert ask(IN_SAID, day, zone=zone, history=History(), **facts) is answer
    known = 'known asked = input.request\nknown said = asked or ["x"]'
    assert ask(IN_SAID, day, known, zone, **facts) is answer


def test_each_turn_has_its_own_day() -> None:
    """`tomorrow` in a turn is counted from that turn, and from none whose time is unknown."""
    history = History()
    turns = ["Hello", "lunch tomorrow", "or today"]
    times = (at("2026-05-01T10:00"), at("2026-05-04T10:00"), at("2026-05-09T10:00"))
    found = [ask(IN_SAID, f"2026-05-{n:02}", turns=turns, turn_times=times, history=history) for n in range(1, 12)]
    assert found == [False] * 4 + [True] + [False] * 3 + [True] + [False] * 2
    assert ask(IN_SAID, "2026-05-05", turns=turns[:2], turn_times=times, history=history) is True
    assert ask(IN_SAID, "2026-05-09", turns=turns, turn_times=times[:2], history=history) is None
    assert ask(IN_SAID, "2026-05-05", turns=turns, turn_times=(), history=history) is None
    assert ask(IN_SAID, "2026-05-05", turns=turns[:1], turn_times=(), history=history) is False


def test_what_was_read_for_one_time_does_not_answer_for_another() -> None:
    """A history that serves two times is read for each."""
    policy = policy_of(f"{LONDON}known said = input\nrule r {{ allow any step when {IN_SAID} }}")
    history, given = History(), {"request": "tomorrow"}
    for time, rule in [(LATE, "r"), (LATE + 86_400.0, "default"), (LATE + 0.0, "r"), (None, "default")]:
        facts = Facts(TOOL, "t", {"day": "2026-05-03"}, input=given, input_at=time, history=history)
        assert policy.decide(facts).rule_id == rule


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("date of input.request == date of args.day", True),
        ("date of args.day == date of input.request", True),
        ('date of input.request in ["2026-05-03"]', True),
        ('date of input.request > "2026-05-02"', True),
        ("any date of turns[] == date of args.day", True),
        ("every date of turns[] == date of args.day", False),
        ("date of turns[1] == date of args.day", True),
        ("date of turns[0] == date of args.day", False),
        ("date of turns[7] == date of args.day", False),
        ("date of args.day == date of turns[1]", True),
        ("date of args.day in date of turns[]", True),
        ("any date of (input.request, turns[1]) == date of args.day", None),  # two texts, and two times
        ("date of args.said == date of args.day", None),  # an argument has no day
    ],
)
def test_in_a_test(test: str, answer: Tri) -> None:
    """`date of` a text of the user reads the words too, and those of no argument."""
    facts: dict[str, Any] = {
        "input": {"request": "lunch tomorrow"},
        "input_at": LATE,
        "turns": ["today", "tomorrow"],
        "turn_times": (LATE, LATE),
    }
    day = "2026-05-03"
    assert ask(test.replace("args.said", 'args["day"]') if "said" in test else test, day, **facts) is (
        True if "said" in test else answer
    )
    if "said" in test:
        policy = policy_of(f"{LONDON}rule r {{ deny any step when {test} }}")
        assert policy.decide(Facts(TOOL, "t", {"day": day, "said": "tomorrow"}, **facts)).rule_id == "r"


def test_never_in_results() -> None:
    """A stranger's `tomorrow` is no day."""
    history = History([Evidence(1, TOOL, "mail", {}, [{"body": "See you tomorrow, or May 9 2026", "day": "tomorrow"}])])
    facts: dict[str, Any] = {"history": history, "input": "x", "input_at": LATE}
    for at_path in ("words at [].body", "at [].body", "at date of [].body"):
        known = f'known said = result of tool "mail" {at_path}'
        assert ask(IN_SAID, "2026-05-03", known, **facts) is False
    words = 'known said = result of tool "mail" words at [].body'
    assert ask(IN_SAID, "2026-05-09", words, **facts) is True


def test_in_the_where_of_a_known() -> None:
    """An item is compared with the day that the user wrote."""
    history = History(
        [Evidence(1, TOOL, "list", {}, [{"id": "a", "day": "2026-05-03"}, {"id": "b", "day": "2026-05-04"}])]
    )
    for where in ("date of item.day in asked", "date of item.day == date of input"):
        known = f'known asked = input\nknown found = result of tool "list" at [].id where ({where})'
        facts: dict[str, Any] = {"history": history, "input": "tomorrow", "input_at": LATE}
        assert ask("args.day in found", "a", known, **facts) is True
        assert ask("args.day in found", "b", known, **facts) is False


def test_a_delegated_tomorrow() -> None:
    """In a child it counts for sure only where the root's user wrote a text with that day."""
    facts: dict[str, Any] = {"parent": "boss", "input": "lunch tomorrow", "input_at": LATE}
    assert ask(IN_SAID, "2026-05-03", **facts) is None
    root: dict[str, Any] = {"root_input": "lunch tomorrow", "root_input_at": LATE}
    assert ask(IN_SAID, "2026-05-03", **facts, **root) is True
    assert ask(IN_SAID, "2026-05-03", **facts, **{**root, "root_input_at": LATE - 86_400}) is None
    assert ask(IN_SAID, "2026-05-03", **facts, root_turns=["tomorrow"], root_turn_times=(LATE,)) is True
    assert ask(IN_SAID, "2026-05-03", **facts, read_args={"task": "lunch tomorrow"}) is None
    assert ask(IN_SAID, "2026-05-03", **facts, read_args={"task": "lunch on 2026-05-03"}) is True


def test_the_reader_alone() -> None:
    """Without a day for today the words are nothing; with an unknown one they are unreadable."""
    assert list(dates.find("today", PathContext())) == []
    assert list(dates.find("today", PathContext(today=UNREADABLE))) == [UNREADABLE]
    assert dates.read("today", PathContext(today=UNREADABLE)) is UNREADABLE
    found = list(dates.find("not tomorrow", PathContext(today=datetime(2026, 2, 28, tzinfo=UTC).date())))
    assert [str(one.value) for one in found if isinstance(one, UncertainValue)] == ["2026-03-01"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('zone "Europe/London"', []),
        ('zone "UTC"', []),
        ('zone "Europe/Londn"', ["bad-schedule"]),
        ('zone "../etc/passwd"', ["bad-schedule"]),
        ('zone ""', ["bad-schedule"]),
        ('zone "UTC"\nzone "UTC"', ["duplicate-line"]),
    ],
)
def test_checks(text: str, codes: list[str]) -> None:
    """A zone exists, and stands once."""
    bundle = read_soft_roots(parse_bundle(Source(f"bundle b\ndefault deny\n{text}\n"))[0])
    assert [str(one.code) for one in check_bundle(bundle)] == codes
