"""`rebuno approval get`: one question, with all that whoever answers it must know."""

from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.operator import Operator
    from rebuno.kernel.panels import Panel


def get(
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The approval's id.")],
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Show one approval: its step with all arguments, who may answer, and what a grant of each scope covers."""
    from rebuno_cli.render import approvals, console, output

    async def look(operator: "Operator") -> "tuple[Approval, Step | None, tuple[Panel, ...], float]":
        [(row, step)] = await target.with_steps(operator, [await operator.approval(approval_id)])
        return row, step, await operator.panels(row), operator.now()

    row, step, panels, now = target.ask(db, look)
    if as_json:
        output.write_json(approvals.approval_json(row, step))
    else:
        console.write(approvals.approval(row, step, panels, now))
    return 0
