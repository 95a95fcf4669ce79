"""`words at`: the texts of earlier results, read as the input is read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.explain import provenance as explain_known
from rebuno.policy.explain.explain import explain_decision, known_values
from rebuno.policy.matcher import provenance as known
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.syntax.diagnostics import Severity
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source
from rebuno.policy.values.json_values import Tri
from rebuno.policy.values.tokens import SearchableTexts
from tests.policy.bundles import again, policy_of
from tests.policy.test_known import TOOL, ask, listing

CODES = 'result of tool "list" words at []'


def held(*items: Any) -> Facts:
    return Facts(TOOL, "t", history=History([listing(*items, seq=3)]))


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("SPRING10", True),
        ("SPRING", False),
        ("spring10", None),  # but for upper and lower case
        ("Code", True),
        ("10 % off", True),
        (10, True),
        (10.0, True),
        ("10", True),
        (1, False),
        (True, None),  # a truth value cannot be looked for
        (" ", False),
        ("", False),
        (None, False),
        (["SPRING10"], None),
        ("neil@x.example", None),  # perhaps a part of a word
        (7, None),
        (2.5, True),
        (3, True),
    ],
)
def test_the_words_of_a_result(value: Any, answer: Tri) -> None:
    """Whole words and numbers of a text are members; their parts are not."""
    items = ["Code: SPRING10, 10 % off", "o'neil@x.example and o'7", 2.5, 3, "nothing else", None, True, []]
    assert ask(CODES, value, held(*items)) is answer


def test_ignoring_case() -> None:
    """`ignoring case` finds a word in any spelling."""
    facts = held("Code: SPRING10 for Straße")
    assert [ask(CODES, value, facts, "in k ignoring case") for value in ("spring10", "STRASSE", "spring")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("at", "result", "members", "strangers"),
    [
        ("text", {"text": "pay Bob", "other": "Eve"}, ["Bob", "pay"], ["Eve"]),
        ("body", {"body": {"lines": ["pay Bob", {"to": "Ann 5"}]}}, ["Bob", "Ann", 5], ["to", "lines"]),
        ("[].body, [].title", [{"body": "Bob", "title": "Ann"}], ["Bob", "Ann"], ["Bob Ann"]),
        ("text of []", ["pay Bob"], ["Bob"], ["Bo"]),
        ("body[]", {"body": "Bob"}, ["Bob"], []),
        ("body.x", {"body": "Bob"}, [], ["Bob"]),  # what does not fit gives nothing
    ],
)
def test_where_the_texts_stand(at: str, result: Any, members: list[Any], strangers: list[Any]) -> None:
    """All texts at the path are read, and nothing else of the result."""
    facts = Facts(TOOL, "t", history=History([Evidence(3, TOOL, "list", {}, result)]))
    source = f'result of tool "list" words at {at}'
    assert [ask(source, value, facts) for value in members] == [True] * len(members)
    assert [ask(source, value, facts) for value in strangers] == [False] * len(strangers)


@pytest.mark.parametrize(
    ("operand", "value", "answer"),
    [
        ("date of args.v", "2026-05-02T10:00", True),
        ("date of args.v", "2026-05-03", False),
        ("date of args.v", "2026-05-09", None),
        ("host of args.v", "https://shop.example/x", True),
        ("host of args.v", "https://evil.example/x", False),
        ("number of args.v", "12", True),
        ("domain of args.v", "bob@corp.example", True),
        ("path of args.v", "/srv/a", None),  # no text can be searched for a path
        ("extension of args.v", "notes.txt", False),
        ("extension of args.v", "notes.md", True),
    ],
)
def test_through_a_facet(operand: str, value: str, answer: Tri) -> None:
    """A facet looks through the texts for its own values."""
    facts = held(
        "May 2nd 2026 is fine, or until 9 May 2026; see https://shop.example/", "ask ann@corp.example, 12", "x .md"
    )
    policy = policy_of(
        f"known k = {CODES}\nrule sure {{ allow any step when {operand} in k }}\n"
        f"rule perhaps {{ deny any step when {operand} in k }}"
    )
    facts.args = {"v": value}
    decided = policy.decide(facts).rule_id
    assert {"sure": True, "perhaps": None}.get(decided, False) is answer
    assert explain_decision(policy, again(facts)).decision.rule_id == decided


def test_a_where_that_is_maybe_gives_possible_words() -> None:
    """What a step perhaps gave is perhaps a member."""
    items = [{"body": "Bob", "by": 1}, {"body": "Ann", "by": "me"}, {"body": "Eve", "by": "x"}]
    source = 'result of tool "list" words at [].body where (item.by == "me")'
    assert [ask(source, value, held(*items)) for value in ("Ann", "Bob", "Eve", True)] == [True, None, False, None]


def test_only_what_came_before_the_submission_counts() -> None:
    """The words of a later step are unknown, whatever the history has been read for before."""
    history = History([listing("pay Bob", seq=3), listing("pay Ann 5", "BOB", seq=5)])
    facts = Facts(TOOL, "t", history=history)
    for facts.as_of, members in [(None, "Bob Ann 5"), (3, ""), (4, "Bob"), (5, "Bob"), (6, "Bob Ann 5"), (0, "")]:
        assert " ".join(str(v) for v in ("Bob", "Ann", 5) if ask(CODES, v, facts)) == members
    facts.as_of = 3
    assert ask(CODES, True, facts) is False


def test_what_cannot_be_read_makes_a_miss_maybe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bounds what is not found is maybe, from that event on; a hit stays yes."""
    facts = held("Bob", "\ud800")
    assert [ask(CODES, value, facts) for value in ("Bob", "Ann", 5)] == [True, None, None]
    for module in (known, explain_known):
        monkeypatch.setattr(module, "MAX_KNOWN_VALUES", 2)
    history = History([listing("Bob", "Ann", seq=1), listing("Eve", seq=4)])
    facts = Facts(TOOL, "t", history=history, as_of=4)
    assert [ask(CODES, value, facts) for value in ("Bob", "Ann", "Eve")] == [True, True, False]
    facts.as_of = None
    assert [ask(CODES, value, facts) for value in ("Bob", "Ann", "Eve")] == [True, True, None]


