"""Checks the sources of a `known` set: whether each is evidence, and whether the set can only grow."""

from collections.abc import Iterator, Mapping
from typing import Final

from rebuno.policy.check.facets import check_chain
from rebuno.policy.check.names import DefinedNames, sort_of
from rebuno.policy.check.tests import IN_KNOWN, ExpressionChecker, check_subject
from rebuno.policy.check.values import check_list, texts_only
from rebuno.policy.matcher.standing import asked_names, named_set
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import did_you_mean

# The number of sets in a line, of which each stands on the next.
MAX_DEPTH: Final = 8


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
                    _growing(where, names, report)
            case s.ApprovedSource(subject, ats):
                check_subject(subject, names, report)
                _ats(ats, "approved", source.span, report)


def _input(path: s.Path, report: DiagnosticReport) -> None:
    if path.root not in ("input", "turns"):
        message = f"`{path.root}` is no source of known values"
        help = "a source is `input`, `turns`, a list, `result of …` or `approved …`"
        report.error(Code.BAD_SOURCE, message, path.span, help)
    elif path.root == "turns" and (problem := texts_only(path)):
        report.error(Code.BAD_PATH, problem, path.span, "write `turns`")


def _list(value: s.ListLiteral | s.Literal | s.Name, names: DefinedNames, report: DiagnosticReport) -> None:
    if isinstance(value, s.ListLiteral):
        check_list(value, report)
    elif isinstance(value, s.Name):
        if value.text in ("args", "target", "agent"):
            message = f"`{value.text}` is a part of the submission, not evidence"
            report.error(Code.BAD_SOURCE, message, value.span, "write `input`, `result of …` or `approved …`")
            return
        found = names.find(value, did_you_mean(value.text, ("input", "result", "approved")))
        if isinstance(found, s.Condition | s.NamedLimit):
            message = f"`{value.text}` is {sort_of(found)}, not a list"
            report.error(Code.WRONG_SORT, message, value.span, "name a `known` or a `let`")


def _growing(where: s.Expr, names: DefinedNames, report: DiagnosticReport) -> None:
    # INVARIANT: what a `where` asks of something that grows becomes yes and stays yes, so that sets only grow.
    waiting: list[tuple[s.Expr, bool]] = [(where, False)]
    while waiting:
        expr, negated = waiting.pop()
        match expr:
            case s.And(items) | s.Or(items):
                waiting += [(item, negated) for item in items]
            case s.Not(item):
                waiting.append((item, not negated))
            case s.Test():
                negated = negated is not (expr.operand.quantifier is s.Quantifier.NO)
                if expr.block is not None:
                    waiting.append((expr.block, negated))
                _grown(expr, negated is not expr.negated, names, report)
            case _:
                pass


def _grown(test: s.Test, negated: bool, names: DefinedNames, report: DiagnosticReport) -> None:
    right = test.right
    if negated and isinstance(right, s.Name) and isinstance(names.peek(right.text), s.Known):
        message = f"`{right.text}` grows, and a set that grows may not be asked for what is not in it"
        report.error(Code.MISPLACED_TEST, message, right.span, "ask for it in the rule, or for what is in it")
    asked = any(path.root == "turns" for path in test.operand.paths)
    listed = isinstance(right, s.Operand) and any(path.root == "turns" for path in right.paths)
    plain = test.operand.quantifier is s.Quantifier.ANY and test.op not in (s.Op.NE, s.Op.MISSING)
    if listed or (asked and (negated or not plain)):
        message = "`turns` grow, and the `where` of a `known` may only ask for what is in them"
        report.error(Code.MISPLACED_TEST, message, test.span, "write `any turns[]` and a test without `not`")


def check_order(bundle: s.Bundle, report: DiagnosticReport) -> None:
    """Reports sets that stand on themselves, and those that stand on too many others in a line."""
    sets: dict[str, s.Known] = {}
    for line in bundle.statements:
        if isinstance(line, s.Known):
            sets.setdefault(line.name.text, line)
    below = {name: [one for source in known.sources for one in _named(source, sets)] for name, known in sets.items()}
    depths: dict[str, int] = {}
    for start in sets:
        trail: dict[str, None] = {}  # the sets on the way to this one, in order
        stack = [start]
        while stack:
            name = stack[-1]
            if name in depths:
                stack.pop()
            elif name in trail:
                # All sets that it names are done.
                stack.pop()
                del trail[name]
                depths[name] = 1 + max((depths.get(one.text, 0) for one in below[name]), default=0)
                if depths[name] == MAX_DEPTH + 1:
                    message = f"`{name}` stands on {MAX_DEPTH} sets in a line; {MAX_DEPTH - 1} are the most"
                    report.error(Code.TOO_DEEP, message, sets[name].name.span, "name the sources in one of them")
            else:
                trail[name] = None
                for one in below[name]:
                    if one.text in trail:
                        circle = [*list(trail)[list(trail).index(one.text) :], one.text]
                        way = " → ".join(f"`{name}`" for name in circle)
                        report.error(
                            Code.CYCLE, f"the `known` stands on itself: {way}", one.span, "remove one of these names"
                        )
                    elif one.text not in depths:
                        stack.append(one.text)


def _named(source: s.KnownSource, sets: Mapping[str, s.Known]) -> Iterator[s.Name]:
    named = named_set(source, sets)
    if named is not None and isinstance(source, s.ListSource) and isinstance(source.value, s.Name):
        yield source.value
    yield from (name for name in asked_names(source) if name.text in sets)


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
