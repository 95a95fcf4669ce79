"""`rebuno agent rm`: removes an agent."""

import click

from rebuno_cli import connection, options


@click.command("rm")
@options.agent
@click.option("--force", is_flag=True, help="Cancel its live executions first.")
@options.db
@options.url
@options.as_json
def rm(agent: str, force: bool, db: str | None, url: str | None, as_json: bool) -> None:
    """Forget an agent. Exit code 4 where it has live executions."""
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    connection.work(db, url, lambda backend: backend.delete_agent(agent, force=force))
    show(as_json, lambda: {"id": agent}, lambda: f"agent {escape(agent)} is forgotten")
