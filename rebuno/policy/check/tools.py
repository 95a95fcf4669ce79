"""Checks whether the tools, arguments and values in a bundle exist, by the schemas of the tools."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from rebuno.policy.analysis.formulas import Atom, Formulas, atoms
from rebuno.policy.analysis.tool_schemas import (
    ArgumentSchema,
    ToolSchema,
    argument_schema,
    formats_at,
    names_at,
    optional,
)
from rebuno.policy.check.accept import OF_TOOLS, accepting
from rebuno.policy.check.evidence import SENDERS, results_in, warn_untied
from rebuno.policy.check.secrets import check_late
from rebuno.policy.check.weak_tests import check_formats
from rebuno.policy.matcher.past_step import wheres
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic, DiagnosticReport, ordered
from rebuno.policy.syntax.keywords import did_you_mean
from rebuno.policy.syntax.shown import shown_path
from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.globs import glob
from rebuno.policy.values.json_values import shown

# Facets that read texts only.
_OF_TEXT: Final = frozenset(
    {"path", "name", "extension", "host", "scheme", "port", "address", "domain", "link", "email", "command", "program",
     "redirect", "read_path", "written_path", "removed_path", "contacted_host", "executed", "unread",
     "statement", "table", "written_table", "function"}
)  # fmt: skip
# The number of arguments that a warning names.
_NAMED: Final = 3
_WORD: Final = {"array": "a list", "object": "an object", "integer": "an integer", "null": "null"}


def check_tools(bundle: s.Bundle, tools: Sequence[ToolSchema]) -> list[Diagnostic]:
    """Diagnostics about a linked bundle without errors, in the order of the file: unknown tools (an error in a deny
    rule, which stops nothing then), unknown arguments, optional arguments that an allow rule does not test, and tests
    that no value of an argument fulfils. If the schemas leave a question open, there is no diagnostic."""
    report = DiagnosticReport(bundle.path)
    formulas = Formulas(bundle)
    sets = {line.name.text: line for line in bundle.statements if isinstance(line, s.Known)}
    for source in results_in(bundle):
        if any(tool.returns(SENDERS) for tool in _tools_of(source.subject, formulas, tools)):
            warn_untied(source, sets, report)
    limits = {line.name.text: line.limit for line in bundle.statements if isinstance(line, s.NamedLimit)}
    for statement in bundle.statements:
        for subject in _subjects(statement):
            dead = isinstance(statement, s.Rule) and statement.verdict == "deny" and subject is statement.subject
            _patterns(subject, formulas, tools, report, dead=dead)
        if isinstance(statement, s.Secret) and statement.subject is not None:
            _secret(statement.paths, _tools_of(statement.subject, formulas, tools), report)
        if isinstance(statement, s.Rule):
            meant = _tools_of(statement.subject, formulas, tools)
            for clause in statement.clauses:
                if isinstance(clause, s.LimitClause):
                    _limit(clause, limits, meant, report)
            asked = atoms(formulas.rule(statement))
            for atom in asked:
                _test(atom, meant, report)
            if statement.verdict == "allow":
                check_formats(statement, formulas, partial(_formats, meant), report)
            if statement.verdict == "allow" and any(isinstance(c, s.When | s.Unless) for c in statement.clauses):
                _open(statement, asked, meant, report)
    check_late(bundle, formulas, lambda subject: _taken(_tools_of(subject, formulas, tools)), report)
    return ordered(accepting(bundle, report.findings, OF_TOOLS))


def _taken(tools: Sequence[ToolSchema]) -> list[str]:
    return [name for tool in tools for name in names_at(tool, ())]


def _secret(paths: Sequence[s.Path], tools: Sequence[ToolSchema], report: DiagnosticReport) -> None:
    """Reports a sealed place that no tool has: what was meant is then written in the clear."""
    for path in paths:
        if not path.parts:
            continue
        of_result = path.root == "result"
        schemas = [ToolSchema(tool.name, tool.output if of_result else tool.schema) for tool in tools]
        about = [argument_schema(one, path.parts, apart=True) for one in schemas]
        missing = [one for one in about if isinstance(one, str)]
        if about and len(missing) == len(about):
            named = f"`{tools[0].name}` has no" if len(tools) == 1 else f"none of these {len(tools)} tools has"
            names = [name for one in schemas for name in names_at(one, path.parts)]
            help = did_you_mean(missing[0], names)
            report.warning(Code.UNKNOWN_ARGUMENT, f"{named} `{shown_path(path)}`", path.span, help)


def _formats(tools: Sequence[ToolSchema], path: s.Path) -> set[str]:
    return {one for tool in tools for one in formats_at(tool, path.parts)} if path.root == "args" else set()


def _limit(
    clause: s.LimitClause,
    limits: Mapping[str, s.LimitClause],
    tools: Sequence[ToolSchema],
    report: DiagnosticReport,
) -> None:
    """Reports an amount that no tool has, or has as no number: such a step would be over the limit for ever."""
    quantity = limits.get(clause.named.text) if clause.named else clause
    if quantity is None:
        return
    paths = [(path, True) for path in quantity.measure] + ([(quantity.key, False)] if quantity.key else [])
    for path, is_amount in paths:
        if path.root != "args" or not path.parts or not tools:
            continue
        about = [argument_schema(tool, path.parts, apart=False) for tool in tools]
        missing = [one for one in about if isinstance(one, str)]
        told = [one for one in about if isinstance(one, ArgumentSchema)]
        if len(missing) == len(about) and (len(quantity.measure) < 2 or not is_amount):
            named = f"`{tools[0].name}` has no" if len(tools) == 1 else f"none of these {len(tools)} tools has"
            names = [name for tool in tools for name in names_at(tool, path.parts)]
            help = did_you_mean(missing[0], names)
            report.warning(Code.UNKNOWN_ARGUMENT, f"{named} `{shown_path(path)}`", clause.span, help)
        elif is_amount and told and len(told) + len(missing) == len(about):
            types = frozenset().union(*(one.types for one in told))
            if not types & {"number", "integer"}:
                message = f"`{shown_path(path)}` is {_words(types)}, and an amount is a number"
                report.error(Code.BAD_LIMIT, message, clause.span, "measure a number, or count the steps")


def _subjects(statement: s.Statement) -> Iterator[s.Subject]:
    if isinstance(statement, s.Rule):
        yield statement.subject
        for clause in statement.clauses:
            if isinstance(clause, s.When | s.Unless):
                yield from _earlier(clause.expr)
    elif isinstance(statement, s.Condition):
        yield from _earlier(statement.expr)
    elif isinstance(statement, s.Secret) and statement.subject is not None:
        yield statement.subject
    elif isinstance(statement, s.Known):
        for source in statement.sources:
            if isinstance(source, s.ResultSource | s.ApprovedSource):
                yield source.subject


def _earlier(expr: s.Expr) -> Iterator[s.Subject]:
    stack = [expr]
    while stack:
        found = stack.pop()
        if isinstance(found, s.After | s.Count | s.Sum):
            yield found.subject
            if found.since is not None:
                yield found.since.subject
            stack.extend(wheres(found))
        elif isinstance(found, s.And | s.Or):
            stack.extend(found.items)
        elif isinstance(found, s.Not):
            stack.append(found.item)


def _texts(pattern: s.Literal | s.Name, formulas: Formulas) -> list[str]:
    value = formulas.values.get(pattern.text) if isinstance(pattern, s.Name) else pattern.value
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


def _patterns(
    subject: s.Subject, formulas: Formulas, tools: Sequence[ToolSchema], report: DiagnosticReport, *, dead: bool
) -> None:
    for group in subject.groups:
        for pattern in group.patterns if group.kind == "tool" else ():
            for text in _texts(pattern, formulas):
                if any(glob(text).matches(tool.name) for tool in tools):
                    continue
                if any(sign in text for sign in "*?["):
                    message, help = f"no tool has a name that `{text}` matches", ""
                else:
                    message, help = f"there is no tool `{text}`", did_you_mean(text, [tool.name for tool in tools])
                if dead:
                    report.error(Code.UNKNOWN_TOOL, f"{message}, so the rule stops nothing", pattern.span, help)
                else:
                    report.warning(Code.UNKNOWN_TOOL, message, pattern.span, help)


def _tools_of(subject: s.Subject, formulas: Formulas, tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    # Empty for a rule about other steps than tools too, whose arguments have no schema.
    if any(group.kind != "tool" for group in subject.groups) or not subject.groups:
        return []
    texts = [text for group in subject.groups for pattern in group.patterns for text in _texts(pattern, formulas)]
    return [tool for tool in tools if any(glob(text).matches(tool.name) for text in texts)]


def _open(rule: s.Rule, asked: Sequence[Atom], tools: Sequence[ToolSchema], report: DiagnosticReport) -> None:
    """Warns about optional arguments that an allow rule does not test although it tests others."""
    about = [(atom, path) for atom in asked for test in _tests(atom) for path in test.operand.paths]
    paths = [(atom, path) for atom, path in about if path.root == "args"]
    looked = {path.parts[0].name for _, path in paths if path.parts and isinstance(path.parts[0], s.Key)}
    if any(_whole(atom, path) for atom, path in paths):
        return
    for tool in tools:
        missed = [name for name in optional(tool) if name not in looked]
        if missed:
            named = ", ".join(f"{shown(name)}" for name in missed[:_NAMED])
            more = f" and {len(missed) - _NAMED} more" if len(missed) > _NAMED else ""
            message = f"`{tool.name}` takes {named}{more}, which this allow rule does not look at"
            name = shown_path(s.Path("args", (s.Key(missed[0]),)))
            help = f"close the rule with `every key of args in […]`, or ask something of each: `{name} missing`"
            report.warning(Code.OPEN_ARGUMENTS, message, rule.head_span, help)


def _whole(atom: Atom, path: s.Path) -> bool:
    """Whether a test looks at all arguments: at `args` or `args.*`, or at `every key of args`."""
    if path.parts:
        return isinstance(path.parts[0], s.Values)
    facets = atom.test.operand.facets if isinstance(atom.test, s.Test) else ()
    return not facets or facets[-1].text != "key" or atom.every is True


def _tests(atom: Atom) -> Iterator[s.Test]:
    """The test itself, and the tests in its block."""
    if isinstance(atom.test, s.Test):
        yield atom.test
    if atom.inner is not None:
        for inner in atoms(atom.inner):
            yield from _tests(inner)


def _test(atom: Atom, tools: Sequence[ToolSchema], report: DiagnosticReport) -> None:
    if not isinstance(atom.test, s.Test):
        return
    paths = atom.test.operand.paths
    found: list[ArgumentSchema] = []
    for path in paths:
        if path.root != "args" or not path.parts or not tools:
            return
        about = [argument_schema(tool, path.parts, apart=atom.every is not None) for tool in tools]
        missing = [one for one in about if isinstance(one, str)]
        if len(missing) == len(about):
            named = f"`{tools[0].name}` has no" if len(tools) == 1 else f"none of these {len(tools)} tools has"
            message = f"{named} `{shown_path(path)}`"
            names = [name for tool in tools for name in names_at(tool, path.parts)]
            report.warning(Code.UNKNOWN_ARGUMENT, message, path.span, did_you_mean(missing[0], names))
            return
        told = [one for one in about if isinstance(one, ArgumentSchema)]
        if len(told) < len(about) - len(missing):
            return
        found += told
    _fits(atom, atom.test, found, report)


def _fits(atom: Atom, test: s.Test, arguments: Sequence[ArgumentSchema], report: DiagnosticReport) -> None:
    types = frozenset().union(*(one.types for one in arguments))
    shown = ", ".join(shown_path(path) for path in test.operand.paths)
    if test.operand.facets:
        if test.operand.facets[-1].text in _OF_TEXT and "string" not in types and atom.op is not Op.MISSING:
            message = f"`{shown}` is {_words(types)}, and `{test.operand.facets[-1].text} of` reads texts"
            report.warning(Code.NEVER_FITS, message, test.span)
        return
    if not atom.drawn or atom.op is Op.GIVEN:
        if atom.op is Op.UNDER and "string" not in types:
            report.warning(Code.NEVER_FITS, f"`{shown}` is {_words(types)}, and `under` reads texts", test.span)
        return
    accepted = atom.values(sure=True, at_most=True)
    if all(one.values.apart(accepted) for one in arguments):
        closed = all(one.options is not None for one in arguments)
        why = "none of its possible values fits" if closed else f"it is {_words(types)}"
        message = f"this test of `{shown}` can never be yes: {why}"
        report.warning(Code.NEVER_FITS, message, test.span, _closest(atom, arguments) if closed else "")
    elif atom.op is Op.IN and not atom.negated and isinstance(atom.right, list):
        options = [value for one in arguments for value in one.options or ()]
        if all(one.options is not None for one in arguments) and not atom.fold:
            strange = [value for value in atom.right if isinstance(value, str) and value not in options]
            if strange:
                message = f"`{shown}` can never have the value `{strange[0]}`"
                report.warning(Code.NEVER_FITS, message, test.span, did_you_mean(strange[0], _strings(options)))


def _closest(atom: Atom, arguments: Sequence[ArgumentSchema]) -> str:
    options = _strings([value for one in arguments for value in one.options or ()])
    return did_you_mean(atom.right, options) if isinstance(atom.right, str) else ""


def _strings(values: Sequence[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _words(types: frozenset[str]) -> str:
    return " or ".join(_WORD.get(name, f"a {name}") for name in sorted(types))
