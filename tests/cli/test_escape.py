"""Text of others on a terminal: nothing in it may act, hide, or run on for ever."""

import tracemalloc
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.model.identity import canonical
from rebuno_cli.render.escape import escape, stored, value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\u001b[31mred"),  # a colour
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),  # a window's title
        ("\x9b31m", "\\u009b31m"),  # the same in one character
        ("[bold]x[/bold]", "[bold]x[/bold]"),  # markup is text
        ("a\u202egpj.exe", "a\\u202egpj.exe"),  # turns the reading direction
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("pay\u200bpal", "pay\\u200bpal"),  # zero width
        ("a\u00a0b\u3000c", "a\\u00a0b\\u3000c"),  # blanks that are none
        ("\ufeffa", "\\ufeffa"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("a\u2028b", "a\\u2028b"),
        ("\U000e0041", "\\U000e0041"),  # an invisible letter
        ("a\ufe0f", "a\\ufe0f"),  # a selector that shows nothing
        ("\u3164", "\\u3164"),  # a letter that shows nothing
        ("\ud800", "\\ud800"),
        ("\x00\x7f", "\\u0000\\u007f"),
        ("Zoë 日本 €", "Zoë 日本 €"),  # letters stay
        ("", ""),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "… (+1 characters)"),
        ("x" * 12345, "x" * 200 + "… (+12,145 characters)"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    """A row for each way to deceive a reader."""
    assert escape(text) == shown


def test_all_of_a_text_is_shown_on_request() -> None:
    """The person who answers a question must be able to read to the end."""
    assert escape("x" * 4000 + "\x1b", None) == "x" * 4000 + "\\u001b"


def test_a_huge_text_costs_nothing() -> None:
    """Only the part that is shown is looked at: no copy of the text is made."""
    text = "\u202e" * 10_000_000
    tracemalloc.start()
    shown = escape(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert shown.endswith("(+9,999,800 characters)")


@settings(max_examples=200)
@given(st.text())
def test_everything_shown_is_a_letter_a_sign_or_a_blank(text: str) -> None:
    """No control, format or separator character is left."""
    categories = {unicodedata.category(char) for char in escape(text, None) if char != " "}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("npm test ", '"npm test "'),  # the blank at the end can be seen
        ("\x1b", '"\\u001b"'),
        ("\u202e", '"\\u202e"'),
        ({"a": [1, None, True]}, '{"a": [1, null, true]}'),
        ("é", '"é"'),
    ],
)
def test_values_are_shown_as_json(data: object, shown: str) -> None:
    """Strings in quotes, so that they differ from numbers and words."""
    assert value(data) == shown


def test_stored_texts_are_shown_as_people_write_them() -> None:
    """Canonical JSON hides the signs of a shell command behind escapes."""
    assert stored(canonical({"c": "a && b > /dev/null"})) == '{"c": "a && b > /dev/null"}'


def test_an_integer_of_any_length_is_shown() -> None:
    """Python's own writer refuses more than 4,300 digits."""
    assert value(10**5000) == "1" + "0" * 199 + "… (+4,801 characters)"
