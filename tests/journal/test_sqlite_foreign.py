"""What stands beside a store under the names of its files, and is somebody else's: refused, and left as it is."""

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import rebuno
from rebuno.errors import StoreForeign
from rebuno.journal.liveness import Owner
from rebuno.journal.sqlite import SQLiteStore
from tests.journal.builders import batch as a_batch
from tests.journal.builders import execution, in_loop, started, written

STRANGER = 12345
PRECIOUS = "0" * 32


def linked_folder(place: Path) -> None:
    """A link to a folder with files, some of which are called like owner files."""
    target = place.parent / "elsewhere"
    target.mkdir()
    (target / PRECIOUS).write_text("precious")
    (target / "notes.txt").write_text("precious")
    place.symlink_to(target)


def linked_file(place: Path) -> None:
    target = place.parent / "target.txt"
    target.write_text("precious")
    place.symlink_to(target)


def dangling(place: Path) -> None:
    place.symlink_to(place.parent / "nowhere")


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()
    (place / "inside.txt").write_text("precious")


def regular(place: Path) -> None:
    place.write_text("precious")


def twice(place: Path) -> None:
    """Another name of somebody's file. Its size is that of an index."""
    target = place.parent / "target.txt"
    target.write_text("precious" * 512)
    os.link(target, place)


def listening(place: Path) -> None:
    opened = socket.socket(socket.AF_UNIX)
    # The address is bounded in length, the folder of a test is not.
    here = Path.cwd()
    try:
        os.chdir(place.parent)
        opened.bind(place.name)
    finally:
        os.chdir(here)
        opened.close()


