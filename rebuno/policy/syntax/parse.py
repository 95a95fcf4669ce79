"""Parses the text of a bundle to its syntax tree. Every node has its place.

After an error the parser continues at the next statement or clause keyword that starts a line.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeVar

from lark.exceptions import UnexpectedInput
from lark.lexer import Token
from lark.tree import Tree

from rebuno.policy.syntax import literals, recovery
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.converted import CONVERTED, read_rules
from rebuno.policy.syntax.diagnostics import MOST, Code, Diagnostic, ordered
from rebuno.policy.syntax.errors import explain_syntax_error
from rebuno.policy.syntax.keywords import ROOT_WORDS
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tables import PIECES, WHOLE, parser
from rebuno.policy.syntax.text import Lines, comments, refused

LARGEST: Final = 1 << 20  # bytes of a bundle
LARGEST_CONVERTED: Final = 1 << 26  # bytes of the rules that a YAML bundle is converted to
DEEPEST_TREE: Final = 100  # parentheses and `not` around a test

_VERDICTS: Final = {"ALLOW": "allow", "DENY": "deny", "APPROVAL": "require_approval"}
_TREE = Tree[Token]
_T = TypeVar("_T")


def parse_bundle(source: Source) -> tuple[s.Bundle, list[Diagnostic]]:
    """The bundle of a text, and the diagnostics about its syntax, in the order of the file.

    After an error the bundle holds the statements that could be read. No text raises an exception.
    """
    bundle, found = _parsed(source)
    return bundle, list(found)


# The checker and the compiler parse the same texts, and bundles use the same libraries.
@lru_cache(maxsize=32)
def _parsed(source: Source) -> tuple[s.Bundle, tuple[Diagnostic, ...]]:
    text = source.text.removeprefix("\ufeff")
    lines = Lines(text, source.path)
    size = len(text.encode("utf-8", "surrogatepass"))
    converted = source.path.endswith(CONVERTED)
    largest = LARGEST_CONVERTED if converted else LARGEST
    if size > largest:
        message = f"the file has {size:,} bytes; at most {largest:,} are read"
        found = Diagnostic(Code.FILE_TOO_BIG, message, lines.span(0, 0), source.path, "split it into layers")
        return s.Bundle(source.stem, (), path=source.path, text=text, whole=False), (found,)
    clean, findings = refused(lines, source.path, MOST + 1)
    reading = _RecoveredBundle(clean, lines, source.path, findings)
    quickly = read_rules(clean, lines) if converted and not findings else None
    statements = reading.all() if quickly is None else quickly
    name = next((line.name.text for line in statements if isinstance(line, s.BundleLine)), source.stem)
    bundle = s.Bundle(
        name,
        tuple(statements),
        comments(clean, lines),
        source.path,
        text,
        whole=not findings,
        broken=frozenset(reading.broken),
    )
    return bundle, tuple(ordered(findings))


class _RecoveredBundle:
    """Parses one text piece by piece. Collects diagnostics, and the names that unreadable statements define."""

    def __init__(self, text: str, lines: Lines, path: str, findings: list[Diagnostic]) -> None:
        self.text = text
        self.lines = lines
        self.path = path
        self.findings = findings
        self.broken: set[str] = set()

    def all(self) -> list[s.Statement]:
        """All statements that can be read."""
        piece = (0, len(self.text))
        try:
            tree = parser(WHOLE).parse(self.text)
        except UnexpectedInput as error:
            before = len(self.findings)
            statements = list(self._recovered())
            if len(self.findings) == before:
                self.findings.append(explain_syntax_error(error, self.text, self.lines, self.path, piece, 0))
            return statements
        build = _Builder(self, 0)
        return [build.statement(child) for child in _trees(tree)]

    def _recovered(self) -> Iterator[s.Statement]:
        for piece in recovery.statements(self.text):
            if len(self.findings) > MOST:
                return
            tree = self._read("statement", piece, piece[0])
            if isinstance(tree, Diagnostic):
                inner = self._clauses(piece) if recovery.is_rule(self.text, piece) else []
                self.findings.extend(inner or [tree])
                self.broken |= recovery.defined(self.text, piece)
            else:
                yield _Builder(self, piece[0]).statement(_trees(tree)[0])

    def _clauses(self, rule: recovery.Piece) -> list[Diagnostic]:
        parts = recovery.clauses(self.text, rule)
        if len(parts) == 1:
            return []
        found: list[Diagnostic] = []
        for number, part in enumerate(parts):
            if len(found) > MOST:
                break
            last = number == len(parts) - 1
            start = "rule_open" if number == 0 else "rule_end" if last else "rule_part"
            tree = self._read(start, part, rule[0] if last else part[0])
            if isinstance(tree, Diagnostic):
                found.append(tree)
        return found

    def _read(self, start: str, piece: recovery.Piece, outer: int) -> "_TREE | Diagnostic":
        try:
            return parser(PIECES).parse(self.text[slice(*piece)], start)
        except UnexpectedInput as error:
            return explain_syntax_error(error, self.text, self.lines, self.path, piece, outer)


def _trees(tree: _TREE, *names: str) -> list[_TREE]:
    return [child for child in tree.children if isinstance(child, Tree) and (not names or child.data in names)]


def _tokens(tree: _TREE, *types: str) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token) and (not types or child.type in types)]


class _Builder:
    """Turns parser trees into nodes. `base` is the offset of the parsed piece in the text."""

    def __init__(self, reading: _RecoveredBundle, base: int) -> None:
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
                because = [self._strings(child)[0] for child in _trees(tree)]
                return s.Default(_VERDICTS[_tokens(tree)[0].type], because[0] if because else None, span)
            case "let":
                return self._let(tree, span)
            case "use":
                return s.Use(self._strings(tree)[0], span)
            case "workdir":
                return s.Workdir(self._strings(tree)[0], span)
            case "home":
                return s.Home(self._strings(tree)[0], span)
            case "known":
                return s.Known(self._name(_tokens(tree)[0]), tuple(map(self._source, _trees(tree))), span)
            case "condition":
                return s.Condition(self._name(_tokens(tree)[0]), self._expr(_trees(tree)[0]), span)
            case _:
                head, *clauses = _trees(tree)
                verdict = _VERDICTS[_tokens(head)[0].type]
                subject = self._subject(_trees(head)[0])
                bodies = tuple(map(self._clause, clauses))
                return s.Rule(self._name(_tokens(tree)[0]), verdict, subject, bodies, span, self._span(head))

    def _let(self, tree: _TREE, span: s.Span) -> s.Statement:
        name, *literal = _tokens(tree)
        value: s.Literal | s.NullLiteral | s.ListLiteral | s.FileValue
        if literal:
            value = self._literal(literal[0])
        else:
            child = _trees(tree)[0]
            value = (
                s.FileValue(self._strings(child)[0], self._span(child)) if child.data == "file" else self._list(child)
            )
        return s.Let(self._name(name), value, span)

    def _subject(self, tree: _TREE) -> s.Subject:
        groups = []
        for kind in _trees(tree):
            word, *patterns = _tokens(kind)
            nodes = tuple(self._name(token) if token.type == "NAME" else self._string(token) for token in patterns)
            groups.append(s.KindPatterns(str(word), nodes, self._span(kind)))
        return s.Subject(tuple(groups), self._span(tree))

    def _clause(self, tree: _TREE) -> s.Clause:
        span = self._span(tree)
        match tree.data:
            case "when":
                return s.When(self._expr(_trees(tree)[0]), span)
            case "unless":
                return s.Unless(self._expr(_trees(tree)[0]), span)
            case "because":
                return s.Because(self._strings(tree)[0], span)
            case "limit":
                return self._limit(tree, span)
            case "budget":
                otherwise, _ = self._otherwise(tree)
                return s.BudgetClause(self._whole(_tokens(tree)[0]), otherwise, span)
            case "approvers":
                return s.Approvers(self._strings(tree), span)
            case "quorum":
                return s.Quorum(self._whole(_tokens(tree)[0]), span)
            case "expires":
                return s.Expires(self._duration(_tokens(tree)[0]), span)
            case _:
                return s.Message(self._strings(tree)[0], span)

    def _limit(self, tree: _TREE, span: s.Span) -> s.LimitClause:
        number, per = _tokens(tree)
        window = self._duration(per) if per.type == "DURATION" else None
        scopes = [str(_tokens(child)[0]) for child in _trees(tree, "scope")]
        scope = scopes[0].replace("all", "global") if scopes else "execution"
        otherwise, wait = self._otherwise(tree)
        unavailable = [str(_tokens(child)[0]) for child in _trees(tree, "unavailable")]
        last = unavailable[0] if unavailable else ""
        return s.LimitClause(self._whole(number), window, scope, otherwise, wait, last, span)

    def _otherwise(self, tree: _TREE) -> tuple[str, s.Duration | None]:
        for child in _trees(tree, "otherwise"):
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
                return s.And(tuple(self._expr(child, depth) for child in _trees(tree)), span)
            case "or_":
                return s.Or(tuple(self._expr(child, depth) for child in _trees(tree)), span)
            case "not_":
                return s.Not(self._expr(_trees(tree)[0], depth + 1), span)
            case "parens":
                return self._expr(_trees(tree)[0], depth + 1)
            case "condition_ref":
                return s.ConditionRef(self._name(_tokens(tree)[0]), span)
            case "after":
                return s.After(self._subject(_trees(tree)[0]), self._where(tree, depth), span)
            case "count":
                sign, number = _tokens(tree)
                subject = self._subject(_trees(tree)[0])
                return s.Count(subject, self._where(tree, depth), s.Op(str(sign)), self._whole(number), span)
            case "during":
                return s.During(self._strings(tree)[0], span)
            case _:
                return self._test(tree, span, depth)

    def _where(self, tree: _TREE, depth: int) -> s.Expr | None:
        for child in _trees(tree, "where"):
            return self._expr(_trees(child)[0], depth + 1)
        return None

    def _test(self, tree: _TREE, span: s.Span, depth: int) -> s.Test:
        operand = self._operand(_trees(tree)[0])
        negated = bool(_tokens(tree, "NOT"))
        fold = bool(_trees(tree, "ignoring"))
        words = [token for token in _tokens(tree) if token.type != "NOT"]
        match tree.data:
            case "presence":
                return s.Test(operand, s.Op(str(words[0])), None, span)
            case "is_":
                return s.Test(operand, s.Op.IS, s.Literal(str(words[1]), self._place(words[1])), span, negated)
            case "has":
                block = self._expr(_trees(tree)[1], depth + 1)
                return s.Test(operand, s.Op.HAS, None, span, block=block)
            case "contains_any":
                op, rest = s.Op.CONTAINS_ANY, words[2:]
            case _:
                word = str(words[0])
                op, rest = s.Op(f"{word} with" if word in ("starts", "ends") else word), words[1:]
        right = self._literal(rest[0]) if rest else self._right(_trees(tree, "list", "value")[0])
        return s.Test(operand, op, right, span, negated, fold)

    def _right(self, tree: _TREE) -> s.Right:
        if tree.data == "list":
            return self._list(tree)
        child = _trees(tree)[0]
        path = self._path(child) if child.data == "path" else None
        if path is not None and path.root not in ROOT_WORDS and not path.parts:
            return s.Name(path.root, path.span)
        facets, node = self._facets(child, "own_facet")
        return s.Operand(None, facets, (self._path(node),), self._span(tree))

    # ------------------------------------------------------------ operands

    def _operand(self, tree: _TREE) -> s.Operand:
        words = _tokens(tree)
        facets, node = self._facets(_trees(tree)[0], "facet")
        paths = [node] if node.data == "path" else _trees(node)
        quantifier = s.Quantifier(str(words[0])) if words else None
        return s.Operand(quantifier, facets, tuple(map(self._path, paths)), self._span(tree))

    def _facets(self, tree: _TREE, kind: str) -> tuple[tuple[s.Name, ...], _TREE]:
        facets: list[s.Name] = []
        while tree.data == kind and _tokens(tree):
            facets.append(self._name(_tokens(tree)[0]))
            tree = _trees(tree)[0]
        return tuple(facets), tree

    def _path(self, tree: _TREE) -> s.Path:
        root, *_ = _tokens(tree, "NAME")
        return s.Path(str(root), self._parts(tree.children[1:]), self._span(tree))

    def _parts(self, children: "list[Token | _TREE]") -> tuple[s.PathPart, ...]:
        parts: list[s.PathPart] = []
        for child in children:
            if isinstance(child, Token):
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
        subject = self._subject(_trees(tree, "subject")[0])
        ats = tuple(self._at(at) for group in _trees(tree, "ats") for at in _trees(group))
        if tree.data == "approved":
            return s.ApprovedSource(subject, ats, span)
        return s.ResultSource(subject, ats, self._where(tree, 0), span)

    def _at(self, tree: _TREE) -> s.At:
        facets, node = self._facets(tree, "at")
        relative = _trees(node)[0] if node.data == "at" else node
        return s.At(facets, s.Path("", self._parts(relative.children), self._span(relative)), self._span(tree))
