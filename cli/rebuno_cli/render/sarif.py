"""Writes findings as a SARIF 2.1.0 log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import rebuno
from rebuno.policy import Diagnostic, Span

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def log(found: Sequence[Diagnostic]) -> dict[str, Any]:
    """The log of one run."""
    codes = sorted({diagnostic.code for diagnostic in found})
    driver = {
        "name": "rebuno policy check",
        "version": rebuno.__version__,
        "rules": [{"id": str(code), "shortDescription": {"text": str(code).replace("-", " ")}} for code in codes],
    }
    # Columns count characters, which is not SARIF's default.
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, codes.index(diagnostic.code)) for diagnostic in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    help = f". {diagnostic.help[0].upper()}{diagnostic.help[1:]}" if diagnostic.help else ""
    result: dict[str, Any] = {
        "ruleId": str(diagnostic.code),
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": f"{diagnostic.message}{help}"},
        "locations": [_location(diagnostic.span, diagnostic.path)],
    }
    if diagnostic.accepted:
        result["suppressions"] = [{"kind": "inSource", "justification": diagnostic.accepted}]
    if diagnostic.related:
        places = enumerate(diagnostic.related, 1)
        result["relatedLocations"] = [{"id": at, **_location(span, diagnostic.path)} for at, span in places]
    return result


def _location(span: Span, path: str) -> dict[str, Any]:
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span.path or path)}, "region": region}}


def _uri(path: str) -> str:
    place = Path(path)
    return place.as_uri() if place.is_absolute() else quote(place.as_posix())
