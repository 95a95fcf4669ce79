"""Checks a bundle whose syntax is correct: errors, and warnings for its author."""

from functools import partial
from typing import Final

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.check.accept import OF_BUNDLE, accepting
from rebuno.policy.check.facets import check_directory
from rebuno.policy.check.known import check_known, check_order
from rebuno.policy.check.limits import check_quantity
from rebuno.policy.check.names import DefinedNames, check_ids
from rebuno.policy.check.reach import check_reach
from rebuno.policy.check.rules import check_claim, check_rule
from rebuno.policy.check.secrets import check_late, check_secret, check_shown
from rebuno.policy.check.size import check_size
from rebuno.policy.check.sound import sound
from rebuno.policy.check.tables import check_effects, check_table_cases
from rebuno.policy.check.tests import IN_RULE, ExpressionChecker, check_subject
from rebuno.policy.check.values import check_list, check_zone
from rebuno.policy.check.warnings import check_warnings
from rebuno.policy.facets.reading import PathContext
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport, ordered
from rebuno.policy.syntax.source import NO_SPAN

# The words of lines whose class has another name.
_WORDS: Final[dict[type, str]] = {s.BundleLine: "bundle", s.EffectTables: "effects"}


def check_bundle(bundle: s.Bundle, *, warn: bool = True) -> list[Diagnostic]:
    """The errors and warnings of a bundle, in the order of the file. Without `warn` the expensive warnings are left
    out, for callers that need errors only, and the cases of tables of programs are not run.

    A statement with an error hides no diagnostic about another statement: checks of several statements together use
    those without an error. A bundle with a syntax error gets no warning that the unreadable part may answer.
    """
    report = DiagnosticReport(bundle.path)
    names = DefinedNames(bundle, report)
    tests = ExpressionChecker(names, report, _check_context(bundle, report))
    _lines(bundle, report)
    check_ids([statement for statement in bundle.statements if isinstance(statement, s.Rule)], report)
    for statement in bundle.statements:
        match statement:
            case s.Let(_, value):
                _let(value, report)
            case s.Known():
                check_known(statement, names, tests, report)
            case s.Condition(name, expr):
                tests.owner = name.text
                tests.expr(expr, IN_RULE)
                tests.owner = ""
            case s.Rule():
                check_rule(statement, names, tests, report)
            case s.BundleLine() | s.Default() | s.Use() | s.Workdir() | s.Home() | s.Zone():
                pass
            case s.EffectTables():
                check_effects(statement, report)
            case s.NamedLimit(_, limit):
                check_quantity(limit, names, report)
            case s.Never():
                check_claim(statement, names, tests, report)
            case s.Secret():
                check_secret(statement, partial(check_subject, names=names, report=report), report)
    check_order(bundle, report)
    order = names.circles()
    check_size(_sound(bundle, report), order, report)
    rest = _sound(bundle, report)
    check_shown(rest, (), report)
    formulas = Formulas(rest)
    check_reach(rest, formulas, report, warn=warn)
    if warn:
        check_table_cases(rest.statements, report)
        check_warnings(rest, formulas, report, placed=_check_order(bundle))
        check_late(rest, formulas, lambda _: (), report)
    if bundle.whole and not _library(bundle):
        names.unused(bundle.path)
        _default(bundle, report)
    return ordered(accepting(bundle, report.findings, OF_BUNDLE) if warn and bundle.whole else report.findings)


def _check_context(bundle: s.Bundle, report: DiagnosticReport) -> PathContext:
    places = {
        type(statement): check_directory(statement, report)
        for statement in bundle.statements
        if isinstance(statement, s.Workdir | s.Home)
    }
    return PathContext(places.get(s.Workdir), places.get(s.Home))


def _sound(bundle: s.Bundle, report: DiagnosticReport) -> s.Bundle:
    return bundle if bundle.whole and _closed(bundle) and not report.failed else sound(bundle, report.findings)


def _check_order(bundle: s.Bundle) -> bool:
    """Whether the bundle says where relative paths start, or may say so in a part that could not be read."""
    return not bundle.whole or any(isinstance(line, s.Workdir) for line in bundle.statements)


def _closed(bundle: s.Bundle) -> bool:
    """Whether the bundle is closed: all files that it uses are linked."""
    return not bundle.broken and not any(
        isinstance(line, s.Use)
        or (isinstance(line, s.Let) and isinstance(line.value, s.FileValue))
        or (isinstance(line, s.EffectTables) and isinstance(line.source, s.Literal) and line.text is None)
        for line in bundle.statements
    )


def _library(bundle: s.Bundle) -> bool:
    """Whether the file is a library: it defines names and has no rule."""
    definitions = [line for line in bundle.statements if isinstance(line, s.Let | s.Known | s.Condition | s.NamedLimit)]
    others = [line for line in bundle.statements if isinstance(line, s.BundleLine | s.Use)]
    return bool(definitions) and len(definitions) + len(others) == len(bundle.statements)


def _let(value: s.Literal | s.NullLiteral | s.ListLiteral | s.FileValue, report: DiagnosticReport) -> None:
    if isinstance(value, s.ListLiteral):
        check_list(value, report)
    elif isinstance(value, s.FileValue):
        pass  # only in a bundle that was not linked
    elif isinstance(value, s.NullLiteral) or isinstance(value.value, bool):
        report.error(
            Code.WRONG_TYPE, "a `let` holds a string, a number or a list", value.span, "write the value in place"
        )


def _lines(bundle: s.Bundle, report: DiagnosticReport) -> None:
    first: dict[str, s.Statement] = {}
    for statement in bundle.statements:
        if not isinstance(statement, s.BundleLine | s.Default | s.Workdir | s.Home | s.Zone | s.EffectTables):
            continue
        if isinstance(statement, s.EffectTables) and isinstance(statement.source, s.Literal):
            # Tables may stand in several files.
            continue
        word = _WORDS.get(type(statement)) or type(statement).__name__.lower()
        earlier = first.setdefault(word, statement)
        if earlier is not statement:
            message = f"a second `{word}` line; the first is line {earlier.span.line}"
            report.error(Code.DUPLICATE_LINE, message, statement.span, "keep one of the two")
        elif isinstance(statement, s.Zone):
            check_zone(statement.name, report)
        elif isinstance(statement, s.BundleLine):
            if bundle.whole and statement is not bundle.statements[0]:
                report.error(
                    Code.MISPLACED_BUNDLE, "the `bundle` line comes first", statement.span, "move it to the top"
                )
            if statement.version not in (None, 1):
                message = f"there is no version {statement.version} of the language"
                report.error(Code.UNKNOWN_VERSION, message, statement.span, "write `version 1` or leave it out")


def _default(bundle: s.Bundle, report: DiagnosticReport) -> None:
    if any(isinstance(statement, s.Default) for statement in bundle.statements):
        return
    place = bundle.statements[0].span if bundle.statements else NO_SPAN
    message = (
        "no `default` line: a step that no rule decides is denied"
        if bundle.statements
        else "an empty bundle denies everything"
    )
    report.warning(Code.NO_DEFAULT, message, place, "write `default deny` to say so")
