"""The facets of what a command does: the paths that it reads, writes and removes, the hosts that it talks to, what it
executes, and the parts of it whose effects are not known."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from rebuno.policy.facets.path import facets as paths
from rebuno.policy.facets.path.globs import PathGlob
from rebuno.policy.facets.reading import Facet, PathContext, Perhaps, UncertainReading
from rebuno.policy.facets.shell.command import HIDDEN, Command, Hidden
from rebuno.policy.facets.shell.effects.effects import CommandEffects, command_effects, text_effects
from rebuno.policy.facets.shell.effects.found import EffectKind
from rebuno.policy.facets.shell.effects.readings import UNKNOWN, PlacedEffects, ProgramName, both, placed
from rebuno.policy.facets.shell.effects.table_set import TableSet
from rebuno.policy.facets.shell.script import read_shell
from rebuno.policy.facets.url.hosts import host_literal, under_domain
from rebuno.policy.values.json_values import UNREADABLE, Tri, shown

_BUILT_IN: Final = TableSet()
_NAMED: Final = ("remote:", "push:")
# What is unread may have an effect of each kind, or none.
_MORE: Final = Perhaps(UNKNOWN)


@lru_cache(maxsize=256)
def _of_text(text: str, tables: TableSet) -> CommandEffects | None:
    shell = read_shell(text)
    return None if shell is None else text_effects(shell, tables.table)


@lru_cache(maxsize=512)
def effects_of(value: Any, context: PathContext) -> PlacedEffects | None:
    """The effects of a shell text or of a `Command`; None for a text that cannot be read."""
    tables = context.tables or _BUILT_IN
    if type(value) is Command:
        return (
            None
            if value.simple is None
            else placed(command_effects(replace(value.simple, places=value.places), tables.table), context)
        )
    found = _of_text(value, tables)
    return None if found is None else placed(found, context)


def _reader(kind: EffectKind) -> Callable[[Any, PathContext], Any]:
    def read(value: Any, context: PathContext) -> Any:
        if type(value) is not str and type(value) is not Command:
            return UNREADABLE
        found = effects_of(value, context)
        if found is None:
            return UNREADABLE
        values = dict.fromkeys(
            each for one, effect in found.values if effect.kind is kind for each in both(one, effect)
        )
        return [*values, _MORE] if found.unread else [*values]

    return read


def _unread(value: Any, context: PathContext) -> Any:
    if type(value) is Hidden:
        return [value]
    if type(value) is not str and type(value) is not Command:
        return UNREADABLE
    found = effects_of(value, context)
    return [value] if found is None else list(found.unread)


def _text_literal(value: Any, context: PathContext) -> str:
    if type(value) is not str:
        raise ValueError(f"`{shown(value)}` is no part of a command; write a string")
    return value


def _host_literal(value: Any, context: PathContext) -> str:
    if type(value) is not str:
        raise ValueError(f"`{shown(value)}` is no host; write a string such as `corp.example` or `remote:origin`")
    return value if value.startswith(_NAMED) else host_literal(value)


def _under_host(host: Any, domain: Any) -> Tri:
    # A name in a configuration is no domain.
    return not host.startswith(_NAMED) and under_domain(host, domain)


def _executed_literal(value: Any, context: PathContext) -> Any:
    # A name alone is that of a program, as a command line has it; a path holds a `/`, or is `.` or `~`.
    if type(value) is str and value and "/" not in value and value not in (".", "..", "~"):
        return ProgramName(value)
    return paths.literal(value, context)


def _executed_pattern(text: str, context: PathContext) -> PathGlob | UncertainReading:
    return paths.pattern(text, context)


def _path_facet(kind: EffectKind, gives: str) -> Facet:
    return Facet(
        name=kind.value,
        of="shell text",
        gives=gives,
        value="string",
        read=_reader(kind),
        literal=paths.literal,
        many=True,
        commands=True,
        perhaps=True,
        begins=True,
        ahead=read_shell,
        pattern=paths.pattern,
        network=paths.literal,
    )


FACETS: Final = (
    _path_facet(EffectKind.READ, "the files and folders whose content it reads, as paths"),
    _path_facet(EffectKind.WRITTEN, "the files and folders that it creates or changes, as paths"),
    _path_facet(EffectKind.REMOVED, "the files and folders that are gone after it, or lose changes, as paths"),
    Facet(
        name=EffectKind.CONTACTED.value,
        of="shell text",
        gives="the hosts that it talks to; `remote:NAME` for one that only a configuration names, and `push:NAME` too "
        "where it publishes",
        value="string",
        read=_reader(EffectKind.CONTACTED),
        literal=_host_literal,
        many=True,
        commands=True,
        perhaps=True,
        begins=True,
        lower=True,
        ahead=read_shell,
        network=_host_literal,
        under=_under_host,
    ),
    Facet(
        name=EffectKind.EXECUTED.value,
        of="shell text",
        gives="the programs, scripts and folders of code that it runs besides the program itself",
        value="string",
        read=_reader(EffectKind.EXECUTED),
        literal=_executed_literal,
        many=True,
        commands=True,
        perhaps=True,
        begins=True,
        ahead=read_shell,
        pattern=_executed_pattern,
        network=paths.literal,
    ),
    Facet(
        name="unread",
        of="shell text",
        gives="the parts of it whose effects are not known, as written",
        value="string",
        read=_unread,
        literal=_text_literal,
        many=True,
        commands=True,
        begins=True,
        # INVARIANT: a command that cannot be taken from its text has an unread part for sure.
        of_unreadable=HIDDEN,
        ahead=read_shell,
    ),
)
