"""`rebuno agent get`: one agent."""

from rebuno_cli import connection, options


def get(agent: options.Agent, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """Show one agent: where it is, its policy, and what it says of itself."""
    from rebuno_cli.render import agents, console, output

    found = connection.work(db, url, lambda backend: backend.agent(agent))
    if as_json:
        output.write_json(found.model_dump(mode="json"))
    else:
        console.write(agents.agent(found))
    return 0
