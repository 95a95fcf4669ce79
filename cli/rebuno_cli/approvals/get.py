"""`rebuno approval get`: one question, with all that whoever answers it must know."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.kernel.core.quorum import Panel
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend


def get(
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The approval's id, or its beginning.")],
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Show one approval: its step with all arguments, who may answer, and what a grant of each scope covers."""
    from rebuno_cli.render import approvals, console, output

    async def look(backend: "Backend") -> "tuple[Approval, Sequence[Panel], float]":
        row = await backend.approval(approval_id)
        return row, await backend.panels(row), backend.now()

    row, panels, now = connection.work(db, url, look)
    if as_json:
        output.write_json(approvals.approval_json(row))
    else:
        console.write(approvals.approval(row, panels, now))
    return 0
