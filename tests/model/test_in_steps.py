"""Long JSON is read and written so that others run meanwhile: with the same answers, and a window at a time."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebuno.errors import NotJSON, ValidationError
from rebuno.model import bounds, identity
from rebuno.model.bigint import from_digits
from rebuno.model.bounds import STRING, strings_in

TEXTS = st.text(st.sampled_from('ab<&"\\\b\f\n\0é\u2028😀'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
TEN_MIB = identity.MAX_BYTES


@given(data=st.lists(st.sampled_from([b'"', b"\\", b"a", b"[", b","]), max_size=14).map(b"".join))
@pytest.mark.parametrize("size", [2, 3, 5])
def test_strings_are_found_wherever_a_window_ends(data: bytes, size: int) -> None:
    """In an escape, before a quote, and where a string has no end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "_WINDOW", size)
        assert list(strings_in(data)) == [match.span() for match in STRING.finditer(data)]


@given(value=VALUES)
@pytest.mark.parametrize("size", [1, 3])
def test_what_is_written_in_steps_is_the_same(value: Any, size: int) -> None:
    """Byte for byte, and so it reads."""
    at_once = identity.canonical(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "_WINDOW", size)
        assert identity.canonical(value, in_steps=True) == at_once
        assert identity.parse(at_once) == value


class _Watched:
    """A pattern that says how much each of its searches may go through."""

    def __init__(self, pattern: Any, spans: list[int]) -> None:
        self._pattern = pattern
        self._spans = spans

    def __getattr__(self, name: str) -> Any:
        def search(data: Any, start: int = 0, end: int | None = None) -> Any:
            self._spans.append((len(data) if end is None else end) - start)
            return getattr(self._pattern, name)(data, start, len(data) if end is None else end)

        def sub(by: bytes, data: bytes) -> Any:
            self._spans.append(len(data))
            return self._pattern.sub(by, data)

        return sub if name == "sub" else search


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100 + '"' + "[" * 400_000 + '"' + "]" * 100,
        '["' + '\\"' * 400_000 + '"]',
        '["' + "\\u0000" * 200_000 + '"]',
        '["' + "a" * 400_000,
    ],
    ids=["brackets", "quotes", "NUL", "unclosed"],
)
def test_no_search_goes_through_all_of_a_long_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings, escapes and depth are looked for a window at a time."""
    spans: list[int] = []
    for module, name in ((bounds, "STRING"), (bounds, "_INSIDE"), (identity, "STRING"), (identity, "_SURROGATE")):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, _Watched(getattr(module, name), spans))
    try:
        identity.parse(text, bounds=bounds.Bounds(values=200))
    except ValidationError:
        assert not text.endswith("]")
    assert max(spans, default=0) < 100_000


@pytest.mark.parametrize("value", ["<" * 9_000_000, ["<" * 9_000_000, 0.5], {"&" * 9_000_000: 0}])
@pytest.mark.parametrize("in_steps", [False, True])
def test_a_text_that_escapes_make_too_long_is_not_escaped_first(
    value: Any, in_steps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused as one that is too long, and most of it is not touched."""
    escaped: list[int] = []

    class Escapes(dict[str, str]):
        def items(self) -> Any:
            escaped.append(1)
            return super().items()

    monkeypatch.setattr(identity, "_ESCAPED", Escapes(identity._ESCAPED))
    with pytest.raises(NotJSON, match="bytes as JSON"):
        identity.canonical(value, "args", in_steps=in_steps)
    assert len(escaped) <= (TEN_MIB // 65_536 if in_steps else 0)


@pytest.mark.parametrize("text", ['["' + "<" * 3_000_000 + '\\ud800"]', '{"\\udc00' + "<" * 3_000_000 + '":0}'])
def test_half_a_pair_is_found_in_a_text_that_must_not_be_written(text: str) -> None:
    """However long its escapes would make it."""
    with pytest.raises(ValidationError, match="surrogate"):
        identity.parse(text)


def test_long_integers_of_a_long_text_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in steps between which others run, not all of them in one."""
    taken: list[str] = []
    whole = from_digits

    def taking(text: str) -> int:
        taken.append(text)
        return whole(text)

    monkeypatch.setattr(identity, "from_digits", taking)
    digits = "7" * 4_300
    value = identity.reread(json.dumps([digits] * 20).replace('"', "").replace(" ", ""))
    assert len(taken) == 20
    assert value == [whole(digits)] * 20
    assert re.fullmatch("7+", taken[0])
