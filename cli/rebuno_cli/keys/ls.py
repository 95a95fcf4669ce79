"""`rebuno key ls`: the API keys of a server."""

import click

from rebuno_cli import connection, options


@click.command("ls")
@options.db
@options.url
@options.as_json
def ls(db: str | None, url: str | None, as_json: bool) -> int:
    """List API keys, revoked ones too."""
    from rebuno_cli.render import console, keys, output

    found = connection.work(db, url, lambda desk: desk.keys())
    if as_json:
        output.write_json({"keys": [keys.key_json(key) for key in found]})
    else:
        console.write(keys.keys(found))
    return 0
