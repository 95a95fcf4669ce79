"""Finds rules that allow steps which another layer always denies."""

from collections.abc import Sequence

from rebuno.policy.analysis.formulas import Formulas
from rebuno.policy.analysis.glob_sets import overlap
from rebuno.policy.check.accept import OF_LAYERS, accepting
from rebuno.policy.check.secrets import check_shown
from rebuno.policy.matcher.index import SubjectPattern, subject_patterns
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport, ordered


def check_layers(bundle: s.Bundle, layers: Sequence[s.Bundle]) -> list[Diagnostic]:
    """Warnings about rules of a linked bundle that have no effect: another layer denies all their steps by default, and
    no rule of that layer allows or asks about any of them; and errors about texts that show what another layer seals.
    The bundles must have no error."""
    report = DiagnosticReport(bundle.path)
    rules = [statement for statement in bundle.statements if isinstance(statement, s.Rule)]
    formulas = Formulas(bundle)
    check_shown(bundle, [layer for layer in layers if layer.text != bundle.text], report)
    for layer in layers:
        if _default(layer) != "deny" or layer.text == bundle.text:
            continue
        theirs = Formulas(layer)
        passing = [
            pattern
            for statement in layer.statements
            if isinstance(statement, s.Rule) and statement.verdict != "deny"
            for pattern in _patterns(statement, theirs)
        ]
        for rule in rules:
            if rule.verdict != "deny" and not any(_passes(one, passing) for one in _patterns(rule, formulas)):
                does = "allow" if rule.verdict == "allow" else "ask about"
                message = f"the rule `{rule.id.text}` can {does} nothing: the layer `{layer.name}` denies by default"
                help = "let the layer allow or ask about it too, or give the layer `default allow`"
                report.warning(Code.POINTLESS, message, rule.head_span, help)
    return ordered(accepting(bundle, report.findings, OF_LAYERS) if layers else report.findings)


def _default(layer: s.Bundle) -> str:
    return next((line.verdict for line in layer.statements if isinstance(line, s.Default)), "deny")


def _patterns(rule: s.Rule, formulas: Formulas) -> tuple[SubjectPattern, ...]:
    lists = {name: value if isinstance(value, list) else [value] for name, value in formulas.values.items()}
    return subject_patterns(rule.subject, lists)


def _passes(one: SubjectPattern, passing: Sequence[SubjectPattern]) -> bool:
    # A default never denies local steps.
    if one.kind in (None, "local"):
        return True
    return any(other.kind in (None, one.kind) and overlap(one.glob.pattern, other.glob.pattern) for other in passing)
