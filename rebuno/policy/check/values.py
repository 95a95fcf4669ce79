"""Checks the values in a bundle: lists, globs, regular expressions and schedules."""

import re2

from rebuno.policy.matcher.schedule import ScheduleError, parse_schedule, time_zone
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import Each, Index, ListLiteral, Literal, NullLiteral, Path, Span
from rebuno.policy.values.globs import GlobError, glob
from rebuno.policy.values.regexes import regex


def check_list(value: ListLiteral, report: DiagnosticReport) -> None:
    """Reports a list that is empty or holds null."""
    if not value.items:
        report.error(Code.BAD_LIST, "the list is empty, so nothing is in it", value.span, "name at least one value")
    for item in value.items:
        if isinstance(item, NullLiteral):
            help = "ask with `is null` or `missing` beside the list"
            report.error(Code.BAD_LIST, "null never matches a value of a list", item.span, help)


def check_pattern(pattern: Literal, span: Span, report: DiagnosticReport, *, target: bool = False) -> None:
    """Reports a glob that cannot be read, and with `target` an empty one."""
    text = str(pattern.value)
    if target and not text:
        report.error(Code.BAD_GLOB, "an empty pattern matches no name", span, 'write `"*"` for every name')
        return
    try:
        glob(text)
    except GlobError as error:
        report.error(Code.BAD_GLOB, f"cannot read the pattern `{text}`", span, str(error))


def check_regex(pattern: Literal, span: Span, report: DiagnosticReport) -> None:
    """Reports a regular expression that RE2 cannot read."""
    text = str(pattern.value)
    try:
        regex(text)
    except re2.error as error:
        why = error.args[0] if error.args else b""
        reason = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        help = f"RE2 says: {reason}" if reason else ""
        if "(?" in text and "perl" in reason:
            help = "RE2 has no look-around and no back-references"
        report.error(Code.BAD_REGEX, f"cannot read the regular expression `{text}`", span, help)


def check_zone(name: Literal, report: DiagnosticReport) -> None:
    """Reports a time zone that does not exist."""
    try:
        time_zone(str(name.value))
    except ScheduleError as error:
        report.error(Code.BAD_SCHEDULE, str(error), name.span, error.help)


def check_schedule(times: Literal, report: DiagnosticReport) -> None:
    """Reports a schedule that cannot be read, or whose time zone does not exist."""
    try:
        parse_schedule(str(times.value))
    except ScheduleError as error:
        report.error(Code.BAD_SCHEDULE, str(error), times.span, error.help)


def texts_only(path: Path) -> str:
    """What is wrong with a path into `turns`, empty for nothing: it is a list of texts."""
    fits = len(path.parts) < 2 and all(isinstance(part, Each | Index) for part in path.parts)
    return "" if fits else "`turns` is a list of texts, which have no parts"
