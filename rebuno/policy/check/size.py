"""Reports conditions that nest too deep or have too many tests, by the same count as the compiler."""

from collections.abc import Iterable, Iterator

from rebuno.policy.facets.reading import PathContext
from rebuno.policy.matcher.conditions import BundleNames, ConditionTooLargeError
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport


def check_size(bundle: s.Bundle, order: Iterable[str], report: DiagnosticReport) -> None:
    """Reports the conditions of a bundle that are too large. All names of the bundle must be defined, without a cycle.

    `order` holds names of conditions, each after those that it names, so that only the first condition of a chain that
    is too large is reported.
    """
    own = {line.name.text: line for line in bundle.statements if isinstance(line, s.Condition)}
    trees = {name: condition.expr for name, condition in own.items()}
    names = BundleNames({}, lambda name, fold, facet: None, PathContext(), conditions=trees)
    for name in dict.fromkeys([*order, *own]):
        if name in own and not _fits(own[name].expr, names, report):
            names.leave_out(name)
    for statement in bundle.statements:
        for expr in _exprs(statement):
            _fits(expr, names, report)


def _fits(expr: s.Expr, names: BundleNames, report: DiagnosticReport) -> bool:
    try:
        names.measure(expr)
    except ConditionTooLargeError as error:
        report.error(Code.TOO_DEEP, str(error), error.span, "split it")
        return False
    return True


def _exprs(statement: s.Statement) -> Iterator[s.Expr]:
    match statement:
        case s.Rule():
            yield from (clause.expr for clause in statement.clauses if isinstance(clause, s.When | s.Unless))
        case s.Never(when=when) if when is not None:
            yield when
        case s.Known():
            for source in statement.sources:
                if isinstance(source, s.ResultSource) and source.where is not None:
                    yield source.where
        case _:
            pass
