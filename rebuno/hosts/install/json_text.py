"""Where the parts of a JSON text with comments stand, and edits of it that leave every other byte as it is."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from rebuno.errors import ValidationError

# A string is matched first, so that what looks like a comment inside of it is none.
_LEXEMES: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LINE_END: Final = re.compile(r"[ \t]*\r?\n")
_DEFAULT_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: `start` and `end` are offsets in the text. An object has `members` (key, offset of
    the key, value), an array has `items`; both in the order of the text."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, "Node"], ...] = ()
    items: tuple["Node", ...] = ()

    def get(self, key: str) -> "Node | None":
        """The value of an object's member, or None."""
        return next((node for name, _, node in self.members if name == key), None)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each item, or each member with its key, begins and ends."""
        return [(node.start, node.end) for node in self.items] or [(at, node.end) for _, at, node in self.members]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. `blank` is the text with spaces in the place of its comments; `comments` are their spans."""

    text: str
    blank: str
    root: Node
    comments: tuple[tuple[int, int], ...]

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def indent(self) -> str:
        """One step of its indentation; empty where all of it stands on one line."""
        if not self.root.members:
            return _DEFAULT_INDENT
        if "\n" not in self.text[self.root.start : self.root.end]:
            return ""
        first = self.root.members[0][1]
        lead = self.blank[self.blank.rfind("\n", self.root.start, first) + 1 : first]
        return lead if lead and lead.isspace() else _DEFAULT_INDENT

    def line(self, offset: int) -> int:
        """The number of the line that `offset` stands in, from 1."""
        return _line(self.text, offset)

    def spliced(self, *edits: tuple[int, int, str]) -> str:
        """The text after edits (from, to, new text) that do not overlap."""
        at, pieces = 0, []
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            pieces += [self.text[at:start], new]
            at = end
        return "".join([*pieces, self.text[at:]])


def parse(text: str, named: str) -> Document:
    """Reads the text of the settings file `named`: JSON with `//` and `/* */` comments.

    Raises:
        ValidationError: it is no such text, its root is no object, or a key stands twice in one object.
    """
    comments = tuple(found.span() for found in _LEXEMES.finditer(text) if found[0][0] == "/")
    blank = _LEXEMES.sub(_blanked, text)
    try:
        root, end = _read(blank, _space(blank, 0), named)
        if _space(blank, end) != len(blank):
            raise _NotJSONError(_space(blank, end))
    except _NotJSONError as error:
        column = error.at - (blank.rfind("\n", 0, error.at) + 1) + 1
        place = f"line {_line(blank, error.at)}, column {column}"
        raise ValidationError(f"`{named}` {place} is not JSON; correct it first, nothing was changed") from None
    except RecursionError:
        raise ValidationError(f"`{named}` is nested too deeply; nothing was changed") from None
    if not isinstance(root.value, dict):
        raise ValidationError(f"`{named}` holds no JSON object; nothing was changed")
    return Document(text, blank, root, comments)


def insert(document: Document, into: Node, depth: int, new: Any, key: str | None = None) -> str:
    """The text with `new` behind the last part of the array `into`, or of the object with the key `key`. `into` is
    `depth` levels below the root. Comments keep their places."""
    spans = into.spans
    last = spans[-1][1] if spans else into.start + 1
    inner = [span for span in document.comments if last <= span[0] < into.end]
    place = inner[-1][1] if inner else last
    line_comment = bool(inner) and document.text.startswith("//", inner[-1][0])
    step, newline = document.indent, document.newline
    beside = bool(spans) and "\n" not in document.text[into.start : spans[0][0]]
    compact = not line_comment and (not step or beside)
    before = (" " if spans else "") if compact else newline + step * (depth + 1)
    shown = _shown(document, new, depth + 1, compact)
    named = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    closed = compact or "\n" in document.text[place : into.end - 1]
    after = "" if closed else newline + step * depth
    if not spans:
        return document.spliced((place, place, before + named + shown + after))
    if place == last:
        return document.spliced((place, place, "," + before + named + shown + after))
    return document.spliced((last, last, ","), (place, place, before + named + shown + after))