def test_texts_are_not_listed() -> None:
    """The values that can be told one by one are those of other sources."""
    policy = policy_of(f'known k = {CODES} or ["x"] or result of tool "list" at []')
    assert known_values(policy, held("pay Bob")) == {"k": ["x", "pay Bob"]}


def test_no_text_is_searched_for_all_words_of_another() -> None:
    """`contains any` needs values that can be listed."""
    bundle = f'default deny\nknown k = {CODES}\nrule r {{ deny any step when args.t contains any k because "no" }}'
    found = [
        (one.code, one.message)
        for one in check_bundle(parse_bundle(Source(bundle))[0])
        if one.severity is Severity.ERROR
    ]
    assert found == [("bad-source", "`k` includes `words at`, which `contains any` cannot search")]


TEXTS = st.lists(
    st.one_of(
        st.text(alphabet="aAbß1 .,-'’{", max_size=8),
        st.sampled_from(["pay Bob", "BOB", "o'neil", "5", "1,100", "-5 x", "a b a"]),
        st.integers(-2, 12),
        st.floats(allow_nan=False, allow_infinity=False, width=16),
    ),
    max_size=6,
)


@given(TEXTS, st.one_of(st.text(alphabet="aAbß1 .,-'’{", max_size=4), st.sampled_from(["Bob", "neil", 5, 1100, 0.5])))
def test_an_index_finds_what_a_search_finds(texts: list[Any], value: Any) -> None:
    """The words of many steps are those of one input with all their texts."""
    facts = Facts(TOOL, "t", history=History([listing(text, seq=number) for number, text in enumerate(texts)]))
    expected = False if value == "" else SearchableTexts(texts).find(value)
    assert ask(CODES, value, facts) is expected
    folded = SearchableTexts(texts).find(value, fold=True)
    if isinstance(value, str):
        assert ask(CODES, value, facts, "in k ignoring case") is folded
