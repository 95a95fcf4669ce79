"""`rebuno store info`, `mark-restored` and `accept-restore`: what is known of a store as a whole."""

import getpass
from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.kernel import Operator
    from rebuno.types import Restored

_as = click.option("--as", "who", default="", metavar="NAME", help="Who does so; if not given, your login name.")


@click.command("info")
@options.db
@options.as_json
def info(db: str | None, as_json: bool) -> None:
    """Show what a store holds, what is stopped in it, and whether it was restored from a copy."""
    from rebuno_cli.render import stores
    from rebuno_cli.render.show import show

    told = connection.ask(db, lambda operator: operator.info())
    show(as_json, lambda: told.model_dump(mode="json"), lambda: stores.info(told))


@click.command("mark-restored")
@_as
@options.db
@options.as_json
def mark(who: str, db: str | None, as_json: bool) -> None:
    """Say that a store was restored by other means, as a database on PostgreSQL is.

    From then on a person is asked before anything runs that may not run twice, until `rebuno store accept-restore`.
    """

    async def work(operator: "Operator") -> "Restored | None":
        await operator.mark_restored(by=who or login())
        return await operator.restored()

    _show(connection.ask(db, work), as_json)


@click.command("accept-restore")
@_as
@options.db
@options.as_json
def accept(who: str, db: str | None, as_json: bool) -> None:
    """Accept that a store was restored: nothing more is asked about because of that."""

    async def work(operator: "Operator") -> "Restored | None":
        await operator.accept_restore(by=who or login())
        return await operator.restored()

    _show(connection.ask(db, work), as_json)


def _show(restored: "Restored | None", as_json: bool) -> None:
    from rebuno_cli.render import stores
    from rebuno_cli.render.show import show

    said = None if restored is None else restored.model_dump(mode="json")
    show(as_json, lambda: {"restored": said}, lambda: stores.restored(restored))


def login() -> str:
    """The name of the login; raises `ValidationError` where the system has none."""
    from rebuno.errors import ValidationError

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise ValidationError("your login name is unknown here; say who does so with `--as NAME`") from None
