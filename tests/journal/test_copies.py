"""A store is copied while it is in use, and a copy is put back in its place only where nobody uses it."""

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import apsw
import pytest

import rebuno
from rebuno.errors import StoreBusy, StoreCorrupt, StoreError, StoreForeign, StoreUnreachable
from rebuno.journal.sqlite import SQLiteStore, copies
from rebuno.policy import compile_text
from tests.journal.builders import in_loop

POLICY = compile_text("bundle copies\ndefault allow\n")


@rebuno.tool("note", idempotency="at_most_once")
async def note(n: int) -> int:
    return n


async def agent(n: int) -> int:
    return int(await note(n))


async def ran(path: Path, *numbers: int) -> None:
    async with rebuno.open(path, policy=POLICY) as kernel:
        for n in numbers:
            await kernel.run(agent, {"n": n}, id=f"run {n}")


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def ids(path: Path) -> set[str | None]:
    async with rebuno.operate(path) as operator:
        return {one.idempotency_key for one in await operator.executions()}


@in_loop
async def test_a_store_in_use_is_copied_whole(tmp_path: Path) -> None:
    """The copy is one file of its owner's, holds what was committed, and can be opened itself."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    async with rebuno.open(path, policy=POLICY) as kernel:
        await kernel.run(agent, {"n": 1}, id="run 1")
        made = copies.backup(path, copy)
        await kernel.run(agent, {"n": 2}, id="run 2")
    assert (made.executions, made.path, made.size) == (1, str(copy), copy.stat().st_size)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert files(tmp_path) == ["a.db", "a.db-owners", "copy.db"]
    assert await ids(copy) == {"run 1"}
    async with rebuno.operate(copy) as operator:
        assert not (await operator.verify("run 1")).fault
        assert await operator.restored() is None


@in_loop
async def test_a_copy_is_put_back_and_what_stood_there_is_kept(tmp_path: Path) -> None:
    """From then on people are asked, until somebody accepts it."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    before = copy.read_bytes()
    await ran(path, 2)
    made = copies.restore(copy, path, by="ana")
    assert copy.read_bytes() == before
    assert await ids(path) == {"run 1"}
    assert await ids(Path(made.kept)) == {"run 1", "run 2"}
    async with rebuno.operate(path) as operator:
        restored = await operator.restored()
        assert restored is not None
        assert restored.restored_by == "ana"
        await operator.accept_restore(by="ana")
        assert await operator.restored() is None
        with pytest.raises(rebuno.ConflictError):
            await operator.accept_restore(by="ana")


@in_loop
async def test_two_who_restore_at_once_keep_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither takes the name under which the other keeps the store."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    await ran(path, 2)
    named, both = copies._kept, Barrier(2)

    def kept(place: Path) -> str:
        name = named(place)
        # Where both may come here at once, both have the same name now.
        with suppress(BrokenBarrierError):
            both.wait(0.3)
        return name

    monkeypatch.setattr(copies, "_kept", kept)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda by: copies.restore(copy, path, by=by), ("ana", "bob")))
    stood = [await ids(Path(one.kept)) for one in made]
    assert sorted(stood, key=len) == [{"run 1"}, {"run 1", "run 2"}]
    assert await ids(path) == {"run 1"}


@in_loop
async def test_a_restore_that_dies_leaves_the_store_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no moment could a kernel find no store and make an empty one."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    await ran(path, 2)

    def dies(*names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            copies.restore(copy, path, by="ana")
    assert await ids(path) == {"run 1", "run 2"}
    assert path.stat().st_nlink == 1
    copies.restore(copy, path, by="ana")
    assert await ids(path) == {"run 1"}


@pytest.mark.parametrize("reader", [False, True])
@in_loop
async def test_nothing_is_put_in_the_place_of_a_store_in_use(tmp_path: Path, reader: bool) -> None:
    """One that only reads counts too."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    if reader:
        other = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        with closing(other):
            other.execute("BEGIN")
            assert list(other.execute("SELECT count(*) FROM executions")) == [(1,)]
            with pytest.raises(StoreBusy):
                copies.restore(copy, path, by="ana")
    else:
        store = await SQLiteStore.open(path)
        with pytest.raises(StoreBusy, match="is open in another process"):
            copies.restore(copy, path, by="ana")
        await store.close()
    assert await ids(path) == {"run 1"}
    assert files(tmp_path) == ["a.db", "a.db-owners", "copy.db"]
    copies.restore(copy, path, by="ana")


@in_loop
async def test_the_log_of_another_file_is_not_written_into_the_copy(tmp_path: Path) -> None:
    """It is put aside with the file that it stood beside."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    await ran(path, 2)
    async with rebuno.open(tmp_path / "other.db", policy=POLICY) as kernel:
        await kernel.run(agent, {"n": 3}, id="other")
        shutil.copy(tmp_path / "other.db-wal", f"{path}-wal")
    made = copies.restore(copy, path, by="ana")
    assert f"{Path(made.kept).name}.left-wal" in files(tmp_path)
    assert "a.db-wal" not in files(tmp_path)
    assert await ids(path) == {"run 1"}


@in_loop
async def test_a_store_that_is_gone_is_restored(tmp_path: Path) -> None:
    """There is nothing to keep."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, 1)
    copies.backup(path, copy)
    path.unlink()
    assert copies.restore(copy, path, by="ana").kept == ""
    assert await ids(path) == {"run 1"}


@in_loop
async def test_what_is_no_copy_replaces_nothing(tmp_path: Path) -> None:
    """Each is refused by name, and the store stays as it was."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    await ran(path, *range(40))
    copies.backup(path, copy)
    whole = copy.read_bytes()
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (n)")
    (tmp_path / "text").write_text("no store")
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    hole = len(whole) // 2 // 4096 * 4096
    (tmp_path / "torn").write_bytes(whole[:hole] + b"\xff" * 4096 + whole[hole + 4096 :])
    for name, error in (
        ("missing", StoreUnreachable), ("other.db", StoreForeign), ("text", StoreCorrupt), ("cut", StoreCorrupt),
        ("torn", StoreCorrupt), ("a.db", StoreForeign), (".", StoreUnreachable),
    ):  # fmt: skip
        with pytest.raises(StoreError) as raised:
            copies.restore(tmp_path / name, path, by="ana")
        assert isinstance(raised.value, error), (name, raised.value)
    with pytest.raises(StoreForeign, match="exists"):
        copies.backup(path, copy)
    with pytest.raises(StoreUnreachable):
        copies.backup(path, tmp_path / "no folder" / "copy.db")
    with pytest.raises(StoreUnreachable):
        copies.backup(tmp_path / "missing", tmp_path / "new.db")
    assert len(await ids(path)) == 40
    assert not [name for name in files(tmp_path) if name.startswith(".")]


@in_loop
async def test_a_copy_beside_a_log_is_refused(tmp_path: Path) -> None:
    """What stands in the log is not in the file."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    async with rebuno.open(path, policy=POLICY) as kernel:
        await kernel.run(agent, {"n": 1}, id="run 1")
        copies.backup(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    with pytest.raises(StoreForeign, match="rebuno store backup"):
        copies.restore(copy, path, by="ana")
