"""Globs for paths, by segments: `*` stays inside one, `**` takes any number of them."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rebuno.policy.values.globs import Glob
from rebuno.policy.values.json_values import Tri

# Letters that programs and file systems leave out of names when they compare them, and people cannot see.
_UNSEEN: Final = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF])


def loose(text: str) -> str:
    """The text as the most forgiving file system compares it: without regard to case, to how accents are composed, and
    to invisible characters."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold().translate(_UNSEEN))


@lru_cache(maxsize=8192)
def _segment(pattern: str, fold: bool) -> Glob:
    # The patterns of a bundle are read anew for each folder of a session, and have most names in common.
    return Glob(pattern, fold=fold)


class PathGlob:
    """A pattern taken apart: `absolute` where it begins at the root, `anywhere` where with `**`, else relative."""

    __slots__ = ("_exact", "_folded", "_loose", "absolute", "anywhere")

    def __init__(self, segments: Sequence[str], *, absolute: bool) -> None:
        """`segments` are globs, each for one name, or `**`.

        Raises:
            GlobError: a segment cannot be read.
        """
        self._exact = [None if segment == "**" else _segment(segment, False) for segment in segments]
        self._folded = [None if segment == "**" else _segment(segment, True) for segment in segments]
        self._loose = [None if segment == "**" else _segment(loose(segment), True) for segment in segments]
        self.absolute = absolute
        self.anywhere = not absolute and segments[:1] == ["**"]

    def matches(self, segments: Sequence[str], fold: bool = False) -> Tri:
        """Whether the names fit from the first to the last, `fold` without regard to case; maybe where only the
        `loose` ones do."""
        if _fits(self._exact, segments):
            return True
        if fold and _fits(self._folded, [segment.casefold() for segment in segments]):
            return True
        return None if _fits(self._loose, [loose(segment) for segment in segments]) else False

    def may_match(self, segments: Sequence[str], *, before: bool) -> bool:
        """Whether the names could fit, loosely, where path and pattern do not start at the same known place.

        With `before` any names may stand before the first, else any names may stand before the pattern.
        """
        return _fits(self._loose, [loose(segment) for segment in segments], before=before, after=not before)


def _fits(parts: Sequence[Glob | None], segments: Sequence[str], *, before: bool = False, after: bool = False) -> bool:
    # Which places in the pattern may come next: linear in the path, whatever the pattern. With `before` it may have
    # been entered anywhere, with `after` it may begin at any name.
    end = len(parts)
    places = _opened(set(range(end + 1)) if before else {0}, parts)
    for segment in segments:
        following = set()
        for place in places:
            if place == end:
                continue
            part = parts[place]
            if part is None:
                following.add(place)
            elif part.matches(segment):
                following.add(place + 1)
        if after:
            following.add(0)
        places = _opened(following, parts)
        if not places:
            return False
    return end in places


def _opened(places: set[int], parts: Sequence[Glob | None]) -> set[int]:
    # `**` may take no name at all.
    for place in sorted(places):
        while place < len(parts) and parts[place] is None:
            place += 1
            places.add(place)
    return places