def device(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes devices")
    os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def strangers_file(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    place.touch()
    os.chown(place, STRANGER, STRANGER)


def strangers_folder(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    place.mkdir()
    (place / PRECIOUS).touch()
    os.chown(place, STRANGER, STRANGER)


Maker = Callable[[Path], None]
FILES: list[Maker] = [
    linked_file,
    linked_folder,
    dangling,
    pipe,
    folder,
    regular,
    twice,
    listening,
    device,
    strangers_file,
]
FOLDERS: list[Maker] = [linked_file, linked_folder, dangling, pipe, listening, device, regular, strangers_folder]
CASES = [
    *((end, make) for end in ("-wal", "-shm", "-journal") for make in FILES),
    *(("-owners", make) for make in FOLDERS),
]


def seen(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every name below a folder, with what kind of file it is, whose, and what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        held = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, held)
    return found


async def bounded(path: Path, *, create: bool = True, serving: bool = False) -> SQLiteStore:
    """Opens a store; a pipe that is waited for fails the test instead of holding it up."""
    return await asyncio.wait_for(SQLiteStore.open(path, create=create, serving=serving), 20)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(("end", "make"), CASES)
@in_loop
async def test_what_is_not_the_stores_own_is_refused_and_left_alone(
    tmp_path: Path, end: str, make: Maker, there: bool
) -> None:
    """Beside a store that is there, and where one is yet to be made."""
    path = tmp_path / "agent.db"
    if there:
        await (await bounded(path)).close()
        if end == "-owners":
            path.with_name("agent.db-owners").rmdir()
    make(path.with_name(f"agent.db{end}"))
    before = seen(tmp_path)
    for create in (True, False) if there else (True,):
        with pytest.raises(StoreForeign, match=f"agent.db{end}|`{end}`") as caught:
            await bounded(path, create=create)
        assert caught.value.path == str(path)
    assert seen(tmp_path) == before


@pytest.mark.parametrize("make", [dangling, pipe, listening, device])
@in_loop
async def test_a_store_is_a_file(tmp_path: Path, make: Maker) -> None:
    """Not a pipe, which is not waited for, nor a link to nothing, which is not followed."""
    path = tmp_path / "agent.db"
    make(path)
    before = seen(tmp_path)
    for create in (True, False):
        with pytest.raises(StoreForeign):
            await bounded(path, create=create)
    assert seen(tmp_path) == before


@in_loop
async def test_a_link_to_a_store_leads_to_it(tmp_path: Path) -> None:
    """And the files beside it stand where it does."""
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "agent.db", tmp_path / "agent.db"
    await (await bounded(real)).close()
    link.symlink_to(real)
    store = await bounded(link)
    await started(store)
    await written(store, a_batch())
    await store.close()
    assert [name for name in seen(tmp_path) if "/" not in name] == ["agent.db", "real"]


@pytest.mark.parametrize(
    "name", ["notes.txt", "0" * 31, "0" * 33, "0" * 31 + "G", ".hidden", "A" * 32, f"{'0' * 32}\n"]
)
@in_loop
async def test_only_own_names_are_removed_from_the_folder(tmp_path: Path, name: str) -> None:
    """A file of another name is somebody's, however empty it is."""
    path = tmp_path / "agent.db"
    await (await bounded(path)).close()
    precious = tmp_path / "agent.db-owners" / name
    precious.touch()
    await (await bounded(path)).close()
    assert precious.exists()


@pytest.mark.parametrize("make", [linked_file, linked_folder, dangling, pipe, listening, folder, regular])
@in_loop
async def test_what_is_called_like_an_owner_file_and_is_none_stays(tmp_path: Path, make: Maker) -> None:
    """No link is followed, no pipe waited for, nothing with a text in it removed; and its lease tells who lives."""
    path = tmp_path / "agent.db"
    await (await bounded(path)).close()
    owners = tmp_path / "agent.db-owners"
    owners.joinpath("f" * 32).touch()
    make(owners / PRECIOUS)
    before = seen(tmp_path)
    del before[f"agent.db-owners/{'f' * 32}"]
    store = await bounded(path)
    held = execution("e1", holder=store.holder)
    assert await store.alive(held)
    await store.close()
    after = seen(tmp_path)
    assert {name: after[name] for name in before if "owners" in name} == {
        name: said for name, said in before.items() if "owners" in name
    }
    assert f"agent.db-owners/{'f' * 32}" not in after, "the file of a dead store goes"


@pytest.mark.parametrize("make", [linked_file, linked_folder, dangling, pipe, listening, folder])
@in_loop
async def test_the_servers_file_is_its_own(tmp_path: Path, make: Maker) -> None:
    """A link under its name would have another file cut off, a pipe would hold the server up."""
    path = tmp_path / "agent.db"
    await (await bounded(path)).close()
    make(tmp_path / "agent.db-owners" / ".server")
    before = seen(tmp_path)
    with pytest.raises(StoreForeign, match=r"\.server"):
        await bounded(path, serving=True)
    after = seen(tmp_path)
    assert {name: after[name] for name in before} == before


def test_a_second_name_of_a_file_is_not_cut_off(tmp_path: Path) -> None:
    """The server's file with a hard link to a text."""
    text = tmp_path / "text.txt"
    text.write_text("precious")
    owners = tmp_path / "owners"
    owner = Owner(owners)
    os.link(text, owners / ".server")
    with pytest.raises(StoreForeign, match="second name"):
        owner.claim("server")
    owner.close()
    assert text.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("mode", "user", "group", "good"),
    [
        (0o600, STRANGER, 0, True),
        (0o660, STRANGER + 1, 77, True),
        (0o640, STRANGER + 1, 77, False),
        (0o660, STRANGER + 1, 78, False),
        (0o666, STRANGER + 1, 78, True),
    ],
)
@in_loop
async def test_who_may_write_the_store_may_own_its_files(
    tmp_path: Path, mode: int, user: int, group: int, good: bool
) -> None:
    """Its owner, and its group where that may write it; nobody else."""
    path = tmp_path / "agent.db"
    await (await bounded(path)).close()
    os.chown(path, STRANGER, 77)
    path.chmod(mode)
    owners = tmp_path / "agent.db-owners"
    os.chown(owners, user, group)
    if good:
        await (await bounded(path)).close()
    else:
        with pytest.raises(StoreForeign, match=f"belongs to the user {user}"):
            await bounded(path)


def test_the_front_door_says_so_too(tmp_path: Path) -> None:
    """A run on a store with a foreign file beside it starts nothing."""
    (tmp_path / "agent.db-wal").symlink_to(tmp_path / "nowhere")

    async def handler() -> None:
        pytest.fail("nothing may run")

    with pytest.raises(rebuno.StoreForeign):
        rebuno.run_sync(handler, path=tmp_path / "agent.db", policy=rebuno.PERMISSIVE, agent="a")
