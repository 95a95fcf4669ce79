"""`rebuno audit tail`: writes a store's logs as lines."""

from typing import TYPE_CHECKING

import click

from rebuno_cli import connection, options

if TYPE_CHECKING:
    from rebuno.journal.store import Store


@click.command("tail")
@click.option("--since", default="", metavar="DURATION", help="Only what was written since: 24h, 7d, 30m; or all.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--key", metavar="FILE", help="The private key that signs heads; `rebuno audit keygen` makes one.")
@options.db
def tail(since: str, follow: bool, key: str | None, db: str | None) -> None:
    """Write what the logs of a store hold as JSON lines: events, and after those of an execution its signed head."""
    import asyncio
    from pathlib import Path

    from rebuno.audit import keys
    from rebuno.audit.stream import AuditStream
    from rebuno.journal.opening import open_store
    from rebuno_cli.ages import seconds
    from rebuno_cli.render.output import write_json

    signing = keys.private(Path(key)) if key is not None else None
    where = connection.path(db)

    async def run() -> None:
        store: Store = await open_store(where, create=False)
        try:
            began = store.now() - seconds("--since", since) if since else 0.0
            async for line in AuditStream(store, signing).lines(since=began, follow=follow):
                write_json(line, indent=None)
        finally:
            await store.close()

    asyncio.run(run())
