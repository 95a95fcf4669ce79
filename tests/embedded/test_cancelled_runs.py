"""A run that is cancelled, at any moment and more than once, and steps that are: nothing stays held, nothing untold."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any

import apsw
import pytest

import rebuno
from rebuno.embedded import Kernel
from rebuno.journal.opening import open_store
from rebuno.journal.records import Lease
from rebuno.policy import permissive_policy
from tests.embedded.support import in_loop

# More turns of the event loop, and more suspensions, than a run of this size has until its handler is in its step.
TURNS = 14


class Kept:
    """A store's leases under renewal, as the kernel asks for them."""

    def __init__(self, store: Any) -> None:
        self.leases: list[Lease] = []
        keep, drop = store.keep, store.drop

        def kept(lease: Lease) -> None:
            self.leases.append(lease)
            keep(lease)

        def dropped(lease: Lease) -> None:
            self.leases = [each for each in self.leases if each is not lease]
            drop(lease)

        store.keep, store.drop = kept, dropped


@types.coroutine
def driven(run: Coroutine[Any, Any, Any], at: set[int]) -> Generator[Any, None, Any]:
    """Steps a coroutine, and throws a cancellation into it where it suspends for the times named in `at`."""
    suspended, thrown = 0, None
    while True:
        try:
            waits = run.send(None) if thrown is None else run.throw(thrown)
        except StopIteration as ended:
            return ended.value
        suspended, thrown = suspended + 1, None
        if suspended in at:
            if waits is not None:
                waits._asyncio_future_blocking = False
            thrown = asyncio.CancelledError()
            continue
        try:
            yield waits
        except asyncio.CancelledError as error:
            thrown = error


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file, or a database."""
    return str(request.getfixturevalue("postgres")) if request.param == "postgres" else str(tmp_path / "agent.db")


class Bench:
    """A kernel on a store, and how many of its handlers and bodies run."""

    def __init__(self, store: Any) -> None:
        self.store, self.kept = store, Kept(store)
        self.kernel = Kernel(store, permissive_policy(), strict=False)
        self.running = 0

    async def handler(self) -> str:
        self.running += 1
        try:
            return str(await rebuno.step("body", self.body))
        finally:
            # What a handler does to let go takes a moment.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self.running -= 1

    async def body(self) -> str:
        self.running += 1
        try:
            await asyncio.sleep(0.005)
            return "done"
        finally:
            await asyncio.sleep(0)
            self.running -= 1

    async def check(self, name: str) -> None:
        """Nothing of a run that has returned is left, and the same line resumes it at once."""
        assert self.running == 0
        assert self.kept.leases == []
        found = [row for row in await self.store.executions() if row.key == name]
        assert all(row.holder is None for row in found)
        ended = await self.kernel.run(self.handler, id=name, agent="agent")
        assert (ended.status, ended.output) == ("completed", "done")


@in_loop
async def test_a_run_cancelled_twice_at_any_turn_lets_go(where: str) -> None:
    """After any number of turns of the loop, and again after any number more."""
    store = await open_store(where)
    bench = Bench(store)
    for first in range(TURNS):
        for second in range(0, TURNS, 1 + first % 3):
            name = f"{first}-{second}"
            run = asyncio.create_task(bench.kernel.run(bench.handler, id=name, agent="agent"))
            for turns in (first, second):
                for _ in range(turns):
                    await asyncio.sleep(0)
                run.cancel()
            await asyncio.wait({run})
            await bench.check(name)
    await store.close()


@in_loop
async def test_a_run_cancelled_wherever_it_suspends_lets_go(where: str) -> None:
    """A cancellation thrown in at each suspension of its own, and at each two, the later ones within its letting go."""
    store = await open_store(where)
    bench = Bench(store)
    for first in range(1, 5):
        for second in range(first, 6):
            name = f"{first}-{second}"
            run = driven(bench.kernel.run(bench.handler, id=name, agent="agent"), {first, second})
            task = asyncio.create_task(as_coroutine(run))
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()
            await bench.check(name)
    await store.close()


async def as_coroutine(run: Any) -> Any:
    return await run


@pytest.mark.parametrize("part", ["_run", "_begin", "_attempt", "_end"])
@in_loop
async def test_each_part_of_a_run_cancelled_wherever_it_suspends_lets_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The parts suspend more often than the whole: one cancellation, thrown in at each."""
    store = await open_store(str(tmp_path / "agent.db"))
    bench = Bench(store)
    whole = getattr(bench.kernel, part)
    for at in range(1, 10):
        name = f"{part}{at}"
        with monkeypatch.context() as patched:
            patched.setattr(bench.kernel, part, lambda *args, at=at, **named: driven(whole(*args, **named), {at}))
            task = asyncio.create_task(bench.kernel.run(bench.handler, id=name, agent="agent"))
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()
        await bench.check(name)
    await store.close()


# ---------------------------------------------------------------- a step that is cancelled


def recorded(path: str) -> dict[str, tuple[str, str | None]]:
    """Each step as it stands on the disk, for anyone who is killed at this moment."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT target, status, error FROM steps ORDER BY n").fetchall()
    connection.close()
    return {str(target): (str(status), None if error is None else str(error)) for target, status, error in found}


@pytest.mark.parametrize("replays", [False, True])
@pytest.mark.parametrize("cleans", [False, True])
@in_loop
async def test_the_outcome_of_a_cancelled_step_is_on_the_disk_before_its_caller_hears(
    tmp_path: Path, replays: bool, cleans: bool
) -> None:
    """Cancelled after any number of turns, once or again and again; killed then, the handler takes the same branch."""
    path = str(tmp_path / "agent.db")
    seen: dict[str, tuple[str, str | None]] = {}
    ran: list[str] = []

    async def body() -> None:
        ran.append("body")
        try:
            await asyncio.sleep(30)
        finally:
            if cleans:
                await asyncio.sleep(0.003)

    async def handler(turns: int, again: bool) -> str:
        for n in range(3 if replays else 0):
            await rebuno.step(f"before {n}", lambda: "done")
        step = asyncio.create_task(rebuno.step("pay", body, idempotency="at_most_once"))
        for _ in range(turns):
            await asyncio.sleep(0)
        step.cancel()
        while again and not step.done():
            await asyncio.sleep(0)
            step.cancel()
        await asyncio.wait({step})
        seen.clear()
        seen.update(await asyncio.to_thread(recorded, path))
        return "cancelled" if step.cancelled() else "ended"

    store = await open_store(path)
    kernel = Kernel(store, permissive_policy(), strict=False)
    for turns in range(24):
        for again in (False, True):
            ran.clear()
            ended = await kernel.run(
                handler, {"turns": turns, "again": again}, id=f"{turns} {again}", agent="agent", deadline=60
            )
            assert ended.output == "cancelled"
            steps = {step.target: step for step in await kernel.operator.steps(ended.id)}
            if "pay" in steps:
                assert seen["pay"][0] == "failed", turns
                assert '"cancelled"' in (seen["pay"][1] or "")
                assert steps["pay"].status == "failed"
            else:
                assert ran == []
    await store.close()
