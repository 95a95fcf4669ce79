"""`word of`, `mailbox of` and `key of`: the words of a text, of a mailbox, and the keys of an object."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.policy.facets.reading import PathContext, UncertainText, UncertainValue
from rebuno.policy.facets.registry import find_facet
from rebuno.policy.matcher.facts import Facts
from rebuno.policy.values.json_values import UNREADABLE
from tests.policy.bundles import policy_of, values

NOWHERE = PathContext()


def facet(name: str) -> Any:
    found = find_facet(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("Lunch with Alice Miller", ["lunch", "with", "alice", "miller"]),
        ("a, A; a", ["a"]),  # a set
        ("o'neil snake_case 12-3", ["o", "neil", "snake_case", "12", "3"]),
        ("José", ["josé"]),
        ("JOSE\u0301", ["josé"]),  # a mark belongs to its letter
        ("東京", ["東京"]),
        ("Ali\u200bce", [UncertainText("alice")]),  # one word or two
        ("soft\u00adware", [UncertainText("software")]),
        ("", []),
        ("-- ... !", []),
        ("\u200b", []),
        ("\u0301", []),
        (5, UNREADABLE),
        (True, UNREADABLE),
        (["a"], UNREADABLE),
        ({"a": "b"}, UNREADABLE),
        ("\ud800", UNREADABLE),
        ("a" * ((1 << 20) + 1), UNREADABLE),
        ("a" + "\u0301\u0316" * 500_000, UNREADABLE),  # to put them in order takes the square of their number
    ],
)
def test_words(value: Any, gives: Any) -> None:
    """Runs of letters, digits and `_` in lower case; a text without words has the empty set."""
    assert facet("word").read(value, NOWHERE) == gives


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("Ana.Miller@corp.example", ["ana", "miller"]),
        ("ana_miller+x@corp.example", ["ana_miller", "x"]),
        ("o'neil@corp.example", ["o", "neil"]),
        ("-@corp.example", UNREADABLE),  # without a word nothing would be asked
        ("Ana <ana@corp.example>", UNREADABLE),
        ("ana@a.example, ben@a.example", UNREADABLE),
        ("ana", UNREADABLE),
        (5, UNREADABLE),
        ({}, UNREADABLE),
    ],
)
def test_mailboxes(value: Any, gives: Any) -> None:
    """The words before the `@` of exactly one address."""
    assert facet("mailbox").read(value, NOWHERE) == gives


def test_a_domain_in_the_users_words_names_no_mailbox() -> None:
    """The words of a text count, but not those of the domains in it."""
    found = list(facet("mailbox").find("Write to ana@corp.example, Bob", NOWHERE))
    assert found == ["write", "to", "ana", "bob"]
    assert list(facet("word").find("Ali\u200bce b", NOWHERE)) == [UncertainValue("alice"), "b"]


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ({"a": 1, "b": None}, ["a", "b"]),
        ({}, []),
        ([{"a": 1}], UNREADABLE),
        ("a", UNREADABLE),
        (0, UNREADABLE),
        (False, UNREADABLE),
        ({"\ud800": 1}, UNREADABLE),
        ({1: 2}, UNREADABLE),
    ],
)
def test_keys(value: Any, gives: Any) -> None:
    """The keys of an object, whatever their values."""
    assert facet("key").read(value, NOWHERE) == gives


@pytest.mark.parametrize("name", ["word", "mailbox"])
@pytest.mark.parametrize("text", ["two words", "", "a-b", "a\u200bb", "a!"])
def test_a_literal_is_one_word(name: str, text: str) -> None:
    """What can never be a word is an error of the bundle."""
    with pytest.raises(ValueError, match="not one word"):
        facet(name).literal(text, NOWHERE)


def test_a_literal_is_put_in_lower_case() -> None:
    """`== "Ana"` asks for `ana`."""
    assert facet("word").literal("JOSE\u0301", NOWHERE) == "josé"


@given(values)
def test_reading_never_fails(value: Any) -> None:
    """Each value gives a set or is in doubt."""
    for name in ("word", "mailbox", "key"):
        assert type(facet(name).read(value, NOWHERE)) is list or facet(name).read(value, NOWHERE) is UNREADABLE


@given(st.text())
def test_each_word_that_is_read_is_found(text: str) -> None:
    """What a value says and what the user's words hold are the same words."""
    read = facet("word").read(text, NOWHERE)
    found = list(facet("word").find(text, NOWHERE))
    if read is not UNREADABLE:
        assert [getattr(one, "text", one) for one in read] == [getattr(one, "value", one) for one in found]


