"""`rebuno exec ls`: the newest executions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import Execution
    from rebuno_cli.backend import Backend


@click.command("ls")
@click.option("--status", metavar="STATUS", help="Only those in this state.")
@click.option("--agent", metavar="NAME", help="Only this agent's.")
@click.option(
    "--limit", type=click.IntRange(min=1, max=1000), default=50, show_default=True, metavar="N", help="At most so many."
)
@options.db
@options.url
@options.as_json
def ls(status: str | None, agent: str | None, limit: int, db: str | None, url: str | None, as_json: bool) -> None:
    """List the newest executions."""
    from rebuno.model.execution import ExecutionStatus
    from rebuno_cli.render import records
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    if status is not None and status not in set(ExecutionStatus):
        raise ValidationError(f"`--status {status}` is no state; one of {', '.join(ExecutionStatus)}")

    async def look(backend: "Backend") -> "tuple[Sequence[Execution], Sequence[str]]":
        found = await backend.executions(agent_id=agent, status=status, limit=limit)
        return found, await backend.changed_files(found)

    rows, changed = connection.work(db, url, look)
    noted = [
        f"the bundle file `{escape(path, None)}` has changed since an execution began under it" for path in changed
    ]
    show(
        as_json,
        lambda: {"executions": [row.model_dump(mode="json") for row in rows], "changed_files": list(changed)},
        lambda: [*records.executions(rows), *noted],
    )
