"""Parses the text of a bundle to its syntax tree. Every node has its place.

After an error the parser continues at the next statement or clause keyword that starts a line.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from lark.exceptions import UnexpectedInput
from lark.lexer import Token
from lark.tree import Tree

from rebuno.policy.syntax import recovery
from rebuno.policy.syntax import tree as s
from rebuno.policy.syntax.converted import CONVERTED, read_rules
from rebuno.policy.syntax.diagnostics import MOST, Code, Diagnostic, ordered
from rebuno.policy.syntax.errors import explain_syntax_error
from rebuno.policy.syntax.nodes import NodeBuilder, trees
from rebuno.policy.syntax.source import Source
from rebuno.policy.syntax.tables import PIECES, WHOLE, parser
from rebuno.policy.syntax.text import Lines, comments, refused

LARGEST: Final = 1 << 20  # bytes of a bundle
LARGEST_CONVERTED: Final = 1 << 26  # bytes of the rules that a YAML bundle is converted to

_TREE = Tree[Token]


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
        build = NodeBuilder(self, 0)
        return [build.statement(child) for child in trees(tree)]

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
                yield NodeBuilder(self, piece[0]).statement(trees(tree)[0])

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
