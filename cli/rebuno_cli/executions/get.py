"""`rebuno exec get`: one execution."""

from typing import TYPE_CHECKING

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno_cli.backend import Backend


def get(ref: options.Ref, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """Show one execution: for whom it runs, its state, input, output and policy, and what its newest steps came to."""
    from rebuno_cli.render import console, output, records

    async def look(backend: "Backend") -> int:
        row = await backend.execution(ref)
        if as_json:
            output.write_json(row.model_dump(mode="json"))
        else:
            console.write(records.execution(row, await backend.steps(row.id)))
        return 0

    return connection.work(db, url, look)
