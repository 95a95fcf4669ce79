"""A JSON text from outside holds so many values and digits, and no more is made of one that holds more."""

import json
from typing import Any

import pytest

from rebuno.errors import ValidationError
from rebuno.model import bounds, identity
from rebuno.model.bounds import Bounds

SMALL = Bounds(digits=20, values=100)


@pytest.mark.parametrize(
    "value",
    [
        [0] * 99,
        [{}] * 49,
        {str(at): at for at in range(99)},
        [["a"] * 48, {"b": ["c"] * 48}],
        ",[{" * 1_000,
        {"key, with [ and {": '"' * 500},
        ["\\" * 9, "9" * 1_000, '\\"' * 20],
        [int("9" * 20), -int("9" * 20), 1.5e300],
        {"a" * 1_000: "\u00e9" * 1_000},
        "9" * 21,
        "",
    ],
)
def test_what_fits_is_read(value: Any) -> None:
    """Values are counted, not bytes; what stands in a string counts as one."""
    text = json.dumps(value)
    assert identity.parse(text, bounds=SMALL) == value
    assert identity.parse(text.encode(), bounds=SMALL) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" + "0," * 200 + "0]", "more than 100 values"),
        ("[" + "{}," * 200 + "{}]", "more than 100 values"),
        ("[" + "[]," * 200 + "[]]", "more than 100 values"),
        ("[" + '"",' * 200 + '""]', "more than 100 values"),
        ("{" + ",".join(f'"{at}":1' for at in range(200)) + "}", "more than 100 values"),
        ('["",' + "1," * 200 + '""]', "more than 100 values"),
        ("[" + '"' * 1_000 + "," * 101, "more than 100 values"),  # no JSON, and not looked at for long
        ("[" * 101 + "]" * 101, "more than 100 values"),
        ("9" * 21, "more than 20 digits"),
        ("-" + "9" * 21, "more than 20 digits"),
        ("[1." + "5" * 21 + "]", "more than 20 digits"),
        ("1e" + "0" * 21, "more than 20 digits"),
        ('["a", ' + "9" * 1_000 + ', "b"]', "more than 20 digits"),
        ('{"' + "9" * 30 + '":' + "9" * 30 + "}", "more than 20 digits"),
    ],
)
def test_what_holds_more_is_refused(text: str, why: str) -> None:
    """Whether or not it is JSON, before a value of it is made."""
    with pytest.raises(ValidationError, match=why):
        identity.parse(text, bounds=SMALL)


def test_nothing_is_made_of_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder is never asked about an integer of 2.5 million digits, or nine million bytes of `{}`."""

    class Never:
        def decode(self, text: str) -> None:
            raise AssertionError("made")

    monkeypatch.setattr(identity, "_DECODER", Never())
    for text in ('{"args":{"n":' + "9" * 2_500_000 + "}}", '{"args":[' + "{}," * 3_000_000 + "{}]}"):
        with pytest.raises(ValidationError):
            identity.parse(text, bounds=Bounds())


def test_without_bounds_what_was_recorded_is_read() -> None:
    """A value that an earlier version took stays readable."""
    number = "9" * 5_000
    assert identity.canonical(identity.parse(number)) == number
    assert len(identity.parse("[" + "0," * 200_000 + "0]")) == 200_001


@pytest.mark.parametrize(("digits", "values"), [(19, 100), (20, 99), (0, 0), (-1, 1_000)])
def test_bounds_that_let_nothing_through_are_refused(digits: int, values: int) -> None:
    """A server that takes no number is a mistake."""
    with pytest.raises(ValidationError, match="at least"):
        bounds.Bounds(digits=digits, values=values)


@pytest.mark.parametrize("most", [20, 4_300])
@pytest.mark.parametrize("more", [-1, 0, 1, 2, 50, 5_000])
@pytest.mark.parametrize(
    "before", ["", "1.", "[", "[1234567,", '{"a":-', '["' + "7" * 9_000 + '",', '["é\\"9",' + "1," * 40]
)
def test_digits_are_counted_wherever_they_stand(before: str, more: int, most: int) -> None:
    """A row of digits in a number has at most so many, whatever stands before and behind it."""
    for shift in range(0, 2 * most, max(1, most // 7)):
        text = (" " * shift + before + "9" * (most + more) + ",1").encode()
        if more > 0:
            with pytest.raises(ValidationError, match="digits"):
                Bounds(digits=most).check(text)
        else:
            Bounds(digits=most).check(text)
