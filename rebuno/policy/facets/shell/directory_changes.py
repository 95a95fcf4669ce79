"""Commands that change the directory of the shell that runs them."""

from dataclasses import dataclass
from typing import Final

from rebuno.policy.facets.path import facets
from rebuno.policy.facets.shell.words import Word, home_path
from rebuno.policy.facets.shell.wrappers import inside

_MOVERS: Final = frozenset({"cd", "pushd", "popd"})
# They run their words in the shell itself; what any other wrapper runs has a directory of its own.
_WITHIN: Final = frozenset({"command", "builtin", "time"})
_MAX_DEPTH: Final = 9
# With an option they run code in the shell itself.
_CALLERS: Final = frozenset({"mapfile", "readarray", "jobs"})


@dataclass(frozen=True, slots=True)
class DirectoryChange:
    """A change of directory: `to` is a path, relative to where the shell stands, or the home's (`~/…`); None where it
    is not known."""

    to: str | None


_AWAY: Final = DirectoryChange(None)


def move_of(words: tuple[Word, ...]) -> DirectoryChange | None:
    """How the command moves the shell that runs it, if it succeeds; None where it does not."""
    timed = False
    for _ in range(_MAX_DEPTH):
        if not words[0].known:
            # It may be `cd`, unless it has a directory.
            return None if "/" in words[0].start else _AWAY
        given = words[0].start
        name = given.rpartition("/")[2].casefold()
        if name in _MOVERS:
            return _moved(name, words[1:]) if given == name and not timed else _AWAY
        if given in _CALLERS:
            return None if all(_harmless(word) for word in words[1:]) else _AWAY
        if given not in _WITHIN:
            return None
        run = inside(given, words)
        if run.hidden:
            return _AWAY
        if not run.commands:
            return None
        # The keyword runs its words in the shell itself, the program of that name does not; a word does not tell.
        timed = timed or given == "time"
        words = run.commands[0]
    return _AWAY


def _harmless(word: Word) -> bool:
    return word.known and not (word.start[:1] == "-" and set(word.start) & set("Cx"))


def _moved(name: str, words: tuple[Word, ...]) -> DirectoryChange:
    at = 0
    # `-P` follows symbolic links, so that `..` leads elsewhere; other options depend on the shell.
    while name == "cd" and words[at : at + 1] == (Word("-L"),):
        at += 1
    if words[at : at + 1] == (Word("--"),):
        at += 1
    rest = words[at:]
    if name == "popd" or len(rest) > 1:
        return _AWAY
    if not rest:
        return DirectoryChange("~") if name == "cd" else _AWAY
    home = home_path(rest[0])
    if home is not None:
        return DirectoryChange(home) if facets.plain(home[1:] or "/") else _AWAY
    text = rest[0].start
    signs = "-+~" if name == "pushd" else "-~"
    return DirectoryChange(text) if rest[0].known and text[:1] not in signs and facets.plain(text) else _AWAY
