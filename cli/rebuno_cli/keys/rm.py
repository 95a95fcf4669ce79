"""`rebuno key rm`: makes an API key useless."""

import click

from rebuno_cli import connection, options


@click.command("rm")
@options.key
@options.db
@options.url
@options.as_json
def rm(ref: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Revoke an API key."""
    from rebuno_cli.render import output

    gone = connection.work(db, url, lambda desk: desk.revoke_key(ref))
    if as_json:
        output.write_json({"id": gone.id})
    else:
        output.write_text(f"key {gone.id} is revoked")
    return 0
