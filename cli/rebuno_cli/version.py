"""`rebuno version`: which version this is."""

import typer

import rebuno
from rebuno_cli.render.output import write_text


def version() -> int:
    """Print the version."""
    write_text(f"rebuno-kernel {rebuno.__version__}")
    return 0


def eager(asked: bool) -> None:
    """What `--version` does: it comes before everything else."""
    if asked:
        version()
        raise typer.Exit
