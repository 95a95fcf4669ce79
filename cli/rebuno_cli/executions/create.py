"""`rebuno exec create`: begins an execution of a served agent."""

import click

from rebuno_cli import connection, files, options


@click.command("create")
@options.agent
@click.argument("input", default="null", metavar="[JSON]", help="The input; @FILE reads a file, - standard input.")
@click.option("--id", "key", default="", metavar="NAME", help="Your own id for it: a second time is no change.")
@click.option("--session", default="", metavar="NAME", help="Runs after the one before in this session.")
@click.option("--continues", "parent", default="", metavar="ID", help="A completed execution that it goes on from.")
@click.option("--on-behalf-of", default="", metavar="NAME", help="For whom it is.")
@click.option("--workdir", default="", metavar="PATH", help="The folder that it works in.")
@options.db
@options.url
@options.as_json
def create(
    agent: str,
    input: str,
    key: str,
    session: str,
    parent: str,
    on_behalf_of: str,
    workdir: str,
    db: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Begin an execution; its agent is told of it by the server, at once or as soon as one runs."""
    from rebuno_cli.render.show import show

    value = files.json_value(input, "the input")
    made = connection.work(
        db,
        url,
        lambda backend: backend.create(
            agent, value, session=session, key=key, parent=parent, on_behalf_of=on_behalf_of, workdir=workdir
        ),
    )
    show(as_json, lambda: made.model_dump(mode="json"), lambda: f"execution {made.id} {made.status}")
