"""A folder for each execution, with checkpoints that keep each content once."""

import os
import re
import shutil
import uuid
from pathlib import Path
from typing import Any, Final

from rebuno.drivers.contents import ContentStore

_NAME: Final = re.compile(r"[0-9a-f]{32}")


class FolderDriver:
    """Gives each execution a folder of its own below `at`: `rebuno.resource("files", driver=FolderDriver(at))`. The
    handle is its path.

    A new one is empty, or a copy of the folder `seed`. A checkpoint keeps files, folders, links and permissions below
    `at` too, each content once; times are not kept. With `coverage_reuse` only steps that declare the resource change
    it.
    """

    driver_id = "rebuno.folder"

    def __init__(
        self, at: str | os.PathLike[str], *, seed: str | os.PathLike[str] | None = None, coverage_reuse: bool = False
    ) -> None:
        self.coverage_reuse = coverage_reuse
        self._at = Path(at).absolute()
        self._seed = None if seed is None else Path(seed).absolute()
        if self._seed is not None and self._at.resolve().is_relative_to(self._seed.resolve()):
            # The copy would be copied into itself, until the disk is full.
            raise ValueError(f"the folders at `{self._at}` would be part of their seed `{self._seed}`")
        self._contents = ContentStore(self._at / "contents")
        self.configuration = {"at": str(self._at), "seed": None if self._seed is None else str(self._seed)}

    def create(self, ref: str | None = None) -> tuple[Path, dict[str, str]]:
        """A new folder, as the checkpoint has it.

        Raises:
            CheckpointUnavailable: the checkpoint is not there, or not whole.
            OSError
        """
        name = uuid.uuid4().hex
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            if ref is None and self._seed is not None:
                shutil.copytree(self._seed, path, symlinks=True)
            else:
                path.mkdir(mode=0o700)
            if ref is not None:
                self._contents.restore(ref, path)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return path, {"folder": name}

    def open(self, binding: Any) -> Path:
        """The folder that an execution has. `FileNotFoundError` where it is gone."""
        path = self._path(_name(binding))
        if path.is_symlink() or not path.is_dir():
            raise FileNotFoundError(f"the folder `{path}` of this execution is gone")
        return path

    def checkpoint(self, handle: Path) -> str:
        """Keeps what the folder holds now.

        Raises:
            ValueError: it holds something that is no file, folder or link.
            OSError
        """
        return self._contents.capture(handle)

    def remove(self, binding: Any) -> None:
        """Removes the folder of an execution that is over. Its checkpoints stay."""
        shutil.rmtree(self._path(_name(binding)), ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._at / "folders" / name


def _name(binding: Any) -> str:
    name = binding.get("folder") if isinstance(binding, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the binding is none of a folder")
    return name
