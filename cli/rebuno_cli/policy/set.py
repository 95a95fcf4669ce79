"""`rebuno policy set`: sets the bundle of a served agent."""

import click

from rebuno_cli import connection, options


@click.command("set")
@options.agent
@click.argument("bundle", metavar="BUNDLE", help="The bundle, with all that it uses.")
@options.db
@options.url
@options.as_json
def put(agent: str, bundle: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Put a bundle in force for an agent, with the files that it uses as one text.

    Exit code 2 where it has errors; the old one stays then.
    """
    from rebuno.policy import inline_bundle
    from rebuno_cli.render.escape import escape
    from rebuno_cli.render.show import show

    text = inline_bundle(bundle)
    connection.work(db, url, lambda backend: backend.set_policy(agent, text))
    show(
        as_json,
        lambda: {"agent_id": agent, "text": text},
        lambda: f"the bundle `{escape(bundle, None)}` is in force for agent {escape(agent)}",
    )
