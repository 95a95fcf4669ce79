"""Checks the tests of an expression: names, paths, quantifiers, and right sides."""

from dataclasses import dataclass, replace
from typing import Final

from rebuno.policy.check.facets import ORDER, check_chain, check_literal, check_predicate, check_sides
from rebuno.policy.check.names import DefinedNames, sort_of
from rebuno.policy.check.values import check_list, check_pattern, check_regex, check_schedule, texts_only
from rebuno.policy.facets.reading import Facet, PathContext
from rebuno.policy.matcher.operands import Block, inherited, lens
from rebuno.policy.matcher.past_step import wheres
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, DiagnosticReport
from rebuno.policy.syntax.keywords import ROOT_WORDS, TYPE_WORDS, did_you_mean, suggestion
from rebuno.policy.syntax.shapes import Shape, shape
from rebuno.policy.syntax.tree import Op


@dataclass(frozen=True, slots=True)
class ExpressionScope:
    """The place of an expression: the allowed roots of its paths, and whether it may test the history."""

    called: str
    roots: tuple[str, ...]
    free: bool  # named conditions and tests on history are allowed
    block: Block | None = None  # the `has (…)` around it

    def within_block(self, facet: Facet | None) -> "ExpressionScope":
        """The scope inside `has (…)`, whose `it` was read by `facet`."""
        roots = self.roots if "it" in self.roots else (*self.roots, "it")
        return replace(self, roots=roots, block=Block(facet))


_FACTS: Final = ("args", "input", "target", "agent", "definition")
IN_RULE: Final = ExpressionScope("a rule", (*_FACTS, "turns", "parent"), free=True)
IN_KNOWN: Final = ExpressionScope(
    "the `where` of a `known`", (*_FACTS, "turns", "parent", "item", "result"), free=False
)
IN_HISTORY: Final = ExpressionScope(
    "the `where` of a test on history", (*_FACTS, "turns", "parent", "result", "error", "this"), free=False
)

IN_JOIN: Final = ExpressionScope("the `where` of a joined step", (*IN_HISTORY.roots, "outer"), free=False)
IN_SUM: Final = ExpressionScope("the `at` of a `sum`", ("args", "result"), free=False)
OF_THIS: Final = ExpressionScope("what a `sum` adds of this step", ("args",), free=False)

_HOME_OF: Final = {
    "it": "`it` is allowed inside `has (…)` only",
    "item": "`item` is allowed in the `where` of a `known` only",
    "result": "`result` is allowed in a `where` only",
    "this": "`this.args` is allowed in the `where` of a test on history only",
    "outer": "`outer` is allowed in the `where` of a joined step only: of `after` or `count` in another one's `where`",
    "error": "`error` is allowed in the `where` of a test on history only",
}
_OF_OUTER: Final = ("args", "result", "target")
_OF_ERROR: Final = ("type", "message", "nothing_done")
_DEFINITION: Final = ("server", "name", "digest")
_TEXTS: Final = (Op.LIKE, Op.MATCHES, Op.STARTS, Op.ENDS, Op.UNDER)
_FOLDING: Final = (Op.EQ, Op.NE, Op.IN, Op.LIKE, Op.MATCHES, Op.CONTAINS, Op.CONTAINS_ANY, Op.STARTS, Op.ENDS)
_VALUE: Final = {"string": "a string", "number": "a number"}


