"""Files under the hashes of their contents, and lists of files that name them: what a checkpoint of a folder is."""

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final

from rebuno.errors import CheckpointUnavailable

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_PIECE: Final = 1 << 20

# Path (its bytes, read as Latin-1), permissions, and the hash of the contents, the target of a link, or nothing.
Entry = tuple[str, str, int, str]


class ContentStore:
    """Contents below a folder. Each is written once, under another name first, so that none is ever there in part."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def capture(self, tree: Path) -> str:
        """Keeps what a folder holds; the hash to `restore` it by.

        Raises:
            ValueError: it holds something that is no file, folder or link.
            OSError
        """
        if tree.is_symlink():
            raise ValueError(f"the folder `{tree}` was replaced by a link")
        entries = [self._entry(tree, path) for path in _walk(tree)]
        text = json.dumps(entries, separators=(",", ":")).encode()
        return self._put_text(text)

    def restore(self, ref: str, tree: Path) -> None:
        """Fills an empty folder with what was kept under a hash.

        Raises:
            CheckpointUnavailable: it is not there, or not whole.
            OSError
        """
        entries = self._entries(ref)
        for sort, name, mode, said in entries:
            path = _below(tree, name, ref)
            if sort == "folder":
                path.mkdir(mode=0o700)
            elif sort == "file":
                self._copy(said, path, mode)
        # After the files, so that none is written through one; permissions last, for they may forbid writing.
        for sort, name, _, said in entries:
            if sort == "link":
                _below(tree, name, ref).symlink_to(os.fsdecode(said.encode("latin-1")))
        for sort, name, mode, _ in reversed(entries):
            if sort == "folder":
                _below(tree, name, ref).chmod(mode)

    def _entry(self, tree: Path, path: Path) -> Entry:
        name = os.fsencode(path.relative_to(tree)).decode("latin-1")
        seen = path.lstat()
        mode = stat.S_IMODE(seen.st_mode) & 0o777
        if stat.S_ISDIR(seen.st_mode):
            return "folder", name, mode, ""
        if stat.S_ISLNK(seen.st_mode):
            return "link", name, 0, os.fsencode(path.readlink()).decode("latin-1")
        if stat.S_ISREG(seen.st_mode):
            return "file", name, mode, self._put(path)
        raise ValueError(f"`{name[:200]}` is no file, folder or link, and cannot be kept")

    def _put(self, path: Path) -> str:
        with _opened(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if self._path(digest).exists():
                return digest
            file.seek(0)
            hashed = hashlib.sha256()
            with self._new() as (copy, keep):
                while piece := file.read(_PIECE):
                    hashed.update(piece)
                    copy.write(piece)
                # What the copy holds, should somebody have written meanwhile.
                keep(hashed.hexdigest())
        return hashed.hexdigest()

    def _put_text(self, text: bytes) -> str:
        digest = hashlib.sha256(text).hexdigest()
        if not self._path(digest).exists():
            with self._new() as (copy, keep):
                copy.write(text)
                keep(digest)
        return digest

    @contextmanager
    def _new(self) -> "Iterator[tuple[BinaryIO, _Keep]]":
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix="new-")
        keep = _Keep(Path(name), self)
        try:
            with os.fdopen(handle, "wb") as file:
                keep.file = file
                yield file, keep
        finally:
            Path(name).unlink(missing_ok=True)

    def place(self, digest: str, new: Path) -> None:
        """Puts a file that is on the disk under its hash."""
        path = self._path(digest)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        new.replace(path)
        _sync(path.parent)

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]

    def _entries(self, ref: str) -> list[Entry]:
        if not _HASH.fullmatch(ref):
            raise CheckpointUnavailable(f"`{ref[:100]}` is no checkpoint of a folder")
        try:
            text = self._path(ref).read_bytes()
        except FileNotFoundError:
            raise CheckpointUnavailable(f"there is no checkpoint `{ref}` in `{self._folder}`") from None
        if hashlib.sha256(text).hexdigest() != ref:
            raise CheckpointUnavailable(f"the checkpoint `{ref}` in `{self._folder}` is damaged")
        try:
            entries = [(sort, name, mode, said) for sort, name, mode, said in json.loads(text)]
        except (ValueError, TypeError):
            raise CheckpointUnavailable(f"`{ref}` in `{self._folder}` is no checkpoint") from None
        return entries

    def _copy(self, digest: str, to: Path, mode: int) -> None:
        hashed = hashlib.sha256()
        try:
            with self._path(digest).open("rb") as file, to.open("xb") as copy:
                while piece := file.read(_PIECE):
                    hashed.update(piece)
                    copy.write(piece)
        except FileNotFoundError:
            raise CheckpointUnavailable(f"a file of the checkpoint is missing in `{self._folder}`") from None
        if hashed.hexdigest() != digest:
            raise CheckpointUnavailable(f"a file of the checkpoint is damaged in `{self._folder}`")
        to.chmod(mode)


class _Keep:
    """Keeps a new file, once all of it is written."""

    def __init__(self, path: Path, store: ContentStore) -> None:
        self.file: BinaryIO | None = None
        self._path = path
        self._store = store

    def __call__(self, digest: str) -> None:
        assert self.file is not None
        self.file.flush()
        os.fsync(self.file.fileno())
        self._store.place(digest, self._path)


def _opened(path: Path) -> BufferedReader:
    """A regular file to be read: a link or a pipe that is put in its place meanwhile leads nowhere, and holds up
    nobody."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError(f"`{path.name[:200]}` was replaced while it was read")
    return file


def _walk(tree: Path) -> Iterator[Path]:
    """Everything below a folder, each folder before what it holds; links are not followed."""
    left = [tree]
    while left:
        folder = left.pop()
        if folder is not tree:
            yield folder
        if folder is tree or stat.S_ISDIR(folder.lstat().st_mode):
            with os.scandir(folder) as found:
                names = sorted((entry.name for entry in found), key=os.fsencode, reverse=True)
            left += [folder / name for name in names]


def _below(tree: Path, name: str, ref: str) -> Path:
    """A path of a checkpoint in a folder, and nowhere else."""
    parts = os.fsdecode(name.encode("latin-1")).split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise CheckpointUnavailable(f"the checkpoint `{ref}` names a path outside its folder")
    return tree.joinpath(*parts)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
