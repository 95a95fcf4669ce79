"""Checks the facets that a bundle names, and the right sides of tests of their values."""

from collections.abc import Sequence
from typing import Final

from rebuno.policy.check.values import check_pattern
from rebuno.policy.facets import registry
from rebuno.policy.facets.reading import Facet, PathContext, Reading
from rebuno.policy.matcher.operands import normal
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import RESERVED_WORDS, did_you_mean
from rebuno.policy.syntax.tree import Op

ORDER: Final = (Op.LT, Op.LE, Op.GT, Op.GE)
_TEXTS: Final = (Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS)
_WHOLE: Final = (Op.EQ, Op.NE, Op.IN, *ORDER)
GIVES: Final = {
    "string": "a text",
    "number": "a number",
    "date": "a date",
    "list": "a list of words",
    "option": "the name of an option",
}


def check_chain(names: Sequence[s.FacetName], report: DiagnosticReport) -> tuple[Facet, ...] | None:
    """The facets of a chain, outermost first; None, with a diagnostic, if one of them cannot be used."""
    found = [_with_text(name, report) if isinstance(name, s.FacetWithText) else _facet(name, report) for name in names]
    usable = tuple(facet for facet in found if facet is not None)
    return usable if len(usable) == len(found) else None


def _with_text(name: s.FacetWithText, report: DiagnosticReport) -> Facet | None:
    facet, word = _facet(name.name, report), name.name.text
    if facet is None:
        return None
    if facet.with_text is None:
        message = f"`{word} of` takes no text"
        report.error(Code.FACET_TEXT, message, name.argument.span, f"write `{word} of …`")
        return None
    try:
        return facet.with_text(str(name.argument.value))
    except ValueError as error:
        report.error(Code.FACET_TEXT, str(error), name.argument.span)
        return None


def _facet(name: s.Name, report: DiagnosticReport) -> Facet | None:
    if name.text not in registry.BUILT_IN_FACETS:
        for one in registry.packaged_facets():
            if one.entry.name in RESERVED_WORDS - registry.BUILT_IN_FACETS.keys():
                message = f"`{one.package}` gives a facet `{one.entry.name}`, which is a word of the language"
                report.error(Code.BAD_FACET, message, name.span, "uninstall the package")
                return None
    try:
        found = registry.find_facet(name.text)
    except registry.FacetError as error:
        code = Code.MISSING_FACET if error.missing else Code.BAD_FACET
        report.error(code, error.message, name.span, error.help)
        return None
    if found is None:
        known = registry.facet_names()
        help = did_you_mean(name.text, known) or f"there are {', '.join(known)}; a package may add others"
        report.error(Code.UNKNOWN_FACET, f"there is no facet `{name.text}`", name.span, help)
    return found


def check_predicate(test: s.Test, facet: Facet, report: DiagnosticReport) -> bool:
    """Whether the predicate can test the values of the facet. If not, an error is reported."""
    op, gives = test.op, GIVES.get(facet.value, facet.value)
    if op in ORDER and facet.value not in ("number", "date"):
        message, help = f"`{op.value}` compares numbers and dates", "ask with `==`, `in` or `like`"
    elif op is Op.UNDER and facet.network is None:
        message, help = "`under` asks for directories, domains and networks", "ask with `==` or `in`"
    elif op in (Op.CONTAINS, Op.CONTAINS_ANY, *_TEXTS) and facet.value in ("number", "date"):
        message, help = f"`{op.value}` looks at texts", "ask with `==`, `in` or `<=`"
    elif op in (Op.CONTAINS, Op.CONTAINS_ANY, *_TEXTS) and facet.value == "option":
        message, help = f"`{op.value}` looks at texts", "ask with `==` or `in`: programs also take parts of names"
    elif op in (Op.MATCHES, Op.STARTS, Op.ENDS) and facet.value == "list":
        message, help = f"`{op.value}` looks at one text", "ask with `like`, or for a word with `any it …`"
    else:
        return True
    report.error(Code.WRONG_TYPE, f"`{facet.name} of` gives {gives}; {message}", test.span, help)
    return False


def check_literal(
    test: s.Test, facet: Facet, item: s.Literal, context: PathContext, span: s.Span, report: DiagnosticReport
) -> None:
    """Reports a literal on the right side that is never a value, a place or a pattern of the facet."""
    op = test.op
    if op in (Op.UNDER, *_TEXTS) and not isinstance(item.value, str):
        report.error(Code.WRONG_TYPE, f"`{op.value}` wants a string here", span, "write it in quotes")
        return
    try:
        made = normal(facet, op, item.value, context)
    except ValueError as error:
        code = Code.BAD_GLOB if op is Op.LIKE else Code.BAD_VALUE
        report.error(code, f"`{facet.name} of` never gives this: {error}" if op in _WHOLE else str(error), span)
        return
    if op in ORDER and isinstance(made, Reading) and made.compare(made) is None:
        message = f"`{item.value}` stands for more than one value, and so has no order"
        report.error(Code.BAD_VALUE, message, span, "write it in full, a date with its year")
    elif op is Op.LIKE and facet.pattern is None:
        check_pattern(item, span, report)


def check_sides(test: s.Test, left: Facet | None, right: Facet | None, report: DiagnosticReport) -> None:
    """Reports a comparison whose answer is always maybe, because the facets of its sides differ."""
    if test.op not in _WHOLE:
        return
    for one, other in ((left, right), (right, left)):
        if one is not None and one.value in ("date", "list", "option") and (other is None or other.name != one.name):
            gives = GIVES[one.value]
            message = f"`{one.name} of` gives {gives}, which compares with nothing but another `{one.name} of`"
            report.error(Code.WRONG_TYPE, message, test.span, f"write `{one.name} of` on both sides")
            return


def check_directory(statement: s.Workdir | s.Home, report: DiagnosticReport) -> str | None:
    """The directory that `workdir` or `home` names; None, with a diagnostic, if it is no absolute path. None also for
    `workdir session`."""
    if statement.path is None:
        return None
    word, text = type(statement).__name__.lower(), str(statement.path.value)
    path = registry.find_facet("path")
    try:
        if path is not None:
            path.literal(text, PathContext())
        if text.startswith("/"):
            return text
        reason = f"the path `{text}` does not begin at the root"
    except ValueError as error:
        reason = str(error)
    message = f"`{word}` takes an absolute path: {reason}"
    report.error(Code.BAD_DIRECTORY, message, statement.path.span, f'write it like `{word} "/srv/agent"`')
    return None
