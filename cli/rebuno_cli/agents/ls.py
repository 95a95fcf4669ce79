"""`rebuno agent ls`: the agents of a server."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@options.db
@options.url
@options.as_json
def ls(db: str | None, url: str | None, as_json: bool) -> int:
    """List agents."""
    from rebuno_cli.render import agents, console, output

    found = connection.work(db, url, lambda desk: desk.agents())
    if as_json:
        output.write_json({"agents": [agents.agent_json(agent) for agent in found]})
    else:
        console.write(agents.agents(found))
    return 0
