"""`rebuno approval get`: one question with everything that the approver needs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.kernel import Panel
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend


@click.command("get")
@click.argument("approval_id", metavar="ID", help="The approval's id, or its beginning.")
@options.db
@options.url
@options.as_json
def get(approval_id: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show one approval: its step with all arguments, who may answer, and what a grant of each scope covers."""
    from rebuno_cli.render import approvals
    from rebuno_cli.render.show import show

    async def look(backend: "Backend") -> "tuple[Approval, Sequence[Panel], float]":
        row = await backend.approval(approval_id)
        return row, await backend.panels(row), backend.now()

    row, panels, now = connection.work(db, url, look)
    show(as_json, lambda: approvals.approval_json(row), lambda: approvals.approval(row, panels, now))
