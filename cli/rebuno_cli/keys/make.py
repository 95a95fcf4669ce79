"""`rebuno key create` and `rotate`: tokens, each shown once."""

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
@click.option(
    "--agent", multiple=True, metavar="AGENT", help="Bind it to this agent, of which it sees executions and questions."
)
@options.db
@options.url
@options.as_json
def create(
    name: str, scope: tuple[str, ...], agent: tuple[str, ...], db: str | None, url: str | None, as_json: bool
) -> None:
    """Make an API key, and print its token, which is told this once."""
    _show(connection.work(db, url, lambda backend: backend.create_key(name, scope, agent)), as_json)


@click.command("rotate")
@options.key
@options.db
@options.url
@options.as_json
def rotate(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Give a key a new token; the old one is good no more. Exit code 4 where the key is revoked."""
    _show(connection.work(db, url, lambda backend: backend.rotate_key(ref)), as_json)


def _show(made: "NewApiKey", as_json: bool) -> None:
    from rebuno_cli.render.show import show

    show(as_json, lambda: made.model_dump(mode="json"), lambda: [f"key {made.id}", made.token])
