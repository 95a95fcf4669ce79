"""What the words of a command stand for: `~`, `$HOME`, `$PWD`, the variables of loops, lists in braces, and globs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.shell.find import FOUND, FOUND_NAMES
from rebuno.policy.facets.shell.walk import Loops
from rebuno.policy.facets.shell.words import Word, WordKind

# Stands for the home directory at the beginning of a text; a `~` that no shell has expanded is a name.
HOME: Final = "\x01"
_MAX_VALUES: Final = 64
_TOKEN: Final = re.compile(
    r"""'(?P<single>[^']*)'
    |"(?P<double>(?:[^"\\`$]|\\[$`"\\]|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?)*)"
    |\$(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\})
    |\{(?P<list>[^{}'"`$\\*?\[\]~,]*(?:,[^{}'"`$\\*?\[\]~,]*)+)\}
    |\\(?P<escaped>[^\n])
    |(?P<glob>\*+|\?|\[[^\]/'"`$\\]+\])
    |(?P<plain>[^\\'"`$*?\[\]{}~<>()]+)
    |(?P<tilde>~)""",
    re.VERBOSE,
)
_INNER: Final = re.compile(r"\\(?P<escaped>.)|\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}?|(?P<plain>[^\\$]+)", re.DOTALL)
# A glob that reads alike everywhere: no quotes, lists or variables.
_PLAIN_GLOB: Final = re.compile(r"[\w.*?+@=-]+")
# What another command writes or reads, in the place of a file.
PIPE: Final = "/dev/fd/63"
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=(?:.*:)?")
_SPLITS: Final = re.compile(r"[\s*?\[\\]")


@dataclass(frozen=True, slots=True)
class WordValue:
    """One text that a word stands for. With `below` it is a folder, and the word stands for names in it; the empty text
    is the folder in which the command stands, so that the names may begin with anything. `names` is the glob that they
    fit, if they lie directly in it, else empty. Names that lie anywhere below it fit one of the globs `only`, if there
    are any."""

    text: str
    below: bool = False
    names: str = ""
    only: tuple[str, ...] = ()


Values = tuple[WordValue, ...]
_Piece = tuple[str, bool]


@lru_cache(maxsize=4096)
def _known(text: str) -> Values:
    return (WordValue(text),)


def values_of(word: Word, loops: Loops = (), *, home: bool = True) -> Values | None:
    """The texts that a word stands for, at least one; None if they are not known. `HOME` begins a path in the home
    directory, which is known if `home`."""
    if word.kind is WordKind.KNOWN:
        return _known(word.start)
    if not word.raw:
        return None
    if word.raw[:2] in ("<(", ">(") and word.raw[-1:] == ")":
        return (WordValue(PIPE),)
    if word.raw == FOUND:
        return _found(loops, home)
    return _expanded(word.raw, loops, home)


def split_braces(word: Word) -> tuple[Word, ...]:
    """The words that a list in braces makes of one: `{a,b}.py` is two. Others stay as they are."""
    if word.known or "{" not in word.raw:
        return (word,)
    parts: list[list[str]] = []
    single, total = True, 1
    for found in _tokens(word.raw):
        if found is None:
            return (word,)
        single = single and found.lastgroup != "glob" and (found[0][0] != "$" or word.single)
        parts.append(found["list"].split(",") if found.lastgroup == "list" else [found[0]])
        total *= len(parts[-1])
        if total > _MAX_VALUES:
            return (word,)
    if total == 1:
        return (word,)
    return tuple(
        replace(word, start="", end="", single=single, home=False, raw=raw) for raw in map("".join, product(*parts))
    )


def _found(loops: Loops, home: bool) -> Values | None:
    # What a `find` gives to what it runs: each begins with one of its operands.
    at = max((at for at, (name, _) in enumerate(loops) if name == FOUND), default=-1)
    if at < 0:
        return None
    following = loops[at + 1 : at + 2]
    only = tuple(word.start for name, words in following if name == FOUND_NAMES for word in words)
    found: list[WordValue] = []
    for word in loops[at][1]:
        values = values_of(word, loops[:at], home=home)
        if values is None:
            return None
        found += (WordValue(value.text, below=True, only=only) for value in values)
    return tuple(dict.fromkeys(found))


def _expanded(raw: str, loops: Loops, home: bool) -> Values | None:
    pieces: list[Sequence[_Piece]] = []
    at = 0
    for found in _tokens(raw):
        if found is None:
            return None
        options = _piece(found, at == 0, raw, loops, home)
        if options is None:
            return None
        pieces.append(options)
        at = found.end()
    total = 1
    for options in pieces:
        total *= len(options)
        if total > _MAX_VALUES:
            return None
    values = [_joined(parts, raw) for parts in product(*pieces)]
    return None if None in values else tuple(dict.fromkeys(value for value in values if value is not None))


def _tokens(raw: str) -> Iterator[re.Match[str] | None]:
    at = 0
    while at < len(raw):
        found = _TOKEN.match(raw, at)
        yield found
        if found is None:
            return
        at = found.end()


def _piece(found: re.Match[str], first: bool, raw: str, loops: Loops, home: bool) -> Sequence[_Piece] | None:
    # The texts in the place of one piece of a word, each with whether a glob begins there.
    kind = found.lastgroup
    if kind == "single" or kind == "plain" or kind == "escaped":
        return [(found[kind], False)]
    if kind == "glob":
        return [("", True)]
    if kind == "list":
        return [(one, False) for one in found["list"].split(",")]
    if kind == "tilde":
        if not first:
            # Some shells expand it in what looks like an assignment: `dd if=~/x`.
            return None if _ASSIGNED.fullmatch(raw, 0, found.start()) else [("~", False)]
        return [(HOME, False)] if home and raw[1:2] in ("", "/") else None
    if kind == "double":
        return _quoted(found["double"], first, loops, home)
    return _variable(found["name"] or found["braced"], first, loops, home, quoted=False)


def _quoted(text: str, first: bool, loops: Loops, home: bool) -> Sequence[_Piece] | None:
    pieces: list[Sequence[_Piece]] = []
    for found in _INNER.finditer(text):
        if found["name"]:
            options = _variable(found["name"], first and not found.start(), loops, home, quoted=True)
            if options is None:
                return None
            pieces.append(options)
        else:
            pieces.append([(found["escaped"] or found["plain"], False)])
    if sum(len(options) > 1 for options in pieces) > 1:
        return None
    return [("".join(text for text, _ in parts), any(glob for _, glob in parts)) for parts in product(*pieces)]


def _variable(name: str, first: bool, loops: Loops, home: bool, *, quoted: bool) -> Sequence[_Piece] | None:
    if name == "HOME":
        return [(HOME, False)] if first and home else None
    if name == "PWD":
        return [(".", False)] if first else None
    words = next((words for variable, words in reversed(loops) if variable == name), None)
    if words is None or len(words) > _MAX_VALUES:
        return None
    found: list[_Piece] = []
    for word in words:
        values = values_of(word, home=home)
        if values is None:
            return None
        for value in values:
            if not quoted and (value.below or not value.text or _SPLITS.search(value.text)):
                # A name with a blank in it is several words, of which each may be anything.
                return None
            # The folder of a glob is known to end where the names begin.
            found.append((f"{value.text}/" if value.below and value.text not in ("", "/") else value.text, value.below))
    return found


def _joined(parts: Sequence[_Piece], raw: str) -> WordValue | None:
    before: list[str] = []
    for position, (text, glob) in enumerate(parts):
        if glob:
            before.append(text)
            return _folder("".join(before), parts[position + 1 :], raw)
        before.append(text)
    text = "".join(before)
    # In the middle of a text these are no beginning of a path.
    return None if HOME in text[1:] else WordValue(text)


def _folder(start: str, rest: Sequence[_Piece], raw: str) -> WordValue | None:
    # `src/a*` stands for names in `src`. `.*` may stand for `..`, and what follows a glob may go up again.
    folder, _, name = start.rpartition("/")
    if HOME in start[1:] or name in (".", "..") or ".." in "".join(text for text, _ in rest).split("/"):
        return None
    names = raw.rpartition("/")[2]
    plain = names if names and _PLAIN_GLOB.fullmatch(names) else ""
    folder = folder or ("/" if start[:1] == "/" else "")
    if "/" in "".join(text for text, _ in rest):
        return WordValue(folder, True, only=(plain,) if plain.strip("*") else ())
    return WordValue(folder, True, plain)
