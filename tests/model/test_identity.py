"""Canonical JSON to the byte, JSON read strictly, and the ids built on both."""

import enum
import json
import sys
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import NotJSON, RebunoError, ValidationError
from rebuno.model.bigint import from_digits, to_digits
from rebuno.model.identity import MAX_BYTES, args_hash, canonical, parse, reread, scan, step_id

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "identity.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=[v["target"] for v in VECTORS])
def test_published_vectors_come_out_to_the_byte(vector: dict[str, Any]) -> None:
    """Canonical text, hash and id are those that other implementations compute."""
    text = canonical(vector["args"])
    hashed = args_hash(text)
    found = step_id(vector["execution_id"], vector["kind"], vector["target"], hashed, vector["occurrence"])
    assert (text, hashed, found) == (vector["canonical"], vector["args_hash"], vector["step_id"])


def test_fields_of_an_id_do_not_run_together() -> None:
    """Text that moves from one field to the next gives another id."""
    assert step_id("ab", "c", "t", "h", 0) != step_id("a", "bc", "t", "h", 0)
    assert step_id("a", "k", "t", "h1", 1) != step_id("a", "k", "t", "h", 11)
    assert step_id("a", "k", "é", "h", 0) != step_id("a", "k", "é", "h", 1)


class Level(enum.IntEnum):
    HIGH = 3


class Color(enum.StrEnum):
    RED = "r<d"


class Sly(dict[str, Any]):
    """A dict that shows other members than it has."""

    def items(self) -> Any:
        return [("shown", 1)]

    def __iter__(self) -> Any:
        return iter(["shown"])


class SlyText(str):
    """A text that shows another."""

    def __str__(self) -> str:
        return "shown"


Pair = namedtuple("Pair", "a b")

WRITTEN: list[tuple[str, object, str]] = [
    (
        "keys by code point, not by UTF-16 unit",
        {"\U00010000": 1, "\uffff": 2, "a": 3, "Z": 4},
        '{"Z":4,"a":3,"\uffff":2,"\U00010000":1}',
    ),
    ("outside ASCII is kept", "é∀\U0001f600\x7f\x85", '"é∀\U0001f600\x7f\x85"'),
    ("what HTML and JavaScript mind is escaped", "<>&\u2028\u2029", '"\\u003c\\u003e\\u0026\\u2028\\u2029"'),
    ("short escapes", '"\\\n\r\t', '"\\"\\\\\\n\\r\\t"'),
    ("other control characters are long", "\b\f\0\x1f", '"\\u0008\\u000c\\u0000\\u001f"'),
    ("a backslash before b is no backspace", "\\b\\f\\\b", '"\\\\b\\\\f\\\\\\u0008"'),
    ("keys are escaped too", {"<\b": 1}, '{"\\u003c\\u0008":1}'),
    ("reals as repr", [1.0, 1e-07, 1e16, -0.0, 5e-324, 0.1], "[1.0,1e-07,1e+16,-0.0,5e-324,0.1]"),
    ("integers exact", [0, -1, 2**53 + 1, 10**30], f"[0,-1,{2**53 + 1},{10**30}]"),
    ("truth values and null", [True, False, None], "[true,false,null]"),
    ("a tuple is a list", (1, ("a",)), '[1,["a"]]'),
    ("empty ones", [{}, [], (), ""], '[{},[],[],""]'),
    ("an enum is its value", {"l": Level.HIGH, "c": Color.RED}, '{"c":"r\\u003cd","l":3}'),
    ("an enum as a key", {Color.RED: 1}, '{"r\\u003cd":1}'),
    ("subclasses are what they are", [OrderedDict(b=1, a=2), Pair(1, 2)], '[{"a":2,"b":1},[1,2]]'),
    ("whatever they override", [Sly(real=2), SlyText("real")], '[{"real":2},"real"]'),
]


@pytest.mark.parametrize(("value", "text"), [c[1:] for c in WRITTEN], ids=[c[0] for c in WRITTEN])
def test_canonical_text(value: object, text: str) -> None:
    """Each rule of canonical JSON; and what is written is read back and written the same."""
    assert canonical(value) == text
    assert canonical(parse(text)) == text


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


