"""`rebuno agent get`: one agent."""

import click

from rebuno_cli import connection, options


@click.command("get")
@options.agent
@options.db
@options.url
@options.as_json
def get(agent: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Show one agent: where it is, its policy, and what it says of itself."""
    from rebuno_cli.render import agents, console, output

    found = connection.work(db, url, lambda desk: desk.agent(agent))
    if as_json:
        output.write_json(agents.agent_json(found))
    else:
        console.write(agents.agent(found))
    return 0
