"""Shows each finding with its source line and a mark underneath."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import Diagnostic, Severity, Span, SuiteCheck
from rebuno_cli.render.escape import escape

# As much of a source line as is shown, with the finding inside.
_WINDOW: Final = 100
_STYLE: Final = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


def diagnostics(
    found: Sequence[Diagnostic], texts: Mapping[str, str], columns: int = _WINDOW
) -> Iterator[RenderableType]:
    """The findings one after another, source lines cut to `columns`. `texts` holds the files' texts by path; without
    one the line is left out."""
    for diagnostic in found:
        span = diagnostic.span
        head = Text(f"{escape(diagnostic.path, None)}:{span.line}:{span.column}: ", style="bold")
        if diagnostic.accepted:
            head.append(f"accepted[{diagnostic.code}]", "dim")
            head.append(f": {escape(diagnostic.accepted, 1000)}: {escape(diagnostic.message, 1000)}", "dim not bold")
            yield head
            continue
        head.append(f"{diagnostic.severity.value}[{diagnostic.code}]", _STYLE[diagnostic.severity])
        head.append(f": {escape(diagnostic.message, 1000)}", "not bold")
        yield head
        window = max(20, min(columns - 10, _WINDOW))
        yield from _place(span, diagnostic.path, texts, window, _STYLE[diagnostic.severity])
        for other in diagnostic.related:
            yield from _place(other, other.path or diagnostic.path, texts, window, "dim")
        if diagnostic.help:
            yield Text(f"  help: {escape(diagnostic.help, 1000)}", "cyan")


def counts(found: Sequence[Diagnostic], files: int) -> Text:
    """`2 errors, 1 warning in 3 files`, with the number of accepted warnings where there are any."""
    errors, warnings, accepted = _numbers(found)
    said = [counted(errors, "error"), counted(warnings, "warning"), *([f"{accepted} accepted"] if accepted else [])]
    return Text(f"{', '.join(said)} in {counted(files, 'file')}")


def _numbers(found: Sequence[Diagnostic]) -> tuple[int, int, int]:
    errors = sum(d.severity is Severity.ERROR for d in found)
    accepted = sum(bool(d.accepted) for d in found)
    return errors, len(found) - errors - accepted, accepted


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as JSON data."""
    span = diagnostic.span
    return {
        "path": diagnostic.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "help": diagnostic.help,
        **({"accepted": diagnostic.accepted} if diagnostic.accepted else {}),
        "related": [
            {
                "path": other.path or diagnostic.path,
                "line": other.line,
                "column": other.column,
                "end_line": other.end_line,
                "end_column": other.end_column,
            }
            for other in diagnostic.related
        ],
    }


def check_json(checked: Sequence[SuiteCheck]) -> dict[str, Any]:
    """`{"files": n, "errors": n, "warnings": n, "diagnostics": […]}`, with `"accepted": n` where there are any."""
    found = [d for one in checked for d in one.diagnostics]
    errors, warnings, accepted = _numbers(found)
    return {
        "files": len(checked),
        "errors": errors,
        "warnings": warnings,
        **({"accepted": accepted} if accepted else {}),
        "diagnostics": [diagnostic_json(d) for d in found],
    }


def _place(span: Span, path: str, texts: Mapping[str, str], window: int, style: str) -> Iterator[RenderableType]:
    lines = texts.get(path, "").split("\n")
    if span.start < span.end and span.line <= len(lines):
        yield from _marked(span, lines[span.line - 1].rstrip("\r"), window, style)


def _marked(span: Span, line: str, window: int, style: str) -> Iterator[RenderableType]:
    start = min(span.column - 1, len(line))
    end = min(span.end_column - 1, len(line)) if span.end_line == span.line else len(line)
    first = max(0, min(start - window // 2, len(line) - window))
    last = first + window
    before = ("…" if first else "") + escape(line[first:start], None)
    at = escape(line[start : min(end, last)], None)
    after = escape(line[min(end, last) : last], None) + ("…" if last < len(line) else "")
    number = f"{span.line:>5} | "
    source = Text(number, "dim", no_wrap=True, overflow="ellipsis")
    source.append(f"{before}{at}{after}", "not dim")
    yield source
    mark = Text(f"{'':>5} | ", "dim", no_wrap=True, overflow="ellipsis")
    mark.append(" " * cell_len(before) + "^" * max(1, cell_len(at)), style)
    yield mark
