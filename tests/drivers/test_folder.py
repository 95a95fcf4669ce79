"""The driver of folders: what a checkpoint keeps, and what is refused."""

import os
import shutil
from pathlib import Path

import pytest

from rebuno.drivers import FolderDriver
from rebuno.errors import CheckpointUnavailable


def seen(tree: Path) -> dict[str, tuple[str, int, bytes]]:
    """What a folder holds: sort, permissions and contents by path."""
    found = {}
    for path in sorted(tree.rglob("*")):
        name, mode = str(path.relative_to(tree)), path.lstat().st_mode & 0o777
        if path.is_symlink():
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            found[name] = ("folder", mode, b"")
        else:
            found[name] = ("file", mode, path.read_bytes())
    return found


def fill(folder: Path) -> None:
    """Something of every sort."""
    (folder / "empty").mkdir()
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "text").write_text("ü\r\n\0", encoding="utf-8")
    (folder / "tool.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "tool.sh").chmod(0o755)
    (folder / "closed").write_bytes(b"secret")
    (folder / "closed").chmod(0o400)
    (folder / "large").write_bytes(bytes(3 << 20))
    (folder / "away").symlink_to("/etc")
    (folder / "broken").symlink_to("nowhere")
    (folder / "deep" / "up").symlink_to("../large")
    (folder / "deep").chmod(0o500)
    with open(os.fsencode(folder) + b"/\xff name", "wb") as file:
        file.write(b"odd")


def test_a_checkpoint_brings_everything_back(tmp_path: Path) -> None:
    """Byte for byte, links as links, in a folder of its own, also for another driver object."""
    driver = FolderDriver(tmp_path / "at")
    folder, binding = driver.create()
    fill(folder)
    before = seen(folder)
    ref = driver.checkpoint(folder)
    (folder / "large").unlink()
    (folder / "new").write_text("later", encoding="utf-8")
    copy, other = FolderDriver(tmp_path / "at").create(ref)
    assert seen(copy) == before
    assert copy != folder
    assert driver.open(other) == copy
    assert driver.open(binding) == folder
    assert driver.checkpoint(copy) == ref


def test_what_is_the_same_is_kept_once(tmp_path: Path) -> None:
    """A second checkpoint adds what has changed, and no more."""
    driver = FolderDriver(tmp_path / "at")
    folder, _ = driver.create()
    (folder / "large").write_bytes(os.urandom(1 << 20))
    (folder / "twin").write_bytes((folder / "large").read_bytes())
    driver.checkpoint(folder)
    kept = tmp_path / "at" / "contents"
    size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    assert size < 1.1 * (1 << 20)
    (folder / "small").write_text("x", encoding="utf-8")
    driver.checkpoint(folder)
    assert sum(path.stat().st_size for path in kept.rglob("*") if path.is_file()) < size + 1000
    assert not list(kept.glob("new-*"))


def test_a_seed_is_copied(tmp_path: Path) -> None:
    """Into a folder that begins without a checkpoint; the seed stays as it is."""
    (tmp_path / "seed").mkdir()
    (tmp_path / "seed" / "a").write_text("1", encoding="utf-8")
    driver = FolderDriver(tmp_path / "at", seed=tmp_path / "seed")
    folder, _ = driver.create()
    (folder / "a").write_text("2", encoding="utf-8")
    assert (tmp_path / "seed" / "a").read_text(encoding="utf-8") == "1"
    copy, _ = driver.create(driver.checkpoint(folder))
    assert (copy / "a").read_text(encoding="utf-8") == "2"


@pytest.mark.parametrize("ref", ["", "x", "0" * 64, "../" * 20, "a" * 63 + "\n"])
def test_an_unknown_checkpoint_is_unavailable(tmp_path: Path, ref: str) -> None:
    """And leaves no folder."""
    driver = FolderDriver(tmp_path / "at")
    with pytest.raises(CheckpointUnavailable):
        driver.create(ref)
    assert not list((tmp_path / "at" / "folders").iterdir())


@pytest.mark.parametrize("damage", ["list changed", "file changed", "file gone"])
def test_a_damaged_checkpoint_is_unavailable(tmp_path: Path, damage: str) -> None:
    """Nothing is created from what is not whole."""
    driver = FolderDriver(tmp_path / "at")
    folder, _ = driver.create()
    (folder / "a").write_bytes(b"contents")
    ref = driver.checkpoint(folder)
    kept = {path.parent.name + path.name: path for path in (tmp_path / "at" / "contents").rglob("*") if path.is_file()}
    one = kept.pop(ref) if damage == "list changed" else next(path for name, path in kept.items() if name != ref)
    one.unlink() if damage == "file gone" else one.write_bytes(b"[]")
    shutil.rmtree(folder)
    with pytest.raises(CheckpointUnavailable):
        driver.create(ref)
    assert not list((tmp_path / "at" / "folders").iterdir())


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    """Whatever a list of files says."""
    driver = FolderDriver(tmp_path / "at")
    folder, _ = driver.create()
    (folder / "a").write_bytes(b"x")
    driver.checkpoint(folder)
    for name in ("../out", "/tmp/out", "a/../../out", ""):
        for sort in ("file", "folder", "link"):
            text = f'[["{sort}","{name}",448,"{"0" * 64}"]]'.encode()
            ref = driver._contents._put_text(text)
            with pytest.raises(CheckpointUnavailable):
                driver.create(ref)
    assert not (tmp_path / "at" / "out").exists()


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    """A pipe is no file."""
    driver = FolderDriver(tmp_path / "at")
    folder, _ = driver.create()
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="`pipe` is no file"):
        driver.checkpoint(folder)


@pytest.mark.parametrize("binding", [None, {}, {"folder": "../.."}, {"folder": 1}, "x"])
def test_a_binding_that_is_none(tmp_path: Path, binding: object) -> None:
    """Nothing else is opened, or removed."""
    driver = FolderDriver(tmp_path / "at")
    for use in (driver.open, driver.remove):
        with pytest.raises(ValueError, match="binding"):
            use(binding)


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """It is not made anew: a person has removed it."""
    driver = FolderDriver(tmp_path / "at")
    _, binding = driver.create()
    driver.remove(binding)
    driver.remove(binding)
    with pytest.raises(FileNotFoundError):
        driver.open(binding)


def test_a_folder_that_was_replaced_by_a_link(tmp_path: Path) -> None:
    """What it leads to is neither kept nor opened."""
    driver = FolderDriver(tmp_path / "at")
    folder, binding = driver.create()
    (tmp_path / "secret").mkdir()
    folder.rmdir()
    folder.symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="replaced by a link"):
        driver.checkpoint(folder)
    with pytest.raises(FileNotFoundError):
        driver.open(binding)


@pytest.mark.parametrize("at", ["seed/at", "linked/at", "seed"])
def test_a_folder_is_no_part_of_its_seed(tmp_path: Path, at: str) -> None:
    """Its copy would hold itself, until the disk is full."""
    (tmp_path / "seed").mkdir()
    (tmp_path / "linked").symlink_to("seed")
    with pytest.raises(ValueError, match="part of their seed"):
        FolderDriver(tmp_path / at, seed=tmp_path / "seed")
