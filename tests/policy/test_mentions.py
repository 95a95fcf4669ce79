"""`contains any NAME`: whether a text holds one of the values of a `known` as a whole token."""

from typing import Any

import pytest

from rebuno.policy import explain_known, mentions
from rebuno.policy.explain import explain
from rebuno.policy.facts import Evidence, Facts, History
from rebuno.policy.tokens import MAX_TEXT
from rebuno.policy.values import Tri
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
    assert explain(policy, again(facts)).decision.rule_id == decided
    return {"sure": True, "perhaps": None}.get(decided, False)


def holding(*values: Any, seq: int = 1) -> Facts:
    return Facts(TOOL, "t", history=History([Evidence(seq, TOOL, "list", {}, list(values))]))


@pytest.mark.parametrize(
    ("value", "text", "answer"),
    [
        ("Alice", "ask alice.", True),  # without regard to case
        ("Alice", "malice", False),  # whole tokens only
        ("New York", "in (new york), now", True),
        ("New York", "New  York", False),
        ("Straße", "STRASSE", True),
        ("ab", "ab", False),  # too short to say anything
        ("   ", "a   b", False),
        (True, "true", False),
        (1100, "pay 1,100 now", True),
        (1100, "1100k", False),
        (99, "99", False),  # two characters
        (-99, "-99", True),
        (0.5, "about 0.5", True),
        ("a.b@c.example", "to a.b@c.example!", True),
        ("(a)", "x (a)", True),
        ("alice", ["alice"], None),  # no text
        ("alice", "\ud800alice", None),
        ("alice", None, False),
        ("alice", "x" * MAX_TEXT + " alice", None),
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
    for module in (mentions, explain_known):
        monkeypatch.setattr(module, "MAX_SOUGHT", 2)
    facts = holding("one", "two", "red")
    assert [ask(LISTED, text, facts) for text in ("one two", "one two red", "none")] == [True, None, False]
    turns = holding("one two red", "one red two", "two one red", "two red one", "red one two", "red two one")
    assert [ask(LISTED, text, turns) for text in ("two one", "red, one, two")] == [False, None]
    for module in (mentions, explain_known):
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
