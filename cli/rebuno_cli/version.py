"""`rebuno version`: which version this is."""

import importlib.metadata

import typer

from rebuno_cli.render.output import write_text


def version() -> int:
    """Print the version."""
    write_text(f"rebuno-kernel {_installed()}")
    return 0


def eager(asked: bool) -> None:
    """What `--version` does: it comes before every other option."""
    if asked:
        version()
        raise typer.Exit


def _installed() -> str:
    try:
        return importlib.metadata.version("rebuno-kernel")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
