"""Cuts a bundle with syntax errors into statements and clauses, so that each can be read by itself."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rebuno.policy.syntax.keywords import CLAUSE_WORDS, HEAD_WORDS, STATEMENT_WORDS, suggestion

_FIRST_WORD: Final = re.compile(r"^[ \t]*([A-Za-z_][A-Za-z0-9_]*)(?!\w)", re.MULTILINE)
# A line of this shape begins a statement even where its keyword is misspelt.
_SHAPE: Final = re.compile(r"[A-Za-z_]\w*[ \t]+[A-Za-z_][\w-]*[ \t]*(?:=(?!=)|\{)")
_NAMED: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)[ \t]*=(?!=)")
_OPENED_BY_KEYWORD: Final = re.compile(r"(?:let|known|condition)\s+([A-Za-z_]\w*)")
_RULE: Final = re.compile(r"[A-Za-z_]\w*[ \t]+[A-Za-z_][\w-]*[ \t]*\{|rule(?!\w)")
_NOISE: Final = re.compile(r'(?<!\w)r"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_BEHIND: Final = re.compile(r"\}\s*(?=\S)")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}

Piece = tuple[int, int]  # offsets, the end exclusive


def statements(text: str) -> Iterator[Piece]:
    """The pieces from one line that begins a statement to the next; what stands before the first, and what follows a
    rule's closing brace, are pieces too."""
    begun = {
        match.start(1)
        for match in _FIRST_WORD.finditer(text)
        if match[1] in STATEMENT_WORDS or _SHAPE.match(text, match.start(1))
    }
    behind = {match.end() for match in _BEHIND.finditer(_bare(text))}
    marks = sorted(begun | behind)
    if significant(text, 0, marks[0] if marks else len(text)):
        marks.insert(0, 0)
    return zip(marks, [*marks[1:], len(text)], strict=True)


def clauses(text: str, piece: Piece) -> list[Piece]:
    """The pieces of a rule, its opening line first, then one from each line that begins a clause to the next.

    A misspelt clause keyword counts too, unless the bundle has that name.
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
    """Whether `word` comes close to a keyword that begins a clause, or the head of a rule."""
    return 3 <= len(word) <= 12 and bool(suggestion(word, [*CLAUSE_WORDS, *HEAD_WORDS], cutoff=0.75))


def is_rule(text: str, piece: Piece) -> bool:
    """Whether the piece opens a rule, its keyword misspelt or not."""
    return _RULE.match(text, *piece) is not None


def defined(text: str, piece: Piece) -> set[str]:
    """The names that the piece would have defined."""
    body = text[slice(*piece)]
    first = _OPENED_BY_KEYWORD.match(body)
    return set(_NAMED.findall(body)) | ({first[1]} if first else set())


def significant(text: str, start: int, end: int) -> int:
    """Where the last character that is neither blank nor comment ends; 0 where there is none."""
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
    """The offset of the innermost bracket that is opened and not closed between the offsets."""
    bare = _bare(text[start:end])
    stack: list[int] = []
    for match in re.finditer(r"[()\[\]{}]", bare):
        if match[0] not in _CLOSES:
            stack.append(match.start())
        elif stack and bare[stack[-1]] == _CLOSES[match[0]]:
            stack.pop()
    return start + stack[-1] if stack else None


def _bare(text: str) -> str:
    # Strings and comments hide what is inside them; blanking keeps the offsets.
    return _NOISE.sub(lambda match: (" " if match[0][0] == "#" else "_") * len(match[0]), text)
