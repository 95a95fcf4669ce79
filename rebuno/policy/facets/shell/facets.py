"""The facets of shell text: `command`, `program` and `redirect`."""

from collections.abc import Callable
from typing import Any, Final

from rebuno.policy.facets.path import facets
from rebuno.policy.facets.path.begins import resolved_places
from rebuno.policy.facets.path.placed import START, Placed
from rebuno.policy.facets.reading import NO_CONTEXT, Facet, PathContext
from rebuno.policy.facets.shell.command import HIDDEN, Command, CommandPattern, Hidden, Program
from rebuno.policy.facets.shell.script import ShellCommands, read_shell
from rebuno.policy.facets.shell.words import Word
from rebuno.policy.values.globs import glob
from rebuno.policy.values.json_values import UNREADABLE, shown


def _reader(part: Callable[[ShellCommands, PathContext], list[Any]]) -> Callable[[Any, PathContext], Any]:
    def read(value: Any, context: PathContext) -> Any:
        shell = read_shell(value) if type(value) is str else None
        if shell is None:
            return UNREADABLE
        found = part(shell, context)
        return [*found, HIDDEN] if shell.hidden else found

    return read


def _commands(shell: ShellCommands, context: PathContext) -> list[Any]:
    return [
        Command(
            one.words,
            one.redirected,
            shell.assigned or bool(one.assigned),
            resolved_places(one.places, context),
            one,
        )
        for one in shell.commands
    ]


def commands_in(value: Any) -> list[Command | Hidden] | None:
    """The commands that a facet with `commands` reads: the command itself, or those of a shell text, with `HIDDEN` if
    more may run than is written. None for what is no command, and for a text that cannot be read."""
    if type(value) is Command:
        return [value]
    found: Any = _read_commands(value, NO_CONTEXT)
    return None if found is UNREADABLE else found


def _programs(shell: ShellCommands, context: PathContext) -> list[Any]:
    found = (Program(one.words[0].start, shell.assigned or bool(one.assigned)) for one in shell.commands)
    return list(dict.fromkeys(found))


def _targets(shell: ShellCommands, context: PathContext) -> list[Any]:
    found = (UNREADABLE if target is None else _target(target, context) for target in shell.targets)
    return [HIDDEN if target is UNREADABLE else target for target in found]


def _target(target: str | Placed, context: PathContext) -> Any:
    if context.begins == "" or (type(target) is str and target[:1] in ("/", "~")):
        return facets.read(target, context)
    text, places = (target, START) if isinstance(target, str) else (target.text, target.places)
    return facets.read(Placed(text, resolved_places(places, context)), context)


_read_commands: Final = _reader(_commands)


def _split(value: Any, what: str) -> list[str]:
    if type(value) is not str or not value.split():
        raise ValueError(f"{shown(value)} is no {what}; write its words in a string, with blanks between them")
    return value.split()


def _command_literal(value: Any, context: PathContext) -> Command:
    return Command(tuple(Word(text) for text in _split(value, "command")))


def _command_pattern(value: str, context: PathContext) -> CommandPattern:
    words = _split(value, "command")
    rest = words[-1] == "*"
    if rest:
        words.pop()
    for word in words:
        glob(word)
    return CommandPattern(tuple(words), rest)


def _program_literal(value: Any, context: PathContext) -> Program:
    if len(_split(value, "program")) > 1:
        raise ValueError(f"{shown(value)} is no program; write its name alone, and use `command` for its arguments")
    return Program(value.strip())


FACETS: Final = (
    Facet(
        name="command",
        of="shell text",
        gives="the simple commands in it, each a list of words",
        value="list",
        read=_read_commands,
        literal=_command_literal,
        many=True,
        begins=True,
        ahead=read_shell,
        pattern=_command_pattern,
    ),
    Facet(
        name="program",
        of="shell text",
        gives="the names of the programs that it runs",
        value="string",
        read=_reader(_programs),
        literal=_program_literal,
        many=True,
        ahead=read_shell,
    ),
    Facet(
        name="redirect",
        of="shell text",
        gives="the files that output goes to, as paths",
        value="string",
        read=_reader(_targets),
        literal=facets.literal,
        many=True,
        begins=True,
        ahead=read_shell,
        pattern=facets.pattern,
        network=facets.literal,
    ),
)
