"""Turns the trees of the parser into the nodes of `tree.py`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from lark.lexer import Token
from lark.tree import Tree

from rebuno.policy.syntax import literals
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.diagnostics import Code, Diagnostic
from rebuno.policy.syntax.keywords import ROOT_WORDS
from rebuno.policy.syntax.text import Lines

DEEPEST_TREE: Final = 100  # parentheses and `not` around a test

_VERDICTS: Final = {"ALLOW": "allow", "DENY": "deny", "APPROVAL": "require_approval"}
_TREE = Tree[Token]
_T = TypeVar("_T")
_PAST = TypeVar("_PAST", s.After, s.Count, s.Sum)


class PieceReading(Protocol):
    """What the builder needs to know of the text, and where it leaves what it finds."""

    lines: Lines
    path: str
    findings: list[Diagnostic]


def trees(tree: _TREE, *names: str) -> list[_TREE]:
    return [child for child in tree.children if isinstance(child, Tree) and (not names or child.data in names)]


def _paths(tree: _TREE) -> list[_TREE]:
    """The paths of `path` or of `paths` in parentheses."""
    return [tree] if tree.data == "path" else trees(tree)


def _tokens(tree: _TREE, *types: str) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token) and (not types or child.type in types)]


class NodeBuilder:
    """Turns parser trees into nodes. `base` is the offset of the parsed piece in the text."""

    def __init__(self, reading: PieceReading, base: int) -> None:
        self._reading = reading
        self._base = base

    # ------------------------------------------------------------ places and leaves

    def _span(self, tree: _TREE) -> s.Span:
        return self._reading.lines.span(self._base + tree.meta.start_pos, self._base + tree.meta.end_pos)

    def _place(self, token: Token) -> s.Span:
        start = self._base + (token.start_pos or 0)
        return self._reading.lines.span(start, start + len(token))

    def _value(
        self, token: Token, read: Callable[[str], _T], otherwise: _T, start: int = 0, end: int | None = None
    ) -> _T:
        try:
            return read(token[start:end])
        except literals.LiteralError as error:
            at = self._base + (token.start_pos or 0)
            span = self._reading.lines.span(at + error.start, at + error.end)
            self._reading.findings.append(Diagnostic(error.code, error.message, span, self._reading.path, error.help))
            return otherwise

    def _name(self, token: Token) -> s.Name:
        return s.Name(str(token), self._place(token))

    def _string(self, token: Token) -> s.Literal:
        return s.Literal(self._value(token, literals.string, ""), self._place(token), raw=token.startswith("r"))

    def _strings(self, tree: _TREE) -> tuple[s.Literal, ...]:
        return tuple(self._string(token) for token in _tokens(tree, "STRING"))

    def _whole(self, token: Token) -> int:
        return self._value(token, literals.whole, 1)

    def _duration(self, token: Token) -> s.Duration:
        return s.Duration(str(token), self._value(token, literals.parse_duration, 1), self._place(token))

    def _literal(self, token: Token) -> s.Literal | s.NullLiteral:
        place = self._place(token)
        match token.type:
            case "STRING":
                return self._string(token)
            case "NUMBER":
                return s.Literal(self._value(token, literals.number, 1.0), place)
            case "NULL":
                return s.NullLiteral(place)
            case _:
                return s.Literal(token.type == "TRUE", place)

    def _list(self, tree: _TREE) -> s.ListLiteral:
        return s.ListLiteral(tuple(self._literal(token) for token in _tokens(tree)), self._span(tree))

    # ------------------------------------------------------------ statements and rules

    def statement(self, tree: _TREE) -> s.Statement:
        """The node of one statement."""
        span = self._span(tree)
        match tree.data:
            case "bundle":
                number = _tokens(tree, "NUMBER")
                return s.BundleLine(self._name(_tokens(tree)[0]), self._whole(number[0]) if number else None, span)
            case "default":
                because = [self._plain(child) for child in trees(tree)]
                return s.Default(_VERDICTS[_tokens(tree)[0].type], because[0] if because else None, span)
            case "let":
                return self._let(tree, span)
            case "use":
                return s.Use(self._strings(tree)[0], span)
            case "workdir":
                return s.Workdir(next(iter(self._strings(tree)), None), span)
            case "home":
                return s.Home(self._strings(tree)[0], span)
            case "zone":
                return s.Zone(self._strings(tree)[0], span)
            case "effects":
                token = _tokens(tree)[0]
                source = self._name(token) if token.type == "NAME" else self._strings(tree)[0]
                return s.EffectTables(source, span=span)
            case "named_limit":
                return s.NamedLimit(self._name(_tokens(tree)[0]), self._limit(tree, span), span)
            case "never":
                return self._never(tree, span)
            case "secret":
                subjects = [self._subject(child) for child in trees(tree, "subject")]
                paths = tuple(self._path(child) for child in trees(tree, "path"))
                return s.Secret(subjects[0] if subjects else None, paths, span)
            case "known":
                return s.Known(self._name(_tokens(tree)[0]), tuple(map(self._source, trees(tree))), span)
            case "condition":
                return s.Condition(self._name(_tokens(tree)[0]), self._expr(trees(tree)[0]), span)
            case _:
                head, *clauses = trees(tree)
                verdict, subject = self._head(head)
                bodies = tuple(map(self._clause, clauses))
                return s.Rule(self._name(_tokens(tree)[0]), verdict, subject, bodies, span, self._span(head))

    def _head(self, head: _TREE) -> tuple[str, s.Subject]:
        return _VERDICTS[_tokens(head)[0].type], self._subject(trees(head)[0])

    def _never(self, tree: _TREE, span: s.Span) -> s.Statement:
        head, *rest = trees(tree)
        verdict, subject = self._head(head)
        when = because = None
        for part in rest:
            if part.data == "when":
                when = self._expr(trees(part)[0])
            else:
                because = self._plain(part)
        return s.Never(verdict, subject, when, because, span, self._span(head))

    def _let(self, tree: _TREE, span: s.Span) -> s.Statement:
        name, *literal = _tokens(tree)
        value: s.Literal | s.NullLiteral | s.ListLiteral | s.FileValue
        if literal:
            value = self._literal(literal[0])
        else:
            child = trees(tree)[0]
            value = (
                s.FileValue(self._strings(child)[0], self._span(child)) if child.data == "file" else self._list(child)
            )
        return s.Let(self._name(name), value, span)

    def _subject(self, tree: _TREE) -> s.Subject:
        groups = []
        for kind in trees(tree):
            word, *patterns = _tokens(kind)
            nodes = tuple(self._name(token) if token.type == "NAME" else self._string(token) for token in patterns)
            groups.append(s.KindPatterns(str(word), nodes, self._span(kind)))
        return s.Subject(tuple(groups), self._span(tree))

    def _clause(self, tree: _TREE) -> s.Clause:
        span = self._span(tree)
        match tree.data:
            case "when":
                return s.When(self._expr(trees(tree)[0]), span)
            case "unless":
                return s.Unless(self._expr(trees(tree)[0]), span)
            case "because":
                return s.Because(self._text(_tokens(tree)[0]), span)
            case "limit":
                return self._limit(tree, span)
            case "budget":
                otherwise, _ = self._otherwise(tree)
                number, per = _tokens(tree)
                return s.BudgetClause(self._whole(number), otherwise, span, str(per))
            case "approvers":
                names = (self._name(token) if token.type == "NAME" else self._string(token) for token in _tokens(tree))
                return s.Approvers(tuple(names), span)
            case "quorum":
                return s.Quorum(self._whole(_tokens(tree)[0]), span)
            case "expires":
                return s.Expires(self._duration(_tokens(tree)[0]), span)
            case "edits":
                return s.Edits(tuple(map(self._path, trees(tree))), span)
            case _:
                return s.Message(self._text(_tokens(tree)[0]), span)

    def _limit(self, tree: _TREE, span: s.Span) -> s.LimitClause:
        otherwise, wait = self._otherwise(tree)
        unavailable = [str(_tokens(child)[0]) for child in trees(tree, "unavailable")]
        last = unavailable[0] if unavailable else ""
        words = _tokens(tree, "NUMBER", "EXECUTION", "SESSION", "DURATION")
        if not words:
            named = self._name(_tokens(tree)[0])
            return s.LimitClause(0, None, "execution", otherwise, wait, last, span, named=named)
        number, per = words
        window = self._duration(per) if per.type == "DURATION" else None
        scope, key = self._scope(tree, "session" if per.type == "SESSION" else "execution")
        measures = trees(tree, "measure")
        measure = tuple(self._path(path) for path in _paths(trees(measures[0])[0])) if measures else ()
        amount = self._value(number, literals.number, 1.0) if measure else self._whole(number)
        return s.LimitClause(amount, window, scope, otherwise, wait, last, span, measure, key)

    def _scope(self, tree: _TREE, otherwise: str) -> tuple[str, s.Path | None]:
        for child in trees(tree, "scope"):
            if paths := trees(child):
                return "key", self._path(paths[0])
            return str(_tokens(child)[0]).replace("all", "global"), None
        return otherwise, None

    def _plain(self, because: _TREE) -> s.Literal:
        text = self._text(_tokens(because)[0])
        if isinstance(text, s.Literal):
            return text
        help = "no submission is at hand here: write a plain string"
        self._reading.findings.append(
            Diagnostic(
                Code.MISPLACED_CLAUSE, 'an `f"…"` is allowed in a rule only', text.span, self._reading.path, help
            )
        )
        return s.Literal("", text.span)

    def _text(self, token: Token) -> s.Literal | s.Filled:
        if token.type == "STRING":
            return self._string(token)
        parts: list[s.Literal | s.Path] = []
        nothing: tuple[tuple[int, int, bool], ...] = ()
        for start, end, is_path in self._value(token, literals.filled_parts, nothing):
            place = self._base + (token.start_pos or 0)
            span = self._reading.lines.span(place + start, place + end)
            if is_path:
                parts.append(self._filled_path(token[start:end], span))
            else:
                text = self._value(token, literals.filled_text, "", start, end)
                parts.append(s.Literal(text, span))
        return s.Filled(tuple(parts), self._place(token))

    def _filled_path(self, text: str, span: s.Span) -> s.Path:
        root, *parts = text.replace("[", ".").replace("]", "").split(".")
        return s.Path(root, tuple(s.Index(int(part)) if part.isdigit() else s.Key(part) for part in parts), span)

    def _otherwise(self, tree: _TREE) -> tuple[str, s.Duration | None]:
        for child in trees(tree, "otherwise"):
            word, *duration = _tokens(child)
            text = "require approval" if word.type == "APPROVAL" else str(word)
            return text, self._duration(duration[0]) if duration else None
        return "", None

    # ------------------------------------------------------------ expressions

    def _expr(self, tree: _TREE, depth: int = 0) -> s.Expr:
        span = self._span(tree)
        if depth > DEEPEST_TREE:
            message = f"more than {DEEPEST_TREE} parentheses and `not` around one test"
            help = "name a part of it with `condition`"
            self._reading.findings.append(Diagnostic(Code.TOO_DEEP, message, span, self._reading.path, help))
            return s.ConditionRef(s.Name("", span), span)
        match tree.data:
            case "and_":
                return s.And(tuple(self._expr(child, depth) for child in trees(tree)), span)
            case "or_":
                return s.Or(tuple(self._expr(child, depth) for child in trees(tree)), span)
            case "not_":
                return s.Not(self._expr(trees(tree)[0], depth + 1), span)
            case "parens":
                return self._expr(trees(tree)[0], depth + 1)
            case "condition_ref":
                return s.ConditionRef(self._name(_tokens(tree)[0]), span)
            case "after":
                return self._bounded(s.After(*self._past(tree, depth), span), tree, depth)
            case "count":
                sign, number = _tokens(tree)
                count = s.Count(*self._past(tree, depth), s.Op(str(sign)), self._whole(number), span)
                return self._bounded(count, tree, depth)
            case "sum":
                return self._sum(tree, span, depth)
            case "during":
                return s.During(self._strings(tree)[0], span)
            case _:
                return self._test(tree, span, depth)

    def _past(self, tree: _TREE, depth: int) -> tuple[s.Subject, s.Expr | None]:
        return self._subject(trees(tree, "subject")[0]), self._where(tree, depth)

    def _bounded(self, past: _PAST, tree: _TREE, depth: int) -> _PAST:
        since = within = None
        for child in trees(tree, "since"):
            since = s.Since(*self._past(child, depth), self._span(child))
        for child in trees(tree, "within"):
            within = self._duration(_tokens(child)[0])
        return replace(past, who=self._who(tree), since=since, within=within)

    def _who(self, tree: _TREE) -> str:
        for child in trees(tree, "who"):
            return str(_tokens(child)[0])
        return ""

    def _sum(self, tree: _TREE, span: s.Span, depth: int) -> s.Sum:
        subject, where = self._past(tree, depth)
        sign, number = _tokens(tree)
        ats = tuple(self._rooted(self._at(at)) for at in trees(trees(tree, "ats")[0]))
        plus = [self._path(child) for child in trees(tree, "path")]
        amount = self._value(number, literals.number, 1.0)
        total = s.Sum(subject, ats, where, s.Op(str(sign)), amount, span, plus[0] if plus else None)
        return self._bounded(total, tree, depth)

    def _rooted(self, at: s.At) -> s.At:
        # In a sum the first word of a path is its root.
        first, *rest = at.path.parts
        if isinstance(first, s.Key) and not first.quoted:
            return s.At(at.facets, s.Path(first.name, tuple(rest), at.path.span), at.span)
        return at

    def _where(self, tree: _TREE, depth: int) -> s.Expr | None:
        for child in trees(tree, "where"):
            return self._expr(trees(child)[0], depth + 1)
        return None

    def _test(self, tree: _TREE, span: s.Span, depth: int) -> s.Test:
        operand = self._operand(trees(tree)[0])
        negated = bool(_tokens(tree, "NOT"))
        fold = bool(trees(tree, "ignoring"))
        words = [token for token in _tokens(tree) if token.type != "NOT"]
        match tree.data:
            case "presence":
                return s.Test(operand, s.Op(str(words[0])), None, span)
            case "is_":
                return s.Test(operand, s.Op.IS, s.Literal(str(words[1]), self._place(words[1])), span, negated)
            case "has":
                block = self._expr(trees(tree)[1], depth + 1)
                return s.Test(operand, s.Op.HAS, None, span, block=block)
            case "contains_any":
                op, rest = s.Op.CONTAINS_ANY, words[2:]
            case _:
                word = str(words[0])
                op, rest = s.Op(f"{word} with" if word in ("starts", "ends") else word), words[1:]
        right = self._literal(rest[0]) if rest else self._right(trees(tree, "list", "value")[0])
        return s.Test(operand, op, right, span, negated, fold)

    def _right(self, tree: _TREE) -> s.Right:
        if tree.data == "list":
            return self._list(tree)
        child = trees(tree)[0]
        path = self._path(child) if child.data == "path" else None
        if path is not None and path.root not in ROOT_WORDS and not path.parts:
            return s.Name(path.root, path.span)
        facets, node = self._facets(child, "own_facet")
        return s.Operand(None, facets, (self._path(node),), self._span(tree))

    # ------------------------------------------------------------ operands

    def _operand(self, tree: _TREE) -> s.Operand:
        words = _tokens(tree)
        facets, node = self._facets(trees(tree)[0], "facet")
        paths = _paths(node)
        quantifier = s.Quantifier(str(words[0])) if words else None
        return s.Operand(quantifier, facets, tuple(map(self._path, paths)), self._span(tree))

    def _facets(self, tree: _TREE, kind: str) -> tuple[tuple[s.FacetName, ...], _TREE]:
        facets: list[s.FacetName] = []
        while tree.data == kind and _tokens(tree):
            name, *texts = _tokens(tree)
            one: s.FacetName = self._name(name)
            for text in texts:
                argument = self._string(text)
                one = s.FacetWithText(s.Name(one.text, one.span), argument, one.span.to(argument.span))
            facets.append(one)
            tree = trees(tree)[0]
        return tuple(facets), tree

    def _path(self, tree: _TREE) -> s.Path:
        root, *_ = _tokens(tree, "NAME")
        return s.Path(str(root), self._parts(tree.children[1:]), self._span(tree))

    def _parts(self, children: "list[Token | _TREE]") -> tuple[s.PathPart, ...]:
        parts: list[s.PathPart] = []
        for child in children:
            if isinstance(child, Token) and child.type in ("VALUES", "EACH_VALUE"):
                parts.append(s.Values())
            elif isinstance(child, Token):
                parts.append(s.Key(child.removeprefix(".")))
            elif not child.children:
                parts.append(s.Each())
            else:
                inside = _tokens(child)[0]
                if inside.type == "STRING":
                    parts.append(s.Key(self._value(inside, literals.string, ""), quoted=True))
                else:
                    parts.append(s.Index(self._value(inside, literals.whole, 0)))
        return tuple(parts)

    # ------------------------------------------------------------ sources of known values

    def _source(self, tree: _TREE) -> s.KnownSource:
        span = self._span(tree)
        if tree.data == "list":
            return s.ListSource(self._list(tree), span)
        if tree.data == "path":
            path = self._path(tree)
            named = path.root != "input" and not path.parts
            return s.ListSource(s.Name(path.root, span), span) if named else s.InputSource(path, span)
        subject = self._subject(trees(tree, "subject")[0])
        words = trees(tree, "words")
        ats = tuple(self._at(at) for group in trees(words[0] if words else tree, "ats") for at in trees(group))
        if tree.data == "approved":
            return s.ApprovedSource(subject, ats, span)
        return s.ResultSource(subject, ats, self._where(tree, 0), span, self._who(tree), bool(words))

    def _at(self, tree: _TREE) -> s.At:
        facets, node = self._facets(tree, "at")
        relative = trees(node)[0] if node.data == "at" else node
        return s.At(facets, s.Path("", self._parts(relative.children), self._span(relative)), self._span(tree))
