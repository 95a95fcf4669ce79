"""The names that `find` and `git ls-files` give to other commands: by `{}`, and through a pipe to `xargs -0`."""

import re
from typing import Final

from rebuno.policy.facets.shell.words import Word, WordKind

Words = tuple[Word, ...]
Loops = tuple[tuple[str, Words], ...]

FOUND: Final = "{}"
"""A loop over the operands of a `find`, each with all below it: how it is written, and the name of its variable. The
empty operand is the folder in which the command stands, of which the names are given as they are."""
FOUND_NAMES: Final = "{} names"
"""A loop over globs, of which each name that is given fits one."""

_LISTS: Final = re.compile(r"-[zcmo]+|--(?:cached|modified|others|exclude-standard)")
_GLOB: Final = re.compile(r"[*?\[\\]")
_SUFFIX: Final = re.compile(r"\*[\w.-]+")
_RUNS: Final = frozenset({"-exec", "-ok", "-execdir", "-okdir"})
_PRINTS: Final = frozenset({"-print", "-printf", "-ls", *_RUNS})
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


class _NameTests:
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
    operands, at = _operands(words)
    found: list[Loops] = []
    names = _names(words, at)
    for place in (at for at in range(len(words)) if words[at].known and words[at].start in _RUNS):
        globs = None if names is None else names.get(place)
        found.append(_loops(operands, globs))
    return tuple(found)


def _operands(words: Words) -> tuple[Words, int]:
    # The operands of a `find`, and where its expression begins.
    at = 1
    while at < len(words) and words[at].known and words[at].start in ("-H", "-L", "-P"):
        at += 1
    start = at
    while at < len(words) and not (words[at].known and words[at].start.startswith(_OPENS) and words[at].start != "-"):
        at += 1
    return words[start:at] or (Word("."),), at


def _loops(operands: Words, globs: _Globs) -> Loops:
    loops: Loops = ((FOUND, operands),)
    return loops if globs is None else (*loops, (FOUND_NAMES, tuple(map(Word, globs))))


def piped_loops(words: Words) -> Loops | None:
    """What each name stands for that a command writes, with a NUL behind it, to its output and nothing else; None where
    that is not known."""
    if words[:1] == (Word("find"),):
        return _found_loops(words)
    return _listed_loops(words) if words[:2] == (Word("git"), Word("ls-files")) else None


def _found_loops(words: Words) -> Loops | None:
    if any(word.start in _PRINTS or word.start.startswith("-files0-from") for word in words):
        return None
    operands, at = _operands(words)
    names = _names(words, at)
    if not names:
        return None
    every = [*names.values()]
    return _loops(operands, None if None in every else tuple(glob for globs in every for glob in globs or ()))


def _listed_loops(words: Words) -> Loops | None:
    # A pathspec is a folder, a file, or a glob whose `*` stands for any number of folders too.
    at = 2
    ends = False
    while at < len(words) and words[at].known and _LISTS.fullmatch(words[at].start):
        ends = ends or (words[at].start[1] != "-" and "z" in words[at].start)
        at += 1
    at += words[at : at + 1] == (Word("--"),)
    specs = [word.start for word in words[at:] if word.known]
    if not ends or len(specs) < len(words) - at or any(not one or one[0] in ":-" for one in specs):
        return None
    globs = [_SUFFIX.fullmatch(one.rpartition("/")[2]) for one in specs]
    names = None if None in globs or not globs else tuple(glob[0] for glob in globs if glob)
    folders = [_folder(one) for one in specs]
    return _loops(tuple(map(Word, folders)) or (Word(""),), names)


def _folder(spec: str) -> str:
    glob = _GLOB.search(spec)
    return spec if glob is None else spec[: glob.start()].rpartition("/")[0]


def _names(words: Words, at: int) -> dict[int, _Globs] | None:
    # What is known of the names at each place where a command begins; None if the expression is not of a known form.
    found: dict[int, _Globs] = {}
    groups = [_NameTests()]
    while at < len(words):
        word, group = words[at], groups[-1]
        text = word.start
        at += 1
        if not word.known:
            return None
        if text == "(":
            groups.append(_NameTests())
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
            found[at - 1] = _known(groups)
            group.negated = False
            at = _end(words, at)
        elif text in _VALUED and at < len(words):
            group.meets(_globs(text, words[at]))
            at += 1
        elif text in _ALONE:
            if text == "-print0":
                found[at - 1] = _known(groups)
            group.negated = group.negated and text in ("-a", "-and")
        else:
            return None
    return found


def _known(groups: list[_NameTests]) -> _Globs:
    return next((each.here for each in reversed(groups) if each.here is not None), None)


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
