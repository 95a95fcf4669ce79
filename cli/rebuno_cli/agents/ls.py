"""`rebuno agent ls`: the agents of a server."""

from rebuno_cli import connection, options


def ls(db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """List agents."""
    from rebuno_cli.render import agents, console, output

    found = connection.work(db, url, lambda backend: backend.agents())
    if as_json:
        output.write_json({"agents": [agent.model_dump(mode="json") for agent in found]})
    else:
        console.write(agents.agents(found))
    return 0
