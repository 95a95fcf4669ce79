"""`rebuno.open`: what can be wrong with a store or a bundle surfaces as it is, and nothing is recorded."""

import asyncio
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import rebuno
from rebuno.embedded import Kernel
from rebuno.journal.sqlite import SQLiteStore
from rebuno.policy import permissive_policy
from tests.embedded.support import in_loop, journal, run

OPEN = "bundle tests\ndefault allow\n"


async def handler() -> str:
    return "ran"


async def use(path: Path) -> rebuno.Execution:
    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        return await kernel.run(handler, id="run", agent="agent")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_text(path: Path) -> None:
    path.write_text("not a store\n" * 1000)


def of_another_program(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def newer(path: Path) -> None:
    asyncio.run(use(path))
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 999)
    connection.close()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (a_folder, rebuno.StoreUnreachable),
        (a_text, rebuno.StoreCorrupt),
        (of_another_program, rebuno.StoreCorrupt),
        (newer, rebuno.SchemaTooNew),
    ],
)
def test_a_bad_store_is_named(tmp_path: Path, make: Callable[[Path], None], kind: type[rebuno.StoreError]) -> None:
    """The typed error of the store, with its path, from `open`, `operate` and `run_sync` alike."""
    path = tmp_path / "store.db"
    make(path)

    async def operated() -> None:
        async with rebuno.operate(path) as operator:
            await operator.executions()

    for attempt in (
        lambda: asyncio.run(use(path)),
        lambda: asyncio.run(operated()),
        lambda: rebuno.run_sync(handler, path=path, policy=rebuno.PERMISSIVE),
    ):
        with pytest.raises(kind) as caught:
            attempt()
        assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "kind"), [(0o777, 0o444, "StoreReadOnly"), (0o700, 0o666, "StoreUnreachable")]
)
def test_a_store_that_may_not_be_used_says_so(folder_mode: int, file_mode: int, kind: str) -> None:
    """For a user who is not root: the file may not be written, or its folder not be entered."""
    # Not below pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.db"
        asyncio.run(use(path))
        for file in Path(name).iterdir():
            file.chmod(0o777)
        path.chmod(file_mode)
        Path(name).chmod(folder_mode)
        told = as_nobody(path)
    assert told == f"{kind} {path}"


def as_nobody(path: Path) -> str:
    """What a user without rights is told who opens a store."""
    program = (
        "import os, sys, rebuno\n"
        "import rebuno.embedded\n"
        "if os.getuid() == 0:\n    os.setuid(65534)\n"
        "try:\n    rebuno.run_sync(int, path=sys.argv[1], policy=rebuno.PERMISSIVE, agent='a')\n"
        "except rebuno.StoreError as error:\n    sys.stdout.write(f'{type(error).__name__} {error.path}')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    return ran.stdout or ran.stderr


@in_loop
async def test_a_locked_store_is_busy_and_the_run_resumes(tmp_path: Path) -> None:
    """Another process keeps the store locked for longer than a write waits; nothing is lost but time."""
    path = tmp_path / "store.db"
    await use(path)
    other = apsw.Connection(str(path))
    store = await SQLiteStore.open(path, busy_timeout=0.05)
    kernel = Kernel(store, permissive_policy(), strict=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(rebuno.StoreBusy):
        await kernel.run(handler, id="another", agent="agent")
    other.execute("ROLLBACK")
    assert (await kernel.run(handler, id="another", agent="agent")).output == "ran"
    await store.close()
    other.close()


@in_loop
async def test_a_bundle_that_no_longer_compiles_records_nothing(tmp_path: Path) -> None:
    """The run waits as it stood, the store is not even opened, and all goes on once the bundle is fixed."""
    path, rules = tmp_path / "store.db", tmp_path / "agent.rbp"
    rules.write_text(OPEN + 'rule ask { require approval for local "ask" because "?" }\n')
    ran: list[str] = []

    async def asks() -> str:
        ran.append("handler")
        return str(await rebuno.step("ask", lambda: "asked"))

    async with rebuno.open(path, policy=rules) as kernel:
        blocked = await kernel.run(asks, id="run", agent="agent")
        await kernel.operator.grant(blocked.approvals[0].id, decided_by="ana")
    _, before = await journal(path)
    good = rules.read_text()
    rules.write_text(good + "rule broken { alow tool }\n")
    with pytest.raises(rebuno.BundleError, match="rbp:4:15"):
        async with rebuno.open(path, policy=rules):
            pass
    with pytest.raises(rebuno.BundleError):
        async with rebuno.open(tmp_path / "none.db", policy=rules):
            pass
    assert not (tmp_path / "none.db").exists()
    assert (await journal(path))[1] == before
    rules.write_text(good)
    async with rebuno.open(path, policy=rules) as kernel:
        assert (await kernel.run(asks, id="run", agent="agent")).output == "asked"
    assert ran == ["handler", "handler"]


@in_loop
async def test_a_bundle_is_read_at_open_and_not_again(tmp_path: Path) -> None:
    """A file that changes under an open kernel takes effect at the next `open`."""
    rules = tmp_path / "agent.rbp"
    rules.write_text(OPEN)
    act = rebuno.tool("tests-open-act")(lambda: "acted")
    async with rebuno.open(tmp_path / "store.db", policy=str(rules)) as kernel:
        rules.write_text('bundle tests\ndefault deny because "closed"\n')
        assert (await kernel.run(act, agent="agent")).output == "acted"
    async with rebuno.open(tmp_path / "store.db", policy=str(rules)) as kernel:
        assert (await kernel.run(act, agent="agent")).output == "tests-open-act not allowed. reason: closed"


def test_a_kernel_without_a_policy_is_refused(tmp_path: Path) -> None:
    """To allow everything must be said aloud."""

    async def opened() -> None:
        async with rebuno.open(tmp_path / "store.db"):
            pass

    with pytest.raises(ValueError, match=r"rebuno\.PERMISSIVE"):
        asyncio.run(opened())
    assert list(tmp_path.iterdir()) == []


@in_loop
async def test_a_kernel_that_is_closed_under_a_run_stops_it(tmp_path: Path) -> None:
    """The run fails with an error that says so, and the next kernel takes it up at once."""
    path = tmp_path / "store.db"
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> str:
        inside.set()
        await go_on.wait()
        return str(await rebuno.step("act", lambda: "acted"))

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        running = asyncio.create_task(kernel.run(waits, id="run", agent="agent"))
        await inside.wait()
    go_on.set()
    with pytest.raises(rebuno.StoreError, match="was closed while it ran the execution `run`"):
        await running
    with pytest.raises(rebuno.StoreError, match="is closed"):
        await kernel.run(waits, id="run", agent="agent")
    assert (await run(path, OPEN, waits)).output == "acted"


@in_loop
async def test_a_run_that_is_called_off_twice_while_it_begins_is_not_complained_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C calls off runs side by side, and the end of `asyncio.run` once more, when their store is closed."""
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    asked, closed = asyncio.Event(), asyncio.Event()

    async def find(_agent_id: str, _key: str) -> None:
        asked.set()
        await closed.wait()
        raise rebuno.StoreError("closed", path="")

    store = await SQLiteStore.open(tmp_path / "store.db")
    monkeypatch.setattr(store, "find", find)
    running = asyncio.create_task(Kernel(store, permissive_policy(), strict=False).run(handler, id="run"))
    await asked.wait()
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    # Called off however often, it waits for the store's answer, or it would leave behind what it has begun.
    assert not running.done()
    closed.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    await store.close()
    gc.collect()
    assert complaints == []
