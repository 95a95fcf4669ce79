"""Sealed values are found wherever they stand: the part that is one becomes a mark; what may hide one does, whole."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebuno.policy import SealedValues, in_text, leaves, sealed_at
from rebuno.policy.matcher.mentions import forms, spelling_of
from rebuno.policy.syntax.tree import Each, Index, Key, Values
from rebuno.policy.values.readings import readings


def digest(value: Any) -> str:
    return f"#{hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]}"


def sealed(*values: Any) -> SealedValues:
    made = SealedValues(digest)
    for value in values:
        made.add(value)
    return made


MARK = in_text(digest("hunter2-77"))
WHOLE = {"secret": digest("hunter2-77")}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hunter2-77", MARK),
        ("pw=hunter2-77", f"pw={MARK}"),
        ("xhunter2-77x and hunter2-77", f"x{MARK}x and {MARK}"),
        ("hunter2-7", "hunter2-7"),
        ("", ""),
        ("HUNTER2-77", WHOLE),
        ("?k=hunter2%2D77", WHOLE),
        ("hunter2&#45;77", WHOLE),
        ("h u n t e r 2 - 7 7", WHOLE),
        ("ｈunter2-77", WHOLE),
        ("hunter2-77 and HUNTER2-77", WHOLE),
        ("it is hunter2-", "it is hunter2-"),
        ("it is hunter2-…", f"it is {MARK}"),
        ("it is hunter…", "it is hunter…"),
    ],
)
def test_as_it_stands_the_part_else_the_whole(text: str, shown: Any) -> None:
    """What a person reads stays readable; what may hide a value does not."""
    assert sealed("hunter2-77").masked(text) == shown


def test_a_text_that_was_cut_within_a_value() -> None:
    """Eight characters of it at the end are enough."""
    values = sealed("hunter2-77-and-more")
    mark = in_text(digest("hunter2-77-and-more"))
    assert values.masked("it is hunter2-77-an…") == f"it is {mark}"
    assert values.masked("it is hunter2…") == "it is hunter2…"


def test_short_values_do_not_spread() -> None:
    """Seven characters are too few, eight are enough; characters, not bytes."""
    values = sealed("1234567", "ünïcödé8", 12345678, 1234567)
    assert values.masked("1234567 of 1234567") == "1234567 of 1234567"
    assert values.masked("ünïcödé8") == in_text(digest("ünïcödé8"))
    assert values.masked("no. 12345678!") == f"no. {in_text(digest(12345678))}!"
    assert values.masked(12345678) == {"secret": digest(12345678)}
    assert values.masked({"n": [12345678, 1234567, True, None, 0.5]}) == {
        "n": [{"secret": digest(12345678)}, 1234567, True, None, 0.5]
    }


def test_values_that_overlap_are_one() -> None:
    """No end of the second is left."""
    values = sealed("abcdefgh", "efghijklmnop")
    assert values.masked("-abcdefghijklmnop-") == f"-{in_text(digest('efghijklmnop'))}-"


def test_keys_of_objects_are_searched_too() -> None:
    """And stay apart."""
    values = sealed("hunter2-77")
    assert values.masked({"hunter2-77": 1, MARK: 2}) == {MARK: 1, f"{MARK} (2)": 2}


def test_other_texts_stand_alone() -> None:
    """What was sealed at a place and is short is a mark where it is the whole of a scalar."""
    assert sealed().masked({"a": "1234", "b": "12345"}, also={"1234"}) == {
        "a": {"secret": digest("1234")},
        "b": "12345",
    }


def test_marks_at_places() -> None:
    """As the paths of the language go; what has another type on the way is sealed whole."""
    value = {"a": "x", "list": [{"p": 1}, {"p": None}, "text"], "of": {"k": {"v": "s"}}, "empty": []}

    def at(*parts: Any) -> tuple[Any, list[Any]]:
        return sealed_at(value, [parts], digest)

    assert at(Key("a")) == ({**value, "a": {"secret": digest("x")}}, ["x"])
    assert at(Key("list"), Each(), Key("p"))[1] == [1, "text"]
    assert at(Key("list"), Index(0), Key("p"))[1] == [1]
    assert at(Key("of"), Values(), Key("v"))[1] == ["s"]
    assert at(Key("of"), Each(), Key("k"))[1] == [{"v": "s"}]
    assert at(Key("missing"), Key("b")) == (value, [])
    assert at(Key("empty"), Each()) == (value, [])
    assert at() == ({"secret": digest(value)}, [value])
    assert at(Key("a"), Key("b"))[1] == ["x"]


def test_shorter_paths_come_first() -> None:
    """A place within a sealed one adds nothing."""
    both = [(Key("a"), Key("b")), (Key("a"),)]
    assert sealed_at({"a": {"b": 1}}, both, digest) == ({"a": {"secret": digest({"b": 1})}}, [{"b": 1}])


def test_depth_and_many_values() -> None:
    """The deepest level has no room for an object; thousands of values are found in one pass."""
    deep: Any = "hunter2-77"
    for _ in range(128):
        deep = [deep]
    shown: Any = sealed("hunter2-77").masked(deep)
    while isinstance(shown, list):
        shown = shown[0]
    assert shown == MARK
    values = sealed(*(f"value-number-{number}-of-many" for number in range(3000)))
    text = "some words " * 2000
    assert values.masked(text) == text
    shown = values.masked(text + "value-number-77-of-many" + "VALUE-number-78-of-many")
    assert shown == {"secret": digest("value-number-78-of-many")}


def test_what_cannot_be_searched_is_left_out_whole() -> None:
    """Beyond the bounds of the search nobody knows."""
    assert sealed("hunter2-77").masked("x" * (1 << 20) + "y") == {"secret": "#unsearched"}


def test_pieces_of_a_stream() -> None:
    """Where a value may begin that goes on behind the end."""
    values = sealed("hunter2-77")
    assert values.begins("it is hun") == 6
    assert values.begins("it is hunter2-7") == 6
    assert values.begins("it is hunter2-77") == 16
    assert values.begins("") == 0


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS | st.sampled_from("ab%2 &#;-\\u\"'<{"), max_size=40)
SECRETS = st.text(CHARACTERS | st.sampled_from("ab%2 &#;-\\u\"'<{"), min_size=8, max_size=20)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=300, deadline=None)
@given(st.lists(SECRETS, min_size=1, max_size=20), VALUES, st.data())
def test_no_sealed_text_is_left(secrets: list[str], value: Any, data: st.DataObject) -> None:
    """Wherever they were put, as they stand or as `contains any` would find them perhaps, none of them is left."""
    marks = "".join(in_text(digest(one)) for one in secrets)
    assume(not any(one in marks for one in secrets))
    put = data.draw(st.lists(st.sampled_from(secrets), max_size=3))
    around = data.draw(st.tuples(TEXTS, TEXTS))
    whole = {"v": value, "t": around[0] + around[1].join(put)}
    made = sealed(*secrets)
    shown = made.masked(whole)
    left = texts(shown)
    assert not any(one in text for one in secrets for text in left)
    for one in secrets:
        spelling = spelling_of(one)
        for form in forms(spelling) if spelling is not None else ():
            if form in marks.casefold() or any(form in part for part in readings(marks) or ()):
                continue
            assert not any(form in reading for text in left if "secret" not in text for reading in readings(text) or ())
    if not any(made.masked(text) != text for text in texts(whole)):
        assert shown == whole


@given(VALUES)
def test_leaves_are_texts_and_numbers(value: Any) -> None:
    """Those of a sealed object or list are what is looked for; keys are not."""
    found = list(leaves(value))
    assert all(type(one) in (str, int, float) for one in found)
    assert len(found) == sum(1 for _ in leaves([value]))
