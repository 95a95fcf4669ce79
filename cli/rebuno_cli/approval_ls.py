"""`rebuno approval ls`: the questions that wait, or were answered."""

from typing import TYPE_CHECKING, Annotated

import typer

from rebuno.errors import ValidationError
from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.operator import Operator

_STATES = ("pending", "granted", "denied", "expired", "withdrawn")


def ls(
    status: Annotated[str, typer.Option(metavar="STATUS", help="Those in this state, or `all`.")] = "pending",
    execution: Annotated[str | None, typer.Option(metavar="ID", help="Only this execution's.")] = None,
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """List approvals, the oldest first."""
    from rebuno_cli.render import approvals, console, output

    if status not in (*_STATES, "all"):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(_STATES)}, all")

    async def look(operator: "Operator") -> "tuple[list[tuple[Approval, Step | None]], float]":
        within = (await operator.execution(execution)).id if execution is not None else None
        found = await operator.approvals(status=None if status == "all" else status, execution_id=within)
        return await target.with_steps(operator, found), operator.now()

    rows, now = target.ask(db, look)
    if as_json:
        output.write_json({"approvals": [approvals.approval_json(row, step) for row, step in rows]})
    else:
        console.write(approvals.approvals(rows, now))
    return 0
