"""`rebuno policy set`: puts a bundle in force for a served agent."""

import click

from rebuno_cli import connection, options


@click.command("set")
@options.agent
@click.argument("bundle", metavar="BUNDLE", help="The bundle, with all that it uses.")
@options.db
@options.url
@options.as_json
def put(agent: str, bundle: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Put a bundle in force for an agent, with the files that it uses as one text.

    Exit code 2 where it has errors; the old one stays then.
    """
    from rebuno.policy.inline import inline
    from rebuno_cli.render import output
    from rebuno_cli.render.escape import escape

    text = inline(bundle)
    connection.work(db, url, lambda desk: desk.set_policy(agent, text))
    if as_json:
        output.write_json({"agent_id": agent, "text": text})
    else:
        output.write_text(f"the bundle `{escape(bundle, None)}` is in force for agent {escape(agent)}")
    return 0
