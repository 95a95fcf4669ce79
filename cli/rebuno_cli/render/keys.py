"""Shows API keys."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rebuno.types import ApiKey, NewApiKey
from rebuno_cli.render.escape import escape
from rebuno_cli.render.layout import Rows
from rebuno_cli.render.records import exact, moment


def keys(rows: Sequence[ApiKey]) -> Iterator[RenderableType]:
    """A table of keys."""
    if not rows:
        yield Text("no keys")
        return
    yield Rows(
        ("id", "name", "scopes", "made", "revoked"),
        [
            (
                row.id,
                escape(row.name, 40),
                escape(", ".join(row.scopes)),
                moment(row.created_at),
                moment(row.revoked_at),
            )
            for row in rows
        ],
    )


def key_json(row: ApiKey) -> dict[str, Any]:
    """One key as JSON data."""
    return {
        "id": row.id,
        "name": row.name,
        "scopes": row.scopes,
        "created_at": exact(row.created_at),
        "revoked_at": exact(row.revoked_at),
    }


def new_json(row: NewApiKey) -> dict[str, Any]:
    """A new key as JSON data, its token with it."""
    return key_json(row) | {"token": row.token}
