"""`rebuno approval get`: one question with everything that the approver needs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.core.quorum import Panel
    from rebuno_cli.backend import Desk


def get(
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The approval's id, or its beginning.")],
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Show one approval: its step with all arguments, who may answer, and what a grant of each scope covers."""
    from rebuno_cli.render import approvals, console, output

    async def look(desk: "Desk") -> "tuple[Approval, Step | None, Sequence[Panel], float]":
        row, step = await desk.approval(approval_id)
        return row, step, await desk.panels(row), desk.now()

    row, step, panels, now = connection.work(db, url, look)
    if as_json:
        output.write_json(approvals.approval_json(row, step))
    else:
        console.write(approvals.approval(row, step, panels, now))
    return 0
