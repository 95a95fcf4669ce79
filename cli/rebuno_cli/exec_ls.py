"""`rebuno exec ls`: the newest executions."""

from typing import Annotated

import typer

from rebuno.errors import ValidationError
from rebuno_cli import options, target


def ls(
    status: Annotated[str | None, typer.Option(metavar="STATUS", help="Only those in this state.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only this agent's.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most so many.")] = 50,
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """List the newest executions."""
    from rebuno.model.execution import ExecutionStatus
    from rebuno_cli.render import console, output, records

    if status is not None and status not in set(ExecutionStatus):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(ExecutionStatus)}")
    rows = target.ask(db, lambda operator: operator.executions(agent_id=agent, status=status, limit=limit))
    if as_json:
        output.write_json({"executions": [records.execution_json(row) for row in rows]})
    else:
        console.write(records.executions(rows))
    return 0
