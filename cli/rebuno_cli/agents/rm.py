"""`rebuno agent rm`: forgets an agent."""

import click

from rebuno_cli import connection, options


@click.command("rm")
@options.agent
@click.option("--force", is_flag=True, help="Cancel its live executions first.")
@options.db
@options.url
@options.as_json
def rm(agent: str, force: bool, db: str | None, url: str | None, as_json: bool) -> int:
    """Forget an agent. Exit code 4 where it has live executions."""
    from rebuno_cli.render import output
    from rebuno_cli.render.escape import escape

    connection.work(db, url, lambda desk: desk.delete_agent(agent, force=force))
    if as_json:
        output.write_json({"id": agent})
    else:
        output.write_text(f"agent {escape(agent)} is forgotten")
    return 0