class ExpressionChecker:
    """Checks expressions. `owner` is the current `condition`, if any; `context` is where paths start."""

    def __init__(self, names: DefinedNames, report: DiagnosticReport, context: PathContext) -> None:
        self._context = context
        self._names = names
        self._report = report
        self.owner = ""
        # Tests of rules in which nothing was found: equal ones are not looked at again.
        self._clean: set[Shape] = set()

    def expr(self, expr: s.Expr, place: ExpressionScope) -> None:
        """Checks an expression and everything inside it."""
        if isinstance(expr, s.Test):
            self._once(expr, place)
            return
        match expr:
            case s.And(items) | s.Or(items):
                for item in items:
                    self.expr(item, place)
            case s.Not(item):
                self.expr(item, place)
            case s.ConditionRef(name):
                self._reference(name, place)
            case s.After() | s.Count() | s.Sum():
                self._past(expr, place)
            case s.During(schedule):
                if not place.free:
                    self._misplaced("during", expr.span, place)
                check_schedule(schedule, self._report)

    def filled(self, text: s.Filled) -> None:
        """Checks the paths in an `f"…"`: each gives one value of the submission."""
        for part in text.parts:
            if not isinstance(part, s.Path):
                continue
            if part.root not in IN_RULE.roots:
                help = did_you_mean(part.root, IN_RULE.roots) or f"a path starts at {_words(IN_RULE.roots)} here"
                message = f"`{part.root}` is no value of the submission"
                self._report.error(Code.BAD_PATH, message, part.span, help)
            elif part.many:
                message = f"{_several(part)} stands for several values"
                self._report.error(Code.BAD_PATH, message, part.span, "name one value, or the whole of them")
            else:
                self._path(part, IN_RULE)

    # ------------------------------------------------------------ names and history

    def _reference(self, name: s.Name, place: ExpressionScope) -> None:
        if name.text in ROOT_WORDS:
            message = f"`{name.text}` is a path, not a test"
            self._report.error(Code.WRONG_SORT, message, name.span, f"say what it must be, as in `{name.text} given`")
            return
        if not name.text:
            return  # too deep: reported elsewhere
        found = self._names.find(name, did_you_mean(name.text, ROOT_WORDS))
        if found is None:
            return
        if not isinstance(found, s.Condition):
            message = f"`{name.text}` is {sort_of(found)}, not a `condition`"
            self._report.error(Code.WRONG_SORT, message, name.span, f"ask for it: `args.x in {name.text}`")
        elif not place.free:
            message = f"a named condition is not allowed in {place.called}"
            self._report.error(Code.MISPLACED_TEST, message, name.span, "write the test itself here")
        elif self.owner:
            self._names.mention(self.owner, name)

    def _misplaced(self, word: str, span: s.Span, place: ExpressionScope) -> None:
        message = f"`{word}` is not allowed in {place.called}"
        self._report.error(Code.MISPLACED_TEST, message, span, "ask for it beside the test, with `and`")

    def _past(self, expr: s.Past, place: ExpressionScope) -> None:
        word = type(expr).__name__.lower()
        inner = IN_HISTORY if place.free else IN_JOIN
        if not place.free and (place.called != IN_HISTORY.called or isinstance(expr, s.Sum)):
            self._misplaced(word, expr.span, place)
        check_subject(expr.subject, self._names, self._report)
        if expr.since is not None:
            check_subject(expr.since.subject, self._names, self._report)
        for where in wheres(expr):
            self.expr(where, inner)
        if isinstance(expr, s.Sum):
            self._sum(expr)

    def _sum(self, expr: s.Sum) -> None:
        for at in expr.ats:
            chain = check_chain(at.facets, self._report)
            if chain and chain[0].value != "number":
                message = f"`{chain[0].name} of` gives no numbers to add"
                help = "a sum has no bound then, and its tests are maybe: use `amount of`, `number of` or a plain path"
                self._report.error(Code.WRONG_TYPE, message, at.facets[0].span, help)
            self._path(at.path, IN_SUM)
        if expr.plus is not None:
            self._path(expr.plus, OF_THIS)
            if expr.plus.many:
                message = "`+` adds one number of this step"
                self._report.error(Code.BAD_PATH, message, expr.plus.span, "name one argument")

    # ------------------------------------------------------------ one test

    def _once(self, test: s.Test, place: ExpressionScope) -> None:
        look = shape(test) if place is IN_RULE else None
        if look is None:
            self._test(test, place)
        elif look not in self._clean:
            before = len(self._report.findings)
            self._test(test, place)
            if len(self._report.findings) == before:
                self._clean.add(look)

    def _test(self, test: s.Test, place: ExpressionScope) -> None:
        chain = check_chain(test.operand.facets, self._report)
        for path in test.operand.paths:
            self._path(path, place)
        self._quantifier(test, chain or ())
        if test.ignoring_case and test.op not in _FOLDING:
            message = f"`ignoring case` has no effect with `{test.op.value}`"
            self._report.error(Code.SUPERFLUOUS, message, test.span, "leave it out")
        # The values of a facet that cannot be used are unknown.
        facet = lens(test.operand, test.op, place.block).facet if chain is not None else None
        if test.block is not None:
            self.expr(test.block, place.within_block(facet))
        if test.op is Op.IS:
            self._type(test)
        elif test.right is not None and (facet is None or check_predicate(test, facet, self._report)):
            self._right(test, place, facet, usable=chain is not None)

    def _quantifier(self, test: s.Test, chain: tuple[Facet, ...]) -> None:
        operand = test.operand
        if test.op in (Op.GIVEN, Op.MISSING):
            if operand.quantifier is not None:
                message = f"`{operand.quantifier.value}` has no effect with `{test.op.value}`"
                help = "several paths: ask for each, joined by `and` or `or`"
                self._report.error(Code.SUPERFLUOUS, message, operand.span, help)
            return
        if operand.quantifier is not None:
            return
        many = [facet.name for facet in chain if facet.many]
        if test.op is Op.HAS:
            why = "`has` looks at elements"
        elif many:
            why = f"`{many[0]} of` gives a set"
        elif len(operand.paths) > 1:
            why = "there are several paths here"
        elif operand.paths[0].many:
            why = f"{_several(operand.paths[0])} stands for several values"
        else:
            return
        self._report.error(Code.MISSING_QUANTIFIER, f"{why}", operand.span, "begin with `any`, `every` or `no`")

    def _path(self, path: s.Path, place: ExpressionScope) -> None:
        root = path.root
        known = root in ROOT_WORDS or root in place.roots or root in ("turns", "parent")
        if not known and (root not in _HOME_OF or self._names.peek(root)):
            own = self._names.peek(root)
            if own is not None:
                message = f"`{root}` is {sort_of(own)}, not a path"
                is_condition = isinstance(own, s.Condition)
                help = "use it as a test of its own" if is_condition else f"ask for it: `args.x in {root}`"
                self._report.error(Code.WRONG_SORT, message, path.span, help)
            else:
                help = did_you_mean(root, place.roots) or f"here a path starts at {_words(place.roots)}"
                if "args" in place.roots and not suggestion(root, place.roots):
                    help = f"an argument is written `args.{root}`; {help}"
                self._report.error(Code.UNKNOWN_ROOT, f"no path starts at `{root}`", path.span, help)
        elif root not in place.roots:
            help = _HOME_OF.get(root) or f"here a path starts at {_words(place.roots)}"
            self._report.error(Code.MISPLACED_ROOT, f"`{root}` is not allowed in {place.called}", path.span, help)
        elif root in ("target", "agent", "parent") and path.parts:
            self._report.error(Code.BAD_PATH, f"`{root}` is a string and has no parts", path.span, f"write `{root}`")
        elif root == "turns" and (problem := texts_only(path)):
            self._report.error(Code.BAD_PATH, problem, path.span, "write `turns[]`")
        elif root == "error" and path.parts and not _names_one(path.parts, _OF_ERROR):
            message = "an error has `type`, `message` and `nothing_done`"
            self._report.error(Code.BAD_PATH, message, path.span, "write one of them, or `error` alone")
        elif root == "outer" and not (path.parts and _names_one(path.parts[:1], _OF_OUTER)):
            message = "`outer` has `args`, `result` and `target`"
            self._report.error(Code.BAD_PATH, message, path.span, "write `outer.args` and what you need of it")
        elif root == "this" and path.parts[:1] != (s.Key("args"),):
            self._report.error(Code.BAD_PATH, "`this` has only `args`", path.span, "write `this.args`")
        elif root == "definition" and path.parts and not _names_one(path.parts, _DEFINITION):
            word = path.parts[0].name if isinstance(path.parts[0], s.Key) and len(path.parts) == 1 else ""
            help = did_you_mean(word, _DEFINITION) or f"write `definition.{_DEFINITION[0]}`"
            message = f"`definition` has {_words(_DEFINITION)}, each a string"
            self._report.error(Code.BAD_PATH, message, path.span, help)

    def _type(self, test: s.Test) -> None:
        if isinstance(test.right, s.Literal) and str(test.right.value) not in TYPE_WORDS:
            word = str(test.right.value)
            help = did_you_mean(word, TYPE_WORDS) or f"there are {', '.join(TYPE_WORDS)}"
            self._report.error(Code.UNKNOWN_TYPE, f"there is no type `{word}`", test.right.span, help)

    # ------------------------------------------------------------ the right side

    def _right(self, test: s.Test, place: ExpressionScope, facet: Facet | None, *, usable: bool) -> None:
        right, span = test.right, test.right.span if test.right else test.span
        if isinstance(right, s.Name):
            found = self._names.find(right, did_you_mean(right.text, place.roots))
            if isinstance(found, s.Known) and test.op in (Op.IN, Op.CONTAINS_ANY):
                self._known(test.op, right, found)
                return
            if isinstance(found, s.Known | s.Condition | s.NamedLimit):
                self._sort(test, right, sort_of(found))
                return
            if found is None or isinstance(found.value, s.FileValue):
                return
            right = found.value
        if isinstance(right, s.Operand):
            self._path_on_the_right(test, right, place, facet, usable=usable)
        elif isinstance(right, s.NullLiteral):
            self._null(test, span)
        elif isinstance(right, s.ListLiteral | s.Literal):
            self._constant(test, right, span, facet, usable=usable)

    def _path_on_the_right(
        self, test: s.Test, right: s.Operand, place: ExpressionScope, facet: Facet | None, *, usable: bool
    ) -> None:
        chain = check_chain(right.facets, self._report)
        for path in right.paths:
            self._path(path, place)
        many = next((f"`{one.name} of`" for one in chain or () if one.many), "")
        many = _several(right.paths[0]) if right.paths[0].many else many
        if many and test.op not in (Op.IN, Op.CONTAINS_ANY):
            message = f"{many} is not allowed on the right of `{test.op.value}`"
            self._report.error(Code.BAD_PATH, message, right.span, "only `in` and `contains any` take several values")
        elif usable and chain is not None:
            other = chain[0] if chain else inherited(right, place.block)
            check_sides(test, facet, other, self._report)

    def _known(self, op: Op, name: s.Name, known: s.Known) -> None:
        unlisted = self._unlisted(known) if op is Op.CONTAINS_ANY else ""
        if unlisted:
            message = f"`{name.text}` includes {unlisted}, which `contains any` cannot search"
            self._report.error(Code.BAD_SOURCE, message, name.span, f"make a `known` without {unlisted}")

    def _unlisted(self, known: s.Known) -> str:
        # What of a `known`, or of one that it names as a source, gives values that cannot be listed.
        seen, waiting = {known.name.text}, [known]
        while waiting:
            for source in waiting.pop().sources:
                match source:
                    case s.InputSource(path):
                        return f"`{path.root}`"
                    case s.ResultSource(words=True):
                        return "`words at`"
                    case s.ListSource(value=s.Name(name)) if name not in seen:
                        seen.add(name)
                        named = self._names.peek(name)
                        waiting += [named] if isinstance(named, s.Known) else []
        return ""

    def _sort(self, test: s.Test, name: s.Name, sort: str) -> None:
        message = f"`{name.text}` is {sort}; `{test.op.value}` cannot use it"
        if sort == "a `known`":
            help = "contains any" if test.op is Op.CONTAINS else "in"
            self._report.error(Code.WRONG_SORT, message, name.span, f"write `{help} {name.text}`")
        else:
            self._report.error(Code.WRONG_SORT, message, name.span, "use it as a test of its own")

    def _null(self, test: s.Test, span: s.Span) -> None:
        word = "is not null" if test.op is Op.NE else "is null"
        help = f"write `{word}`, or `given` and `missing` where the value may be left out"
        self._report.error(Code.NULL_COMPARISON, f"`{test.op.value}` cannot compare with null", span, help)

    def _constant(
        self, test: s.Test, right: s.Literal | s.ListLiteral, span: s.Span, facet: Facet | None, *, usable: bool
    ) -> None:
        op = test.op
        values = right.items if isinstance(right, s.ListLiteral) else (right,)
        if isinstance(right, s.ListLiteral):
            check_list(right, self._report)
            if op in ORDER or op is Op.CONTAINS:
                help = "write `contains any` for a list" if op is Op.CONTAINS else "compare with one value"
                self._report.error(Code.WRONG_TYPE, f"`{op.value}` takes no list", span, help)
                return
        elif op in (Op.IN, Op.CONTAINS_ANY):
            shown = "`==`" if op is Op.IN else "`contains`"
            message = f"`{op.value}` takes a list, a `known` or a path"
            self._report.error(Code.WRONG_TYPE, message, span, f"write {shown}, or brackets around the value")
            return
        for item in values:
            if isinstance(item, s.Literal) and usable:
                place = item.span if isinstance(test.right, s.ListLiteral) else span
                if facet is not None:
                    check_literal(test, facet, item, self._context, place, self._report)
                if facet is None or op is Op.MATCHES:
                    self._value(test, item, place)

    def _value(self, test: s.Test, item: s.Literal, span: s.Span) -> None:
        is_text = isinstance(item.value, str)
        is_number = isinstance(item.value, int | float) and not isinstance(item.value, bool)
        wanted = "number" if test.op in ORDER else "string" if test.op in _TEXTS else ""
        if (wanted == "string" and not is_text) or (wanted == "number" and not is_number):
            message = f"`{test.op.value}` wants {_VALUE[wanted]} here"
            self._report.error(Code.WRONG_TYPE, message, span, "no value is turned into another type")
        elif test.op is Op.LIKE and is_text:
            check_pattern(item, span, self._report)
        elif test.op is Op.MATCHES and is_text:
            check_regex(item, span, self._report)
        elif (
            test.ignoring_case
            and test.op in _FOLDING
            and not is_text
            and not isinstance(test.right, s.ListLiteral | s.Name)
        ):
            message = "`ignoring case` has no effect without a string"
            self._report.error(Code.SUPERFLUOUS, message, test.span, "leave it out")


