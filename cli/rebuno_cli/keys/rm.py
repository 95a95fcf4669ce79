"""`rebuno key rm`: revokes an API key."""

import click

from rebuno_cli import connection, options


@click.command("rm")
@options.key
@options.db
@options.url
@options.as_json
def rm(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Revoke an API key."""
    from rebuno_cli.render.show import show

    gone = connection.work(db, url, lambda backend: backend.revoke_key(ref))
    show(as_json, lambda: {"id": gone.id}, lambda: f"key {gone.id} is revoked")
