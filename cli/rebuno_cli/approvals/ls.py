"""`rebuno approval ls`: the questions that wait, or were answered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno.errors import ValidationError
from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Approval
    from rebuno_cli.backend import Backend

_STATES = ("pending", "granted", "denied", "expired", "withdrawn")


def ls(
    status: Annotated[str, typer.Option(metavar="STATUS", help="Those in this state, or `all`.")] = "pending",
    execution: Annotated[str | None, typer.Option(metavar="ID", help="Only this execution's.")] = None,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """List approvals, the oldest first."""
    from rebuno_cli.render import approvals, console, output

    if status not in (*_STATES, "all"):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(_STATES)}, all")

    async def look(backend: "Backend") -> "tuple[Sequence[Approval], float]":
        found = await backend.approvals(status=None if status == "all" else status, execution=execution)
        return found, backend.now()

    rows, now = connection.work(db, url, look)
    if as_json:
        output.write_json({"approvals": [approvals.approval_json(row) for row in rows]})
    else:
        console.write(approvals.approvals(rows, now))
    return 0
