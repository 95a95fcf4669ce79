"""`rebuno agent get`: one agent."""

import click

from rebuno_cli import connection, options


@click.command("get")
@options.agent
@options.db
@options.url
@options.as_json
def get(agent: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show one agent: where it is, its policy, and what it says of itself."""
    from rebuno_cli.render import agents
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.agent(agent))
    show(as_json, lambda: found.model_dump(mode="json"), lambda: agents.agent(found))
