"""`rebuno tools pin`: the digests of what servers say of their tools, as a file that a bundle reads."""

import click

from rebuno_cli import connection, options


@click.command("pin")
@options.db
@options.url
def pin(db: str | None, url: str | None) -> None:
    """Write the digests of all tools' definitions as a YAML list.

    Review the definitions first: `rebuno tools ls`. What a later definition of a tool has changed stands in comments.
    """
    from rebuno_cli.render import output, tools

    output.write_text(tools.pinned(connection.work(db, url, lambda backend: backend.tools())))
