"""The options of commands, from the contract's table: for lines of words, `;`, single quotes, `env`, `$x` and `*`."""

import shlex
from dataclasses import dataclass
from typing import Any

from rebuno.policy.syntax.tree import Op
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri
from tests.policy.naive.logic import one_of

# A word that may be any word, or none, or several.
OPEN = ("$x", "*")


@dataclass(frozen=True)
class Line:
    """A command: its words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Doubted:
    """An element that is there, or not."""

    value: Any


@dataclass(frozen=True)
class Named:
    """The name of an option, as written."""

    name: str


def commands(value: Any) -> list[Any]:
    """The commands of a text; one that cannot be read is one unreadable command."""
    if isinstance(value, Line):
        return [value]
    if type(value) is not str or value.count("'") % 2 or not value.strip(" ;"):
        return [UNREADABLE]
    found: list[Any] = []
    for part in value.split(";"):
        words = tuple(shlex.split(part))
        while words:
            found.append(Line(words))
            if words[0] in OPEN:
                found[-1] = UNREADABLE
            words = words[1:] if words[0] == "env" else ()
    return found


def options(line: Line) -> list[tuple[str, bool, str | None]]:
    """The words that are options: each with whether it may be something else, and with the word behind it."""
    found: list[tuple[str, bool, str | None]] = []
    for at, word in enumerate(line.words):
        if at == 0 or word == "--" or not (word.startswith("-") or word in OPEN):
            continue
        before = line.words[1:at]
        last = before[-1] if before else ""
        takes = last in OPEN or (last.startswith("-") and "=" not in last and last not in ("-", "--"))
        ended = any(one == "--" or one in OPEN for one in before)
        found.append((word, takes or ended or word == "-", (*line.words, None)[at + 1]))
    return found


def names(line: Line) -> list[Any]:
    """`option of`."""
    found: list[Any] = []
    for word, doubted, _ in options(line):
        name = Named(word.split("=")[0])
        found.append(UNREADABLE if word in OPEN else Doubted(name) if doubted else name)
    return found


def values(line: Line, spellings: list[str]) -> list[Any]:
    """`option "…" of`, without what stands for nothing."""
    found: list[Any] = []
    for word, doubted, following in options(line):
        value = UNREADABLE if word in OPEN else _value(word, following, spellings)
        if word != "-" and value is not MISSING:
            found.append(Doubted(value) if doubted and value is not UNREADABLE else value)
    return found


def _value(word: str, following: str | None, spellings: list[str]) -> Any:
    name, equals, rest = word.partition("=")
    short = [one for one in spellings if len(one) == 2]
    if name in spellings and (name not in short or not equals):
        if equals:
            return rest
        if following is None or following in OPEN:
            return UNREADABLE
        number = following[:1] == "-" and following[1:].replace(".", "", 1).isdigit()
        return UNREADABLE if following[:1] == "-" and following != "-" and not number else following
    alike = any(name.strip("-") == one.strip("-") for one in spellings)
    if word[:2] in short and not alike:
        return word[2:]
    return UNREADABLE if alike or any(same(name, one, fold=False) is None for one in spellings) else MISSING


def same(written: str, name: str, fold: bool) -> Tri:
    """Whether an option, as written, is the one of this name."""
    if fold:
        written, name = written.casefold(), name.casefold()
    if written == name:
        return True
    if written.strip("-") == "" or name.strip("-") == "":
        return False
    if written.strip("-") == name.strip("-"):
        return None
    if written[:2] == "--":
        return None if name.startswith(written) else False
    letter = name[1] if len(name) == 2 else ""
    return None if letter not in ("", "-") and letter in written[1:] else False


def read(facet: str, value: Any) -> list[Any]:
    """What `command`, `option` and `option "…"` make of a value that is there."""
    found = commands(value)
    if facet == "command" or found == [UNREADABLE]:
        return found
    if facet == "option":
        return [one for line in found for one in (names(line) if isinstance(line, Line) else [UNREADABLE])]
    spellings = facet.split('"')[1].split()
    given = [one for line in found for one in (values(line, spellings) if isinstance(line, Line) else [UNREADABLE])]
    # Without an occurrence that is sure, there may be none.
    if any(not isinstance(one, Doubted) for one in given):
        return given
    return [*given, Doubted(MISSING)] if given else [MISSING]


def holds(op: Op, value: Named, right: Any, fold: bool) -> Tri:
    """`==` and `in` of a name."""
    if op is Op.IN:
        return one_of(same(value.name, one, fold) for one in right)
    return same(value.name, right, fold)
