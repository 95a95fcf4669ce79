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

    found = connection.work(db, url, lambda desk: desk.agent(agent))
    show(as_json, lambda: agents.agent_json(found), lambda: agents.agent(found))
