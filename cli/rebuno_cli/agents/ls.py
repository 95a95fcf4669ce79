"""`rebuno agent ls`: the agents of a server."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@options.db
@options.url
@options.as_json
def ls(db: str | None, url: str | None, as_json: bool) -> None:
    """List agents."""
    from rebuno_cli.render import agents
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.agents())
    show(as_json, lambda: {"agents": [agent.model_dump(mode="json") for agent in found]}, lambda: agents.agents(found))
