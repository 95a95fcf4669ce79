"""A disk of a few megabytes for the tests: a file system in memory where one may be mounted, else a limit on files."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SIZE: Final = 8 * 1024 * 1024


class SmallDisk:
    """A folder in which little fits; `fill` takes the room, `free` gives it back."""

    def __init__(self, folder: Path, mounted: bool) -> None:
        self.folder = folder
        self.mounted = mounted
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self, *, leaving: int = 0) -> None:
        """Leaves so many bytes: for all files together, or, where it is a limit, for each to grow."""
        if not self.mounted:
            longest = max(path.stat().st_size for path in self.folder.iterdir() if path.is_file())
            resource.setrlimit(resource.RLIMIT_FSIZE, (longest + leaving, self._limits[1]))
            return
        free = os.statvfs(self.folder)
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            ballast.write(bytes(max(0, free.f_bavail * free.f_frsize - leaving)))

    def free(self) -> None:
        """Takes back what `fill` did."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)
        (self.folder / "ballast").unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, *, limited: bool = False) -> Iterator[SmallDisk]:
    """Mounts one at the folder, which it makes, and unmounts it at the end. `limited`: it is a limit on files in any
    case, as a quota would be."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", os.fspath(folder)]
    may = os.getuid() == 0 and not limited
    mounted = may and subprocess.run(command, capture_output=True, check=False).returncode == 0
    disk = SmallDisk(folder, mounted)
    try:
        yield disk
    finally:
        disk.free()
        if mounted:
            subprocess.run(["umount", "--lazy", os.fspath(folder)], check=True)
