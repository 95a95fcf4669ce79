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
# No hook runs when the driver works on a repository, and what a checkpoint keeps does not depend on who runs it: all
# files are there, with their permissions and links.
_SETTINGS: Final = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.safecrlf=false"),
    *("core.fileMode=true", "core.symlinks=true", "core.sparseCheckout=false"),
)
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
                own = self._own(path)
                _git(path, "read-tree", "--reset", "-u", ref, **own)
                _git(path, "read-tree", "--reset", begin, **own)
        except BaseException:
            self._remove(path)
            raise
        return path, {"worktree": name}

    def open(self, binding: Any) -> Path:
        """The working tree that an execution has. `FileNotFoundError` where it is gone."""
        path = self._at / _name(binding)
        if path.is_symlink() or not path.is_dir():
            raise FileNotFoundError(f"the working tree `{path}` of this execution is gone")
        return path

    def checkpoint(self, handle: Path) -> str:
        """Commits what the working tree holds now, beside its branch and what is staged. `GitError`, `OSError`."""
        repository = self._own(handle)
        head = _git(handle, "rev-parse", "--verify", "HEAD^{commit}", **repository)
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            staged = {**repository, "GIT_INDEX_FILE": str(index)}
            try:
                # It knows which files have not changed.
                shutil.copyfile(Path(repository["GIT_DIR"]) / "index", index)
            except FileNotFoundError:
                _git(handle, "read-tree", head, **staged)
            _look_everywhere(handle, staged)
            _git(handle, "add", "--all", "--sparse", "--", ".", **staged)
            tree = _git(handle, "write-tree", **staged)
        commit = _git(handle, "commit-tree", tree, "-p", head, "-m", "checkpoint", **repository, **_WHO)
        _git(handle, "update-ref", f"{_REFS}/{commit}", commit, **repository)
        return commit

    def remove(self, binding: Any) -> None:
        """Removes the working tree of an execution that is over. Its checkpoints stay."""
        self._remove(self._at / _name(binding))

    def _own(self, path: Path) -> dict[str, str]:
        """What leads git to a working tree and to its part of the repository.

        INVARIANT: nothing in the working tree says where its repository is. An agent may write its `.git`: git would
        run the programs that another repository names, and keep files of a repository around this one.
        """
        if path.is_symlink() or not path.is_dir():
            raise FileNotFoundError(f"the working tree `{path}` of this execution is gone")
        common = self._repository / _git(self._repository, "rev-parse", "--git-common-dir")
        return {"GIT_DIR": str(common / "worktrees" / path.name), "GIT_WORK_TREE": str(path)}

    def _remove(self, path: Path) -> None:
        # It may be there in part, or not at all.
        with suppress(GitError):
            _git(self._repository, "worktree", "remove", "--force", str(path))
        shutil.rmtree(path, ignore_errors=True)

    def _commit_of(self, name: object) -> str:
        if not isinstance(name, str) or "\0" in name:
            raise ValueError(f"`start={name!r}` names no commit")
        try:
            return _git(self._repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
        except GitError as error:
            raise GitError(f"the repository `{self._repository}` has no commit `{name[:100]}`: {error}") from None

    def _parent_of(self, ref: str) -> str:
        if not _COMMIT.fullmatch(ref):
            raise CheckpointUnavailable(f"`{ref[:100]}` is no checkpoint of a repository")
        try:
            # Only what the driver has kept: any other commit is no checkpoint.
            kept = _git(self._repository, "rev-parse", "--verify", "--quiet", f"{_REFS}/{ref}^{{commit}}")
            return _git(self._repository, "rev-parse", "--verify", "--quiet", f"{kept}^1")
        except GitError:
            raise CheckpointUnavailable(f"the repository `{self._repository}` has no checkpoint `{ref}`") from None


def _look_everywhere(at: Path, staged: dict[str, str]) -> None:
    """Takes from an index what keeps git from looking at a file, and would keep its changes out of a checkpoint."""
    tags = _git(at, "ls-files", "-v", "-z", **staged).split("\0")
    # `S` or a small letter, a space, and the path.
    passed = [path for tag, _, path in (line.partition(" ") for line in tags) if tag == "S" or tag.islower()]
    if passed:
        # git takes one of the two at a time.
        for word in ("--no-assume-unchanged", "--no-skip-worktree"):
            _git(at, "update-index", word, "-z", "--stdin", said="\0".join(passed), **staged)


def _git(at: Path, *words: str, said: str = "", **more: str) -> str:
    """What a command of git answers to what it is `said`, without its last line's end."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    # Those of a hook or an alias that this runs in would lead to another repository.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(at), *settings, *words],
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **more},
            input=os.fsencode(said),
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitError("there is no program `git`; install it") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()[:_LONGEST]
        raise GitError(f"git {words[0]} failed in `{at}`: {why or f'exit code {done.returncode}'}")
    return os.fsdecode(done.stdout).removesuffix("\n")


def _name(binding: Any) -> str:
    name = binding.get("worktree") if isinstance(binding, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the binding is none of a working tree")
    return name
