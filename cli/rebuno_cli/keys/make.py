"""`rebuno key create` and `rotate`: tokens, each told once."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import NewApiKey


@click.command("create")
@click.argument("name", metavar="NAME", help="Whose it is; answers to questions bear this name.")
@click.option(
    "--scope", multiple=True, required=True, metavar="SCOPE", help="What it may do: `executions:read`; again for more."
)
@options.db
@options.url
@options.as_json
def create(name: str, scope: tuple[str, ...], db: str | None, url: str | None, as_json: bool) -> int:
    """Make an API key, and print its token, which is told this once."""
    return _show(connection.work(db, url, lambda desk: desk.create_key(name, scope)), as_json)


@click.command("rotate")
@options.key
@options.db
@options.url
@options.as_json
def rotate(ref: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Give a key a new token; the old one is good no more. Exit code 4 where the key is revoked."""
    return _show(connection.work(db, url, lambda desk: desk.rotate_key(ref)), as_json)


def _show(made: "NewApiKey", as_json: bool) -> int:
    from rebuno_cli.render import keys, output

    if as_json:
        output.write_json(keys.new_json(made))
    else:
        output.write_text(f"key {made.id}")
        output.write_text(made.token)
    return 0
