"""`rebuno exec get`: one execution."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno_cli.backend import Backend


@click.command("get")
@options.execution
@options.db
@options.url
@options.as_json
def get(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show one execution: for whom it runs, its state, input, output and policy, and what its newest steps came to."""
    from rebuno_cli.render import records
    from rebuno_cli.render.show import show

    async def look(backend: "Backend") -> None:
        row = await backend.execution(ref)
        steps = () if as_json else await backend.steps(row.id)
        show(as_json, lambda: row.model_dump(mode="json"), lambda: records.execution(row, steps))

    connection.work(db, url, look)
