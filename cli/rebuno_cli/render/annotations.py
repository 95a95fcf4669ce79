"""Writes findings as the commands by which a GitHub workflow marks lines."""

from collections.abc import Iterator, Sequence

from rebuno.policy import Diagnostic


def commands(found: Sequence[Diagnostic]) -> Iterator[str]:
    """One command a finding."""
    for diagnostic in found:
        span = diagnostic.span
        fields = {"file": diagnostic.path, "line": str(span.line), "endLine": str(span.end_line)}
        if span.line == span.end_line:
            # Columns are only taken within one line, and the last one belongs to the place.
            fields |= {"col": str(span.column), "endColumn": str(max(span.column, span.end_column - 1))}
        fields["title"] = diagnostic.code
        told = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
        help = f"\n{diagnostic.help}" if diagnostic.help else ""
        level = "notice" if diagnostic.accepted else diagnostic.severity.value
        accepted = f"accepted: {diagnostic.accepted}\n" if diagnostic.accepted else ""
        yield f"::{level} {told}::{_data(accepted + diagnostic.message + help)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
