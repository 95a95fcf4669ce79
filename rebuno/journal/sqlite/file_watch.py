"""Checks that the files of an open store are still those that it opened: a write to a deleted file is lost."""

import os
from pathlib import Path
from typing import Final

from rebuno.errors import StoreUnreachable

# How long a deletion may stay unnoticed while something is written.
LOOK_SECONDS: Final = 0.1


class FileWatch:
    """The store's file, its log, the log's index and its owner file, by where they are and which they are. Who opens
    the store while one of them is away makes another, and the two then lose each other's writes."""

    def __init__(self, file: Path, owner: Path, shown: str) -> None:
        """`shown` is the store's name in errors. What is not there yet is not looked for."""
        self._shown = shown
        log = os.fspath(file.with_name(f"{file.name}-wal"))
        index = os.fspath(file.with_name(f"{file.name}-shm"))
        found = {path: _identity(path) for path in (os.fspath(file), log, index, os.fspath(owner))}
        # Where SQLite's log of writes is, and which file, if it is there.
        self.log = log, found[log]
        self._files = {path: identity for path, identity in found.items() if identity is not None}

    def check(self) -> None:
        """Raises `StoreUnreachable` where one of them is not there any more, or is another."""
        for path, opened in self._files.items():
            if _identity(path) != opened:
                raise taken_away(self._shown, path)


def taken_away(shown: str, path: str) -> StoreUnreachable:
    """The error for a store of which a file is gone, or is another."""
    return StoreUnreachable(
        f"the store `{shown}` was moved or deleted while it was open: `{path}` is not the file that it was; open it "
        "again where it is now",
        path=shown,
    )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        # A link to the file, in its place, leads those who follow it to other files beside it.
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
