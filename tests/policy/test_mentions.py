"""`contains any NAME`: whether a text holds one of the values of a `known`, as a whole word or hidden in it."""

from typing import Any

import pytest

from rebuno.policy.explain import mentions as explain_mentions
from rebuno.policy.explain.explain import explain_decision
from rebuno.policy.matcher import mentions
from rebuno.policy.matcher.facts import Evidence, Facts, History
from rebuno.policy.values import readings
from rebuno.policy.values.json_values import Tri
from rebuno.policy.values.tokens import MAX_SEARCHED_TEXT
from tests.policy.bundles import again, policy_of

TOOL = "tool_call"
LISTED = 'result of tool "list" at []'


def ask(source: str, text: Any, facts: Facts) -> Tri:
    """Whether the text holds a value of the set: by both evaluators, which must agree."""
    policy = policy_of(
        f"known k = {source}\nrule sure {{ allow any step when args.t contains any k }}\n"
        "rule perhaps { deny any step when args.t contains any k }"
    )
    facts.args = {"t": text}
    decided = policy.decide(facts).rule_id
    assert explain_decision(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


def holding(*values: Any, seq: int = 1) -> Facts:
    return Facts(TOOL, "t", history=History([Evidence(seq, TOOL, "list", {}, list(values))]))


@pytest.mark.parametrize(
    ("value", "text", "answer"),
    [
        ("Alice", "ask alice.", True),  # without regard to case
        ("Alice", "malice", None),  # no whole word
        ("New York", "in (new york), now", True),
        ("New York", "New  York", None),
        ("Straße", "STRASSE", True),
        ("ab", "ab", False),  # too short to say anything
        ("   ", "a   b", False),
        (True, "true", False),
        (1100, "pay 1,100 now", True),
        (1100, "1100k", None),  # as a text
        (110, "1100", False),
        (99, "99", False),  # two characters
        (-99, "-99", True),
        (0.5, "about 0.5", True),
        ("a.b@c.example", "to a.b@c.example!", True),
        ("(a)", "x (a)", True),
        ("alice", ["alice"], None),  # no text
        ("alice", "\ud800alice", None),
        ("alice", None, False),
        ("alice", "x" * MAX_SEARCHED_TEXT + " alice", None),
    ],
)
def test_values_in_a_text(value: Any, text: Any, answer: Tri) -> None:
    """Texts and numbers of three characters or more are found where they stand alone."""
    assert ask(LISTED, text, holding(value)) is answer
    if type(value) is str:
        assert ask(f'["{value}"]', text, Facts(TOOL, "t")) is answer


def test_doubtful_values_are_doubtful_mentions() -> None:
    """A value that is in the set only perhaps makes a hit maybe, unless another is there for sure."""
    rows = [{"v": "alice", "by": 1}, {"v": "bobby", "by": "me"}]
    source = 'result of tool "list" at [].v where (item.by == "me")'
    assert [ask(source, text, holding(*rows)) for text in ("alice", "bobby", "alice bobby")] == [None, True, True]
    assert ask('result of tool "list" at date of []', "x", holding("2025-01-11")) is None  # no text to look for


def test_only_what_came_before_counts() -> None:
    """A value given later is no mention, whatever has been read before."""
    facts = holding("alice", seq=3)
    assert [ask(LISTED, "alice", facts) for facts.as_of in (None, 3, 4)] == [True, False, True]


def test_the_input_is_left_out() -> None:
    """Of a set that takes in the input, which `check` refuses here, only the rest is looked for."""
    assert ask('input or ["alice"]', "bobby alice", Facts(TOOL, "t", input="bobby")) is True
    assert ask('input or ["alice"]', "bobby", Facts(TOOL, "t", input="bobby")) is False


def test_beyond_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many values that might stand in a text, and values beyond the bound, are maybe."""
    for module in (mentions, explain_mentions):
        monkeypatch.setattr(module, "MAX_CANDIDATES", 2)
    facts = holding("one", "two", "red")
    assert [ask(LISTED, text, facts) for text in ("one two", "one two red", "none")] == [True, None, False]
    turns = holding("one two red", "one red two", "two one red", "two red one", "red one two", "red two one")
    assert [ask(LISTED, text, turns) for text in ("two one", "red, one, two")] == [False, None]
    for module in (mentions, explain_mentions):
        monkeypatch.setattr(module, "MAX_VALUES", 2)
    facts = holding("one", "two", "red")
    assert [ask(LISTED, text, facts) for text in ("one", "red", "x")] == [True, None, None]


def test_values_are_found_by_their_pieces() -> None:
    """Of a hundred thousand values only those whose every piece stands in the text are looked for."""
    history = History([Evidence(1, TOOL, "list", {}, [f"value {n}" for n in range(50_000)])])
    policy = policy_of(f"known k = {LISTED}\nrule r {{ deny any step when args.t contains any k }}")
    facts = Facts(TOOL, "t", {"t": "a value 49999"}, history=history)
    assert policy.decide(facts).rule_id == "r"
    (index,) = history.indexes.values()
    assert (index.read, len(index.entries), max(map(len, index.words.values()))) == (1, 50_000, 1)
    facts.args = {"t": "a value and 500000"}
    assert policy.decide(facts).rule_id == "default"


SECRET = "hunter2-77"
WHOLE = ["it is hunter2-77.", "HUNTER2-77", "“hunter2-77”!", "a, hunter2-77, b"]
HIDDEN = [
    "https://evil.test/?k=hunter2-77", "password=hunter2-77", "hunter2-77.evil.test", "<b>hunter2-77</b>",
    "xhunter2-77x",
    "o'hunter2-77", "https://e.example/?k=hunter2%2D77", "hunter2%2d77", "%68%75%6E%74%65%72%32%2D%37%37",
    "hunter2%252D77", "hunter2%25252D77", "hunter2&#45;77", "hunter2&#x2d;77", "hunter2&#0000045;77", "hunter2&#45 77",
    "hunter2\\u002d77", "hunter2\\\\u002D77", "\\u0068\\u0075nter2-77", "hunter2\\x2d77", "hunter2&amp;#45;77",
    "hunter2%26%2345;77", "ｈｕｎｔｅｒ２－７７", "h\u200bunter2-77", "hunter2\u00ad-77", "hun\ufe0fter2-77",
    "𝐡𝐮𝐧𝐭𝐞𝐫𝟐-77", "h u n t e r 2 - 7 7", "hunter2\n-77", "hunter2-\t7\u30007", "hunter2％２Ｄ77", "hunter2% 2D77",
    "hunter2\u2800-77", "HUNTER2%2D77", "hunter2\x00-77", "hunter2-\U000e00417 7",
]  # fmt: skip
NOT_THERE = ["hunter2", "hunter277", "77-2retnuh", "aHVudGVyMi03Nw==", "hunter2 - 78", "hunter2%2E77", ""]


@pytest.mark.parametrize("source", [LISTED, f'["{SECRET}"]'])
@pytest.mark.parametrize(
    ("text", "answer"),
    [*((text, True) for text in WHOLE), *((text, None) for text in HIDDEN), *((text, False) for text in NOT_THERE)],
)
def test_a_value_anywhere_in_a_text_is_maybe(source: str, text: str, answer: Tri) -> None:
    """Only a whole word is yes; a value inside another word, escaped, in other letters or with blanks is maybe."""
    facts = holding(SECRET) if source is LISTED else Facts(TOOL, "t")
    assert ask(source, text, facts) is answer


@pytest.mark.parametrize(
    ("value", "text", "answer"),
    [
        ("abcd", "xabcdx", None),
        ("abc", "xabcx", False),  # of three characters: whole words only
        ("abc", "o'abc", None),
        ("a%2Db-c", "k=a-b-c", None),  # the value is read as the text is
        ("a%2Db-c", "k=a%252Db-c", None),
        ("new york", "newyorkers", None),
        ("a b c", "xabcx", False),  # three characters without their blanks
        ("ＡＢＣＤ", "xabcdx", None),
        ("pass&amp;word", "k=pass&word", None),
        ("Straße-9", "xSTRASSE-9x", None),
        ("pass word", "k=pass+word", None),  # as a form sends it
        ("wJal/rX+Ut", "wJal\\/rX+Ut", None),  # as JSON inside a text has it
        ('pa"ss"wd', '{"k": "pa\\"ss\\"wd"}', None),
        ("pa\\ssw", "k=pa\\\\ssw", None),
        ("one\ntwo", "k=one\\ntwo", None),
        ("one\ttwo", "k=one\\\\ttwo", None),
        ("one\ntwo", "k=one\\tthree", False),
        (4711, "pin=4711", None),  # a number's digits are looked for like a text
        (4711, "%34711", None),
        (-4711, "x4711", None),
        (4711.0, "x4711x", None),
        (471, "x471x", False),
        (12.75, "x12.75x", None),
        (True, "xtruex", False),
        (10**400, "x" + "1" + "0" * 400, None),
    ],
)
def test_values_go_through_the_same_readings(value: Any, text: str, answer: Tri) -> None:
    """What is looked for is read as the text is, if four characters of it are left."""
    assert ask(LISTED, text, holding(value)) is answer


@pytest.mark.parametrize("many", [1, 300, 3000])
def test_many_values_are_searched_at_once(many: int) -> None:
    """With many values the answers are the same."""
    facts = holding(*(f"value-{n:06}" for n in range(many)))
    last = f"value-{many - 1:06}"
    texts = {f"x{last}x": None, f"is {last}, ok": True, "xvalue%2D000000x": None, "value-99x": False, "x" * 9000: False}
    for text, answer in texts.items():
        assert ask(LISTED, text, facts) is answer


@pytest.mark.parametrize(
    "text",
    [
        "%41" * 100_000, "&#0" * 100_000, "\\" * 300_000, "\u0301\u0316" * 150_000, "\ufdfa" * 100_000, "é" * 300_000,
        "&amp" * 80_000, "a " * 150_000, "%25" * 100_000, "&" * 300_000, "&" + "a" * 300_000, "&#" + "9" * 300_000,
        "\\u{" + "0" * 300_000,
    ],
)  # fmt: skip
def test_readings_are_few_and_bounded(text: str) -> None:
    """However a text is escaped, there are few readings, none many times as long; else the text cannot be read."""
    found = readings.readings(text)
    assert found is None or (len(found) <= 12 and sum(map(len, found)) <= 40 * len(text))


def test_what_cannot_be_searched_through_is_maybe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks without end, and more to search than the bounds let, hide anything."""
    assert ask(LISTED, "e" + "\u0301" * 100, holding(SECRET)) is None
    for module in (mentions, explain_mentions):
        monkeypatch.setattr(module, "MAX_SEARCHED", 30)
    assert ask(LISTED, "x" * 100, holding(SECRET)) is False
    assert ask(LISTED, "hunter2-7 unter2-77" * 2, holding(SECRET)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://e.example?k=hunter2-77", '"Hunter2-77" stands in `args.t` at 20, not as a whole word'),
        (
            "k=hunter2%2D77",
            '"Hunter2-77" stands in `args.t` at 2, once `%XX`, `&#…;` and `\\uXXXX` are read, not as a whole word',
        ),
        ("hun\u200bter2-77", '"Hunter2-77" stands in `args.t` at 0, once it is made plain, not as a whole word'),
        ("h unter2-77", '"Hunter2-77" stands in `args.t` at 0, without its blanks, not as a whole word'),
        ("o'hunter2-77", '"Hunter2-77" stands in `args.t` as what may be a part of a word'),
    ],
)
def test_explain_says_where(text: str, words: str) -> None:
    """A trace names the value, its place and the reading in which it stands there."""
    policy = policy_of(f"known k = {LISTED}\nrule r {{ deny any step when args.t contains any k }}")
    facts = holding("Hunter2-77")
    facts.args = {"t": text}
    trace = explain_decision(policy, facts)
    assert trace.rules[0].tests[0].why == words


def test_a_list_has_a_text_with_it_in_it() -> None:
    """`contains X` on a list: an element that is X is yes, one with X in it is maybe."""
    policy = policy_of(
        'rule sure { allow any step when args.t contains "ab" }\n'
        'rule perhaps { deny any step when args.t contains "ab" }'
    )
    for value, rule in (
        (["x", "ab"], "sure"), (["xaby"], "perhaps"), (["x", "xAB"], "default"), (["x"], "default"), ("xab", "sure"),
        ([5, "cab"], "perhaps"), ([5], "perhaps"), ([["ab"]], "perhaps"),
    ):  # fmt: skip
        facts = Facts(TOOL, "t", {"t": value})
        assert policy.decide(facts).rule_id == rule
        assert explain_decision(policy, again(facts)).decision.rule_id == rule
