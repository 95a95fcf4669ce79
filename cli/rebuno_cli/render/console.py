"""Lays out the output of commands for this terminal, pipe or file."""

import io
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, Group, RenderableType

from rebuno_cli.render.output import UNBOUNDED, width, write_text


def write(items: Iterable[RenderableType], *, to: TextIO | None = None) -> None:
    """Renders `items` below each other to standard output, or to the stream `to`. Colours only on a terminal, and not
    where NO_COLOR is set.

    Raises:
        ReaderGoneError: the other end of the pipe is closed.
    """
    stream = to or sys.stdout
    colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if text := _laid_out(items, width(stream), colour=colour):
        write_text(text, to=stream)


def plain(items: Iterable[RenderableType]) -> str:
    """`items` below each other as text, lines whole and without colours."""
    return _laid_out(items, UNBOUNDED, colour=False)


def _laid_out(items: Iterable[RenderableType], columns: int, *, colour: bool) -> str:
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=columns,
        force_terminal=colour,
        color_system="auto" if colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    console.print(Group(*items))
    return "\n".join(line.rstrip() for line in buffer.getvalue().removesuffix("\n").split("\n"))
