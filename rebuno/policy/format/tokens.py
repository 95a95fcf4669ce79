"""The words of a bundle as they were written, each with the comments and blank lines that stand before and after it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from rebuno.policy.syntax import tree as s

_TOKEN: Final = re.compile(
    r'r"[^"\n]*"|f?"(?:[^"\\\n]|\\.)*"'  # strings
    r"|-?[0-9](?:[eE][+-](?=[0-9])|[\w.])*"  # numbers and durations
    r"|\.?[A-Za-z_][\w-]*|\.?\*"  # words, ids, keys of a path
    r"|==|!=|<=|>=|[<>=()\[\]{},+]"
    r"|(?P<comment>#[^\n]*)",
    re.ASCII,
)
BLANK: Final = ""  # in `before`: a blank line


@dataclass(frozen=True, slots=True)
class SourceToken:
    """One word, string, number or sign, character for character; an empty one ends the file.

    `before` holds the comments on lines of their own that stand above it, and `BLANK` where a blank line does; `after`
    is the comment at the end of its line. Comments begin with `#`. `tight` tells that no blank parts it from the token
    before. `shape` names a construct that begins here (`path`, `list`, `kind`), and `ends` is the offset of its end.
    """

    text: str
    start: int
    before: tuple[str, ...] = ()
    after: str = ""
    tight: bool = False
    shape: str = ""
    ends: int = 0

    @property
    def comments(self) -> tuple[str, ...]:
        """The comments above it, without blank lines."""
        return tuple(line for line in self.before if line != BLANK)

    def bare(self) -> "SourceToken":
        """The token without what stands above it."""
        return replace(self, before=())


def source_tokens(bundle: s.Bundle) -> list[SourceToken]:
    """The tokens of a bundle without syntax errors, in the order of its text, the end of the file last."""
    shapes = dict(_shapes(bundle))
    found: list[SourceToken] = []
    before: list[str] = []
    last = 0  # where the text before ends
    path = 0  # where the last path ends
    for match in _TOKEN.finditer(bundle.text):
        start = match.start()
        lines = bundle.text.count("\n", last, start)
        last = match.end()
        if lines > 1:
            before.append(BLANK)
        if match["comment"] is None:
            shape, ends = shapes.get(start, ("", 0))
            tight = start < path or _tight(found[-1] if found else None, match[0])
            path = ends if shape == "path" else path
            found.append(SourceToken(match[0], start, tuple(before), "", tight, shape, ends))
            before = []
        elif lines or not found:
            before.append(match[0].rstrip())
        else:
            found[-1] = replace(found[-1], after=match[0].rstrip())
    return [*found, SourceToken("", len(bundle.text), tuple(before))]


def within(found: Sequence[SourceToken], span: s.Span) -> list[SourceToken]:
    """The tokens inside a place."""
    return [token for token in found if span.start <= token.start < span.end]


def _tight(previous: SourceToken | None, text: str) -> bool:
    if text in (")", "]", ","):
        return True
    if previous is None:
        return False
    return previous.text == "(" or previous.shape == "list" or (text == "(" and previous.text in ("count", "sum"))


def _shapes(bundle: s.Bundle) -> Iterator[tuple[int, tuple[str, int]]]:
    # What the words alone do not tell: `[` in a path from `[` of a list, and how far the patterns of a kind reach.
    stack: list[Any] = list(bundle.statements)
    while stack:
        node = stack.pop()
        match node:
            case tuple():
                stack.extend(node)
            case s.Path(span=span):
                yield span.start, ("path", span.end)
            case s.ListLiteral(span=span):
                yield span.start, ("list", span.end)
            case s.KindPatterns(span=span):
                yield span.start, ("kind", span.end)
            case s.Span() | str() | int() | float() | None:
                pass
            case _:
                stack.extend(getattr(node, each.name) for each in fields(node))
