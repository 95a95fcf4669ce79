"""Checks the sources of a `known` set: whether each is evidence."""

from rebuno.policy.check.facets import check_chain
from rebuno.policy.check.names import DefinedNames, sort_of
from rebuno.policy.check.tests import IN_KNOWN, ExpressionChecker, check_subject
from rebuno.policy.check.values import check_list
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import did_you_mean


def check_known(known: s.Known, names: DefinedNames, tests: ExpressionChecker, report: DiagnosticReport) -> None:
    """Checks all sources of a `known` set."""
    for source in known.sources:
        match source:
            case s.InputSource(path):
                _input(path, report)
            case s.ListSource(value):
                _list(value, names, report)
            case s.ResultSource(subject, ats, where):
                _evidence(subject, report)
                check_subject(subject, names, report)
                _ats(ats, "result", source.span, report)
                if where is not None:
                    tests.expr(where, IN_KNOWN)
            case s.ApprovedSource(subject, ats):
                check_subject(subject, names, report)
                _ats(ats, "approved", source.span, report)


def _input(path: s.Path, report: DiagnosticReport) -> None:
    if path.root != "input":
        message = f"`{path.root}` is no source of known values"
        help = "a source is `input`, a list, `result of …` or `approved …`"
        report.error(Code.BAD_SOURCE, message, path.span, help)


def _list(value: s.ListLiteral | s.Literal | s.Name, names: DefinedNames, report: DiagnosticReport) -> None:
    if isinstance(value, s.ListLiteral):
        check_list(value, report)
    elif isinstance(value, s.Name):
        if value.text in ("args", "target", "agent"):
            message = f"`{value.text}` is a part of the submission, not evidence"
            report.error(Code.BAD_SOURCE, message, value.span, "write `input`, `result of …` or `approved …`")
            return
        found = names.find(value, did_you_mean(value.text, ("input", "result", "approved")))
        if isinstance(found, s.Known | s.Condition | s.NamedLimit):
            message = f"`{value.text}` is {sort_of(found)}, not a list"
            report.error(Code.WRONG_SORT, message, value.span, "repeat its sources here, or name a `let`")


def _evidence(subject: s.Subject, report: DiagnosticReport) -> None:
    if not subject.groups:
        message = "`any step` includes what the model itself wrote"
        report.error(Code.BAD_SOURCE, message, subject.span, 'name the tools: `result of tool "…"`')
    for group in subject.groups:
        if group.kind != "tool":
            message = f"the result of `{group.kind}` is no evidence of where a value comes from"
            report.error(Code.BAD_SOURCE, message, group.span, 'only tools bear evidence: `result of tool "…"`')


def _ats(ats: tuple[s.At, ...], word: str, span: s.Span, report: DiagnosticReport) -> None:
    if not ats:
        help = "add `at` and the path: a result may repeat what the step was asked for"
        help = help if word == "result" else "add `at` and the argument's path"
        report.error(Code.MISSING_AT, f"`{word}` needs `at` to say which of its values count", span, help)
    for at in ats:
        check_chain(at.facets, report)
