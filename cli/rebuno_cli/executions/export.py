"""`rebuno exec export`: one execution as a file."""

import sys
from pathlib import Path

import click

from rebuno.errors import ValidationError
from rebuno_cli import connection, files, options


@click.command("export")
@options.execution
@click.argument("file", metavar="FILE", help="Where to write it; - is standard output.")
@options.db
@options.url
@options.as_json
def export(ref: str, file: str, db: str | None, url: str | None, as_json: bool) -> int:
    """Write one execution with its events, steps, answers and bundles as one file, once its hashes are found sound."""
    from rebuno.kernel import recording_lines
    from rebuno_cli.render import histories, output

    if as_json and file == "-":
        raise ValidationError("standard output is taken by the history; give a FILE, or leave out `--json`")
    found = connection.work(db, url, lambda backend: backend.record(ref))
    if file == "-":
        for line in recording_lines(found):
            output.write_text(line.removesuffix("\n"), to=sys.stdout)
        return 0
    # It holds what the execution was given and what it found.
    files.replace(Path(file), "".join(recording_lines(found)), private=True)
    histories.summary(found, file, as_json=as_json)
    return 0
