"""The fast reader of JSON reads what the strict one reads, and leaves to it whatever that refuses."""

import json
import re
from math import copysign
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebuno.errors import ValidationError
from rebuno.model import identity
from rebuno.model.identity import canonical, parse, reread

# Texts of less are not read fast.
PADDING = "x" * identity._FAST_FROM

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['":', '\\":', '\\\\":', ":", '"', "\\", '{"a":1,"a":2}', "\u2028<&>", "\x00\x1a", "a\n", "\U0001f600", "\ufeff"]
)
NUMBERS = (
    st.integers()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 1e-7, 1e16, 9e18, 5e-324, 1.7976931348623157e308])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def read(reader: Any, text: str | bytes) -> object:
    """What a reader makes of a text; None where it refuses it."""
    try:
        return exact(reader(text))
    except ValidationError:
        return None


def strictly(text: str | bytes) -> Any:
    """The strict reader's value; raises as that."""
    try:
        data = text if isinstance(text, bytes) else text.encode()
        return identity._read(data.decode(), data)
    except UnicodeError as error:
        raise ValidationError(str(error)) from None


def exact(value: Any) -> object:
    """A value with the types of its numbers and the order of its keys, for `1` equals `1.0`, and both `True`."""
    match value:
        case dict():
            return [(key, exact(item)) for key, item in value.items()]
        case list():
            return ["list", *map(exact, value)]
        case float():
            return ("float", value, copysign(1.0, value))
        case _:
            return (type(value).__name__, value)


def same(text: str | bytes) -> None:
    """Both readers say the same of a text."""
    assert read(parse, text) == read(strictly, text)


@settings(max_examples=400, deadline=None)
@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans(), st.booleans())
def test_every_value_is_read_alike(value: Any, indent: int | None, ascii: bool, tight: bool) -> None:
    """However it is written: with spaces or without, escaped or not, canonical or not."""
    padded = [PADDING, value]
    separators = (",", ":") if tight else None
    same(json.dumps(padded, indent=indent, ensure_ascii=ascii, separators=separators))
    text = canonical(padded)
    same(text)
    assert exact(parse(text)) == exact(strictly(text)) == exact(reread(text))


# What may stand where a value is meant to be, or beside one.
SCRAPS = [
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-0", "-0.0", "01", "1.", ".5", "+1", "0x1", "1E+2"),
    *("18446744073709551615", "18446744073709551616", "-9223372036854775808", "-9223372036854775809", "9" * 50),
    *("1" * 30 + ".0", "1" * 30 + "e-30", '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"'),
    *('"\\x"', '"\\u12"', '"a', "'a'", "tru", "None", "", " ", "\x00", "\ufeff", "\u00a0", "\t", '"\t"', '"\x7f"'),
    *(
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"a":1, "a" :2}',
        '{"":1,"":2}',
        '{"a":{"b":1},"b":1}',
        "{a:1}",
        '{"a"}',
    ),
    *('{"a\\\\":1,"a\\\\":2}', '{"a":":","b":"\\":"}', '{"a\\":":1}', '{"a" : 1}', '{"a"\n:1,"a":2}', '{"a":1,}'),
    *(
        '{"a":"\\\\\\":","a":1}',
        '{"x\\\\":"\\":","x\\\\":2}',
        '[":a"]',
        '{"a":[{"a":1},{"a":1,"a":1}]}',
        "[1,]",
        "//",
        "/**/",
    ),
    *("[" * 126 + "]" * 126, "[" * 127 + "]" * 127, "[" * 128 + "]" * 128, "[" * 1100 + "]" * 1100),
    *('{"a":' * 126 + "1" + "}" * 126, '{"a":' * 127 + "1" + "}" * 127),
]
TRICKS = pytest.mark.parametrize("scrap", SCRAPS, ids=range(len(SCRAPS)))


@TRICKS
def test_every_trick_is_read_alike_or_refused_alike(scrap: str) -> None:
    """Alone, as an element, as a member, and after the end."""
    for text in (
        f'["{PADDING}",{scrap}]',
        f'{{"p":"{PADDING}","q":{scrap}}}',
        f'["{PADDING}"]{scrap}',
        scrap + PADDING,
    ):
        same(text)
        same(text.encode())


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from([*SCRAPS[:-6], "[", "]", "{", "}", '"', ":", ",", "\\", "1", "e"]), max_size=12))
@example(['{"a":1,"a":2}'])
def test_every_mixture_is_read_alike_or_refused_alike(scraps: list[str]) -> None:
    """As JSON, and as what is nearly JSON."""
    same(f'["{PADDING}",{"".join(scraps)}]')
    same(f'["{PADDING}",{",".join(scraps)}]')


@settings(max_examples=300, deadline=None)
@given(VALUES, st.data())
def test_every_changed_text_is_read_alike_or_refused_alike(value: Any, data: st.DataObject) -> None:
    """With a few of its bytes put elsewhere, left out, doubled or replaced, be it no UTF-8 any more."""
    text = bytearray(json.dumps([PADDING, {"a": value, "b": value}], ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(len(PADDING), len(text) - 1))
        end = at + data.draw(st.integers(0, 6))
        piece = data.draw(
            st.binary(max_size=3) | st.just(bytes(text[at:end]) * 2) | st.sampled_from([b'"a":1,', b"0" * 20])
        )
        text[at:end] = piece
    same(bytes(text))


def conversation() -> dict[str, Any]:
    """What an SDK sends."""
    called = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"path": "a<b", "n": 1}'}}
    said = [
        {"role": "user", "content": 'Say: "yes"\n' + "word " * 200},
        {"role": "assistant", "content": None, "tool_calls": [called]},
    ]
    return {"model": "m", "temperature": 0.7, "max_tokens": 100, "stream": False, "messages": said * 5}


@pytest.mark.parametrize("write", [canonical, lambda value: json.dumps(value, separators=(",", ":")), json.dumps])
def test_a_conversation_is_read_fast(write: Any) -> None:
    """As our client, as an SDK, and as Python writes it: else all this would be for nothing."""
    text = write(conversation())
    assert identity._read_fast(text.encode()) == (conversation(),)
    assert exact(parse(text)) == exact(strictly(text))


def test_what_may_be_refused_is_left_to_the_strict_reader() -> None:
    """It says why, in the words that it always had."""
    for text, why in [
        (f'["{PADDING}",{{"a":1,"a":2}}]', "the key `a` is repeated in one JSON object"),
        (f'["{PADDING}",NaN]', "`NaN` is not JSON"),
        (f'["{PADDING}",1e400]', "the number `1e400` is too large for a double"),
        (f'["{PADDING}",{"[" * 128}{"]" * 128}]', "JSON nested more than 128 levels deep"),
        (f'["{PADDING}","\\ud800"]', "`$[1]` holds the lone surrogate U+D800, which is no character"),
    ]:
        with pytest.raises(ValidationError, match="^" + re.escape(why)):
            parse(text)
    assert parse(f'["{PADDING}",{2**64}]') == [PADDING, 2**64]


PARTS = ["<", ">", "&", "\u2028", "\u2029", "\\", "\b", "\f", "b", "f", "\\b", "\n", '"', "é", "→", "\x00"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.lists(NUMBERS, max_size=3))
def test_long_values_are_written_as_short_ones_are(parts: list[str], numbers: list[Any]) -> None:
    """By another way, which looks at bytes: the text is the same to the byte."""
    piece = "".join(parts)
    long = "x" * identity._AS_BYTES
    written = canonical({"text": [piece, long], "numbers": numbers, piece: None})
    assert written == identity._write({"text": [piece, long], "numbers": numbers, piece: None}, "$", 128)
