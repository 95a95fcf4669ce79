"""Writes files to begin with into a folder; what is there already stays."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rebuno.errors import ConflictError


def write(files: Mapping[str, Path], folder: str) -> list[str]:
    """Copies files to their places below `folder`, which is made. Returns their paths.

    Raises:
        ConflictError: one of them is there; nothing was written.
        OSError: the folder cannot be written.
    """
    places = {Path(folder) / name: source for name, source in files.items()}
    if there := [str(place) for place in places if place.exists() or place.is_symlink()]:
        raise ConflictError(
            f"`{there[0]}` is there already, and nothing was written; name another folder: `--into DIR`"
        )
    for place, source in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    return [str(place) for place in places]


def bundle(path: Path, root: Path) -> dict[str, Path]:
    """A bundle with its cases and all the files that it uses, by their places from `root` on."""
    from rebuno.policy import check_suite, find_bundles

    [suite] = find_bundles([path])
    checked = check_suite(suite)
    found = [file for file in (suite.bundle, suite.cases, *map(Path, checked.uses), *map(Path, checked.texts)) if file]
    return {file.resolve().relative_to(root.resolve()).as_posix(): file for file in found}


def told(written: Sequence[str], next: Sequence[str]) -> list[str]:
    """What a command says of what it wrote, and of what can be done now."""
    return [f"wrote {', '.join(written)}", *(f"next: {line}" for line in next)]


def data(written: Sequence[str], next: Sequence[str]) -> dict[str, Any]:
    """The same as JSON."""
    return {"written": [*written], "next": [*next]}
