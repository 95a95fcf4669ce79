"""An earlier version of this project: its files out of git's history, in an environment of its own."""

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
# Enough for a replica on PostgreSQL; a version without an extra of this name is told so by pip, and goes on.
EXTRAS: Final = "postgres,server"


class BuildError(Exception):
    """The earlier version cannot be had here."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version that can be run: the interpreter that has it, and the folder of its files."""

    name: str
    python: str
    root: Path


def this() -> Version:
    """The one that runs this program."""
    return Version("this", sys.executable, ROOT)


def build(commit: str, folder: Path) -> Version:
    """The version of a commit, with the dependencies that it asks for.

    Raises:
        BuildError: the commit is not in this repository, or its dependencies cannot be installed.
    """
    root, venv = folder / "earlier", folder / "environment"
    archive = _done(["git", "-C", str(ROOT), "archive", commit], f"`git archive {commit}`")
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(root, filter="data")
    _done([sys.executable, "-m", "venv", str(venv)], "making an environment")
    python = str(venv / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{root}[{EXTRAS}]"]
    _done(install, f"installing {commit}")
    return Version(commit, python, root)


def _done(command: list[str], what: str) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise BuildError(f"{what} failed: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise BuildError(f"{what} failed: {said[-1] if said else done.returncode}")
    return done.stdout
