"""`rebuno agent rm`: removes an agent."""

from typing import Annotated

import typer

from rebuno_cli import connection, options


def rm(
    agent: options.Agent,
    force: Annotated[bool, typer.Option("--force", help="Cancel its live executions first.")] = False,
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Forget an agent. Exit code 4 where it has live executions."""
    from rebuno_cli.render import output
    from rebuno_cli.render.escape import escape

    connection.work(db, url, lambda desk: desk.delete_agent(agent, force=force))
    if as_json:
        output.write_json({"id": agent})
    else:
        output.write_text(f"agent {escape(agent)} is forgotten")
    return 0
