"""Globs over whole names: `*` any run, `?` one character, `[a-z]` and `[!a-z]` classes, `\\` escapes."""

from collections.abc import Callable
from functools import lru_cache

import re2

Matcher = Callable[[str], bool]


class GlobError(ValueError):
    """The pattern cannot be read; the message says why."""


class Glob:
    """A compiled glob.

    `literal` is the only name that it matches, or None for a glob with wildcards. `prefix` is the beginning of every
    match. `matches` answers for a whole name; a lone surrogate in a name counts as one character that equals no other.
    """

    __slots__ = ("literal", "matches", "pattern", "prefix")

    def __init__(self, pattern: str, *, fold: bool = False) -> None:
        """Raises:
        GlobError: a class without end or content, a range that runs backwards, a `\\` at the end.
        """
        parts = _parts(pattern, fold)
        text = "".join(literal for _, literal in parts)
        wild = [position for position, (_, literal) in enumerate(parts) if not literal]
        self.pattern = pattern
        self.literal: str | None = None if wild else text
        self.prefix = "".join(literal for _, literal in parts[: wild[0]]) if wild else text
        self.matches: Matcher
        if not wild:
            self.matches = text.__eq__
        elif parts[wild[0]][0] == ".*" and wild[0] == len(parts) - 1:
            prefix = self.prefix
            self.matches = lambda name: name.startswith(prefix)
        else:
            self.matches = _searcher("".join(part for part, _ in parts))


def _searcher(pattern: str) -> Matcher:
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        raise GlobError("the pattern is too large") from None

    def matches(name: str) -> bool:
        if not name.isascii():
            name = name.encode("utf-8", "replace").decode()
        return compiled.fullmatch(name) is not None

    return matches


def _parts(pattern: str, fold: bool) -> list[tuple[str, str]]:
    # Pairs of a regular expression and the literal character it stands for, empty for a wildcard.
    parts: list[tuple[str, str]] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            if not parts or parts[-1][0] != ".*":
                parts.append((".*", ""))
        elif character == "?":
            parts.append((".", ""))
        elif character == "[":
            expression, position = _class(pattern, position)
            parts.append((f"(?i:{expression})" if fold else expression, ""))
        else:
            if character == "\\":
                if position == len(pattern):
                    raise GlobError("a `\\` at the end escapes nothing; write `\\\\` for the character itself")
                character = pattern[position]
                position += 1
            if "\ud800" <= character <= "\udfff":
                raise GlobError("the pattern is not valid Unicode")
            parts.extend((re2.escape(c), c) for c in (character.casefold() if fold else character))
    return parts


def _class(pattern: str, position: int) -> tuple[str, int]:
    negated = pattern[position : position + 1] == "!"
    position += negated
    members: list[tuple[str, bool]] = []  # the character, and whether it is a `-` that may make a range
    while True:
        if position >= len(pattern):
            raise GlobError("the `[` has no `]`; write `\\[` for the character itself")
        character = pattern[position]
        position += 1
        if character == "]":
            break
        escaped = character == "\\"
        if escaped:
            if position >= len(pattern):
                raise GlobError("a `\\` at the end escapes nothing; write `\\\\` for the character itself")
            character = pattern[position]
            position += 1
        if "\ud800" <= character <= "\udfff":
            raise GlobError("the pattern is not valid Unicode")
        members.append((character, character == "-" and not escaped))
    if not members:
        raise GlobError("the class `[]` is empty; name its characters")
    out: list[str] = []
    index = 0
    while index < len(members):
        low = members[index][0]
        if index + 2 < len(members) and members[index + 1][1]:
            high = members[index + 2][0]
            if high < low:
                raise GlobError(f"the range `{low}-{high}` runs backwards")
            out.append(f"{re2.escape(low)}-{re2.escape(high)}")
            index += 3
        else:
            out.append(re2.escape(low))
            index += 1
    return f"[{'^' if negated else ''}{''.join(out)}]", position


@lru_cache(maxsize=1024)
def glob(pattern: str, fold: bool = False) -> Glob:
    """The compiled glob, cached. `fold` ignores case; the caller folds the name.

    Raises:
        GlobError: the pattern cannot be read.
    """
    return Glob(pattern, fold=fold)