def replace(document: Document, node: Node, depth: int, new: Any) -> str:
    """The text with `new` in the place of a value that stands `depth` levels below the root."""
    compact = "\n" not in document.text[node.start : node.end] and node.value not in ({}, [])
    return document.spliced((node.start, node.end, _shown(document, new, depth, compact)))


def remove(document: Document, parent: Node, index: int) -> str:
    """The text without one part of an object or array, one comma and the white space before it. Comments stay."""
    spans = parent.spans
    start, end = spans[index]
    begin = _behind_text(document, start, end)
    if index:
        comma = document.blank.index(",", spans[index - 1][1], start)
        return document.spliced((comma, comma + 1, ""), (max(begin, comma + 1), end, ""))
    if len(spans) > 1:
        comma = document.blank.index(",", end, spans[1][0])
        return document.spliced((begin, end, ""), (comma, comma + 1, ""))
    rest = document.text[parent.start + 1 : begin] + document.text[end : parent.end - 1]
    if not rest.strip():
        return document.spliced((parent.start + 1, parent.end - 1, ""))
    return document.spliced((begin, end, ""))


def _behind_text(document: Document, start: int, end: int) -> int:
    """Where the white space before a part begins that goes with it. A comment to the end of its line keeps that end."""
    begin = len(document.text[:start].rstrip(" \t\r\n"))
    in_comment = any(behind == begin and document.text[at + 1] == "/" for at, behind in document.comments)
    if in_comment and not _LINE_END.match(document.text, end):
        return begin + (2 if document.text.startswith("\r\n", begin) else 1)
    return begin


def _shown(document: Document, value: Any, depth: int, compact: bool) -> str:
    if compact or not document.indent:
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, indent=document.indent)
    return text.replace("\n", document.newline + document.indent * depth)


class _NotJSONError(Exception):
    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def _read(text: str, at: int, named: str) -> tuple[Node, int]:
    match text[at : at + 1]:
        case "{":
            return _read_object(text, at, named)
        case "[":
            return _read_array(text, at, named)
    return _scalar(text, at)


def _read_object(text: str, start: int, named: str) -> tuple[Node, int]:
    members: list[tuple[str, int, Node]] = []
    values: dict[str, Any] = {}
    at = _space(text, start + 1)
    while text[at : at + 1] != "}":
        begin = _behind_comma(text, at) if members else at
        if text[begin : begin + 1] != '"':
            raise _NotJSONError(begin)
        node, at = _scalar(text, begin)
        key = str(node.value)
        if key in values:
            raise ValidationError(f"`{named}` line {_line(text, begin)} has the key {key!r} a second time; remove one")
        at = _space(text, at)
        if text[at : at + 1] != ":":
            raise _NotJSONError(at)
        node, at = _read(text, _space(text, at + 1), named)
        members.append((key, begin, node))
        values[key] = node.value
        at = _space(text, at)
    return Node(start, at + 1, values, members=tuple(members)), at + 1


def _read_array(text: str, start: int, named: str) -> tuple[Node, int]:
    items: list[Node] = []
    at = _space(text, start + 1)
    while text[at : at + 1] != "]":
        node, at = _read(text, _behind_comma(text, at) if items else at, named)
        items.append(node)
        at = _space(text, at)
    return Node(start, at + 1, [node.value for node in items], items=tuple(items)), at + 1


def _scalar(text: str, at: int) -> tuple[Node, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError as error:
        raise _NotJSONError(error.pos if isinstance(error, json.JSONDecodeError) else at) from None
    return Node(at, end, value), end


def _behind_comma(text: str, at: int) -> int:
    if text[at : at + 1] != ",":
        raise _NotJSONError(at)
    return _space(text, at + 1)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_constant)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n\r]", " ", found[0])


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
