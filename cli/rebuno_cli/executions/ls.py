"""`rebuno exec ls`: the newest executions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rebuno.errors import ValidationError
from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Execution
    from rebuno_cli.backend import Backend


def ls(
    status: Annotated[str | None, typer.Option(metavar="STATUS", help="Only those in this state.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only this agent's.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most so many.")] = 50,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """List the newest executions."""
    from rebuno.model.execution import ExecutionStatus
    from rebuno_cli.render import console, output, records
    from rebuno_cli.render.escape import escape

    if status is not None and status not in set(ExecutionStatus):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(ExecutionStatus)}")

    async def look(backend: "Backend") -> "tuple[Sequence[Execution], Sequence[str]]":
        found = await backend.executions(agent_id=agent, status=status, limit=limit)
        return found, await backend.changed_files(found)

    rows, changed = connection.work(db, url, look)
    if as_json:
        output.write_json({"executions": [row.model_dump(mode="json") for row in rows], "changed_files": list(changed)})
    else:
        console.write(records.executions(rows))
        for path in changed:
            output.write_text(f"the bundle file `{escape(path, None)}` has changed since an execution began under it")
    return 0
