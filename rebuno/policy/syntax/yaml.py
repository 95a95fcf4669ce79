"""Reads YAML as data with places, by the JSON schema of YAML 1.2: `no`, `012` and dates stay text; tags are refused."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from rebuno.errors import BundleError
from rebuno.policy.syntax.diagnostics import Diagnostic
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tree import Span

MAX_BYTES: Final = 1 << 20
MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 128
CODE: Final = "case-file"

# The C scanner, if PyYAML has it, gives the same events thirty times as fast.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Final[dict[str, Any]] = {"": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_REAL: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?\Z")
_COMMENT: Final = re.compile(r"#[^\n]*")
_LONGEST_NUMBER: Final = 4300


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value and its place. `value` is a JSON scalar, a list of nodes, or a mapping of keys to nodes. `keys` holds the
    places of the keys of a mapping. `size` counts the nodes in the value, an alias at each use; `depth` counts its
    levels."""

    value: Any
    span: Span
    keys: dict[str, Span]
    size: int = 1
    depth: int = 0

    def plain(self) -> Any:
        """The value as plain JSON data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def node_of(data: Any, span: Span) -> YamlNode:
    """Plain JSON data as a node. All nodes in it have one place."""
    if isinstance(data, dict):
        return YamlNode({key: node_of(item, span) for key, item in data.items()}, span, dict.fromkeys(data, span))
    if isinstance(data, list):
        return YamlNode([node_of(item, span) for item in data], span, {})
    return YamlNode(data, span, {})


def read_yaml(
    source: Source, code: str = CODE, wanted: str = "write `cases:` and a list of cases", *, times: int = 1
) -> YamlNode:
    """The document in a YAML text. Diagnostics have the code `code`; `wanted` is the hint for an empty file.

    Raises:
        BundleError: the text is no YAML, repeats a key, holds a value that JSON does not have, or exceeds `times`
            1 MiB, `times` 200,000 nodes, or 128 levels.
    """
    reader = _YamlReader(source.path, code, wanted, times * MAX_NODES)
    if len(source.text.encode("utf-8", "surrogatepass")) > times * MAX_BYTES:
        raise reader.error(f"the file is larger than {times} MiB", Span(1, 1, 1, 1, 0, 0), "split it")
    try:
        return reader.document(yaml.parse(source.text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = f" {error.context}" if error.context else ""
        span = _span(mark, mark) if mark else Span(1, 1, 1, 1, 0, 0)
        raise reader.error(f"this is not YAML: {error.problem}{context}", span) from None
    except yaml.reader.ReaderError as error:
        before = source.text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        span = Span(line, column, line, column + 1, error.position, error.position + 1)
        raise reader.error("there is a control character here", span, 'write `"\\uXXXX"` in double quotes') from None


def comments_of(text: str) -> list[tuple[int, int]]:
    """The places of the comments in a YAML text, in order: from a `#` outside of every token to the end of its line.
    Empty if the text is no YAML."""
    try:
        tokens = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text, Loader=_LOADER)]
    except yaml.YAMLError:
        return []
    spans: list[tuple[int, int]] = []
    position = 0
    for start, end in [*tokens, (len(text), len(text))]:
        spans += [
            (position + match.start(), position + match.end()) for match in _COMMENT.finditer(text[position:start])
        ]
        position = max(position, end)
    return spans


class _OpenNode:
    """A list or mapping whose end has not been read."""

    __slots__ = ("anchor", "depth", "items", "key", "keys", "mapping", "size", "start")

    def __init__(self, event: Any) -> None:
        self.start = event.start_mark
        self.anchor: str | None = event.anchor
        self.mapping = isinstance(event, yaml.MappingStartEvent)
        self.items: Any = {} if self.mapping else []
        self.keys: dict[str, Span] = {}
        self.key: str | None = None
        self.size = 1
        self.depth = 1


class _YamlReader:
    def __init__(self, path: str, code: str, wanted: str, most: int) -> None:
        self.most = most
        self.path = path
        self.code = code
        self.wanted = wanted
        self.anchors: dict[str, YamlNode] = {}
        self.open: list[_OpenNode] = []
        self.nodes = 0

    def error(self, message: str, span: Span, hint: str = "") -> BundleError:
        return BundleError([Diagnostic(self.code, message, span, self.path, hint)])

    def document(self, events: Iterator[Any]) -> YamlNode:
        found: YamlNode | None = None
        for event in events:
            kind = type(event)
            node = self.scalar_node(event) if kind is yaml.ScalarEvent else self.node(event)
            if node is None:
                continue
            self.nodes += node.size if kind is yaml.AliasEvent else 1
            if self.nodes > self.most:
                raise self.error(f"the file holds more than {self.most:,} values", node.span, "split it")
            if self.open:
                self.add(node)
            elif found is not None:
                raise self.error("a second document starts here", node.span, "one file holds one document")
            else:
                found = node
        if found is None:
            raise self.error("the file is empty", Span(1, 1, 1, 1, 0, 0), self.wanted)
        return found

    def node(self, event: Any) -> YamlNode | None:
        """The node that this event completes, if it does."""
        if isinstance(event, yaml.AliasEvent):
            span = _span(event.start_mark, event.end_mark)
            if event.anchor not in self.anchors:
                raise self.error(f"`*{event.anchor}` names no earlier anchor", span)
            node = self.anchors[event.anchor]
            if len(self.open) + node.depth > MAX_DEPTH:
                raise self.error(f"values nest deeper than {MAX_DEPTH} levels", span)
            return node
        if isinstance(event, yaml.CollectionStartEvent):
            self.untagged(event)
            if len(self.open) >= MAX_DEPTH:
                span = _span(event.start_mark, event.end_mark)
                raise self.error(f"values nest deeper than {MAX_DEPTH} levels", span)
            self.open.append(_OpenNode(event))
            return None
        if isinstance(event, yaml.CollectionEndEvent):
            done = self.open.pop()
            where = _span(done.start, event.start_mark)
            return self.anchored(done.anchor, YamlNode(done.items, where, done.keys, done.size, done.depth))
        return None

    def scalar_node(self, event: Any) -> YamlNode:
        """The node of a scalar: most events are such."""
        self.untagged(event)
        span = _span(event.start_mark, event.end_mark)
        return self.anchored(event.anchor, YamlNode(self.scalar(event, span), span, {}))

    def untagged(self, event: Any) -> None:
        """Refuses a node with a tag."""
        if event.tag not in (None, "!"):
            span = _span(event.start_mark, event.end_mark)
            raise self.error(f"the tag `{event.tag}` is not read", span, "write plain values")

    def anchored(self, anchor: str | None, node: YamlNode) -> YamlNode:
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def scalar(self, event: yaml.ScalarEvent, span: Span) -> Any:
        text: str = event.value
        try:
            if not text.isascii():
                text.encode("utf-8")
        except UnicodeEncodeError:
            raise self.error("the text holds a lone surrogate, which JSON cannot", span) from None
        if event.style or event.tag == "!":
            return text
        if text in _WORDS:
            return _WORDS[text]
        if not _REAL.match(text):
            return text
        if len(text) > _LONGEST_NUMBER:
            raise self.error(f"the number has more than {_LONGEST_NUMBER} digits", span)
        number = int(text) if _INTEGER.match(text) else float(text)
        if number in (float("inf"), float("-inf")):
            raise self.error(f"the number `{text}` is too large for JSON", span)
        return number

    def add(self, node: YamlNode) -> None:
        inside = self.open[-1]
        inside.size += node.size
        inside.depth = max(inside.depth, node.depth + 1)
        if not inside.mapping:
            inside.items.append(node)
        elif inside.key is not None:
            inside.items[inside.key] = node
            inside.key = None
        else:
            key = node.value
            if not isinstance(key, str):
                shown = "" if isinstance(key, (dict, list)) else f" `{json.dumps(key)}`"
                raise self.error(f"the key{shown} is not text", node.span, "put it in quotes")
            if key in inside.keys:
                raise self.error(f"the key `{key}` appears twice", node.span, f"first on line {inside.keys[key].line}")
            inside.key = key
            inside.keys[key] = node.span


def _span(start: Any, end: Any) -> Span:
    return Span(
        start.line + 1, start.column + 1, end.line + 1, end.column + 1, start.index, max(start.index, end.index)
    )
