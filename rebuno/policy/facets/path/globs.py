"""Globs for paths, by segments: `*` stays inside one, `**` takes any number of them."""

import re
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

    __slots__ = ("_exact", "_folded", "_loose", "_names", "absolute", "anywhere", "takes_all")

    def __init__(self, segments: Sequence[str], *, absolute: bool) -> None:
        """`segments` are globs, each for one name, or `**`.

        Raises:
            GlobError: a segment cannot be read.
        """
        self._exact = [None if segment == "**" else _segment(segment, False) for segment in segments]
        self._folded = [None if segment == "**" else _segment(segment, True) for segment in segments]
        self._loose = [None if segment == "**" else _segment(loose(segment), True) for segment in segments]
        self._names = tuple(segments)
        self.absolute = absolute
        self.anywhere = not absolute and segments[:1] == ["**"]
        # Whether it takes all that lies below what it takes.
        self.takes_all = segments[-1:] == ["**"]

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

    def names(self, name: str) -> Tri:
        """Whether a name that lies in no known folder fits; maybe for all but patterns that begin with `**`."""
        if not self.anywhere:
            return None
        found = self.matches([name])
        return None if found else False

    def may_match_below(
        self, segments: Sequence[str], only: Sequence[str], *, visible: bool, direct: bool = False
    ) -> bool:
        """Whether a name can fit that lies anywhere below the folder: one of the globs `only` fits its last segment if
        there are any, and if it is `visible` no segment of it begins with a dot, but for the last one where there are
        globs for it. If it is `direct` it lies in the folder itself. It says yes too often, never no."""
        if not (self.absolute or self.anywhere):
            return True
        places = _opened({0}, self._loose)
        for segment in segments:
            places = _step(places, self._loose, loose(segment))
        return any(self._rest_fits(place, only, visible, direct) for place in places)

    def _rest_fits(self, place: int, only: Sequence[str], visible: bool, direct: bool) -> bool:
        rest = self._names[place:]
        if not rest:
            return False
        if direct:
            names = [loose(part) for part in rest if part != "**"]
            if len(names) > 1 or not names:
                return not names
            if visible and names[0][:1] == ".":
                return False
            return not only or any(_share(names[0], loose(one)) for one in only)
        last = loose(rest[-1])
        if visible:
            names = [part for part in rest if part != "**"]
            if any(part[:1] == "." for part in names[:-1]):
                return False
            if names and names[-1][:1] == ".":
                # What lies below it lies in a hidden folder, so it is the last name itself.
                return any(_share(loose(names[-1]), loose(one)) for one in only)
        return not only or last == "**" or any(_share(last, loose(one)) for one in only)


_SPECIAL: Final = re.compile(r"[*?\[]")


def _share(one: str, other: str) -> bool:
    # Whether a name can fit both globs. A suffix behind a `*` is compared, all other pairs may share one.
    if not _SPECIAL.search(one):
        return Glob(other, fold=True).matches(one)
    tails = [glob.rpartition("*")[2] for glob in (one, other)]
    # A `]` ends a class in which the `*` may stand.
    if "*" not in one or "*" not in other or any(_SPECIAL.search(tail) or "]" in tail for tail in tails):
        return True
    return tails[0].endswith(tails[1]) or tails[1].endswith(tails[0])


def _step(places: set[int], parts: Sequence[Glob | None], segment: str) -> set[int]:
    following = set()
    for place in places:
        if place == len(parts):
            continue
        part = parts[place]
        if part is None:
            following.add(place)
        elif part.matches(segment):
            following.add(place + 1)
    return _opened(following, parts)


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