def _answer(test: str, args: Any, given: Any = None) -> str:
    facts = Facts("tool_call", "t", args, input=given)
    allows = policy_of(f'default deny\nknown asked = input\nrule r {{ allow tool "t" when {test} }}\n')
    denies = policy_of(f'default allow\nknown asked = input\nrule r {{ deny tool "t" when {test} }}\n')
    if allows.decide(facts).rule_id == "r":
        return "yes"
    return "maybe" if denies.decide(facts).rule_id == "r" else "no"


@pytest.mark.parametrize(
    ("value", "every", "any_", "no"),
    [
        ({"x": 1, "y": None}, "yes", "yes", "no"),
        ({"x": 1, "z": 1}, "no", "yes", "no"),
        ({"z": 1}, "no", "no", "yes"),
        ({}, "yes", "no", "yes"),
        (None, "no", "no", "maybe"),
        ([], "no", "no", "maybe"),
        ("x", "maybe", "maybe", "maybe"),
        (5, "maybe", "maybe", "maybe"),
        (True, "maybe", "maybe", "maybe"),
        ([{"x": 1}], "maybe", "maybe", "maybe"),  # a quantifier does not split the list
        (["x"], "maybe", "maybe", "maybe"),
    ],
)
def test_the_table_of_keys(value: Any, every: str, any_: str, no: str) -> None:
    """Every row of the table for `key of`."""
    args = {"a": value}
    keys = 'key of args.a in ["x", "y"]'
    assert [_answer(f"{word} {keys}", args) for word in ("every", "any", "no")] == [every, any_, no]


def test_every_key_closes_a_rule() -> None:
    """An argument that the rule does not name is not allowed."""
    test = 'args.to == "a" and every key of args in ["to", "text"]'
    assert _answer(test, {"to": "a"}) == "yes"
    assert _answer(test, {"to": "a", "text": None}) == "yes"
    assert _answer(test, {"to": "a", "bcc": "b"}) == "no"
    assert _answer(test, {"to": "a", "bcc": None}) == "no"


@pytest.mark.parametrize(
    ("test", "args", "given", "answer"),
    [
        ("every word of args.a in asked", {"a": "Team LUNCH"}, "a lunch of the team", "yes"),
        ("every word of args.a in asked", {"a": "Team dinner"}, "a lunch of the team", "no"),
        ("every word of args.a in asked", {"a": "te\u200bam"}, "a lunch of the team", "maybe"),
        ("every word of args.a in asked", {"a": "..."}, "a lunch of the team", "yes"),
        ("every word of args.a in asked", {"a": 5}, "a lunch of the team", "maybe"),
        ("every mailbox of args.a in asked", {"a": "ana.miller@c.example"}, "ask Ana Miller", "yes"),
        ("every mailbox of args.a in asked", {"a": "corp@c.example"}, "ask ana@corp.example", "no"),
        ("every key of args.a in asked", {"a": {"red": 1}}, "the red one", "yes"),
        ("every key of args.a in asked", {"a": {"red": 1, "blue": 1}}, "the red one", "no"),
    ],
)
def test_in_the_users_words(test: str, args: Any, given: str, answer: str) -> None:
    """What is asked of the sets with a `known`."""
    assert _answer(test, args, given) == answer


@pytest.mark.parametrize("name", ["key", "word", "mailbox", "amount"])
def test_the_names_are_free(name: str) -> None:
    """A bundle may give the names of the new facets to what it defines."""
    policy = policy_of(f'default deny\nlet {name} = ["a"]\nrule r {{ allow tool "t" when args.x in {name} }}\n')
    assert policy.decide(Facts("tool_call", "t", {"x": "a"})).rule_id == "r"
