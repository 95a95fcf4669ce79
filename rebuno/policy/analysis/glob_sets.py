"""Compares globs as the sets of names that they match: whether one lies within another, and whether two overlap."""

from functools import lru_cache
from typing import Final

from rebuno.policy.values.globs import Glob, glob

# States that a comparison may visit, and characters of patterns with wildcards that are compared at all. Beyond it
# nothing is claimed: not within, and overlapping.
_MOST: Final = 4_000
_LONGEST: Final = 400

# A character, what takes one of several, or None for `*`.
_Piece = str | Glob | None


@lru_cache(maxsize=8192)
def within(inner: str, outer: str) -> bool:
    """Whether every name that `inner` matches is matched by `outer` too; False where that would take too long."""
    one, other = glob(inner), glob(outer)
    if one.literal is not None:
        return other.matches(one.literal)
    if other.literal is not None or not one.prefix.startswith(_head(other.prefix, one.prefix)):
        return False
    if inner == outer or outer == "*":
        return True
    if len(inner) + len(outer) > _LONGEST:
        return False
    left, right = _pieces(inner), _pieces(outer)
    letters = _letters(inner + outer)
    # One name of the inner is enough to say no, and says it of most.
    if not all(other.matches(_name(left, letters, between)) for between in ("", letters[-1])):
        return False
    start = (0, _closed({0}, right))
    seen, stack = {start}, [start]
    while stack:
        at, places = stack.pop()
        if at == len(left):
            if len(right) not in places:
                return False
            continue
        loops = left[at] is None
        moves = [(at + 1, places)] if loops else []
        for letter in letters:
            if loops or _takes(left[at], letter):
                moves.append((at if loops else at + 1, _after(places, right, letter)))
        for state in moves:
            if state not in seen:
                if len(seen) >= _MOST:
                    return False
                seen.add(state)
                stack.append(state)
    return True


@lru_cache(maxsize=8192)
def overlap(one: str, other: str) -> bool:
    """Whether some name is matched by both; True where finding out would take too long."""
    left_glob, right_glob = glob(one), glob(other)
    if left_glob.literal is not None:
        return right_glob.matches(left_glob.literal)
    if right_glob.literal is not None:
        return left_glob.matches(right_glob.literal)
    a, b = left_glob.prefix, right_glob.prefix
    if not (a.startswith(b) or b.startswith(a)):
        return False
    if len(one) + len(other) > _LONGEST:
        return True
    left, right = _pieces(one), _pieces(other)
    letters = _letters(one + other)
    seen, stack = {(0, 0)}, [(0, 0)]
    while stack:
        i, j = stack.pop()
        if i == len(left) and j == len(right):
            return True
        moves: list[tuple[int, int]] = []
        starred, other_starred = _is_star(left, i), _is_star(right, j)
        if starred:
            moves.append((i + 1, j))
        if other_starred:
            moves.append((i, j + 1))
        if i < len(left) and j < len(right):
            for letter in letters:
                if (starred or _takes(left[i], letter)) and (other_starred or _takes(right[j], letter)):
                    moves.append((i if starred else i + 1, j if other_starred else j + 1))
        for state in moves:
            if state not in seen:
                if len(seen) >= _MOST:
                    return True
                seen.add(state)
                stack.append(state)
    return False


def _head(prefix: str, like: str) -> str:
    # As much of `prefix` as can be compared with what the other pattern begins with.
    return prefix[: len(like)]


def _pieces(pattern: str) -> list[_Piece]:
    out: list[_Piece] = []
    at = 0
    while at < len(pattern):
        end = at + 1
        character = pattern[at]
        if character == "*":
            if not out or out[-1] is not None:
                out.append(None)
        elif character in "?[":
            end = end if character == "?" else _class_end(pattern, end)
            out.append(glob(pattern[at:end]))
        elif character == "\\":
            end += 1
            out.append(pattern[at + 1])
        else:
            out.append(character)
        at = end
    return out


def _class_end(pattern: str, at: int) -> int:
    at += pattern[at : at + 1] == "!"
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _letters(patterns: str) -> tuple[str, ...]:
    # Every class is a union of ranges that begin and end at characters of the patterns: these and their neighbours
    # stand for all characters.
    points = {point for c in patterns for point in (ord(c) - 1, ord(c), ord(c) + 1)}
    return tuple(chr(point) for point in sorted(points) if 0 <= point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF)


def _name(pieces: list[_Piece], letters: tuple[str, ...], between: str) -> str:
    # A name that the pieces match, with `between` for each `*`.
    return "".join(
        between if piece is None else next((letter for letter in letters if _takes(piece, letter)), between)
        for piece in pieces
    )


def _takes(piece: _Piece, letter: str) -> bool:
    return piece.matches(letter) if isinstance(piece, Glob) else piece == letter


def _is_star(pieces: list[_Piece], at: int) -> bool:
    return at < len(pieces) and pieces[at] is None


def _closed(places: set[int], pieces: list[_Piece]) -> frozenset[int]:
    # A star may take nothing. No two stars stand side by side.
    return frozenset(places | {at + 1 for at in places if _is_star(pieces, at)})


def _after(places: frozenset[int], pieces: list[_Piece], letter: str) -> frozenset[int]:
    moved: set[int] = set()
    for at in places:
        if at < len(pieces):
            if _is_star(pieces, at):
                moved.add(at)
            elif _takes(pieces[at], letter):
                moved.add(at + 1)
    return _closed(moved, pieces)
