"""`rebuno grant ls`: the grants that outlive a run."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@click.option("--agent", default="", metavar="AGENT", help="Only this agent's.")
@click.option("--all", "over", is_flag=True, help="Those that have ended or were revoked, too.")
@options.db
@options.url
@options.as_json
def ls(agent: str, over: bool, db: str | None, url: str | None, as_json: bool) -> None:
    """List the grants that outlive a run, the oldest first."""
    from rebuno_cli.render import grants
    from rebuno_cli.render.show import show

    rows = connection.work(db, url, lambda backend: backend.standing_grants(agent_id=agent, over=over))
    show(as_json, lambda: {"grants": [one.model_dump(mode="json") for one in rows]}, lambda: grants.grants(rows))
