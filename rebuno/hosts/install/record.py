"""What was there before an installation, so that it can be put back."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rebuno.hosts.install import files
from rebuno.hosts.install.files import Content

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """Of one settings file: whether it `existed`, the SHA-256 of the bytes that we left there, and the folders that
    were made for it."""

    path: str
    existed: bool
    after: str
    folders: tuple[str, ...] = ()


class Records:
    """The records of a user, in a folder that nobody else reads: a JSON file for each settings file, and beside it a
    copy of the settings from before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, target: Path) -> Record | None:
        """The record of a settings file, or None where there is none, or none that can be read."""
        try:
            value = json.loads(self._file(target, ".json").read_bytes())
            if value.pop("version") != _VERSION:
                return None
            record = Record(**value)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return Record(record.path, record.existed, record.after, tuple(record.folders))

    def backup(self, target: Path) -> Path:
        """Where the copy of the settings from before lies."""
        return self._file(target, ".before")

    def before(self, target: Path) -> bytes | None:
        """The copy, or None where there is none."""
        try:
            return self.backup(target).read_bytes()
        except OSError:
            return None

    def keep(self, content: Content) -> Path:
        """Copies the bytes of a file before it is changed; returns where to."""
        copy = self.backup(content.target)
        files.write(files.read(copy), content.data or b"")
        return copy

    def put(self, target: Path, record: Record) -> None:
        """Writes a record."""
        text = json.dumps({"version": _VERSION, **asdict(record)}, indent=2) + "\n"
        files.write(files.read(self._file(target, ".json")), text.encode())

    def drop(self, target: Path, *, copy: bool) -> None:
        """Removes a record, and its copy if asked to."""
        self._file(target, ".json").unlink(missing_ok=True)
        if copy:
            self.backup(target).unlink(missing_ok=True)

    def _file(self, target: Path, suffix: str) -> Path:
        name = files.digest(os.fsencode(target))[:16]
        return self.folder / f"{target.parent.name.lstrip('.')}-{name}{suffix}"
