"""Reads the data files of `let NAME = file "…"`: YAML, JSON, and `.txt` with one value on each line."""

import re
from typing import TYPE_CHECKING, Any, Final

from rebuno.errors import BundleError, ValidationError
from rebuno.model.identity import parse
from rebuno.policy.syntax.diagnostics import MOST, Code, Diagnostic, DiagnosticReport, ordered
from rebuno.policy.syntax.literals import LONGEST_NUMBER
from rebuno.policy.syntax.source import NO_SPAN, Source
from rebuno.policy.syntax.text import Lines, refused
from rebuno.policy.syntax.tree import ListLiteral, Literal, NullLiteral, Span

if TYPE_CHECKING:
    from rebuno.policy.syntax.yaml import YamlNode

YAML: Final = (".yaml", ".yml")
SUFFIXES: Final = (*YAML, ".json", ".txt")
MOST_VALUES: Final = 100_000

_LINE: Final = re.compile(r"[^\n]+")
_COMMENT: Final = re.compile(r"#(?:[ \t]|\Z)")
_PLACE: Final = re.compile(r"line (\d+), column (\d+)\Z")
_BEYOND: Final = 10**LONGEST_NUMBER


def read_data(source: Source) -> Literal | ListLiteral:
    """The scalar, or the list of scalars, in a data file. Every value has its place.

    The suffix of the file gives its format. YAML is read by the JSON schema of YAML 1.2, so `no` and `012` are strings.
    In a `.txt` file each line is a string, without the blanks around it; empty lines and lines that begin with `#` and
    a blank are skipped.

    Raises:
        BundleError: the file cannot be read, holds other values than scalars, more than 100,000 values, or a character
            that is not allowed in a bundle.
    """
    text = source.text.removeprefix("\ufeff")
    lines = Lines(text, source.path)
    _, found = refused(lines, source.path, MOST + 1, lambda: _comment_spans(text, source.path))
    if found:
        raise BundleError(ordered(found))
    if source.path.endswith(".txt"):
        items = [Literal(value, span) for value, span in _lines(text, lines)]
        report = DiagnosticReport(source.path)
        _count(len(items), report)
        return ListLiteral(tuple(items), lines.span(0, 0))
    if source.path.endswith(".json"):
        return _values(_json(text, source.path), source.path)
    # Few bundles have such files, and PyYAML takes as long to import as all else here.
    from rebuno.policy.syntax.yaml import read_yaml

    return _values(read_yaml(Source(text, source.path), Code.BAD_DATA, "write a list of values"), source.path)


def _comment_spans(text: str, path: str) -> list[tuple[int, int]]:
    # The places of the comments in a data file. JSON has none, and an unknown format counts as one without comments.
    if path.endswith(".txt"):
        return [match.span() for match in _LINE.finditer(text) if _COMMENT.match(match[0].strip(" \t\r"))]
    if not path.endswith((".yaml", ".yml")):
        return []
    from rebuno.policy.syntax.yaml import comments_of

    return comments_of(text)


def _lines(text: str, lines: Lines) -> list[tuple[str, Span]]:
    found = []
    for match in _LINE.finditer(text):
        value = match[0].strip(" \t\r")
        if value and not _COMMENT.match(value):
            start = match.start() + match[0].index(value)
            found.append((value, lines.span(start, start + len(value))))
    return found


def _json(text: str, path: str) -> "YamlNode":
    from rebuno.policy.syntax.yaml import node_of

    # Only mistakes in the JSON itself have a place: its reader keeps none of values.
    try:
        return node_of(parse(text), _within(NO_SPAN, path))
    except ValidationError as error:
        place = _PLACE.search(error.message)
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        span = Span(line, column, line, column, 0, 0, path)
        raise BundleError([Diagnostic(Code.BAD_DATA, error.message, span, path)]) from None


def _values(root: "YamlNode", path: str) -> Literal | ListLiteral:
    report = DiagnosticReport(path)
    span = _within(root.span, path)
    if not isinstance(root.value, list):
        value: Literal | ListLiteral | NullLiteral = _scalar(root, path, report)
        if isinstance(value, NullLiteral):
            report.error(Code.BAD_DATA, "the file holds null, which is no value", span, "write a value or a list")
    else:
        _count(len(root.value), report)
        value = ListLiteral(tuple(_scalar(node, path, report) for node in root.value), span)
    if report.findings or isinstance(value, NullLiteral):
        raise BundleError(ordered(report.findings))
    return value


def _count(number: int, report: DiagnosticReport) -> None:
    if number > MOST_VALUES:
        message = f"the file holds {number:,} values; at most {MOST_VALUES:,} are read"
        raise BundleError([Diagnostic(Code.BAD_DATA, message, NO_SPAN, report.path, "split it")])


def _scalar(node: "YamlNode", path: str, report: DiagnosticReport) -> Literal | NullLiteral:
    span = _within(node.span, path)
    value: Any = node.value
    if value is None:
        return NullLiteral(span)
    if isinstance(value, list | dict):
        what = "a list" if isinstance(value, list) else "a mapping"
        help = "write strings, numbers or truth values, one below the other"
        report.error(Code.BAD_DATA, f"{what} is not allowed where a plain value is expected", span, help)
        return NullLiteral(span)
    if isinstance(value, int) and abs(value) >= _BEYOND:
        report.error(Code.BAD_DATA, f"a number of more than {LONGEST_NUMBER:,} digits", span)
    return Literal(value, span)


def _within(span: Span, path: str) -> Span:
    return Span(span.line, span.column, span.end_line, span.end_column, span.start, span.end, path)
