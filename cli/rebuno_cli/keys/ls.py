"""`rebuno key ls`: the API keys of a server."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@options.db
@options.url
@options.as_json
def ls(db: str | None, url: str | None, as_json: bool) -> None:
    """List API keys, revoked ones too."""
    from rebuno_cli.render import keys
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.keys())
    show(as_json, lambda: {"keys": [key.model_dump(mode="json") for key in found]}, lambda: keys.keys(found))
