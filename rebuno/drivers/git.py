"""A working tree of a git repository for each execution, with commits as checkpoints that no branch shows."""

import os
import re
import shutil
import subprocess
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rebuno.errors import CheckpointUnavailable

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Where the commits of checkpoints are kept from being collected.
_REFS: Final = "refs/rebuno/checkpoints"
# Nothing of the repository runs when the driver works on it, and bytes are kept as they are.
_SETTINGS: Final = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.safecrlf=false")
_WHO: Final = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "rebuno"), ("EMAIL", "rebuno@localhost"))
}
_LONGEST: Final = 400


class GitError(Exception):
    """git could not do what a driver asked for; the text is its own."""


class GitDriver:
    """Gives each execution a working tree of a repository: `rebuno.resource("code", driver=GitDriver("/srv/code"))`.
    The handle is its path; it begins at the commit that `start` names, on no branch.

    A checkpoint is a commit of all files that git does not ignore, on top of the tree's own commit. A working tree that
    is created from it has the same files and the same commit; nothing is staged there. `at` is where the working trees
    are (default: beside the repository). With `coverage_reuse` only steps that declare the resource change it.
    """

    driver_id = "rebuno.git"

    def __init__(
        self,
        repository: str | os.PathLike[str],
        *,
        start: str = "HEAD",
        at: str | os.PathLike[str] | None = None,
        coverage_reuse: bool = False,
    ) -> None:
        self.coverage_reuse = coverage_reuse
        self._repository = Path(repository).absolute()
        self._start = start
        beside = self._repository.with_name(f"{self._repository.name}.worktrees")
        self._at = beside if at is None else Path(at).absolute()
        self.configuration = {"repository": str(self._repository), "start": start, "at": str(self._at)}

    def create(self, ref: str | None = None) -> tuple[Path, dict[str, str]]:
        """A new working tree, as the checkpoint has it.

        Raises:
            CheckpointUnavailable: the repository does not have the checkpoint.
            GitError, OSError
        """
        begin = self._commit_of(self._start) if ref is None else self._parent_of(ref)
        name = uuid.uuid4().hex
        path = self._at / name
        self._at.mkdir(parents=True, exist_ok=True)
        try:
            _git(self._repository, "worktree", "add", "--quiet", "--detach", str(path), begin)
            if ref is not None:
                # The files as the checkpoint has them, with nothing staged.
                _git(path, "read-tree", "--reset", "-u", ref)
                _git(path, "read-tree", "--reset", begin)
        except BaseException:
            self._remove(path)
            raise
        return path, {"worktree": name}

    def open(self, binding: Any) -> Path:
        """The working tree that an execution has. `FileNotFoundError` where it is gone."""
        path = self._at / _name(binding)
        if not path.is_dir():
            raise FileNotFoundError(f"the working tree `{path}` of this execution is gone")
        return path

    def checkpoint(self, handle: Path) -> str:
        """Commits what the working tree holds now, beside its branch and what is staged. `GitError`, `OSError`."""
        head = _git(handle, "rev-parse", "--verify", "HEAD^{commit}")
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            own = handle / _git(handle, "rev-parse", "--git-path", "index")
            if own.exists():
                # It knows which files have not changed.
                shutil.copyfile(own, index)
            staged = {"GIT_INDEX_FILE": str(index)}
            _git(handle, "add", "--all", "--", ".", **staged)
            tree = _git(handle, "write-tree", **staged)
        commit = _git(handle, "commit-tree", tree, "-p", head, "-m", "checkpoint", **_WHO)
        _git(handle, "update-ref", f"{_REFS}/{commit}", commit)
        return commit

    def remove(self, binding: Any) -> None:
        """Removes the working tree of an execution that is over. Its checkpoints stay."""
        self._remove(self._at / _name(binding))

    def _remove(self, path: Path) -> None:
        # It may be there in part, or not at all.
        with suppress(GitError):
            _git(self._repository, "worktree", "remove", "--force", str(path))
        shutil.rmtree(path, ignore_errors=True)

    def _commit_of(self, name: str) -> str:
        return _git(self._repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def _parent_of(self, ref: str) -> str:
        if not _COMMIT.fullmatch(ref):
            raise CheckpointUnavailable(f"`{ref[:100]}` is no checkpoint of a repository")
        try:
            # Only what the driver has kept: any other commit is no checkpoint.
            kept = _git(self._repository, "rev-parse", "--verify", "--quiet", f"{_REFS}/{ref}^{{commit}}")
            return _git(self._repository, "rev-parse", "--verify", "--quiet", f"{kept}^1")
        except GitError:
            raise CheckpointUnavailable(f"the repository `{self._repository}` has no checkpoint `{ref}`") from None


def _git(at: Path, *words: str, **more: str) -> str:
    """What a command of git says, without its last line's end."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    # Those of a hook or an alias that this runs in would lead to another repository.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(at), *settings, *words],
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitError("there is no program `git`; install it") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:_LONGEST]
        raise GitError(f"git {words[0]} failed in `{at}`: {said or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace").removesuffix("\n")


def _name(binding: Any) -> str:
    name = binding.get("worktree") if isinstance(binding, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the binding is none of a working tree")
    return name
