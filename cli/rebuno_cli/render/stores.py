"""Shows what is known of a store as a whole."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import Restored, StoreInfo
from rebuno_cli.render.diagnostics import counted
from rebuno_cli.render.escape import escape
from rebuno_cli.render.records import moment
from rebuno_cli.render.stops import whom

if TYPE_CHECKING:
    from rebuno.journal.sqlite.copies import CopiedStore


def copied(made: "CopiedStore", what: str) -> Iterator[RenderableType]:
    """What a copy holds, and what it replaced."""
    yield Text(f"{what} {escape(made.path)}: {counted(made.executions, 'execution')}, {made.size:,} bytes")
    if made.kept:
        yield Text(f"what stood there is kept as {escape(made.kept)}", "dim")


def restored(told: Restored | None) -> str:
    """Whether the store may be behind the world."""
    if told is None:
        return "not restored from a copy, or accepted"
    return (
        f"restored from a copy at {moment(told.restored_at)} by {escape(told.restored_by, 60)}: a person is asked"
        " before anything runs that may not run twice; `rebuno store accept-restore` ends that"
    )


def info(told: StoreInfo) -> Iterator[RenderableType]:
    """The store in a few lines."""
    for status, number in told.executions.items():
        yield Text(f"{counted(number, 'execution')} {escape(status)}")
    if not told.executions:
        yield Text("no executions")
    for stop in told.stops:
        yield Text(f"stopped: {whom(stop)}, by {escape(stop.created_by, 60)}", "yellow")
    yield Text(restored(told.restored), "yellow" if told.restored else "")
    yield Text(pieces(told.pieces))


def pieces(used: bool) -> str:
    """How long arguments are stored."""
    if used:
        return "what the calls of an execution repeat is stored once"
    return (
        "each call is stored whole, since a process of an older version may use the store;"
        " once none does: `rebuno store finish-upgrade`"
    )
