"""`rebuno exec import`: takes in an execution from a file."""

import click

from rebuno_cli import connection, files, options


@click.command("import")
@click.argument("file", metavar="FILE", help="What `exec export` wrote; - is standard input.")
@options.db
@options.url
@options.as_json
def take_in(file: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Add an execution from a file to a store, which is made where there is none. Every hash is recomputed first.

    A server takes a file of about 10 MiB at most. Exit code 3 where the file is damaged, 4 where the store has the
    execution already.
    """
    from rebuno.kernel import LONGEST_LINE, read_recording
    from rebuno_cli.render import histories

    recording = read_recording(files.lines(file, LONGEST_LINE + 1), name=files.named(file))
    connection.work(db, url, lambda backend: backend.restore(recording), create=True)
    histories.summary(recording, file, as_json=as_json)
    return 0
