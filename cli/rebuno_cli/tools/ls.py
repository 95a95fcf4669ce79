"""`rebuno tools ls`: what servers say of their tools."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@options.db
@options.url
@options.as_json
def ls(db: str | None, url: str | None, as_json: bool) -> None:
    """List what servers say of their tools, as agents have told it."""
    from rebuno_cli.render import tools
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.tools())
    show(as_json, lambda: {"tools": [tool.model_dump(mode="json") for tool in found]}, lambda: tools.tools(found))
