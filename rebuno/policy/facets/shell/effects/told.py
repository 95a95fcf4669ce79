"""What a command line is read as and why, for people: each command in it with its effects, and what is unread."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from posixpath import isabs
from typing import Any, Final

from rebuno.errors import ValidationError
from rebuno.model.dataclass import dataclass
from rebuno.policy.facets.path import facets as paths
from rebuno.policy.facets.path.begins import beginning, resolved_places
from rebuno.policy.facets.path.placed import Placed
from rebuno.policy.facets.reading import PathContext, Reading, UncertainReading
from rebuno.policy.facets.shell.effects.arguments import Arguments, raw_of, read_arguments
from rebuno.policy.facets.shell.effects.effects import CommandEffects, command_effects
from rebuno.policy.facets.shell.effects.readings import both, placed
from rebuno.policy.facets.shell.effects.table import ProgramTable, TableError
from rebuno.policy.facets.shell.effects.table_set import BSD, FLAVOURS, GNU, TableSet, load_yaml, table_files
from rebuno.policy.facets.shell.script import read_shell, written
from rebuno.policy.facets.shell.walk import SimpleCommand

_NAMES: Final = "the text does not show what stands there"


@dataclass(frozen=True, slots=True)
class ToldEffect:
    """One effect as a rule sees it: the `facet` whose set it is in, its `value` there, and `why`: the table, and the
    word or the option that gave it. Where the place is one of several, the value names them all, with `or` between
    them."""

    facet: str
    value: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {"facet": self.facet, "value": self.value, "why": self.why}


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part of a command line, as written, whose effects are not known, and why they are not."""

    part: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {"part": self.part, "why": self.why}


@dataclass(frozen=True, slots=True)
class ToldCommand:
    """One simple command of a line: its `text`, the `directories` that it may stand in (None if they are not known),
    its effects, and what of it is unread."""

    text: str
    directories: tuple[str, ...] | None
    effects: tuple[ToldEffect, ...]
    unread: tuple[UnreadPart, ...]

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {
            "text": self.text,
            "directories": None if self.directories is None else list(self.directories),
            "effects": [one.to_json() for one in self.effects],
            "unread": [one.to_json() for one in self.unread],
        }


