"""`rebuno key create` and `rotate`: tokens, each shown once."""

from typing import TYPE_CHECKING, Annotated

import typer

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import NewApiKey


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is; answers to questions bear this name.")],
    scope: Annotated[
        list[str], typer.Option("--scope", metavar="SCOPE", help="What it may do: `executions:read`; again for more.")
    ],
    db: options.Db = None,
    url: options.Url = None,
    as_json: options.Json = False,
) -> int:
    """Make an API key, and print its token, which is told this once."""
    return _show(connection.work(db, url, lambda desk: desk.create_key(name, scope)), as_json)


def rotate(ref: options.Key, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
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