REFUSED: list[tuple[str, object, str, str]] = [
    ("a datetime", {"items": [0, {"when": datetime.now(UTC)}]}, "args.items[1].when", "is a datetime, which"),
    ("bytes", [b"x"], "args[0]", "is a bytes"),
    ("a set", {"a b": {1}}, 'args["a b"]', "is a set"),
    ("an object", object(), "args", "is an object"),
    ("NaN", {"x": float("nan")}, "args.x", "is nan"),
    ("an infinity", (1, float("-inf")), "args[1]", "is -inf"),
    ("a key that is no string", {"a": {1: 2}}, "args.a", "has the key 1"),
    ("a lone surrogate", ["a\ud800"], "args[0]", "lone surrogate U+D800"),
    ("a lone surrogate in a key", {"\udfff": 1}, "args", "lone surrogate U+DFFF"),
    ("129 levels", nested(129), "args" + "[0]" * 128, "more than 128 levels"),
    ("over 10 MiB", "x" * MAX_BYTES, "args", "takes 10,485,762 bytes"),
    ("over 10 MiB once escaped", "<" * (MAX_BYTES // 6 + 1), "args", "bytes as JSON"),
]


@pytest.mark.parametrize(("value", "path", "says"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_what_json_cannot_hold_is_named_with_its_path(value: object, path: str, says: str) -> None:
    """It is a `TypeError` too, as callers of a plain function expect."""
    with pytest.raises(NotJSON) as caught:
        canonical(value, "args")
    assert isinstance(caught.value, TypeError)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"`{path}` ")
    assert says in str(caught.value)


def test_128_levels_pass_both_ways() -> None:
    """The bound itself is taken."""
    text = canonical(nested(128))
    assert text == "[" * 128 + "]" * 128
    assert parse(text) == nested(128)


UNREAD: list[tuple[str, str | bytes, str]] = [
    ("a repeated key", '{"a":1,"b":{"k":1,"k":1}}', "the key `k` is repeated"),
    ("a repeated key written in two ways", '{"a":1,"\\u0061":2}', "the key `a` is repeated"),
    ("a repeated key that is no character", '{"\\ud800":1,"\\ud800":2}', "the key `\\ud800` is repeated"),
    ("NaN", '{"a":NaN}', "`NaN` is not JSON"),
    ("an infinity", "[-Infinity]", "`-Infinity` is not JSON"),
    ("a number that overflows a double", "[1e999]", "the number `1e999` is too large for a double"),
    ("one that overflows below", "-1.5E+400", "too large"),
    ("a lone surrogate", '{"a":["\\ud83d"]}', "`$.a[0]` holds the lone surrogate U+D83D"),
    ("a pair the wrong way round", '"\\ude00\\ud83d"', "lone surrogate"),
    ("a lone surrogate in a key", '{"\\uDC00":1}', "lone surrogate U+DC00"),
    ("a surrogate as it is", '"\ud800"', "a lone surrogate at offset 1"),
    ("129 levels", "[" * 129 + "]" * 129, "more than 128 levels"),
    ("129 levels of both kinds", '{"a":[' * 65 + "]}" * 65, "more than 128 levels"),
    ("100,000 levels", "[" * 100_000 + "]" * 100_000, "more than 128 levels"),
    ("100,000 levels that never end", '{"":' * 100_000, "more than 128 levels"),
    ("brackets behind a string that looks unfinished", '["\\\\",' + "[" * 200, "more than 128 levels"),
    ("not UTF-8", b'"\xff"', "not UTF-8: byte 0xff at offset 1"),
    ("UTF-16", "1".encode("utf-16"), "not UTF-8"),
    ("a byte order mark", b"\xef\xbb\xbf1", "at line 1, column 1"),
    ("over 10 MiB", " " * MAX_BYTES + "1", "10,485,761 bytes"),
    ("nothing", "", "expecting value at line 1, column 1"),
    ("a bracket of the other kind", "[1,\n}", "at line 2, column 1"),
    ("a leading zero", "01", "extra data"),
    ("a sign", "+1", "expecting value"),
    ("single quotes", "'a'", "expecting value"),
    ("a control character in a string", '"\t"', "invalid control character at line 1, column 2"),
    ("an unknown escape", '"\\x41"', "escape"),
    ("two values", "1 2", "extra data at line 1, column 3"),
]


@pytest.mark.parametrize(("text", "says"), [c[1:] for c in UNREAD], ids=[c[0] for c in UNREAD])
def test_json_is_read_strictly(text: str | bytes, says: str) -> None:
    """The refusal says what is wrong, and where if that is known; it can be printed anywhere."""
    with pytest.raises(ValidationError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert str(caught.value).encode()


def test_reading_is_linear_in_nasty_texts() -> None:
    """Quotes that never close and brackets inside strings are passed once."""
    with pytest.raises(ValidationError, match="unterminated string"):
        parse("[" * 100 + '"' + '\\"' * 1_000_000 + "[" * 100)
    assert len(parse('["' + "[" * 1_000_000 + '"]')[0]) == 1_000_000
    assert len(parse("[" + "[]," * 200_000 + "[]]")) == 200_001


@pytest.mark.parametrize("digits", [599, 600, 601, 4300, 4301, 50_000])
def test_integers_of_any_length_survive(digits: int) -> None:
    """Past the limit that Python sets on texts of integers, which stays as it is."""
    before = sys.get_int_max_str_digits()
    for text in ("9" * digits, "-1" + "0" * digits, "123" * (digits // 3)):
        value = parse(f'{{"n":{text}}}')
        assert canonical(value) == f'{{"n":{text}}}'
    assert 10**digits == parse("1" + "0" * digits)
    assert sys.get_int_max_str_digits() == before


@given(st.integers(min_value=-(2**9000), max_value=2**9000))
@settings(max_examples=50, deadline=None)
def test_digits_are_those_of_the_hex_reading(value: int) -> None:
    """Both ways agree with a reading that goes digit by digit."""
    text = to_digits(value)
    slow = 0
    for digit in text.lstrip("-"):
        slow = slow * 10 + int(digit)
    assert slow == abs(value)
    assert from_digits(text) == value


texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('<>&\u2028\u2029"\\\b\f\n\0bf'), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(texts, v, max_size=4), max_leaves=15)


def slow(value: Any) -> str:
    """Canonical JSON, written a character at a time."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{slow(k)}:{slow(value[k])}" for k in sorted(value, key=lambda k: [*map(ord, k)])) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(slow, value)) + "]"
    if isinstance(value, str):
        short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
        long = "<>&\u2028\u2029"
        return '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " or c in long else c) for c in value) + '"'
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)
    )


@given(values)
@settings(max_examples=150, deadline=None)
def test_canonical_agrees_with_a_slow_writer_and_is_a_fixed_point(value: Any) -> None:
    """The fast way writes what the plain one does, and reading then writing changes nothing."""
    text = canonical(value)
    assert text == slow(value)
    assert canonical(parse(text)) == text
    assert canonical(parse(json.dumps(value))) == text


@given(st.text(st.sampled_from('{}[],:"\\u0dDbe19.-+tfn \n'), max_size=40) | st.binary(max_size=20))
@settings(max_examples=200, deadline=None)
def test_reading_gives_a_value_or_a_typed_error(text: str | bytes) -> None:
    """Whatever the text; and a value that was read can be written."""
    try:
        value = parse(text)
    except RebunoError:
        return
    assert parse(canonical(value)) == value


@pytest.mark.parametrize("digits", range(17, 23))
def test_a_text_that_was_written_here_is_read_as_it_was_meant(digits: int) -> None:
    """Whatever reads it: integers are exact beyond 64 bits, reals stay reals."""
    for value in (10**digits - 1, 1 - 10**digits, [10**digits], float(10**digits), {"n": 10**digits}):
        again = reread(canonical(value))
        assert (again, type(again)) == (value, type(value))


@pytest.mark.parametrize("text", ['["a text of some length", NaN]', '"a text of some length', '-Infinity, "and more"'])
def test_a_long_text_that_is_no_json_is_refused(text: str) -> None:
    """As a short one; only what overflows, or is half a character, is left to `scan`."""
    with pytest.raises(ValidationError):
        reread(text)
    with pytest.raises(ValidationError):
        scan(text)


@pytest.mark.parametrize("text", ["", "1 2", "NaN", "{", " 1,", "1e999", '"\\ud800"'])
def test_a_short_text_that_was_damaged_is_refused(text: str) -> None:
    """As `parse` refuses it."""
    with pytest.raises(ValidationError):
        reread(text)
    with pytest.raises(ValidationError):
        scan(text)
