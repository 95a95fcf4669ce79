"""A day beside words that make it another one: in doubt, in the user's words, in results and in arguments."""

import pytest

from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.facets.date import facets
from rebuno.policy.facets.date.facets import Day
from rebuno.policy.facets.reading import PathContext, UncertainValue
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values.json_values import UNREADABLE, Tri
from tests.policy.bundles import again, policy_of

DAY = "2025-05-05"
WAYS = ["May 5", "May 5th", "5 May", "5th of May", "MAY 5, 2025", "2025-05-05", "2025-05-05T10:00Z", "5\u00a0May 2025"]
BESIDE = [
    "until {}", "till {}", "'til {}", "since {}", "before {}", "after {}", "by {}", "by the {}", "until: {}",
    "UNTIL {}", "until\n{}", "before noon on {}", "by the end of the day on {}", "no later than {}", "by Monday, {}",
    "the day before {}", "the day after {}", "two weeks after {}", "two weeks from {}", "the week of {}",
    "up until and including the {}", "through {}", "between {} and Friday", "prior to {}",
    "every week until {}", "Every Monday, starting {}", "each {}", "daily from {} on", "from {} on", "from {} onwards",
    "{} onward", "weekly: {}", "Report daily, at 9 a.m., from {}", "monthly, first on {}", "{}, and monthly then",
    "twice a week from {}", "yearly on {}", "Mondays from {}", "recurring: {}",
    "not on {}", "any day but not {}", "don't book {}", "please don’t send it on {}", "never on {}", "except {}",
    "{} or later", "{} at the latest", "{} plus two days", "{} and after", "{} excluded",
    "up to {}", "as late as {}", "ahead of {}", "ending {}", "over {}", "until, say, {}", "until (at most) {}",
    "the week starting {}", "any day but {}", "{} a week later", "{} eve", "day after day from {}",
    "bis {}", "jeden Montag ab {}",
]  # fmt: skip
PLAIN = [
    "on {}", "Lunch on {} at noon", "{}", "({})", "“{}”", "Book from {} to Sunday", "Meet on Monday, {}, at 10:00",
    "I may come on {}", "Everyone comes on {}", "Every week pay the rent. Lunch is on {}", "for {} with three people",
    "Pay monthly!\n\nLunch on {}", "Stay from {} until checkout", "Not today: on {}",
    "Move my check-up to {}", "starting {}", "It starts on {}", "After the call, book {}", "Don't forget: dinner on {}",
    "as of {}",
    "{}: dentist, and a lunch", "Not Friday. I can do {}", "Send it to Bob, but on {}",
]  # fmt: skip
# Words that are months and something else, with a number beside them.
OTHER_WORDS = [
    "they march 5 miles", "They March 5 kilometers", "march 5 miles", "we may 5 times win", "only 5 may enter",
    "the 5 may leave", "soldiers march 5 hours", "you must march 5 km", "May 5 people come in", "add 5 mar 10",
    "5 may come", "Guests: 5 may enter",
]  # fmt: skip


def asked(text: str, value: str = DAY) -> Tri:
    """Whether the user named the day: by both evaluators, which must agree."""
    return _ask("input", value, Facts("tool_call", "t", input={"request": text}))


def _ask(source: str, value: str, facts: Facts) -> Tri:
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when date of args.v in k }}\n"
        "rule perhaps { deny any step when date of args.v in k }"
    )
    facts.args = {"v": value}
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", BESIDE)
def test_a_day_beside_such_a_word_is_maybe(text: str, way: str) -> None:
    """In every way of writing that is read, in what the user wrote, in a result, and in the argument itself."""
    written = text.format(way)
    assert asked(written) is None
    assert facets.FACETS[0].read(written, PathContext()) is UNREADABLE
    listed = History([Evidence(1, "tool_call", "list", {}, [written])])
    assert _ask('result of tool "list" at []', DAY, Facts("tool_call", "t", history=listed)) is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", PLAIN)
def test_a_day_alone_is_that_day(text: str, way: str) -> None:
    """Words that leave the day as it is, and words of another sentence, cast no doubt."""
    assert asked(text.format(way)) is True


@pytest.mark.parametrize("text", OTHER_WORDS)
def test_a_verb_and_a_number_are_no_day(text: str) -> None:
    """Where the name of a month may be another word, the day is maybe."""
    found = list(facets.find(text, PathContext()))
    assert found
    assert all(isinstance(one, UncertainValue) for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "on may 5",
        "march 5, 2025",
        "may 5",
        "from march 5 to may 6",
        "the may 5 meeting",
        "5 may",
        "lunch: 5 may at noon",
        "5 may, please",
    ],
)
def test_a_month_in_small_letters_is_one(text: str) -> None:
    """People write months in small letters."""
    assert any(isinstance(one, Day) for one in facets.find(text, PathContext()))


def test_another_place_is_sure() -> None:
    """A day that stands elsewhere without such a word is that day."""
    assert asked("Lunch on May 5. The offer holds until May 5.") is True
    assert asked("Lunch on May 6. The offer holds until May 5.") is None
    assert asked("Lunch on May 6. The offer holds until May 7.") is False


def test_only_so_many_days_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a text with very many days the later ones are in doubt."""
    monkeypatch.setattr(facets, "MAX_DAYS", 2)
    found = list(facets.find("May 1, May 2, May 3", PathContext()))
    assert [type(one) for one in found] == [Day, Day, UncertainValue]
