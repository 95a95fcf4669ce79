"""`Kernel.run` beside itself: the same execution twice, many at once, clocks that jump, disks that fill up."""

import asyncio
from pathlib import Path

import pytest

import rebuno
from rebuno.embedded import Kernel
from rebuno.journal.chain import verify
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.clock import FixedClock
from rebuno.policy import compile_text
from tests.embedded.support import bundle, in_loop, journal, run
from tests.rows import rows
from tests.sdk.support import Crash

OPEN = bundle("allow")


def echo(value: object) -> object:
    return value


@in_loop
async def test_a_run_twice_at_once_in_one_process_is_one_run(tmp_path: Path) -> None:
    """The second call is told that the first runs it; afterwards the same call gives how it ended."""
    both = asyncio.Event()

    async def handler() -> str:
        await both.wait()
        return "done"

    async with rebuno.open(tmp_path / "store.db", policy=rebuno.PERMISSIVE) as kernel:
        first = asyncio.create_task(kernel.run(handler, id="run"))
        await asyncio.sleep(0)
        with pytest.raises(rebuno.ConflictError, match="is running in process") as caught:
            await kernel.run(handler, id="run")
        assert caught.value.holder == str(kernel._core.store.holder)
        both.set()
        assert (await first).output == (await kernel.run(handler, id="run")).output == "done"


@pytest.mark.parametrize("ended", [True, False])
@in_loop
async def test_an_id_belongs_to_one_input(tmp_path: Path, ended: bool) -> None:
    """The same id with another input is a conflict, whether the run has ended or not; keys in another order are not."""
    path = tmp_path / "store.db"
    stops = iter([not ended])

    async def handler(input: dict[str, object]) -> object:
        if next(stops, False):
            raise Crash
        return input

    try:
        await run(path, OPEN, handler, {"a": 1, "b": [2]})
    except Crash:
        assert not ended
    with pytest.raises(rebuno.ConflictError, match="the id `run` belongs to an execution with another input"):
        await run(path, OPEN, handler, {"a": 1, "b": [2.0]})
    assert (await run(path, OPEN, handler, {"b": [2], "a": 1})).output == {"a": 1, "b": [2]}


@in_loop
async def test_the_same_line_again_gives_the_recorded_end(tmp_path: Path) -> None:
    """A completed or failed execution is not run again."""
    path = tmp_path / "store.db"
    runs: list[int] = []

    async def handler(fail: bool) -> str:
        runs.append(1)
        if fail:
            raise OSError("gone")
        return "done"

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        for id, fail in (("good", False), ("bad", True)):
            first = await kernel.run(handler, {"fail": fail}, id=id)
            assert await kernel.run(handler, {"fail": fail}, id=id) == first
    assert (first.status, first.failure_reason, len(runs)) == ("failed", "agent_error: OSError: gone", 2)


@in_loop
async def test_many_executions_at_once_keep_their_logs_apart(tmp_path: Path) -> None:
    """32 runs with steps side by side, stopped and resumed: whole chains, exact replays, no body twice."""
    bodies: list[tuple[int, int]] = []
    seen: dict[int, list[object]] = {}

    async def handler(n: int) -> object:
        async def body(i: int) -> list[int]:
            bodies.append((n, i))
            await asyncio.sleep((n * 7 + i * 3) % 5 / 1000)
            return [n, i]

        async def branch(i: int) -> object:
            once = "at_most_once" if i % 2 else "safe_to_retry"
            return await rebuno.step("body", body, {"i": i}, idempotency=once)

        values: list[object] = list(await asyncio.gather(*(branch(i) for i in range(6))))
        values.append(await rebuno.step("random", lambda: len(bodies)))
        if n not in seen:
            seen[n] = values
            raise Crash
        return values

    async def both(kernel: rebuno.Kernel, n: int) -> rebuno.Execution:
        with pytest.raises(Crash):
            await kernel.run(handler, {"n": n}, id=f"run-{n}")
        return await kernel.run(handler, {"n": n}, id=f"run-{n}")

    async with rebuno.open(tmp_path / "store.db", policy=rebuno.PERMISSIVE) as kernel:
        for ended in await asyncio.gather(*(both(kernel, n) for n in range(32))):
            assert (ended.output, ended.replayed) == (seen[ended.input["n"]], 7)
            events = await kernel.operator.events(ended.id)
            chain = verify(rows(events))
            assert (chain.fault, chain.seq, chain.hash.hex()) == ("", len(events), ended.head_hash)
    assert sorted(bodies) == [(n, i) for n in range(32) for i in range(6)]


