"""`rebuno exec explain`: computes again why a step was decided so."""

import click

from rebuno_cli import connection, options


@click.command("explain")
@options.execution
@click.argument("step", metavar="STEP", help="The step's id, or at least 4 characters of its beginning.")
@options.db
@options.url
@options.as_json
def explain(ref: str, step: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show why a step was decided so: each test with its answer, on the facts of then, under the bundle of then and
    under today's. Nothing is run and nothing is recorded."""
    from rebuno_cli.render import explained
    from rebuno_cli.render.show import show

    told = connection.work(db, url, lambda backend: backend.explain(ref, step))
    show(as_json, lambda: told, lambda: explained.explained(told))
