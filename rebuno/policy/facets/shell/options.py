"""`option`: the names of the options in a command, and the values that it gives to one of them.

Programs read their words differently: `-ndev` is `-n dev` or four letters, `--name` stands for `--namespace` where only
one option begins like that, and `-n` after `--message` may be its value. What depends on the program is in doubt.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.reading import Facet, PathContext, Perhaps, Reading
from rebuno.policy.facets.shell.command import Command
from rebuno.policy.facets.shell.facets import commands_in
from rebuno.policy.facets.shell.script import read_shell
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.syntax.tree import facet_called
from rebuno.policy.values.json_values import MISSING, UNREADABLE, Tri, shown

_NEGATIVE_NUMBER: Final = re.compile(r"-[0-9]+(?:\.[0-9]+)?")
_NAME: Final = re.compile(r"-+[^-=\s][^=\s]*")


@dataclass(frozen=True, slots=True)
class OptionName(Reading):
    """The name of an option as a command writes it, up to its `=`."""

    name: str

    def equals(self, right: Any, fold: bool) -> Tri:
        """The same name; maybe for a name that some programs take this one for."""
        if not isinstance(right, OptionName):
            return None
        mine, theirs = (self.name.casefold(), right.name.casefold()) if fold else (self.name, right.name)
        return True if mine == theirs else None if may_stand_for(mine, theirs) else False

    def json(self) -> str:
        """The name."""
        return self.name


def may_stand_for(written: str, name: str) -> bool:
    """Whether a program may take the option `written` for the option `name`: a cluster with this letter, the beginning
    of a long name, or the same name behind one `-` and behind two."""
    bare, letters = written.lstrip("-"), set(written[1:])
    if "" in (bare, name.lstrip("-")):
        return False
    if name.lstrip("-") == bare:
        return True
    if written.startswith("--") or name.startswith("--"):
        return written.startswith("--") and name.startswith(written)
    return letters.issuperset(name[1:]) or (len(name) > 2 and name.startswith(written))


@dataclass(frozen=True, slots=True)
class _Place:
    """A word that is an option, or may be one. `doubtful`: it may be the value of the word before, stand after a `--`,
    or not stand there at all. `following` is the next word."""

    word: Word
    doubtful: bool
    following: Word | None


def _places(command: Command) -> Iterator[_Place]:
    words = command.words
    takes = ended = False  # whether the word before may take this one for its value, and whether `--` may stand before
    for at in range(1, len(words)):
        word = words[at]
        text = word.start
        if not _may_be_option(word, command.assigned):
            takes = False
        elif word.known and text in ("-", "--"):
            if text == "-":
                # To some programs, as `su`, it is an option.
                yield _Place(word, True, None)
            takes, ended = False, ended or text == "--"
        else:
            yield _Place(word, takes or ended or not word.single, words[at + 1] if at + 1 < len(words) else None)
            takes, ended = "=" not in text, ended or (not word.known and "--".startswith(text))


def _may_be_option(word: Word, assigned: bool) -> bool:
    # A home directory is a path, unless the text sets `HOME`.
    return word.start[:1] == "-" or not (word.known or word.start or (word.home and not assigned))


def _names(command: Command) -> Iterator[Any]:
    for place in _places(command):
        name, equals, _ = place.word.start.partition("=")
        if place.word.known or equals:
            yield Perhaps(OptionName(name)) if place.doubtful else OptionName(name)
        else:
            yield UNREADABLE


class _Spellings:
    """The names of one option: `-n --namespace`."""

    def __init__(self, text: str) -> None:
        self.names = text.split()
        if not self.names:
            raise ValueError('a text after `option` names an option, as in `option "-n --namespace" of`')
        for name in self.names:
            _check_name(name)
        self._exact = frozenset(self.names)
        self._bare = frozenset(name.lstrip("-") for name in self.names)
        self._glued = frozenset(name for name in self.names if len(name) == 2 and name != "--")

    def values(self, command: Command) -> Iterator[Any]:
        """The values that a command gives to the option."""
        for place in _places(command):
            value = self._value(place, command)
            if value is UNREADABLE:
                yield UNREADABLE
            elif value is not MISSING:
                placed = command.placed(value)
                yield Perhaps(placed) if place.doubtful else placed

    def _value(self, place: _Place, command: Command) -> Any:
        # A text; `MISSING` for another option, `UNREADABLE` for a value that is not known, or not known to be given.
        text = place.word.start
        name, equals, value = text.partition("=")
        if not (place.word.known or equals):
            return UNREADABLE if self._may_become(text) else MISSING
        glued = text[:2] in self._glued
        if name in self._exact:
            if glued and (equals or len(name) > 2):
                # `-n=dev` is `dev` to some programs and `=dev` to others.
                return UNREADABLE
            found = value if equals else _following(place.following)
        elif glued and name[1:] not in self._bare:
            found = text[2:]
        else:
            found = UNREADABLE if any(may_stand_for(name, one) for one in self.names) else MISSING
        return found if place.word.known or found is MISSING else UNREADABLE

    def _may_become(self, start: str) -> bool:
        """Whether a word that begins like this may be one of the names, or hold one of its letters."""
        if start[:2] != "--":
            return True
        return any(name.lstrip("-").startswith(start[2:]) for name in self.names)


def _following(word: Word | None) -> Any:
    if word is None or not word.known:
        return UNREADABLE
    text = word.start
    # Some programs take no word with a `-` for a value.
    return UNREADABLE if text[:1] == "-" and text != "-" and not _NEGATIVE_NUMBER.fullmatch(text) else text


# ---------------------------------------------------------------- facets


def _reader(part: Callable[[Command], Iterator[Any]], empty: list[Any]) -> Callable[[Any, PathContext], Any]:
    """The reader of a facet of options; without any value it gives `empty`."""

    def read(value: Any, _: PathContext) -> Any:
        commands = commands_in(value)
        if commands is None:
            return UNREADABLE
        found: dict[Any, None] = {}
        for one in commands:
            found.update(dict.fromkeys(part(one) if isinstance(one, Command) else (UNREADABLE,)))
        if empty and all(type(one) is Perhaps for one in found):
            return [*found, *([Perhaps(MISSING)] if found else empty)]
        return list(found)

    return read


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{shown(name)} is no option; its name begins with `-`, and has no `=` and no blank")


def _name_literal(value: Any, _: PathContext) -> OptionName:
    if type(value) is not str:
        raise ValueError(f"{shown(value)} is no option; write its name in a string")
    if value != "-":
        _check_name(value)
    return OptionName(value)


def _value_literal(value: Any, _: PathContext) -> str:
    if type(value) is not str:
        raise ValueError(f"{shown(value)} is no text; the values of an option are texts")
    return value


def _with_text(text: str) -> Facet:
    spellings = _Spellings(text)
    return Facet(
        name=facet_called("option", text),
        of="a command, or shell text",
        gives="the values given to this option",
        value="string",
        read=_reader(spellings.values, [MISSING]),
        literal=_value_literal,
        many=True,
        commands=True,
        perhaps=True,
        ahead=read_shell,
    )


FACETS: Final = (
    Facet(
        name="option",
        of="a command, or shell text",
        gives="the names of the options in it",
        value="option",
        read=_reader(_names, []),
        literal=_name_literal,
        many=True,
        commands=True,
        perhaps=True,
        ahead=read_shell,
        with_text=_with_text,
    ),
)
