"""`rebuno exec create`: begins an execution of a served agent."""

from typing import Annotated

import typer

from rebuno_cli import connection, files, options


def create(
    agent: options.Agent,
    input: Annotated[
        str, typer.Argument(metavar="[JSON]", help="The input; @FILE reads a file, - standard input.")
    ] = "null",
    key: Annotated[
        str, typer.Option("--id", metavar="NAME", help="Your own id for it: a second time is no change.")
    ] = "",
    session: Annotated[str, typer.Option(metavar="NAME", help="Runs after the one before in this session.")] = "",
    parent: Annotated[
        str, typer.Option("--continues", metavar="ID", help="A completed execution that it goes on from.")
    ] = "",
    on_behalf_of: Annotated[str, typer.Option("--on-behalf-of", metavar="NAME", help="For whom it is.")] = "",
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Begin an execution; its agent is told of it by the server, at once or as soon as one runs."""
    from rebuno_cli.render import output

    value = files.json_value(input, "the input")
    made = connection.work(
        db,
        url,
        lambda backend: backend.create(
            agent, value, session=session, key=key, parent=parent, on_behalf_of=on_behalf_of
        ),
    )
    if as_json:
        output.write_json(made.model_dump(mode="json"))
    else:
        output.write_text(f"execution {made.id} {made.status}")
    return 0
