"""The driver of git repositories: what a checkpoint keeps, and what the repository shows of it."""

import subprocess
from pathlib import Path

import pytest

from rebuno.drivers import GitDriver
from rebuno.drivers.git import GitError
from rebuno.errors import CheckpointUnavailable


def git(at: Path, *words: str) -> str:
    """What git says."""
    who = ["-c", "user.name=ana", "-c", "user.email=ana@example.com"]
    done = subprocess.run(["git", "-C", str(at), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def shown(repository: Path) -> tuple[str, str]:
    """Its branches and tags, and what its own working tree has changed."""
    return git(repository, "for-each-ref", "refs/heads", "refs/tags"), git(repository, "status", "--porcelain")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit."""
    path = tmp_path / "code"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch", "main")
    (path / "kept").write_text("one\n", encoding="utf-8")
    (path / "gone").write_text("old\n", encoding="utf-8")
    (path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "first")
    return path


def test_a_checkpoint_brings_the_files_back(repository: Path) -> None:
    """Changed, new, removed, staged and committed ones; what git ignores is not kept, and the index is left alone."""
    driver = GitDriver(repository)
    tree, binding = driver.create()
    (tree / "committed").write_text("c\n", encoding="utf-8")
    git(tree, "add", "committed")
    git(tree, "commit", "--quiet", "--message", "own")
    (tree / "kept").write_bytes(b"two\r\n")
    (tree / "gone").unlink()
    (tree / "folder").mkdir()
    (tree / "folder" / "new").write_text("n", encoding="utf-8")
    (tree / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("kept")
    (tree / "a.log").write_text("ignored", encoding="utf-8")
    (tree / "staged").write_text("s", encoding="utf-8")
    git(tree, "add", "staged")
    status = git(tree, "status", "--porcelain")
    ref = driver.checkpoint(tree)
    assert git(tree, "status", "--porcelain") == status
    (tree / "kept").write_text("three", encoding="utf-8")
    copy, other = GitDriver(repository).create(ref)
    assert (copy / "kept").read_bytes() == b"two\r\n"
    assert sorted(path.name for path in copy.iterdir()) == sorted(
        [".git", ".gitignore", "kept", "committed", "folder", "run.sh", "link", "staged"]
    )
    assert (copy / "run.sh").stat().st_mode & 0o100
    assert (copy / "link").readlink() == Path("kept")
    assert git(copy, "log", "-1", "--format=%s") == "own"
    assert git(copy, "diff", "--cached", "--name-only") == ""
    assert driver.open(other) == copy
    assert driver.open(binding) == tree


def test_the_repository_does_not_change(repository: Path) -> None:
    """No branch moves, its own working tree and index stay, and nothing of it runs."""
    hooks = repository / ".git" / "hooks"
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {repository}/../ran\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    before = shown(repository)
    driver = GitDriver(repository)
    tree, _ = driver.create()
    (tree / "new").write_text("n", encoding="utf-8")
    ref = driver.checkpoint(tree)
    copy, binding = driver.create(ref)
    assert (
        git(repository, "for-each-ref", "refs/heads", "refs/tags"),
        git(repository, "status", "--porcelain"),
    ) == before
    assert git(copy, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert not (repository.parent / "ran").exists()
    driver.remove(binding)
    driver.remove(binding)
    assert str(copy) not in git(repository, "worktree", "list")
    git(repository, "gc", "--quiet", "--prune=now")
    assert (driver.create(ref)[0] / "new").exists()


def test_it_begins_at_a_commit(repository: Path) -> None:
    """By any name of it; an unknown one, or an option, is an error."""
    (repository / "kept").write_text("later\n", encoding="utf-8")
    git(repository, "commit", "--quiet", "--all", "--message", "second")
    tree, _ = GitDriver(repository, start="main~1").create()
    assert (tree / "kept").read_text(encoding="utf-8") == "one\n"
    for start in ("nothing", "--all", ""):
        with pytest.raises(GitError):
            GitDriver(repository, start=start).create()
    with pytest.raises(GitError):
        GitDriver(repository.parent / "none").create()


@pytest.mark.parametrize("ref", ["", "main", "HEAD", "0" * 40, "--all", "deadbeef"])
def test_an_unknown_checkpoint_is_unavailable(repository: Path, ref: str) -> None:
    """A commit that the driver did not make is none either."""
    driver = GitDriver(repository)
    for wanted in (ref, git(repository, "rev-parse", "HEAD")):
        with pytest.raises(CheckpointUnavailable):
            driver.create(wanted)
    assert git(repository, "worktree", "list").count("\n") == 0


def test_the_callers_own_repository_is_not_meant(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler may run in a hook, with variables that name another repository."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    driver = GitDriver(repository)
    tree, _ = driver.create()
    (tree / "new").write_text("n", encoding="utf-8")
    copy, _ = driver.create(driver.checkpoint(tree))
    assert (copy / "new").exists()


@pytest.mark.parametrize("binding", [None, {}, {"worktree": "../.."}, {"worktree": 1}, "x"])
def test_a_binding_that_is_none(repository: Path, binding: object) -> None:
    """Nothing else is opened, or removed."""
    driver = GitDriver(repository)
    for use in (driver.open, driver.remove):
        with pytest.raises(ValueError, match="binding"):
            use(binding)
    tree, good = driver.create()
    driver.remove(good)
    assert not tree.exists()
    with pytest.raises(FileNotFoundError):
        driver.open(good)


def test_a_working_tree_does_not_say_where_its_repository_is(repository: Path, tmp_path: Path) -> None:
    """An agent may write its `.git`: nothing runs that this names, and no other repository is kept."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    driver = GitDriver(repository)
    tree, _ = driver.create()
    (tree / ".git").unlink()
    (tree / "new").write_text("n", encoding="utf-8")
    ref = driver.checkpoint(tree)
    assert git(repository, "ls-tree", "--name-only", ref).split() == [".gitignore", "gone", "kept", "new"]
    git(tree, "init", "--quiet")
    git(tree, "config", "filter.own.clean", f"touch '{tmp_path / 'ran'}'; cat")
    (tree / ".gitattributes").write_text("* filter=own\n", encoding="utf-8")
    kept = git(repository, "ls-tree", "--name-only", driver.checkpoint(tree)).split()
    assert kept == [".gitattributes", ".gitignore", "gone", "kept", "new"]
    assert not (tmp_path / "ran").exists()
    tree.rename(tmp_path / "moved")
    tree.symlink_to(tmp_path)
    with pytest.raises(FileNotFoundError):
        driver.checkpoint(tree)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_git_looks_at_every_file(repository: Path, flag: str) -> None:
    """Also at one that it was told to pass over."""
    driver = GitDriver(repository)
    tree, _ = driver.create()
    git(tree, "update-index", flag, "kept")
    (tree / "kept").write_text("changed", encoding="utf-8")
    copy, _ = driver.create(driver.checkpoint(tree))
    assert (copy / "kept").read_text(encoding="utf-8") == "changed"


def test_settings_of_the_repository_leave_nothing_out(repository: Path) -> None:
    """Permissions, links, and what a sparse checkout would not have."""
    (repository / "folder").mkdir()
    (repository / "folder" / "file").write_text("f", encoding="utf-8")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "second")
    git(repository, "sparse-checkout", "set", "elsewhere")
    for name in ("core.fileMode", "core.symlinks"):
        git(repository, "config", name, "false")
    driver = GitDriver(repository)
    tree, _ = driver.create()
    (tree / "run.sh").touch(mode=0o755)
    (tree / "link").symlink_to("kept")
    (tree / "folder" / "new").write_text("n", encoding="utf-8")
    copy, _ = driver.create(driver.checkpoint(tree))
    assert (copy / "run.sh").stat().st_mode & 0o100
    assert (copy / "link").is_symlink()
    assert sorted(path.name for path in (copy / "folder").iterdir()) == ["file", "new"]


@pytest.mark.parametrize("start", [7, "a\0b"])
def test_a_start_that_names_nothing(repository: Path, start: object) -> None:
    """It is refused before git is asked."""
    with pytest.raises(ValueError, match="names no commit"):
        GitDriver(repository, start=start).create()  # type: ignore[arg-type]
