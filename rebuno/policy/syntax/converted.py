"""A fast parser for the rules that a YAML bundle is converted to. It costs a tenth of the grammar.

Such rules use a small part of the language. For a text outside of that part the result is None, and the grammar parses
the text. Both parsers give the same tree with the same places.
"""

import re
from typing import Final

from rebuno.policy.syntax import literals
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.text import Lines, Place

# The suffix of the path of a converted text.
CONVERTED: Final = " (as rules)"

_TOKEN: Final = re.compile(
    r'[ \n]*(?:(?P<text>r"[^"\n]*"|"(?:[^"\\\n]|\\.)*")|(?P<word>[A-Za-z_][A-Za-z0-9_-]*)'
    r"|(?P<time>[0-9]+[a-z][a-z0-9]*)|(?P<count>[0-9]+(?![A-Za-z0-9_.]))|(?P<sign>==|[][(){},.]))"
)
# `any text of args.a["b"]`, and `is not list` behind it: most of what such rules hold, each in one look.
_OPERAND: Final = re.compile(
    r"(?:(any|no)[ \n]+(text)[ \n]+of[ \n]+)?((args|target|agent)(?![A-Za-z0-9_-])"
    r'((?:\.[A-Za-z_][A-Za-z0-9_]*(?!-)|\["(?:[^"\\\n]|\\.)*"\])*))'
)
# A whole test as most of them are written, with the text on its right.
_TEST: Final = re.compile(
    rf"{_OPERAND.pattern} (?:(==|contains|matches) "
    r'(?:(r"[^"\n]*")|("(?:[^"\\\n]|\\.)*"))|is (not )?(list|object|null)(?![A-Za-z0-9_-]))'
)
_JOINT: Final = re.compile(r"[ \n]+(and|or)(?![A-Za-z0-9_-])")
_SPACE: Final = re.compile(r"[ \n]*")
_PART: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_]*)|\[("(?:[^"\\\n]|\\.)*")\]')
_IS: Final = re.compile(r"[ \n]+is[ \n]+(?:(not)[ \n]+)?(list|object|null)(?![A-Za-z0-9_-])")
_BLANK: Final = re.compile(r"(?:[ \n]|#[^\n]*\n)*")
_VERDICTS: Final = {"allow": "allow", "deny": "deny", "require": "require_approval"}
_KINDS: Final = frozenset(("tool", "llm", "local"))
_OPS: Final = {"==": s.Op.EQ, "contains": s.Op.CONTAINS, "matches": s.Op.MATCHES}
_QUANTIFIERS: Final = {"any": s.Quantifier.ANY, "no": s.Quantifier.NO}
_DEEPEST: Final = 20
_LONGEST_COUNT: Final = 15  # digits

_Token = tuple[str, str, int, int]


class _NotConvertedError(Exception):
    """The text needs the grammar."""


def read_rules(text: str, lines: Lines) -> list[s.Statement] | None:
    """The statements of the text; None if it holds more than converted rules."""
    try:
        return _Rules(text, lines).all()
    except (_NotConvertedError, literals.LiteralError):
        return None


