"""Checks limits and budgets: what they measure, whom they count for, and the limits that rules share."""

from typing import Final

from rebuno.policy.check.names import DefinedNames, sort_of
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import ROOT_WORDS, SOFT_ROOTS, did_you_mean
from rebuno.policy.syntax.shown import shown_path

# Where an amount and where a value that a pot is for may stand.
_AMOUNT_ROOTS: Final = ("args", "input")
_KEY_ROOTS: Final = ("args", "input", "target", "agent")
_MOST_DIGITS: Final = 40


def check_limit(clause: s.LimitClause, names: DefinedNames, report: DiagnosticReport) -> None:
    """Checks a `limit` clause of a rule."""
    if clause.named is None:
        check_quantity(clause, names, report)
        return
    found = names.peek(clause.named.text)
    if found is None and names.complete(clause.named.text):
        help = did_you_mean(clause.named.text, names.limits())
        help = help or f"write a number, or define `limit {clause.named.text} = …`"
        report.error(Code.BAD_LIMIT, f"there is no limit `{clause.named.text}`", clause.named.span, help)
    elif found is not None and not isinstance(found, s.NamedLimit):
        message = f"`{clause.named.text}` is {sort_of(found)}, not a `limit`"
        report.error(Code.WRONG_SORT, message, clause.named.span, f"define it as `limit {clause.named.text} = …`")


def check_quantity(limit: s.LimitClause, names: DefinedNames, report: DiagnosticReport) -> None:
    """Checks the number, the measure and the scope of a limit."""
    if limit.number <= 0 or (limit.number < 1 and not limit.measure):
        report.error(
            Code.BAD_LIMIT, f"`limit {limit.number}` never lets anything pass", limit.span, "write a `deny` rule"
        )
    elif limit.measure and len(str(limit.number)) > _MOST_DIGITS:
        message = f"an amount has at most {_MOST_DIGITS} digits"
        report.error(Code.BAD_LIMIT, message, limit.span, "write a smaller number")
    for path in limit.measure:
        if not _rooted(path, _AMOUNT_ROOTS, "what a limit measures", names, report):
            continue
        if path.root == "args" and not path.parts:
            message = "the arguments together are no number"
            report.error(Code.BAD_LIMIT, message, path.span, "name the amount, such as `args.amount`")
    if limit.key is not None and _rooted(limit.key, _KEY_ROOTS, "`for each`", names, report):
        if limit.key.many:
            message = f"`{shown_path(limit.key)}` stands for several values, and a pot is for one"
            report.error(Code.BAD_LIMIT, message, limit.key.span, "name one value")
        elif limit.key.root == "args" and not limit.key.parts:
            message = "the arguments together are no single value"
            report.error(Code.BAD_LIMIT, message, limit.key.span, "name one, such as `args.id`")


def _rooted(path: s.Path, roots: tuple[str, ...], where: str, names: DefinedNames, report: DiagnosticReport) -> bool:
    root, shown = path.root, ", ".join(f"`{root}`" for root in roots)
    if root in roots:
        if root in ("target", "agent") and path.parts:
            report.error(Code.BAD_PATH, f"`{root}` is a string and has no parts", path.span, f"write `{root}`")
            return False
        return True
    if root in ROOT_WORDS or (root in SOFT_ROOTS and names.peek(root) is None):
        message = f"`{root}` is not allowed in {where}"
        report.error(Code.MISPLACED_ROOT, message, path.span, f"here a path starts at {shown}")
    elif (own := names.peek(root)) is not None:
        report.error(Code.WRONG_SORT, f"`{root}` is {sort_of(own)}, not a path", path.span, f"start at {shown}")
    else:
        help = did_you_mean(root, roots) or f"here a path starts at {shown}"
        report.error(Code.UNKNOWN_ROOT, f"no path starts at `{root}`", path.span, help)
    return False
