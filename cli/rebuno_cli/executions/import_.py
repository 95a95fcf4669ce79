"""`rebuno exec import`: takes in an execution from a file."""

from typing import Annotated

import typer

from rebuno_cli import connection, files, options


def take_in(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `exec export` wrote; - is standard input.")],
    db: options.Db = None,
    as_json: options.Json = False,
) -> int:
    """Add an execution from a file to a store, which is made where there is none. Every hash is recomputed first.

    Exit code 3 where the file is damaged, 4 where the store has the execution already.
    """
    from rebuno.kernel import LONGEST_LINE, read_recording
    from rebuno_cli.render import histories

    recording = read_recording(files.lines(file, LONGEST_LINE + 1), name=files.named(file))
    connection.ask(db, lambda operator: operator.restore(recording), create=True)
    histories.summary(recording, file, as_json=as_json)
    return 0
