"""The words of `find`: what its `{}` stands for."""

import re
from typing import Final

from rebuno.policy.facets.shell.words import Word, WordKind

Words = tuple[Word, ...]
Loops = tuple[tuple[str, Words], ...]

FOUND: Final = "{}"
"""A loop over the operands of a `find`, each with all below it: how it is written, and the name of its variable."""
FOUND_NAMES: Final = "{} names"
"""A loop over globs, of which each name that a `find` gives to what it runs fits one."""

_RUNS: Final = frozenset({"-exec", "-ok", "-execdir", "-okdir"})
_NAMES: Final = frozenset({"-name", "-iname"})
_OPENS: Final = ("-", "(", "!", ")", ",")
# The numbers of words that follow a primary; what is not here makes nothing known of the names.
_ALONE: Final = frozenset(
    {
        "-print", "-print0", "-ls", "-prune", "-quit", "-empty", "-true", "-false", "-readable", "-writable",
        "-executable", "-nouser", "-nogroup", "-mount", "-xdev", "-depth", "-d", "-daystart", "-noleaf", "-follow",
        "-ignore_readdir_race", "-noignore_readdir_race", "-warn", "-nowarn", "-delete", "-a", "-and",
    }
)  # fmt: skip
_VALUED: Final = frozenset(
    {
        "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type",
        "-xtype", "-size", "-perm", "-user", "-group", "-uid", "-gid", "-mtime", "-mmin", "-atime", "-amin", "-ctime",
        "-cmin", "-newer", "-anewer", "-cnewer", "-newermt", "-newerct", "-newerat", "-samefile", "-inum", "-links",
        "-maxdepth", "-mindepth", "-lname", "-ilname", "-fstype", "-used", "-printf", "-context",
    }
)  # fmt: skip
# Globs that read alike everywhere.
_PLAIN: Final = re.compile(r"[\w.*?+@=-]+")

# A list of globs that the names fit; None where they may be any.
_Globs = tuple[str, ...] | None


class _Group:
    """A pair of parentheses that is still open: what is known of the names that meet one of its former alternatives,
    and of those that come as far as here."""

    def __init__(self) -> None:
        self.before: list[_Globs] = []
        self.here: _Globs = None
        self.negated = False

    def meets(self, globs: _Globs) -> None:
        """One more test is passed, or not passed."""
        if not self.negated and self.here is None:
            self.here = globs
        self.negated = False

    def ends(self) -> _Globs:
        """What is known of the names that pass all of it."""
        every = [*self.before, self.here]
        return None if None in every else tuple(glob for globs in every for glob in globs or ())


def find_loops(words: Words) -> tuple[Loops, ...] | None:
    """What `{}` stands for in each command that a `find` runs, in their order; None where that is not known."""
    if any(word.start.startswith("-files0-from") for word in words):
        return None
    at = 1
    while at < len(words) and words[at].known and words[at].start in ("-H", "-L", "-P"):
        at += 1
    start = at
    while at < len(words) and not (words[at].known and words[at].start.startswith(_OPENS) and words[at].start != "-"):
        at += 1
    operands = words[start:at] or (Word("."),)
    found: list[Loops] = []
    names = _names(words, at)
    for place in (at for at in range(len(words)) if words[at].known and words[at].start in _RUNS):
        globs = None if names is None else names.get(place)
        loops: Loops = ((FOUND, operands),)
        found.append(loops if globs is None else (*loops, (FOUND_NAMES, tuple(map(Word, globs)))))
    return tuple(found)


def _names(words: Words, at: int) -> dict[int, _Globs] | None:
    # What is known of the names at each place where a command begins; None if the expression is not of a known form.
    found: dict[int, _Globs] = {}
    groups = [_Group()]
    while at < len(words):
        word, group = words[at], groups[-1]
        text = word.start
        at += 1
        if not word.known:
            return None
        if text == "(":
            groups.append(_Group())
        elif text == ")":
            if len(groups) == 1:
                return None
            groups.pop()
            groups[-1].meets(group.ends())
        elif text in ("!", "-not"):
            group.negated = not group.negated
        elif text in ("-o", "-or"):
            group.before.append(group.here)
            group.here, group.negated = None, False
        elif text in _RUNS:
            found[at - 1] = next((each.here for each in reversed(groups) if each.here is not None), None)
            group.negated = False
            at = _end(words, at)
        elif text in _VALUED and at < len(words):
            group.meets(_globs(text, words[at]))
            at += 1
        elif text in _ALONE:
            group.negated = group.negated and text in ("-a", "-and")
        else:
            return None
    return found


def _end(words: Words, at: int) -> int:
    while at < len(words) and not ends_command(words, at):
        at += 1
    return at + 1


def _globs(primary: str, value: Word) -> _Globs:
    plain = primary in _NAMES and value.known and _PLAIN.fullmatch(value.start)
    return (value.start,) if plain else None


def ends_command(words: Words, at: int) -> bool:
    """Whether a command that a `find` runs ends before this word."""
    return words[at] == Word(";") or (words[at] == Word("+") and words[at - 1] == Word("{}"))


def found_word(word: Word, *, single: bool) -> Word:
    """The word of a command that a `find` runs, with a variable in the place of `{}`: a `single` word, or several."""
    if not word.known or FOUND not in word.start:
        return word
    if word.start == FOUND:
        return Word("", kind=WordKind.OPEN, single=single, raw=FOUND)
    return Word("", kind=WordKind.OPEN)