@pytest.mark.parametrize("jump", [-3600, 3600])
@in_loop
async def test_a_clock_that_jumps_mid_run_changes_nothing(tmp_path: Path, jump: float) -> None:
    """The run keeps its lease against a second store, goes on, and can be resumed; the log's order is its numbers'."""
    path = tmp_path / "store.db"
    clock = FixedClock()
    stops = iter([True])
    stores = [await SQLiteStore.open(path, clock=clock) for _ in range(2)]
    mine, other = (Kernel(store, compile_text(OPEN), strict=False) for store in stores)

    async def handler() -> list[object]:
        before = await rebuno.step("before", echo, {"value": 1})
        if next(stops, False):
            clock.advance(jump)
            with pytest.raises(rebuno.ConflictError, match="is running in process"):
                await other.run(handler, id="run", agent="agent")
            await rebuno.step("after", echo, {"value": 2}, idempotency="at_most_once")
            raise Crash
        return [before, await rebuno.step("after", echo, {"value": 2}, idempotency="at_most_once")]

    with pytest.raises(Crash):
        await mine.run(handler, id="run", agent="agent")
    ended = await other.run(handler, id="run", agent="agent")
    assert (ended.output, ended.replayed) == ([1, 2], 2)
    for store in stores:
        await store.close()
    await journal(path)


@in_loop
async def test_a_grant_from_the_future_is_asked_for_again(tmp_path: Path) -> None:
    """A clock set back since must not make a grant hold for longer than it was given."""
    clock = FixedClock()
    store = await SQLiteStore.open(tmp_path / "store.db", clock=clock)
    kernel = Kernel(store, compile_text(bundle("ask")), strict=False)
    act = rebuno.tool("act")(lambda: "acted")
    first = await kernel.run(act, id="run", agent="agent")
    await kernel.operator.grant(first.approvals[0].id, decided_by="ana")
    clock.advance(-3600)
    second = await kernel.run(act, id="run", agent="agent")
    assert second.status == "blocked"
    assert second.approvals[0].id != first.approvals[0].id
    await store.close()


# ---------------------------------------------------------------- disks


class Disk:
    """A store whose disk can be made full, or refuse every write."""

    def __init__(self, store: SQLiteStore) -> None:
        self._connection = store._connection

    def fill(self) -> None:
        self._connection.pragma("max_page_count", self._connection.pragma("page_count"))

    def refuse(self) -> None:
        self._connection.pragma("query_only", True)

    def repair(self) -> None:
        self._connection.pragma("query_only", False)
        self._connection.pragma("max_page_count", 1_000_000)


@pytest.mark.parametrize("swallows", [True, False])
@pytest.mark.parametrize("trouble", ["fill", "refuse"])
@in_loop
async def test_an_outcome_that_cannot_be_written_stops_the_run_and_not_the_execution(
    tmp_path: Path, trouble: str, swallows: bool
) -> None:
    """The next call raises the store's error, whatever the handler makes of it; the same kernel resumes the run."""
    path = tmp_path / "store.db"
    store = await SQLiteStore.open(path)
    disk = Disk(store)
    kernel = Kernel(store, compile_text(OPEN), strict=False)
    bodies: list[str] = []

    def large() -> str:
        bodies.append("large")
        if len(bodies) == 1:
            getattr(disk, trouble)()
        return "x" * 200_000

    async def handler() -> int:
        try:
            text = await rebuno.tool("large")(large)()
            await asyncio.sleep(0.02)
            await rebuno.step("next", lambda: bodies.append("next"))
        except rebuno.StoreError:
            bodies.append("raised")
            if not swallows:
                raise
            return 0
        return len(text)

    with pytest.raises(rebuno.StoreError):
        await kernel.run(handler, id="run", agent="agent")
    assert bodies == ["large", "raised"]
    (row,) = await kernel.operator.executions()
    assert row.status == "running"
    disk.repair()
    ended = await kernel.run(handler, id="run", agent="agent")
    assert (ended.status, ended.output) == ("completed", 200_000)
    await store.close()
    await journal(path)
