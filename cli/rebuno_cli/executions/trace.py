"""`rebuno exec trace`: what happened in an execution."""

import click

from rebuno_cli import connection, options


@click.command("trace")
@options.execution
@options.db
@options.url
@options.as_json
def trace(ref: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Tell what happened in an execution: its attempts and steps, what decided each, and how it went."""
    from rebuno_cli.render import console, output, timeline

    told = connection.work(db, url, lambda desk: desk.story(ref))
    if as_json:
        output.write_json(told.to_json())
    else:
        console.write(timeline.story(told))
    return 0
