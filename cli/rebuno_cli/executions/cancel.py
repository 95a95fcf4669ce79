"""`rebuno exec cancel`: ends an execution."""

import click

from rebuno_cli import connection, options


@click.command("cancel")
@options.execution
@click.option("--reason", metavar="TEXT", help="Why; it is recorded. In a store only.")
@options.db
@options.url
@options.as_json
def cancel(ref: str, reason: str | None, db: str | None, url: str | None, as_json: bool) -> None:
    """End an execution: nothing more of it runs, and nobody is asked about it any more.

    A handler that runs is stopped within 10 seconds. Exit code 4 where the execution has ended already.
    """
    from rebuno_cli.render.show import show

    ended = connection.work(db, url, lambda backend: backend.cancel(ref, reason=reason))
    show(as_json, lambda: ended.model_dump(mode="json"), lambda: f"execution {ended.id} cancelled")
