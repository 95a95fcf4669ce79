"""Accepted warnings: a comment line `# accept CODE: REASON` directly above a statement."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport, Severity
from rebuno.policy.syntax.keywords import did_you_mean

# What `check_tools` and `check_layers` find; the rest is what `check_bundle` finds.
OF_TOOLS: Final = frozenset({Code.UNKNOWN_TOOL, Code.UNKNOWN_ARGUMENT, Code.OPEN_ARGUMENTS, Code.NEVER_FITS})
OF_LAYERS: Final = frozenset({Code.POINTLESS})
_CODES: Final = frozenset(Code)
# What `check_bundle` finds, and `check_tools` in more places.
_BY_SCHEMA: Final = (Code.READ_BY_FACET, Code.LATE_SECRET)
OF_BUNDLE: Final = _CODES - OF_TOOLS - OF_LAYERS

# A comment that begins with the word and goes on in another way is prose.
_ACCEPT: Final = re.compile(r"\s*accept\s+(?P<code>[\w-]+)\s*(?P<sign>:?)(?P<reason>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Accept:
    """One comment: its code as written, its reason, and the statement below it, if any."""

    code: str
    reason: str
    span: s.Span
    statement: s.Statement | None


def accepting(bundle: s.Bundle, findings: Sequence[Diagnostic], codes: Collection[Code]) -> list[Diagnostic]:
    """The findings, those that the bundle accepts marked with the reason. `codes` are the codes that were looked for.

    An acceptance of one of them that accepts nothing is a finding. The caller that looks for the bundle's own codes
    also gets the findings about comments with an unknown code, without a reason, and with no statement below them.
    """
    if not any("accept" in text for text in (bundle.text, *(file.text for file in bundle.files))):
        return list(findings)
    accepts = list(_accepts(bundle))
    used: set[_Accept] = set()
    found: list[Diagnostic] = []
    for finding in findings:
        accept = next((one for one in accepts if _covers(one, finding)), None)
        if accept is not None:
            used.add(accept)
            finding = replace(finding, accepted=accept.reason)
        found.append(finding)
    report = DiagnosticReport(bundle.path)
    for accept in accepts:
        if accept not in used:
            _unused(accept, codes, report)
    return [*found, *report.findings]


def _accepts(bundle: s.Bundle) -> Iterator[_Accept]:
    origins: tuple[s.Bundle | s.File, ...] = (bundle, *bundle.files)
    for origin in origins:
        path = origin.path
        below = {
            statement.span.line: statement
            for statement in bundle.statements
            if bundle.origin(statement.span) is origin or (origin is bundle and not statement.span.path)
        }
        lines = {comment.span.line for comment in origin.comments if comment.own_line}
        for comment in origin.comments:
            match = _ACCEPT.fullmatch(comment.text) if comment.own_line else None
            if match is None or not (match["sign"] or (match["code"] in _CODES and not match["reason"].strip())):
                continue
            line = comment.span.line + 1
            while line in lines:
                line += 1
            yield _Accept(match["code"], match["reason"].strip(), replace(comment.span, path=path), below.get(line))


def _covers(accept: _Accept, finding: Diagnostic) -> bool:
    if finding.severity is not Severity.WARNING or accept.statement is None or not accept.reason:
        return False
    own, span = accept.statement.span, finding.span
    inside = own.path == span.path and own.start <= span.start < max(own.end, own.start + 1)
    return inside and str(finding.code) == accept.code


def _may_read(statement: s.Statement) -> bool:
    """Whether the schema of a tool may say that the statement tests what a facet reads, or seals an argument late."""
    return isinstance(statement, s.Secret) or (isinstance(statement, s.Rule) and statement.verdict == "allow")


def _unused(accept: _Accept, codes: Collection[Code], report: DiagnosticReport) -> None:
    known = accept.code in _CODES
    code = Code(accept.code) if known else None
    if code is None or not accept.reason or accept.statement is None:
        if codes is not OF_BUNDLE:
            return
        if code is None:
            message = f"there is no finding `{accept.code}`"
            help = did_you_mean(accept.code, [str(one) for one in _CODES]) or "docs/diagnostics.md lists the codes"
        elif not accept.reason:
            message, help = "an acceptance needs a reason", f"write `# accept {code}: why it is right here`"
        else:
            message, help = "no statement stands directly below this acceptance", "put it right above the statement"
        report.warning(Code.BAD_ACCEPT, message, accept.span, help)
    elif code in codes and not (code in _BY_SCHEMA and _may_read(accept.statement)):
        message = f"nothing below has the warning `{code}`"
        report.warning(Code.BAD_ACCEPT, message, accept.span, "remove the line; an error cannot be accepted")