@dataclass(frozen=True, slots=True)
class LineEffects:
    """What a command line is read as: its commands, those that its wrappers run included, and the parts that `hide`
    what runs."""

    text: str
    commands: tuple[ToldCommand, ...]
    hidden: tuple[UnreadPart, ...]

    @property
    def unread(self) -> tuple[UnreadPart, ...]:
        """All that is unread, each part once. Nothing: then every set of effects is complete."""
        found: dict[str, UnreadPart] = {}
        for one in (*self.hidden, *(part for each in self.commands for part in each.unread)):
            found.setdefault(one.part, one)
        return tuple(found.values())

    def values(self, facet: str) -> tuple[str, ...]:
        """The values of one facet over the whole line, such as those of `read_path`, each once."""
        found = (one.value for each in self.commands for one in each.effects if one.facet == facet)
        return tuple(dict.fromkeys(found))

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {
            "text": self.text,
            "read": not self.unread,
            "commands": [one.to_json() for one in self.commands],
            "unread": [one.to_json() for one in self.unread],
        }


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program that has a table: its name, the flavour if the table is of one flavour only, the releases that were
    traced, and what a reader must know."""

    name: str
    flavour: str
    versions: str
    about: str

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {"name": self.name, "flavour": self.flavour, "versions": self.versions, "about": self.about}


def effects_of_command(
    text: str,
    *,
    workdir: str | None = None,
    home: str | None = None,
    cwd: str | None = None,
    flavour: str = GNU,
    tables: Sequence[str] = (),
) -> LineEffects:
    """What a command line does, as the facets of effects read it, and why.

    `workdir` and `home` are those of a bundle, absolute paths; `cwd` is where the line begins, else `workdir`; a
    relative one is below `workdir`. `flavour` is `gnu` or `bsd`. `tables` are the texts of files of tables, a later one
    before an earlier one, and all of them before those that come along.

    Raises:
        ValidationError: the line cannot be read as one that a shell runs, or an argument is wrong.
    """
    for name, given in (("workdir", workdir), ("home", home)):
        if given is not None and not isabs(given):
            raise ValidationError(f"`{name}` is an absolute path, not `{given}`")
    if cwd is not None and (not cwd or cwd[0] == "~"):
        raise ValidationError("`cwd` is a path; a `~` in it is expanded by nobody")
    if flavour not in FLAVOURS:
        raise ValidationError(f"`{flavour}` is no flavour of programs; one of {', '.join(FLAVOURS)}")
    shell = read_shell(text)
    if shell is None:
        raise ValidationError("the line holds no command, or cannot be read with certainty")
    reader = _Teller(beginning(cwd, PathContext(workdir, home)), TableSet(flavour, tuple(tables)))
    try:
        commands = [reader.command(simple) for simple in shell.commands]
        told = {(one.facet, one.value) for each in commands for one in each.effects}
        # Most redirects belong to a command, and are told there.
        for one in (reader.command(simple) for simple in shell.opened):
            if one.unread or any((each.facet, each.value) not in told for each in one.effects):
                commands.append(one)
    except TableError as error:
        raise ValidationError(f"a table cannot be read: {error}") from None
    hidden = tuple(UnreadPart(part, "what it runs is not written there") for part in dict.fromkeys(shell.unread))
    return LineEffects(text, tuple(commands), hidden)


class _Teller:
    def __init__(self, context: PathContext, tables: TableSet) -> None:
        self.context = context
        self.tables = tables

    def command(self, simple: SimpleCommand) -> ToldCommand:
        """One command, read where it stands."""
        found = command_effects(simple, self.tables.table)
        values = placed(found, self.context)
        effects = tuple(
            ToldEffect(effect.kind.value, shown_value(value), effect.why)
            for each, effect in values.values
            for value in both(each, effect)
        )
        unread = tuple(UnreadPart(part, why) for part, why in self._reasons(values.unread, found, simple))
        text = written(simple.words) if simple.words else " ".join(_redirects(simple))
        return ToldCommand(text, self._directories(simple), tuple(dict.fromkeys(effects)), unread)

    def _directories(self, simple: SimpleCommand) -> tuple[str, ...] | None:
        found = paths.read(Placed(".", resolved_places(simple.places, self.context)), self.context)
        if not isinstance(found, Reading):
            return None
        readings = found.readings if type(found) is UncertainReading else (found,)
        return tuple(str(one) for one in readings)

    # ------------------------------------------------------------ why something is unread

    def _reasons(self, parts: Iterable[str], found: CommandEffects, simple: SimpleCommand) -> Iterator[tuple[str, str]]:
        name = simple.words[0].start if simple.words else ""
        table = self.tables.table(name.rpartition("/")[2]) if name else None
        arguments = None if table is None else read_arguments(simple, table)
        for part in parts:
            yield part, self._place(part) if part not in found.unread else _reason(part, simple, table, arguments)

    def _place(self, path: str) -> str:
        if path[:1] == "~" and self.context.home is None:
            return "no `home` is given, so nobody knows where `~` is"
        return "where this leads is not known"


def _reason(part: str, simple: SimpleCommand, table: ProgramTable | None, arguments: Arguments | None) -> str:
    if part.endswith("=") and part[:-1] in (*simple.assigned, *simple.variables):
        return "this variable may change what the program does"
    words = (*simple.words, *(one.file for one in simple.redirects))
    if any(not one.known and raw_of(one) == part for one in words):
        return _NAMES
    if table is None or arguments is None:
        return f"no table tells what `{simple.words[0].start}` does"
    name = arguments.table.name
    if part == written(simple.words):
        return f"what `{name}` runs here is not known"
    if part in arguments.unread:
        if arguments.table.subcommands and part[:1] != "-":
            return f"the table of `{name}` has no such subcommand"
        return f"the table of `{name}` does not name it"
    return f"the table of `{name}` does not tell what it does"


def shown_value(value: Any) -> str:
    """A value of a set of effects as a trace shows it."""
    return str(value.json() if isinstance(value, Reading) else value)


def _redirects(simple: SimpleCommand) -> Iterator[str]:
    for one in simple.redirects:
        yield f"{'>' if one.writes else '<'} {raw_of(one.file)}"


@cache
def known_programs() -> tuple[KnownProgram, ...]:
    """The programs whose tables come along, sorted by name."""
    found = []
    for name, file in sorted(table_files().items()):
        plain = name.removesuffix(f".{BSD}")
        head = load_yaml(file.read_text("utf-8").partition("\ncases:\n")[0])
        versions, about = (" ".join(str(head.get(key) or "").split()) for key in ("versions", "about"))
        found.append(KnownProgram(plain, "" if plain == name else BSD, versions, about))
    return tuple(found)
