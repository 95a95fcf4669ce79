"""`rebuno store backup` and `restore`: copies a store while it is in use, and puts a copy back."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import options

if TYPE_CHECKING:
    from rebuno.journal.sqlite.copies import CopiedStore


@click.command("backup")
@click.argument("target", metavar="COPY", help="The new file.")
@options.db
@options.as_json
def backup(target: str, db: str | None, as_json: bool) -> None:
    """Copy a store in a file, as it stands at one moment, while it is in use.

    A store on PostgreSQL is copied by its own tools (`pg_dump`, base backups).
    """
    from rebuno.journal.sqlite import copies
    from rebuno_cli.connection import file_of

    made = copies.backup(file_of(db), target)
    _show(made, "copied to", as_json)


@click.command("restore")
@click.argument("source", metavar="COPY", help="The file that `rebuno store backup` made.")
@click.option("--as", "who", default="", metavar="NAME", help="Who does so; if not given, your login name.")
@options.db
@options.as_json
def restore(source: str, who: str, db: str | None, as_json: bool) -> None:
    """Put a copy in the place of a store that nobody has open; what stood there is kept beside it.

    The copy may be behind the world: from then on a person is asked before anything runs that may not run twice, until
    `rebuno store accept-restore`.
    """
    from rebuno.journal.sqlite import copies
    from rebuno_cli.connection import file_of
    from rebuno_cli.stores.restored import login

    made = copies.restore(source, file_of(db), by=who or login())
    _show(made, "restored to", as_json)


def _show(made: "CopiedStore", what: str, as_json: bool) -> None:
    from dataclasses import asdict

    from rebuno_cli.render import stores
    from rebuno_cli.render.show import show

    show(as_json, lambda: asdict(made), lambda: stores.copied(made, what))
