"""`rebuno version`: which version this is."""

import typer

import rebuno
from rebuno_cli import options
from rebuno_cli.render.output import write_json, write_text


def version(as_json: options.Json = False) -> int:
    """Print the version."""
    if as_json:
        write_json({"version": rebuno.__version__})
    else:
        write_text(f"rebuno-kernel {rebuno.__version__}")
    return 0


def eager(asked: bool) -> None:
    """What `--version` does: it comes before everything else."""
    if asked:
        version()
        raise typer.Exit
