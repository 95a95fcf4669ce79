"""Warnings about conditions that are correct and may still not do what their author expects."""

from collections.abc import Iterator
from typing import Final

from rebuno.policy.analysis.formulas import Atom, Formulas, atoms
from rebuno.policy.analysis.implication import CountedCondition
from rebuno.policy.check.evidence import check_evidence
from rebuno.policy.check.open_tails import check_open_tails
from rebuno.policy.check.unread import check_unread
from rebuno.policy.check.weak_tests import check_allow, check_deny, warn_plain
from rebuno.policy.matcher.past_step import wheres
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import Op

_PATHS: Final = ("path", "read_path", "written_path", "removed_path", "executed")
_POSITIVE: Final = (Op.HAS, Op.EQ, Op.IN, Op.LIKE, Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS)


def check_warnings(bundle: s.Bundle, formulas: Formulas, report: DiagnosticReport, *, placed: bool) -> None:
    """Warns about conditions that never hold or that guard less than they seem to. The bundle must have no error.
    `placed` says whether relative paths have a place to start from."""
    rules = [statement for statement in bundle.statements if isinstance(statement, s.Rule)]
    conditions = [statement for statement in bundle.statements if isinstance(statement, s.Condition)]
    inputs = {
        statement.name.text
        for statement in bundle.statements
        if isinstance(statement, s.Known) and any(isinstance(source, s.InputSource) for source in statement.sources)
    }
    check_evidence(bundle, formulas, report)
    defaults = [statement.verdict for statement in bundle.statements if isinstance(statement, s.Default)]
    for condition in conditions:
        _never(condition.expr, formulas, f"the condition `{condition.name.text}`", report)
        _tests(condition.expr, inputs, report)
    for rule in rules:
        for clause in rule.clauses:
            if isinstance(clause, s.When | s.Unless):
                _tests(clause.expr, inputs, report)
        _rule(rule, formulas, report)
        if rule.verdict == "allow":
            check_allow(rule, formulas, report)
            check_open_tails(rule, formulas, report)
            check_unread(rule, formulas, report)
        if rule.verdict == "deny":
            asked = atoms(formulas.rule(rule))
            if defaults == ["allow"]:
                _programs(rule, asked, report)
                for atom in asked:
                    check_deny(atom, report)
            if not placed:
                _relative(rule, asked, report)


def _rule(rule: s.Rule, formulas: Formulas, report: DiagnosticReport) -> None:
    clauses = [clause for clause in rule.clauses if isinstance(clause, s.When | s.Unless)]
    # A named condition that never holds is reported at its definition.
    if clauses and not any(isinstance(clause.expr, s.ConditionRef) for clause in clauses):
        place = clauses[0].span.to(clauses[-1].span) if len(clauses) > 1 else clauses[0].span
        if CountedCondition(formulas.rule(rule), sure=True).never():
            _say_never(f"the condition of the rule `{rule.id.text}`", place, report)


def _never(expr: s.Expr, formulas: Formulas, what: str, report: DiagnosticReport) -> None:
    if CountedCondition(formulas.condition(expr), sure=True).never():
        _say_never(what, expr.span, report)


def _say_never(what: str, span: s.Span, report: DiagnosticReport) -> None:
    message = f"{what} is never yes: its tests contradict each other"
    report.warning(Code.NEVER_HOLDS, message, span, "did you mean `or`?")


# ---------------------------------------------------------------- single tests


def _tests(expr: s.Expr, inputs: set[str], report: DiagnosticReport) -> None:
    for test in _written(expr):
        if isinstance(test, s.Count | s.Sum):
            _settled(test, report)
            continue
        facets = [facet.text for facet in test.operand.facets]
        if test.op is Op.MATCHES and not facets:
            _regex(test, report)
        if facets[:1] in (["domain"], ["host"]) and test.op in (Op.EQ, Op.NE, Op.IN) and _from_input(test, inputs):
            message = f"one address in the input lets in every other address of its {facets[0]}"
            help = "ask for the address itself: `args.to in …`, without the facet"
            report.warning(Code.WHOLE_DOMAIN, message, test.span, help)


def _settled(test: s.Count | s.Sum, report: DiagnosticReport) -> None:
    """Warns about a number that no count and no sum falls below."""
    number, op = test.number, test.op
    counted = "count" if isinstance(test, s.Count) else "sum"
    if (number <= 0 and op is Op.LT) or (number < 0 and op in (Op.LE, Op.EQ)):
        message = f"a {counted} is never below 0, so this test is never yes"
        report.warning(Code.NEVER_HOLDS, message, test.span, "none at all is `< 1`" if counted == "count" else "")
    elif (number <= 0 and op is Op.GE) or (number < 0 and op in (Op.GT, Op.NE)):
        message = f"a {counted} is never below 0, so this test always holds"
        report.warning(Code.ALWAYS_HOLDS, message, test.span, "at least one is `>= 1`" if counted == "count" else "")


def _from_input(test: s.Test, inputs: set[str]) -> bool:
    if isinstance(test.right, s.Name):
        return test.right.text in inputs
    return isinstance(test.right, s.Operand) and any(path.root == "input" for path in test.right.paths)


def _regex(test: s.Test, report: DiagnosticReport) -> None:
    items = test.right.items if isinstance(test.right, s.ListLiteral) else (test.right,)
    warn_plain(test, Op.MATCHES, [str(item.value) for item in items if isinstance(item, s.Literal)], report)


# ---------------------------------------------------------------- deny rules


def _programs(rule: s.Rule, asked: list[Atom], report: DiagnosticReport) -> None:
    for atom in asked:
        if _reads(atom, "program", "command", "executed") and atom.op in _POSITIVE and not atom.negated:
            message = f"the rule `{rule.id.text}` denies some programs, and `default allow` lets every other one run"
            help = "no such list is complete: allow what may run, and `default deny`"
            report.warning(Code.DENY_LIST, message, atom.test.span, help)
            return


def _relative(rule: s.Rule, asked: list[Atom], report: DiagnosticReport) -> None:
    for atom in asked:
        if _reads(atom, *_PATHS) and atom.op in (Op.UNDER, Op.LIKE):
            message = f"the rule `{rule.id.text}` tests paths, but nothing says where relative paths start"
            help = (
                "every relative path is maybe here, so it is denied; "
                'add a line like `workdir "/srv/agent"`, or `workdir session`'
            )
            report.warning(Code.NO_WORKDIR, message, atom.test.span, help)
            return


def _reads(atom: Atom, *facets: str) -> bool:
    return atom.facet is not None and atom.facet.name in facets


def _written(expr: s.Expr) -> Iterator[s.Test | s.Count | s.Sum]:
    # Includes the tests in blocks and in `where`, from left to right.
    stack = [expr]
    while stack:
        found = stack.pop()
        if isinstance(found, s.Test):
            yield found
            stack.extend([found.block] if found.block is not None else [])
        else:
            if isinstance(found, s.Count | s.Sum):
                yield found
            stack.extend(reversed(_parts(found)))


def _parts(expr: s.Expr) -> tuple[s.Expr, ...]:
    match expr:
        case s.And(items) | s.Or(items):
            return items
        case s.Not(item):
            return (item,)
        case s.After() | s.Count() | s.Sum():
            return tuple(wheres(expr))
        case _:
            return ()
