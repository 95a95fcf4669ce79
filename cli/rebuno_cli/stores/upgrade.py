"""`rebuno store finish-upgrade`: the store is used by no older version any more."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.kernel import Operator
    from rebuno.types import StoreInfo


@click.command("finish-upgrade")
@options.db
@options.as_json
def finish(db: str | None, as_json: bool) -> None:
    """Say that every process that uses a store runs this version.

    From then on the store holds what older versions cannot read: what the calls of an execution repeat is stored once.
    A new store does so from the beginning, and a file once nobody else has it open.
    """
    from rebuno_cli.render import stores
    from rebuno_cli.render.show import show

    async def work(operator: "Operator") -> "StoreInfo":
        await operator.finish_upgrade()
        return await operator.info()

    told = connection.ask(db, work)
    show(as_json, lambda: {"pieces": told.pieces}, lambda: stores.pieces(told.pieces))
