"""`rebuno limits`: what is taken from limits, and when it frees."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.types import UsedLimit


@click.command("limits")
@click.option("--bundle", default="", metavar="NAME", help="Only the limits of this bundle.")
@click.option("--name", default="", metavar="NAME", help="Only the limit, or the limit of the rule, of this name.")
@options.db
@options.url
@options.as_json
def limits(bundle: str, name: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show what is taken from limits by amount, by value, by session and with a name, and when it frees."""
    from rebuno_cli.render import limits as render
    from rebuno_cli.render.show import show

    every: Sequence[UsedLimit] = connection.work(db, url, lambda backend: backend.limits())
    found = [pot for pot in every if bundle in ("", pot.bundle) and name in ("", pot.name, pot.rule_id)]
    show(as_json, lambda: {"limits": [pot.model_dump(mode="json") for pot in found]}, lambda: render.limits(found))
