"""Shows what a command line is read as: each command with its effects, and what is unread."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rebuno.policy import KnownProgram, LineEffects, ToldCommand
from rebuno_cli.render.diagnostics import counted
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows, hanging

# What people read for each facet, in this order.
_VERBS: Final = {
    "read_path": "reads",
    "written_path": "writes",
    "removed_path": "removes",
    "contacted_host": "contacts",
    "executed": "executes",
}
_WIDTH: Final = 10


def line(told: LineEffects) -> Iterator[RenderableType]:
    """The commands below each other, the parts that hide what runs, and whether all is read."""
    for one in told.commands:
        yield from _command(one)
    for part in told.hidden:
        yield hanging("unread      ", _because(escape(part.part), part.why), style="yellow")
    parts = told.unread
    if not parts:
        yield Text("all of it is read", "bold green")
        return
    yield Text(f"{counted(len(parts), 'part')} unread: it may do more than is shown", "bold yellow")


def _command(one: ToldCommand) -> Iterator[RenderableType]:
    yield Text(escape(one.text), "bold")
    places = " or ".join(map(escape, one.directories)) if one.directories else "a folder that is not known"
    yield _row("stands in", Text(places), "")
    for facet, verb in _VERBS.items():
        for effect in one.effects:
            if effect.facet == facet:
                yield _row(verb, _because(escape(effect.value), effect.why), "cyan")
    for part in one.unread:
        yield _row("unread", _because(escape(part.part), part.why), "yellow")


def _because(what: str, why: str) -> Text:
    return Text(what).append(f"  ({escape(why)})", "dim")


def _row(name: str, said: Text, style: str) -> RenderableType:
    return hanging(f"  {name:<{_WIDTH}}", said, style=style)


def programs(known: Sequence[KnownProgram]) -> Iterator[RenderableType]:
    """A table of the programs that have a table."""
    yield Rows(
        ("program", "flavour", "traced"),
        [(escape(one.name), one.flavour or "any", escape(one.versions) or "–") for one in known],
    )