def _names_one(parts: tuple[s.PathPart, ...], names: tuple[str, ...]) -> bool:
    return len(parts) == 1 and isinstance(parts[0], s.Key) and parts[0].name in names


def _several(path: s.Path) -> str:
    """The first part of a path that stands for several values, as it is written."""
    part = next(part for part in path.parts if isinstance(part, s.Each | s.Values))
    return "`[]`" if isinstance(part, s.Each) else "`.*`"


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def check_subject(subject: s.Subject, names: DefinedNames, report: DiagnosticReport) -> None:
    """Checks the patterns of a subject, and the lists that it names."""
    for group in subject.groups:
        for pattern in group.patterns:
            if isinstance(pattern, s.Literal):
                check_pattern(pattern, pattern.span, report, target=True)
                continue
            found = names.find(pattern, f'write a pattern in double quotes: `"{pattern.text}"`')
            if isinstance(found, s.Known | s.Condition | s.NamedLimit):
                message = f"`{pattern.text}` is {sort_of(found)}; a subject takes strings and lists of strings"
                report.error(Code.WRONG_SORT, message, pattern.span, "name a `let` list")
            elif found is not None and isinstance(found.value, s.Literal | s.ListLiteral):
                items = found.value.items if isinstance(found.value, s.ListLiteral) else (found.value,)
                for item in items:
                    if isinstance(item, s.Literal) and isinstance(item.value, str):
                        check_pattern(item, pattern.span, report, target=True)
                    elif isinstance(item, s.Literal):
                        message = f"`{pattern.text}` holds a value that is no string; patterns are strings"
                        report.error(Code.WRONG_TYPE, message, pattern.span, f"line {item.span.line} holds it")
                        break
