"""Edits of JSON with comments: what is put in is there, and every other byte, comment and value stays."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebuno.errors import ValidationError
from rebuno.hosts.install import entries
from rebuno.hosts.install.json_text import insert, parse, remove

GROUP = {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/x/bin/rebuno-hook", "args": ["claude-code"]}]}
WANTED = {"PreToolUse": GROUP, "SessionEnd": {"hooks": GROUP["hooks"]}}

_COMMENT = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n", "// a, b: [\n", '/* { " */', "\n// x\n  ", "/**/"])
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@st.composite
def texts(draw: st.DrawFn, values: st.SearchStrategy[Any] | None = None) -> str:
    """A text of a JSON object, with white space and comments wherever they may stand."""
    foreign = st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}), max_size=2)})
    hooks = st.dictionaries(st.sampled_from(["PreToolUse", "SessionEnd", "Stop"]), st.lists(foreign, max_size=2))
    plain = st.dictionaries(st.text().filter(lambda key: key != "hooks"), _SCALARS | st.lists(_SCALARS), max_size=3)
    value = draw(values if values is not None else plain)
    if draw(st.booleans()):
        value = {**value, "hooks": draw(hooks)}
    return _spelled(draw, value)


def _spelled(draw: st.DrawFn, value: Any) -> str:
    def gap() -> str:
        return draw(_COMMENT)

    if isinstance(value, dict):
        inner = ",".join(
            f"{gap()}{json.dumps(key, ensure_ascii=draw(st.booleans()))}{gap()}:{_spelled(draw, part)}"
            for key, part in value.items()
        )
        return f"{gap()}{{{inner}{gap()}}}{gap()}"
    if isinstance(value, list):
        return f"{gap()}[{','.join(_spelled(draw, part) for part in value)}{gap()}]{gap()}"
    return f"{gap()}{json.dumps(value, ensure_ascii=draw(st.booleans()))}{gap()}"


_SOME = settings(max_examples=150, deadline=None)


def comments(text: str) -> list[str]:
    """The comments of a text, in its order."""
    return [text[start:end] for start, end in parse(text, "x").comments]


def without(text: str) -> str:
    """The text without white space, commas and comments."""
    return re.sub(r"[\s,]", "", parse(text, "x").blank)


@_SOME
@given(texts())
def test_our_hooks_are_put_in_and_nothing_else_is_touched(text: str) -> None:
    """Values, comments and their order stay; a second time changes nothing; taking out leaves what was there."""
    before = parse(text, "x").root.value
    after = entries.put(text, "x", WANTED)
    value = parse(after, "x").root.value
    assert sorted(place.event for place in entries.found(value)) == sorted(WANTED)
    assert value["hooks"]["PreToolUse"][-1] == GROUP
    assert comments(after) == comments(text)
    assert entries.put(after, "x", WANTED) == after
    taken = entries.take(after, "x", was=before)
    assert parse(taken, "x").root.value == before
    assert without(taken) == without(text)
    assert comments(taken) == comments(text)


@_SOME
@given(texts(), st.data())
def test_any_part_is_taken_out_alone(text: str, data: st.DataObject) -> None:
    """The other members keep their bytes; the comments stay."""
    document = parse(text, "x")
    if not document.root.members:
        return
    index = data.draw(st.integers(0, len(document.root.members) - 1))
    after = remove(document, document.root, index)
    kept = dict(document.root.value)
    del kept[document.root.members[index][0]]
    assert parse(after, "x").root.value == kept
    own = document.root.members[index][2]
    inside = [c for c in document.comments if document.root.members[index][1] <= c[0] < own.end]
    assert len(comments(after)) == len(document.comments) - len(inside)


@_SOME
@given(texts(), _SCALARS)
def test_a_member_is_put_behind_all_others(text: str, value: Any) -> None:
    """As the last one."""
    document = parse(text, "x")
    after = parse(insert(document, document.root, 0, value, "\x00new"), "x")
    assert after.root.members[-1][0] == "\x00new"
    assert after.root.value == document.root.value | {"\x00new": value}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        "{} x",
        '{"a": 1,}',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": 01}',
        "",
        '{"a": /* }',
        '"x"',
        "{a: 1}",
    ],
)
def test_what_no_host_reads_is_a_typed_error(text: str) -> None:
    """With the place, and no traceback."""
    with pytest.raises(ValidationError, match=r"`settings\.json`"):
        parse(text, "settings.json")


def test_an_error_names_line_and_column() -> None:
    """As an editor counts them."""
    with pytest.raises(ValidationError, match=r"line 3, column 8 is not JSON"):
        parse('{\n  // c\n  "a": ?\n}', "x")


def test_a_key_that_stands_twice_is_refused() -> None:
    """Hosts take the last one, or refuse the file: nobody knows which the person means."""
    with pytest.raises(ValidationError, match="line 2 has the key 'hooks' a second time"):
        parse('{"hooks": {},\n "hooks": {}}', "x")


def test_deep_nesting_is_a_typed_error() -> None:
    """No stack overflow."""
    with pytest.raises(ValidationError, match="nested too deeply"):
        parse('{"a":' * 100_000, "x")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"b": [\n\t\t2\n\t]\n}\n'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "b": [\r\n        2\r\n    ]\r\n}'),
        ('{"a":1}', '{"a":1, "b": [2]}'),
        ("{}", '{\n  "b": [\n    2\n  ]\n}'),
        ('{\n  "a": 1 // one\n  // two\n}', '{\n  "a": 1, // one\n  // two\n  "b": [\n    2\n  ]\n}'),
        ('{ "a": 1, // one\n}'.replace(", //", " //"), '{ "a": 1, // one\n  "b": [\n    2\n  ]\n}'),
    ],
)
def test_the_file_keeps_its_style(text: str, after: str) -> None:
    """Tabs, spaces, line ends, one line, and comments at the end of a line."""
    document = parse(text, "x")
    assert insert(document, document.root, 0, [2], "b") == after
