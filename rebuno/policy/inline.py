"""Writes a bundle and the files that it uses as one text, which a server needs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rebuno.errors import BundleError
from rebuno.policy.check.bundle import check_bundle
from rebuno.policy.interop.yaml_bundle import SUFFIXES
from rebuno.policy.interop.yaml_convert import convert_yaml_bundle
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, Severity
from rebuno.policy.syntax.link import BUNDLE, link_bundle
from rebuno.policy.syntax.parse import parse_bundle
from rebuno.policy.syntax.source import Source, read_source

_WIDTH: Final = 100  # characters of a line of values

_Value = s.Literal | s.NullLiteral | s.ListLiteral | s.FileValue


def inline_bundle(path: str | Path) -> str:
    """The bundle at `path` as one closed text with the same meaning: the contents of each file replace its `use` or
    `file`.

    Comments stay. A YAML bundle is converted. The text has a digest of its own.

    Raises:
        BundleError: the bundle has errors, names tables of programs, or the text would be larger than a bundle may be.
    """
    source = read_source(path)
    if source.path.endswith(SUFFIXES):
        source = convert_yaml_bundle(source)
    bundle, found = link_bundle(source)
    _refuse([*found, *check_bundle(bundle), *_tables(bundle)])
    values = {line.name.text: line.value for line in bundle.statements if isinstance(line, s.Let)}
    libraries = [
        f"# from {_quoted(file.name)}\n{_closed(Source(file.text, file.path), values, None).strip()}\n"
        for file in bundle.files
        if file.name.endswith(BUNDLE)
    ]
    text = _closed(source, values, "\n" + "\n".join(libraries))
    again, found = link_bundle(Source(text, source.path))
    _refuse([*found, *check_bundle(again)])
    return text


def _tables(bundle: s.Bundle) -> Iterator[Diagnostic]:
    for statement in bundle.statements:
        if isinstance(statement, s.EffectTables) and isinstance(statement.source, s.Literal):
            message = f"`{statement.source.value}` holds tables of programs, which a bundle names and cannot hold"
            help = "where a bundle is one text, such as on a server, only the tables that come along are read"
            yield Diagnostic(Code.OPEN_BUNDLE, message, statement.source.span, bundle.path, help)


def _refuse(found: list[Diagnostic]) -> None:
    errors = [diagnostic for diagnostic in found if diagnostic.severity is Severity.ERROR]
    if errors:
        raise BundleError(errors)


def _closed(source: Source, values: dict[str, _Value], used: str | None) -> str:
    """A text with its data in place. `used` replaces its first `use`; it is None for a library."""
    bundle, _ = parse_bundle(source)
    edits: list[tuple[int, int, str]] = []
    rest = used or ""
    for statement in bundle.statements:
        match statement:
            case s.Use(span=span):
                edits.append((span.start, span.end, rest))
                rest = ""
            case s.BundleLine(span=span) if used is None:
                edits.append((span.start, span.end, ""))
            case s.Let(name, s.FileValue(span=span)):
                edits.append((span.start, span.end, _written(values[name.text])))
            case _:
                pass
    text = bundle.text
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _written(value: _Value) -> str:
    match value:
        case s.ListLiteral(items):
            words = [_quoted(item.value) for item in items if isinstance(item, s.Literal)]
            line = ", ".join(words)
            return f"[{line}]" if len(line) <= _WIDTH else "[\n  " + ",\n  ".join(words) + "\n]"
        case s.Literal(scalar):
            return _quoted(scalar)
        case _:
            raise AssertionError("a checked `let` holds a value")


def _quoted(scalar: s.Scalar) -> str:
    # All characters outside of printable ASCII are escaped, so that none is refused in a bundle.
    return json.dumps(scalar, ensure_ascii=True)