class _Rules:
    def __init__(self, text: str, lines: Lines) -> None:
        self.text = text
        self.lines = lines
        self.at = 0
        self.end = 0  # of the last token taken
        self.next: _Token | None = None
        # Few ways are asked about, each in many rules.
        self.parts: dict[str, tuple[s.PathPart, ...]] = {}
        # And few texts are compared with, each several times.
        self.texts: dict[str, str] = {}

    # ------------------------------------------------------------ tokens

    def peek(self) -> _Token:
        if self.next is None:
            match = _TOKEN.match(self.text, self.at)
            if match is None or match.lastgroup is None:
                raise _NotConvertedError
            start, end = match.span(match.lastgroup)
            self.next = (match.lastgroup, match[match.lastgroup], start, end)
            self.at = end
        return self.next

    def take(self, *values: str) -> _Token:
        token = self.peek()
        if values and (token[0] == "text" or token[1] not in values):
            raise _NotConvertedError
        self.next = None
        self.end = token[3]
        return token

    def sees(self, *values: str) -> bool:
        token = self.peek()
        return token[0] != "text" and token[1] in values

    def words(self, *values: str) -> None:
        for value in values:
            self.take(value)

    def span(self, start: int) -> s.Span:
        return self.place(start, self.end)

    def place(self, start: int, end: int) -> s.Span:
        return Place(start, end, self.lines)

    def name(self) -> s.Name:
        kind, value, start, _ = self.take()
        if kind != "word":
            raise _NotConvertedError
        return s.Name(value, self.span(start))

    def string(self) -> s.Literal:
        kind, value, start, _ = self.take()
        if kind != "text":
            raise _NotConvertedError
        return s.Literal(literals.string(value), self.span(start), raw=value[0] == "r")

    # ------------------------------------------------------------ statements

    def all(self) -> list[s.Statement]:
        found: list[s.Statement] = []
        while not self.over():
            _, word, start, _ = self.take("bundle", "default", "rule")
            if word == "bundle":
                name = self.name()
                found.append(s.BundleLine(name, None, self.span(start)))
            elif word == "default":
                verdict = self.take("allow", "deny")[1]
                found.append(s.Default(verdict, None, self.span(start)))
            else:
                found.append(self.rule(start))
        return found

    def over(self) -> bool:
        # Comments are between statements only.
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at == len(self.text)

    def rule(self, start: int) -> s.Rule:
        name = self.name()
        self.take("{")
        word, head = self.peek()[1:3]
        verdict = _VERDICTS[self.take(*_VERDICTS)[1]]
        if word == "require":
            self.words("approval", "for")
        subject = self.subject()
        head_span = self.span(head)
        clauses: list[s.Clause] = []
        while not self.sees("}"):
            clauses.append(self.clause())
        self.take("}")
        return s.Rule(name, verdict, subject, tuple(clauses), self.span(start), head_span)

    def clause(self) -> s.Clause:
        _, word, start, _ = self.take("when", "because", "message", "approvers", "expires", "limit", "budget")
        if word == "when":
            expr = self.expr(0)
            return s.When(expr, self.span(start))
        if word in ("because", "message"):
            text = self.string()
            return (s.Because if word == "because" else s.Message)(text, self.span(start))
        if word == "approvers":
            names = [self.string()]
            while self.sees(","):
                self.take()
                names.append(self.string())
            return s.Approvers(tuple(names), self.span(start))
        if word == "expires":
            duration = self.duration()
            return s.Expires(duration, self.span(start))
        if word == "limit":
            return self.limit(start)
        tokens = self.count()
        self.words("tokens", "per")
        scope = self.take("execution", "session")[1]
        otherwise = ""
        if self.sees("else"):
            self.words("else", "require", "approval")
            otherwise = "require approval"
        return s.BudgetClause(tokens, otherwise, self.span(start), scope)

    def limit(self, start: int) -> s.LimitClause:
        number = self.count()
        self.take("per")
        window, scope, wait = self.duration(), "execution", None
        if self.sees("for"):
            self.take()
            if self.take("each", "all")[1] == "each":
                scope = self.take("agent", "session")[1]
            else:
                self.words("agents", "together")
                scope = "global"
        if self.sees("else"):
            self.words("else", "wait", "up", "to")
            wait = self.duration()
        self.words("if", "unavailable")
        unavailable = self.take("allow", "deny")[1]
        return s.LimitClause(number, window, scope, "wait" if wait else "", wait, unavailable, self.span(start))

    def count(self) -> int:
        kind, value, _, _ = self.take()
        if kind != "count" or len(value) > _LONGEST_COUNT:
            raise _NotConvertedError
        return int(value)

    def duration(self) -> s.Duration:
        kind, value, start, _ = self.take()
        if kind != "time":
            raise _NotConvertedError
        return s.Duration(value, literals.parse_duration(value), self.span(start))

    def subject(self) -> s.Subject:
        first = self.peek()[2]
        if self.sees("any"):
            self.words("any", "step")
            return s.Subject((), self.span(first))
        groups = [self.group()]
        while self.sees("or"):
            self.take()
            groups.append(self.group())
        return s.Subject(tuple(groups), self.span(first))

    def group(self) -> s.KindPatterns:
        _, word, start, _ = self.take(*_KINDS)
        patterns: list[s.Name | s.Literal] = [self.string()]
        while self.sees(","):
            self.take()
            patterns.append(self.string())
        return s.KindPatterns(word, tuple(patterns), self.span(start))

    # ------------------------------------------------------------ expressions

    def begin(self) -> int:
        """Where the next token starts."""
        if self.next is not None:
            return self.next[2]
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at

    def expr(self, depth: int) -> s.Expr:
        start = self.begin()
        parts = [self.part(depth)]
        joint = self.joint()
        if not joint:
            return parts[0]
        there = joint
        while there:
            if there != joint:
                raise _NotConvertedError
            parts.append(self.part(depth))
            there = self.joint()
        return (s.And if joint == "and" else s.Or)(tuple(parts), self.span(start))

    def joint(self) -> str:
        # Behind a test or a parenthesis, where no token has been looked at.
        found = _JOINT.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[1]

    def part(self, depth: int) -> s.Expr:
        start = self.begin()
        if not self.text.startswith("(", start):
            return self.usual(start) or self.test(start)
        if depth > _DEEPEST:
            raise _NotConvertedError
        self.take()
        inner = self.expr(depth + 1)
        self.take(")")
        return inner

    def usual(self, start: int) -> s.Test | None:
        """A test as most of them are written, in one look; None where the next is another one."""
        found = _TEST.match(self.text, start)
        if found is None:
            return None
        quantifier, _, _, root, way, sign, raw, plain, negated, kind = found.groups()
        lines = self.lines
        facets = (s.Name("text", Place(*found.span(2), lines)),) if quantifier else ()
        path = s.Path(root, self.way(way), Place(*found.span(3), lines))
        end = found.end()
        operand = s.Operand(_QUANTIFIERS.get(quantifier), facets, (path,), Place(start, found.end(3), lines))
        self.next = None
        self.at = self.end = end
        place = Place(start, end, lines)
        if kind is not None:
            named = s.Literal(kind, Place(end - len(kind), end, lines))
            return s.Test(operand, s.Op.IS, named, place, negated is not None)
        text = raw or plain
        value = self.texts.get(text)
        if value is None:
            value = self.texts[text] = literals.string(text)
        right = s.Literal(value, Place(end - len(text), end, lines), raw is not None)
        return s.Test(operand, _OPS[sign], right, place)

    def test(self, start: int) -> s.Test:
        operand = self.operand(start)
        kind = _IS.match(self.text, self.at)
        if kind is not None:
            self.at = self.end = kind.end()
            named = s.Literal(kind[2], self.place(*kind.span(2)))
            return s.Test(operand, s.Op.IS, named, self.span(start), kind[1] is not None)
        word = self.take("==", "contains", "matches", "in", "like", "missing")[1]
        if word == "missing":
            return s.Test(operand, s.Op.MISSING, None, self.span(start))
        if word in ("in", "like"):
            right = self.list()
            return s.Test(operand, s.Op.IN if word == "in" else s.Op.LIKE, right, self.span(start))
        text = self.string()
        return s.Test(operand, _OPS[word], text, self.span(start))

    def operand(self, start: int) -> s.Operand:
        found = _OPERAND.match(self.text, start)
        if found is None:
            raise _NotConvertedError
        quantifier, _, _, root, way = found.groups()
        self.next = None
        self.at = self.end = found.end()
        facets = (s.Name("text", self.place(*found.span(2))),) if quantifier else ()
        path = s.Path(root, self.way(way), self.span(found.start(3)))
        return s.Operand(_QUANTIFIERS[quantifier] if quantifier else None, facets, (path,), self.span(start))

    def way(self, text: str) -> tuple[s.PathPart, ...]:
        parts = self.parts.get(text)
        if parts is None:
            parts = self.parts[text] = tuple(
                s.Key(part[1]) if part[1] else s.Key(literals.string(part[2]), quoted=True)
                for part in _PART.finditer(text)
            )
        return parts

    def list(self) -> s.ListLiteral:
        start = self.take("[")[2]
        items: list[s.Literal | s.NullLiteral] = [self.string()]
        while self.sees(","):
            self.take()
            items.append(self.string())
        self.take("]")
        return s.ListLiteral(tuple(items), self.span(start))
