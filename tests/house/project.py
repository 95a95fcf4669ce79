"""The project's own files, as the house tests look at them."""

import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_MADE: Final = {"__pycache__", "build", "dist"}


def files() -> list[Path]:
    """The files of the project, relative to its root: what git tracks, or in a copy without git everything that is
    neither hidden nor made by a tool."""
    try:
        out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        below = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return sorted(path for path in below if not _made(path))
    return [path for name in out.split("\0") if name and (ROOT / (path := Path(name))).is_file()]


def _made(path: Path) -> bool:
    return any(part.startswith(".") or part in _MADE or part.endswith(".egg-info") for part in path.parts)


def sources() -> list[Path]:
    """The Python files."""
    return [path for path in files() if path.suffix == ".py"]
