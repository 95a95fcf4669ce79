"""`rebuno approval ls`: the questions that wait, or were answered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend

_STATES = ("pending", "granted", "denied", "expired", "withdrawn")


@click.command("ls")
@click.option("--status", default="pending", show_default=True, metavar="STATUS", help="Those in this state, or `all`.")
@click.option("--execution", metavar="ID", help="Only this execution's.")
@options.db
@options.url
@options.as_json
def ls(status: str, execution: str | None, db: str | None, url: str | None, as_json: bool) -> None:
    """List approvals, the oldest first."""
    from rebuno_cli.render import approvals
    from rebuno_cli.render.show import show

    if status not in (*_STATES, "all"):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(_STATES)}, all")

    async def look(backend: "Backend") -> "tuple[Sequence[Approval], float]":
        found = await backend.approvals(status=None if status == "all" else status, execution=execution)
        return found, backend.now()

    rows, now = connection.work(db, url, look)
    show(
        as_json,
        lambda: {"approvals": [approvals.approval_json(row) for row in rows]},
        lambda: approvals.approvals(rows, now),
    )
