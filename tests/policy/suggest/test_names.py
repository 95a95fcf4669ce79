"""What names and values are taken for."""

from typing import Any

import pytest

from rebuno.policy.suggest.leaves import Shape, shape_of, take_apart
from rebuno.policy.suggest.sources import plain_values
from rebuno.policy.suggest.text import Part, listed, pattern, quoted, relative
from rebuno.policy.suggest.words import dangerous, looks

EACH, VALUE = Part.EACH, Part.EACH_VALUE


@pytest.mark.parametrize(
    ("name", "only_looks"),
    [
        ("get_order_details", True),
        ("listUsers", True),
        ("crm.search_contacts", True),
        ("read_file", True),
        ("check_opening_hours", True),
        ("send_mail", False),
        ("checkout", False),
        ("check_out", False),
        ("get_or_create_user", False),
        ("find_replace", False),
        ("search.create_index", False),
        ("list_and_delete", False),
        ("frobnicate", False),
        ("", False),
    ],
)
def test_the_first_verb_tells_whether_a_tool_looks(name: str, only_looks: bool) -> None:
    """The name of a server says nothing, and an unknown verb changes something."""
    assert looks(name) is only_looks


@pytest.mark.parametrize(("name", "is_so"), [("delete_file", True), ("getSecret", True), ("delegate", False)])
def test_words_of_loss_and_of_keys_are_dangerous(name: str, is_so: bool) -> None:
    """As whole words, in any writing."""
    assert dangerous(name) is is_so


@pytest.mark.parametrize(
    ("key", "values", "shape"),
    [
        ("amount", [1, 2.5], Shape.NUMBER),
        ("order_id", [1, 2], Shape.TOKEN),
        ("force", [True], Shape.TRUTH),
        ("n", [1, "1"], Shape.TOKEN),
        ("to", ["a@b.example", "c@d.example"], Shape.EMAIL),
        ("to", ["a@b.example", "everybody"], Shape.TOKEN),
        ("page", ["https://a.example/x"], Shape.URL),
        ("page", ["start", "a.example/x?secret"], Shape.URL),
        ("site", ["a.example"], Shape.URL),
        ("day", ["2026-01-02", "2026-01-02 10:00"], Shape.DATE),
        ("file", ["notes"], Shape.PATH),
        ("x", ["src/a.py"], Shape.PATH),
        ("command", ["ls"], Shape.COMMAND),
        ("q", ["select a from b"], Shape.SQL),
        ("code", ["print(1)"], Shape.CODE),
        ("body", ["hi"], Shape.TEXT),
        ("recipient", ["x y" * 200], Shape.TEXT),
        ("recipient", ["x y" * 200, "Ann"], Shape.TOKEN),
        ("recipient", ["a\nb"], Shape.TOKEN),
    ],
)
def test_shapes(key: str, values: list[Any], shape: Shape) -> None:
    """By the name and by all values: one long value among short ones makes no prose of an address."""
    assert shape_of((key,), values) is shape


def test_arguments_are_taken_apart() -> None:
    """Null and an empty list are left out; the keys of each object are kept."""
    found = take_apart({"a": 1, "b": [{"c": "x"}, {"c": "y", "d": None}], "e": None, "f": []})
    assert found.leaves == {("a",): (1,), ("b", EACH, "c"): ("x", "y")}
    assert found.objects == {(): {"a", "b", "e", "f"}, ("b", EACH): {"c", "d"}}
    assert found.whole


@pytest.mark.parametrize(
    "args", [[1], "text", {"a": {}}, {"a": [[1]]}, {"a": [None]}, {"a": {"b": {"c": {"d": {"e": 1}}}}}]
)
def test_what_no_rule_can_name_is_not_whole(args: Any) -> None:
    """Such a call asks."""
    assert not take_apart(args).whole


@pytest.mark.parametrize(
    ("result", "values"),
    [
        ([{"id": 7, "email": "a@b.example"}], {((EACH, "id"), 7), ((EACH, "email"), "a@b.example")}),
        # Somebody wrote it: nothing in it counts.
        ([{"id": 7, "sender": "x@evil.example", "cc": ["y@evil.example"]}], set()),
        ([{"user": "eve", "text": "pay me", "channel": "c1"}], set()),
        # Free text does not count, nor what has blanks, nor a number that is no id.
        ({"title": "evil", "note": "evil", "name": "two words", "price": 5, "sku": "P1"}, {(("sku",), "P1")}),
        # Objects by id.
        ({"P1": {"stock": "s1"}, "P2": {"stock": "s2"}}, {((VALUE, "stock"), "s1"), ((VALUE, "stock"), "s2")}),
        ("just-one", {((EACH,), "just-one")}),
        ("a whole page of text", set()),
        (["general", "random"], {((EACH,), "general"), ((EACH,), "random")}),
        (None, set()),
    ],
)
def test_values_of_results_that_count(result: Any, values: set[Any]) -> None:
    """What a tool says itself, and not what somebody wrote."""
    assert set(plain_values(result)) == values


def test_of_what_was_made_only_its_id_counts() -> None:
    """The rest of the answer echoes the arguments."""
    assert set(plain_values({"id": "n1", "path": "x", "tags": ["t"]}, made=True)) == {(("id",), "n1")}


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ('a"b', r'"a\"b"'),
        ("a\nb", r'"a\nb"'),
        ("\u202e", r'"\u202e"'),
        ("Zoë", '"Zoë"'),
        (5, "5"),
        (True, "true"),
        ("{x}", '"{x}"'),
    ],
)
def test_literals_are_escaped(value: Any, literal: str) -> None:
    """Nothing that cannot be seen reaches a bundle."""
    assert quoted(value) == literal


def test_lists_patterns_and_paths() -> None:
    """A list holds each value once; a tool's name matches itself alone; odd keys stand in brackets."""
    assert listed(["b", "a", "b"]) == '["a", "b"]'
    assert pattern("a*[b]?") == r'"a\\*\\[b\\]\\?"'
    assert relative((EACH, "odd key", VALUE, "id")) == '[]["odd key"].*.id'
    assert relative((VALUE, "id")) == "*.id"
