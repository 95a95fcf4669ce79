"""`rebuno version`: which version this is."""

import click

from rebuno_cli import options
from rebuno_cli.render import version as shown


@click.command("version")
@options.as_json
def version(as_json: bool) -> int:
    """Print the version."""
    shown.version(as_json=as_json)
    return 0
