"""`rebuno exec trace`: shows the attempts and steps of an execution."""

from rebuno_cli import connection, options


def trace(ref: options.Ref, db: options.Db = None, url: options.Url = None, as_json: options.Json = False) -> int:
    """Tell what happened in an execution: its attempts and steps, what decided each, and how it went."""
    from rebuno_cli.render import console, output, timeline

    told = connection.work(db, url, lambda desk: desk.story(ref))
    if as_json:
        output.write_json(told.to_json())
    else:
        console.write(timeline.story(told))
    return 0
