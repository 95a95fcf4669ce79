"""`rebuno approval get`: one question, with all that whoever answers it must know."""

from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import options, target

if TYPE_CHECKING:
    from rebuno.journal.records import Approval, Step
    from rebuno.kernel.operator import Operator


def get(
    approval_id: Annotated[str, typer.Argument(metavar="ID", help="The approval's id.")],
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Show one approval, its step with all of its arguments, and what the answer covers."""
    from rebuno_cli.render import console, output, records

    async def look(operator: "Operator") -> "list[tuple[Approval, Step | None]]":
        return await target.with_steps(operator, [await operator.approval(approval_id)])

    [(row, step)] = target.ask(db, look)
    if as_json:
        output.write_json(records.approval_json(row, step))
    else:
        console.write(records.approval(row, step))
    return 0
