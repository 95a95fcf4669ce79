"""Diagnostics: errors and warnings about a bundle, each with a code, a message, a place and a hint."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rebuno.policy.syntax.tree import Span

MOST: Final = 100  # errors, and warnings, that are listed for one file


class Severity(StrEnum):
    """A bundle with an error gives no policy; a bundle with a warning does."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """The codes of all diagnostics. Each has a section in `docs/diagnostics.md`."""

    # The file
    UNREADABLE_FILE = "unreadable-file"
    OUTSIDE_FOLDER = "outside-folder"
    OPEN_BUNDLE = "open-bundle"
    BAD_LIBRARY = "bad-library"
    BAD_DATA = "bad-data"
    BAD_TABLE = "bad-table"
    YAML_BUNDLE = "yaml-bundle"
    NOT_UTF8 = "not-utf8"
    FILE_TOO_BIG = "file-too-big"
    TOO_MANY_ERRORS = "too-many-errors"
    TOO_MANY_WARNINGS = "too-many-warnings"
    # Syntax
    BAD_CHARACTER = "bad-character"
    BAD_STRING = "bad-string"
    BAD_NUMBER = "bad-number"
    BAD_DURATION = "bad-duration"
    SYNTAX = "syntax"
    MIXED_AND_OR = "mixed-and-or"
    NOT_CLOSED = "not-closed"
    TOO_DEEP = "too-deep"
    # Names
    UNKNOWN_NAME = "unknown-name"
    UNKNOWN_ROOT = "unknown-root"
    UNKNOWN_FACET = "unknown-facet"
    MISSING_FACET = "facet-not-installed"
    BAD_FACET = "bad-facet"
    FACET_TEXT = "facet-text"
    UNKNOWN_KIND = "unknown-kind"
    UNKNOWN_TYPE = "unknown-type"
    RESERVED_NAME = "reserved-name"
    WRONG_SORT = "wrong-sort"
    CYCLE = "cycle"
    # Twice, or in the wrong place
    DUPLICATE_ID = "duplicate-id"
    DUPLICATE_BUNDLE = "duplicate-bundle"
    DUPLICATE_NAME = "duplicate-name"
    DUPLICATE_CLAUSE = "duplicate-clause"
    DUPLICATE_LINE = "duplicate-line"
    MISPLACED_BUNDLE = "misplaced-bundle"
    MISPLACED_CLAUSE = "misplaced-clause"
    MISPLACED_ROOT = "misplaced-root"
    MISPLACED_TEST = "misplaced-test"
    UNKNOWN_VERSION = "unknown-version"
    # Tests
    WRONG_TYPE = "wrong-type"
    NULL_COMPARISON = "null-comparison"
    BAD_VALUE = "bad-value"
    BAD_LIST = "bad-list"
    BAD_PATH = "bad-path"
    BAD_DIRECTORY = "bad-directory"
    BAD_REGEX = "bad-regex"
    BAD_GLOB = "bad-glob"
    MISSING_QUANTIFIER = "missing-quantifier"
    SUPERFLUOUS = "superfluous"
    BAD_SOURCE = "bad-source"
    MISSING_AT = "missing-at"
    BAD_QUORUM = "bad-quorum"
    BAD_LIMIT = "bad-limit"
    BAD_SCHEDULE = "bad-schedule"
    UNREACHABLE = "unreachable"
    SECRET_SHOWN = "secret-shown"
    NO_KEY_RING = "no-key-ring"
    # Warnings
    NO_DEFAULT = "no-default"
    NO_BECAUSE = "no-because"
    ALLOW_EVERYTHING = "allow-everything"
    OPTIONAL_UNLESS = "optional-unless"
    UNUSED_NAME = "unused-name"
    NEVER_HOLDS = "never-holds"
    LATE_DENY = "late-deny"
    LATE_APPROVAL = "late-approval"
    ANY_IN_ALLOW = "any-in-allow"
    ALWAYS_HOLDS = "always-holds"
    WHOLE_DOMAIN = "whole-domain"
    UNTIED_NAME = "untied-name"
    LAUNDERED = "laundered"
    LATE_SECRET = "late-secret"
    READ_BY_FACET = "read-by-facet"
    OPEN_TAIL = "open-tail"
    NO_UNREAD = "no-unread"
    DENY_LIST = "deny-list"
    NO_WORKDIR = "no-workdir"
    UNKNOWN_TOOL = "unknown-tool"
    UNKNOWN_ARGUMENT = "unknown-argument"
    OPEN_ARGUMENTS = "open-arguments"
    NEVER_FITS = "never-fits"
    POINTLESS = "pointless"
    BAD_ACCEPT = "bad-accept"


_CAP: Final = {Severity.ERROR: Code.TOO_MANY_ERRORS, Severity.WARNING: Code.TOO_MANY_WARNINGS}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning. `code` names its section in `docs/diagnostics.md`. `path` is the file as the user named it.
    `related` are other places in the bundle that the message mentions. `accepted` is the reason for which the bundle
    accepts a warning, empty for a finding that stands."""

    code: str
    message: str
    span: Span
    path: str = ""
    help: str = ""
    severity: Severity = Severity.ERROR
    related: tuple[Span, ...] = ()
    accepted: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:" if self.path else ""
        hint = f" ({self.help})" if self.help else ""
        if self.accepted:
            return f"{where}{self.span.line}:{self.span.column}: accepted[{self.code}]: {self.accepted}: {self.message}"
        return f"{where}{self.span.line}:{self.span.column}: {self.severity.value}[{self.code}]: {self.message}{hint}"


def line_of(place: Span, seen_from: Span) -> str:
    """`line 3`, with the file if it is another one than that of `seen_from`."""
    return f"line {place.line}" + (f" of `{place.path}`" if place.path != seen_from.path else "")


class DiagnosticReport:
    """Collects the diagnostics of one file."""

    __slots__ = ("findings", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.findings: list[Diagnostic] = []

    @property
    def failed(self) -> bool:
        """Whether the report has an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def error(self, code: Code, message: str, span: Span, help: str = "", related: tuple[Span, ...] = ()) -> None:
        """Adds an error."""
        self._add(Severity.ERROR, code, message, span, help, related)

    def warning(self, code: Code, message: str, span: Span, help: str = "", related: tuple[Span, ...] = ()) -> None:
        """Adds a warning."""
        self._add(Severity.WARNING, code, message, span, help, related)

    def _add(
        self, severity: Severity, code: Code, message: str, span: Span, help: str, related: tuple[Span, ...]
    ) -> None:
        self.findings.append(Diagnostic(code, message, span, span.path or self.path, help, severity, related))


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics in the order of the file, without duplicates.

    After a hundred errors, or a hundred warnings, a last diagnostic says that there are more.
    """
    found = sorted(set(diagnostics), key=lambda d: (d.path, d.span.start, d.span.end, d.code, d.message))
    kept: list[Diagnostic] = []
    more: list[Diagnostic] = []
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in found:
        severity = diagnostic.severity
        if diagnostic.accepted:
            kept.append(diagnostic)
            continue
        counts[severity] += 1
        if counts[severity] <= MOST:
            kept.append(diagnostic)
        elif counts[severity] == MOST + 1:
            message = f"only the first {MOST} {severity.value}s are listed"
            more.append(
                Diagnostic(_CAP[severity], message, diagnostic.span, diagnostic.path, "fix these first", severity)
            )
    return kept + more
