"""`rebuno exec trace`: shows the attempts and steps of an execution."""

import click

from rebuno_cli import connection, options


@click.command("trace")
@options.execution
@options.db
@options.url
@options.as_json
def trace(ref: str, db: str | None, url: str | None, as_json: bool) -> None:
    """Tell what happened in an execution: its attempts and steps, what decided each, and how it went."""
    from rebuno_cli.render import timeline
    from rebuno_cli.render.show import show

    told = connection.work(db, url, lambda backend: backend.story(ref))
    show(as_json, lambda: told.to_json(), lambda: timeline.story(told))
