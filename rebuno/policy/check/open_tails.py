"""Warns about patterns of commands that fix an option and leave open which options follow."""

from typing import Final

from rebuno.policy.analysis.formulas import AllOf, Atom, Formula, Formulas, together
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.tree import Op, named_alone

# What says of every word which ones there may be.
_OF_WORDS: Final = (Op.EQ, Op.IN, Op.LIKE, Op.MATCHES, Op.HAS)
_HELP: Final = "close the options, in the same block: `every option of it in […]`"


def check_open_tails(rule: s.Rule, formulas: Formulas, report: DiagnosticReport) -> None:
    """Warns about an allow rule that takes the option of a pattern for the only one of its name."""
    # Each with whether what holds beside it closes the options.
    waiting: list[tuple[Formula, bool]] = [(formulas.rule(rule), False)]
    while waiting:
        formula, closed = waiting.pop()
        if isinstance(formula, Atom):
            option = "" if closed else _left_open(formula)
            if option:
                message = f"the last option wins: a command may give `{option}` again where the pattern ends with ` *`"
                report.warning(Code.OPEN_TAIL, message, formula.test.span, _HELP)
            if formula.inner is not None:
                waiting.append((formula.inner, False))
        else:
            closed = closed or (isinstance(formula, AllOf) and any(map(_closes, together(formula))))
            waiting += [(item, closed) for item in formula.items]


def _closes(atom: Atom) -> bool:
    """Whether a test looks at the options of a command, or at each of its words."""
    test = atom.test
    if not isinstance(test, s.Test):
        return False
    if any(named_alone(facet) == "option" for facet in test.operand.facets):
        return True
    words = test.operand.quantifier is s.Quantifier.EVERY and [path.root for path in test.operand.paths] == ["it"]
    return words and not test.operand.facets and not atom.negated and test.op in _OF_WORDS


def _left_open(atom: Atom) -> str:
    """The option that a pattern fixes before a final ` *`; an empty text if there is none."""
    if atom.op is not Op.LIKE or atom.negated or atom.facet is None or atom.facet.name != "command":
        return ""
    for pattern in atom.raw if isinstance(atom.raw, list) else [atom.raw]:
        words = pattern.split() if isinstance(pattern, str) else []
        # What follows a `--` is no option.
        if words[-1:] == ["*"] and "--" not in words:
            for word in words[1:-1]:
                if word.startswith("-") and word.strip("-*?"):
                    return word.partition("=")[0]
    return ""
