"""Shows what is stopped."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import Stop
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import moment


def stops(rows: Sequence[Stop]) -> Iterator[RenderableType]:
    """A table of stops."""
    if not rows:
        yield Text("nothing is stopped")
        return
    yield Rows(
        ("id", "stopped", "by", "since", "reason", "lifted"),
        [
            (
                row.id,
                whom(row),
                escape(row.created_by, 40),
                moment(row.created_at),
                escape(row.reason or "", 200),
                f"{moment(row.lifted_at)} by {escape(row.lifted_by, 40)}" if row.lifted_by else "",
            )
            for row in rows
        ],
    )


def whom(row: Stop) -> str:
    """What a stop stops."""
    if row.agent_id:
        return f"agent {escape(row.agent_id, 60)}"
    return f"tools {escape(row.tool, 60)}" if row.tool else "everything"
