"""Globs mean whole names, and the index finds the same rules as reading them all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.policy.matcher import index as subjects
from rebuno.policy.matcher.index import IndexedRule, RuleIndex, SubjectPattern
from rebuno.policy.matcher.tables import LiteralTest
from rebuno.policy.values.globs import Glob, GlobError, glob


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("send", ["send"], ["Send", "sends", "resend", ""]),  # the whole name, and case counts
        ("get_*", ["get_", "get_x", "get_\n"], ["get", "forget_x"]),
        ("*", ["", "x", "a\nb"], []),
        ("*_x", ["_x", "a_x"], ["_x_"]),
        ("a?c", ["abc", "a\nc", "aéc"], ["ac", "abbc"]),
        ("[a-c]1", ["a1", "c1"], ["d1", "-1", "A1"]),
        ("[!a-c]1", ["d1", "-1"], ["a1"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[^a]", ["^", "a"], ["b"]),  # a caret is a character like any other
        ("[a\\-c]", ["a", "-", "c"], ["b"]),
        ("[\\]]", ["]"], ["\\"]),
        ("a\\*", ["a*"], ["ab"]),
        ("a.b|c", ["a.b|c"], ["axb", "c"]),  # no regular expression
        ("", [""], ["x"]),
        ("a*b*c", ["abc", "aXbXc"], ["acb"]),
    ],
)
def test_globs(pattern: str, matching: list[str], other: list[str]) -> None:
    """Each pattern matches these names and not those."""
    matches = Glob(pattern).matches
    assert [name for name in matching + other if matches(name)] == matching


def test_globs_without_case() -> None:
    """With `fold` the pattern stands for folded names, its classes included."""
    matches = Glob("STRASSE [Z-a]*", fold=True).matches
    assert matches("Straße z".casefold())
    assert not matches("Straße 1".casefold())


def test_a_lone_surrogate_in_a_name_is_one_odd_character() -> None:
    """A name that is no Unicode matches wildcards and nothing else."""
    assert Glob("a?").matches("a\ud800")
    assert Glob("*").matches("\ud800")
    assert not Glob("[!b]x?").matches("\ud800")


@pytest.mark.parametrize("pattern", ["[", "[a", "[]", "[!]", "[z-a]", "a\\", "[\\", "\ud800", "[\ud800]"])
def test_unreadable_globs(pattern: str) -> None:
    """A pattern that cannot be read is an error, not a literal."""
    with pytest.raises(GlobError):
        Glob(pattern)


NAMES = ["", "a", "ab", "abc", "b", "ba", "c*"]
PATTERNS = ["a", "ab", "b", "*", "a*", "ab*", "?", "*b", "[ab]*", "c\\*", "abc*"]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3), st.booleans()), max_size=8))
def test_the_index_finds_what_reading_all_finds(rules: list[tuple[list[str], bool]]) -> None:
    """Candidates come in the order of the file and end with the first that always matches, else with the last."""
    made = [
        IndexedRule([SubjectPattern(None, glob(p)) for p in texts], n, final) for n, (texts, final) in enumerate(rules)
    ]
    index = RuleIndex(made, -1)
    for name in NAMES + NAMES:
        expected = []
        for n, (texts, final) in enumerate(rules):
            if any(glob(text).matches(name) for text in texts):
                expected.append(n)
                if final:
                    break
        else:
            expected.append(-1)
        assert index.candidates(name, {}) == tuple(expected)


def test_remembered_targets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that invents names cannot make the memory grow."""
    monkeypatch.setattr(subjects, "MAX_TARGETS", 10)
    guard = LiteralTest("a", frozenset("xyz"), frozenset())
    rows = [IndexedRule([SubjectPattern(None, glob("a*"))], n, False, guard) for n in range(1, 10)]
    exact = [IndexedRule([SubjectPattern(None, glob(f"a{n}"))], n, False) for n in range(10, 110)]
    index = RuleIndex([*rows, *exact, IndexedRule([SubjectPattern(None, glob("b*"))], 110, True)], 0)
    for n in range(10, 110):
        for letter in "xyzw":
            assert len(index.candidates(f"a{n}", {"a": letter})) == (2 if letter == "w" else 11)
        assert index.candidates(f"b{n}", {}) == (110,)
    opened = [found for found in index._seen.values() if not isinstance(found, tuple)]
    assert max(len(index._seen), len(index._open), sum(len(found.chosen) for found in opened)) <= 10
