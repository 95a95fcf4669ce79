"""Warns about allow rules that look at the effects of commands, and let those pass that have none."""

from typing import Final

from rebuno.policy.analysis.formulas import Atom, Formula, Formulas, together
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import Op, named_alone

EFFECTS: Final = ("read_path", "written_path", "removed_path", "contacted_host", "executed")
_UNREAD: Final = "unread"
# What names the commands that may run.
_COMMANDS: Final = ("command", "program")
_NAMES_THEM: Final = (Op.EQ, Op.IN, Op.LIKE, Op.MATCHES)
_HELP: Final = "ask for `unread of … missing` as well, and something of each kind of effect"


def check_unread(rule: s.Rule, formulas: Formulas, report: DiagnosticReport) -> None:
    """Warns about an allow rule that asks of effects only by `every` and `no`, and does not ask what is unread."""
    # Each with whether what holds beside it says which commands are meant, or that all of them is read.
    waiting: list[tuple[Formula, bool]] = [(formulas.rule(rule), False)]
    while waiting:
        formula, closed = waiting.pop()
        closed = closed or any(map(_closes, together(formula)))
        if not isinstance(formula, Atom):
            # From left to right: the first one is reported.
            waiting += [(item, closed) for item in reversed(formula.items)]
        elif closed:
            continue
        elif _every(formula):
            facet = next(name for name in _facets(formula) if name in EFFECTS)
            message = f"an empty set passes: a command with nothing in `{facet}` is let through, whatever else it does"
            report.warning(Code.NO_UNREAD, message, formula.test.span, _HELP)
            return
        elif formula.inner is not None:
            waiting.append((formula.inner, False))


def _closes(atom: Atom) -> bool:
    facets = _facets(atom)
    if _UNREAD in facets:
        return True
    if any(name in EFFECTS for name in facets):
        # One effect that is there and passes says that the set is not empty.
        return atom.every is False or (atom.op is Op.GIVEN and not atom.negated)
    named = atom.facet is not None and atom.facet.name in _COMMANDS
    return named and not atom.negated and atom.op in _NAMES_THEM


def _every(atom: Atom) -> bool:
    return atom.every is True and any(name in EFFECTS for name in _facets(atom))


def _facets(atom: Atom) -> list[str]:
    return [named_alone(facet) for facet in atom.test.operand.facets] if isinstance(atom.test, s.Test) else []
