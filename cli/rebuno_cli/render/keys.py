"""Shows API keys."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import ApiKey
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import moment


def keys(rows: Sequence[ApiKey]) -> Iterator[RenderableType]:
    """A table of keys."""
    if not rows:
        yield Text("no keys")
        return
    yield Rows(
        ("id", "name", "scopes", "agents", "made", "revoked"),
        [
            (
                row.id,
                escape(row.name, 40),
                escape(", ".join(row.scopes)),
                escape(", ".join(row.agents)),
                moment(row.created_at),
                moment(row.revoked_at),
            )
            for row in rows
        ],
    )
