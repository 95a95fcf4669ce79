"""Who may read what the journal keeps: its owner alone, whatever the mask of the process says."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rebuno
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import batch, started, written

MASKS = [0o000, 0o002, 0o022, 0o027, 0o077, 0o277]
ROOT = Path(__file__).parents[2]


async def nothing() -> None:
    """A handler that does nothing."""


@contextmanager
def mask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {
        "owner file" if path.parent.name.endswith("-owners") and len(path.name) == 32 else path.name: stat.S_IMODE(
            path.lstat().st_mode
        )
        for path in folder.rglob("*")
    }


async def used(path: Path) -> dict[str, int]:
    """The modes of a store's files while a server has it open."""
    store = await SQLiteStore.open(path, serving=True)
    await started(store)
    await written(store, batch())
    found = modes(path.parent)
    await store.close()
    return found


@pytest.mark.parametrize("there", ["nothing", "an empty file"])
@pytest.mark.parametrize("bits", MASKS)
def test_a_new_store_is_its_owners_alone(tmp_path: Path, bits: int, there: str) -> None:
    """The file, its log, its index, the folder of owners and all in it."""
    path = tmp_path / "agent.db"
    if there != "nothing":
        path.touch(mode=0o600)
    with mask(bits):
        found = asyncio.run(used(path))
    assert found == {
        "agent.db": 0o600,
        "agent.db-wal": 0o600,
        "agent.db-shm": 0o600,
        "agent.db-owners": 0o700,
        "owner file": 0o600,
        ".server": 0o600,
    }


@pytest.mark.parametrize("bits", MASKS)
def test_a_store_that_a_group_shares_goes_on_as_it_was(tmp_path: Path, bits: int) -> None:
    """What somebody gave to a group stays open to it, and nothing becomes wider than the file is."""
    path = tmp_path / "agent.db"
    asyncio.run(used(path))
    path.chmod(0o660)
    for file in (tmp_path / "agent.db-owners").iterdir():
        file.unlink()
    (tmp_path / "agent.db-owners").rmdir()

    async def again() -> dict[str, int]:
        store = await SQLiteStore.open(path, serving=True)
        await written(store, batch())
        found = modes(tmp_path)
        await store.close()
        return found

    with mask(bits):
        found = asyncio.run(again())
    assert found == {
        "agent.db": 0o660,
        "agent.db-wal": 0o660,
        "agent.db-shm": 0o660,
        "agent.db-owners": 0o770,
        "owner file": 0o660,
        ".server": 0o660,
    }


def test_a_wider_store_is_not_narrowed_behind_its_owners_back(tmp_path: Path) -> None:
    """One of the first edition keeps its mode: an auditor may read it. What is new beside it is as narrow as ever."""
    path = tmp_path / "agent.db"
    asyncio.run(used(path))
    path.chmod(0o644)
    folder = tmp_path / "agent.db-owners"
    folder.chmod(0o755)

    async def again() -> dict[str, int]:
        store = await SQLiteStore.open(path)
        await written(store, batch())
        found = modes(tmp_path)
        await store.close()
        return found

    found = asyncio.run(again())
    assert (found["agent.db"], found["agent.db-owners"]) == (0o644, 0o755)
    assert found["owner file"] == 0o600


@pytest.mark.parametrize("bits", MASKS[:-1])
def test_an_export_is_its_makers_alone(tmp_path: Path, bits: int) -> None:
    """A new file; one that is there keeps the mode that somebody gave it."""

    path = tmp_path / "agent.db"
    ref = rebuno.run_sync(nothing, path=path, policy=rebuno.PERMISSIVE, agent="a", id="one").id
    (tmp_path / "old.jsonl").touch()
    (tmp_path / "old.jsonl").chmod(0o640)
    for name, mode in (("new.jsonl", 0o600), ("old.jsonl", 0o640)):
        command = [sys.executable, "-m", "rebuno_cli.main", "exec", "export", ref, name, "--db", "agent.db"]
        program = f"import os, sys; os.umask({bits}); os.execv(sys.executable, sys.argv[1:])"
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}"}
        subprocess.run([sys.executable, "-c", program, *command], cwd=tmp_path, env=environment, check=True)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
