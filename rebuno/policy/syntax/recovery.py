"""Splits a bundle with syntax errors into statements and clauses, so that each is parsed alone."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rebuno.policy.syntax.keywords import CLAUSE_WORDS, HEAD_WORDS, SOFT_STATEMENTS, STATEMENT_WORDS, suggestion

_FIRST_WORD: Final = re.compile(r"^[ \t]*([A-Za-z_][A-Za-z0-9_]*)(?!\w)", re.MULTILINE)
# A line of this shape begins a statement, even if its keyword is misspelt.
_SHAPE: Final = re.compile(r"[A-Za-z_]\w*[ \t]+[A-Za-z_][\w-]*[ \t]*(?:=(?!=)|\{)")
_NAMED: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)[ \t]*=(?!=)")
_OPENED_BY_KEYWORD: Final = re.compile(r"(?:let|known|condition)\s+([A-Za-z_]\w*)")
_RULE: Final = re.compile(r"[A-Za-z_]\w*[ \t]+[A-Za-z_][\w-]*[ \t]*\{|rule(?!\w)")
_NOISE: Final = re.compile(r'(?<!\w)r"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_BEHIND: Final = re.compile(r"\}\s*(?=\S)")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}

Piece = tuple[int, int]  # offsets, the end exclusive


def statements(text: str) -> Iterator[Piece]:
    """The pieces of a text: each begins at a line that begins a statement and ends before the next one. The text before
    the first statement, and the text after the closing brace of a rule, are pieces too."""
    begun = {
        match.start(1)
        for match in _FIRST_WORD.finditer(text)
        if match[1] in STATEMENT_WORDS or match[1] in SOFT_STATEMENTS or _SHAPE.match(text, match.start(1))
    }
    behind = {match.end() for match in _BEHIND.finditer(_bare(text))}
    marks = sorted(begun | behind)
    if significant(text, 0, marks[0] if marks else len(text)):
        marks.insert(0, 0)
    return zip(marks, [*marks[1:], len(text)], strict=True)


def clauses(text: str, piece: Piece) -> list[Piece]:
    """The pieces of a rule: its opening line, then one piece for each line that begins a clause.

    A misspelt clause keyword begins a clause too, unless the bundle defines that name.
    """
    start, end = piece
    own = set(_NAMED.findall(text))
    marks = [start]
    for match in _FIRST_WORD.finditer(text, start, end):
        at, word = match.start(1), match[1]
        if at == start:
            continue
        if word in CLAUSE_WORDS or word in HEAD_WORDS or (word not in own and misspelt_clause(word)):
            marks.append(at)
    return list(zip(marks, [*marks[1:], end], strict=True))


@lru_cache(maxsize=1024)
def misspelt_clause(word: str) -> bool:
    """Whether `word` is close to a keyword that begins a clause or the head of a rule."""
    return 3 <= len(word) <= 12 and bool(suggestion(word, [*CLAUSE_WORDS, *HEAD_WORDS], cutoff=0.75))


def is_rule(text: str, piece: Piece) -> bool:
    """Whether the piece opens a rule, even with a misspelt keyword."""
    return _RULE.match(text, *piece) is not None


def defined(text: str, piece: Piece) -> set[str]:
    """The names that the piece defines."""
    body = text[slice(*piece)]
    first = _OPENED_BY_KEYWORD.match(body)
    return set(_NAMED.findall(body)) | ({first[1]} if first else set())


def significant(text: str, start: int, end: int) -> int:
    """The end of the last character that is neither a blank nor in a comment; 0 if there is none."""
    last = 0
    at = start
    for match in _NOISE.finditer(text, start, end):
        gap = text[at : match.start()].rstrip()
        if gap:
            last = at + len(gap)
        at = match.end()
        if not match[0].startswith("#"):
            last = at
    gap = text[at:end].rstrip()
    return at + len(gap) if gap else last


def opened(text: str, start: int, end: int) -> int | None:
    """The offset of the innermost bracket that is open at `end`; None if no bracket is open."""
    bare = _bare(text[start:end])
    stack: list[int] = []
    for match in re.finditer(r"[()\[\]{}]", bare):
        if match[0] not in _CLOSES:
            stack.append(match.start())
        elif stack and bare[stack[-1]] == _CLOSES[match[0]]:
            stack.pop()
    return start + stack[-1] if stack else None


def _bare(text: str) -> str:
    # Brackets in strings and comments do not count. Each is overwritten, which keeps the offsets.
    return _NOISE.sub(lambda match: (" " if match[0][0] == "#" else "_") * len(match[0]), text)
