"""`rebuno exec fork-points`: where a fork may begin, and with which checkpoints."""

import click

from rebuno_cli import connection, options


@click.command("fork-points")
@options.execution
@options.db
@options.url
@options.as_json
def fork_points(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Show the resources of an execution and their checkpoints.

    A fork begins at any event. Each resource begins with the newest checkpoint that covers that event, else with the
    newest one before it.
    """
    from rebuno_cli.render.resources import points
    from rebuno_cli.render.show import show

    found = connection.work(db, url, lambda backend: backend.fork_points(ref))
    show(as_json, lambda: found.model_dump(mode="json"), lambda: points(found))
