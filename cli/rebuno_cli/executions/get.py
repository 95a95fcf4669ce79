"""`rebuno exec get`: one execution."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno_cli.backend import Desk


@click.command("get")
@options.execution
@options.db
@options.url
@options.as_json
def get(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show one execution: for whom it runs, its state, input, output and policy, and what its newest steps came to."""
    from rebuno.model.raised import checked
    from rebuno_cli.render import records
    from rebuno_cli.render.show import show

    async def look(desk: "Desk") -> None:
        row = await desk.execution(ref)
        steps, waits = await desk.steps(row.id), await desk.waits_for(row)
        last = await desk.events(row.id, after=row.head_seq - 1) if row.status == "failed" else ()
        raised = checked(last[-1].payload.get("raised")) if last else None
        blocked = [{"type": one.type, "id": one.id, "step_id": one.step_id} for one in waits]
        show(
            as_json,
            lambda: records.execution_json(row) | {"blocked_on": blocked, "failure": raised},
            lambda: records.execution(row, steps, waits, raised),
        )

    connection.work(db, url, look)
