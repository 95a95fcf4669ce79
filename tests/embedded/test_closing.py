"""A kernel that is left while runs are under way: each stops where it stands, and the next process that opens the store
goes on."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import rebuno
from rebuno.journal.chain import verify
from rebuno.policy import compile_text
from tests.embedded.support import in_loop
from tests.rows import rows

ASK = 'bundle asks\ndefault allow\nrule ask { require approval for tool "ask" }\n'
IDS = [f"run-{n}" for n in range(4)]
STEPS = 5


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a store of each kind is named by."""
    return str(tmp_path / "store.db" if request.param == "sqlite" else request.getfixturevalue("postgres"))


class Runs:
    """A handler of several steps, run several times side by side, and how often each body began and ended."""

    def __init__(self, idempotency: str, moment: int) -> None:
        self.begun: Counter[tuple[str, int]] = Counter()
        self.done: Counter[tuple[str, int]] = Counter()
        self._idempotency = idempotency
        self._agent = f"agent-{moment}"

    async def handler(self, name: str) -> list[object]:
        async def body(n: int) -> int:
            self.begun[name, n] += 1
            await asyncio.sleep(0)
            self.done[name, n] += 1
            return n

        got: list[object] = []
        for n in range(STEPS):
            try:
                got.append(await rebuno.step("step", body, {"n": n}, idempotency=self._idempotency))
            except rebuno.ToolError as error:
                got.append(error.error["reason"])
            await asyncio.sleep(0)
        return got

    def start(self, kernel: rebuno.Kernel) -> "list[asyncio.Task[rebuno.Execution]]":
        """All of them in one kernel."""
        return [asyncio.create_task(kernel.run(self.handler, {"name": id}, id=id, agent=self._agent)) for id in IDS]

    def check(self, name: str, ended: rebuno.Execution) -> None:
        """Its output is that of a run that was left alone, but where a body that may run once was cut off."""
        assert ended.status == "completed"
        for n, got in enumerate(ended.output):
            times = self.begun[name, n], self.done[name, n]
            if self._idempotency == "safe_to_retry":
                assert (got, times[1]) == (n, 1)
            else:
                assert (got, *times) in [(n, 1, 1), ("indeterminate", 1, 0), ("indeterminate", 0, 0)]


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
@in_loop
async def test_what_was_under_way_goes_on_in_the_next_kernel(where: str, idempotency: str) -> None:
    """Left at any moment: nothing is recorded as failed, nobody waits for a lease, no body is repeated that ended."""
    closed = 0
    for moment in (*range(0, 12, 2), *range(12, 100, 16), 150, 400, 900):
        runs = Runs(idempotency, moment)
        async with rebuno.open(where, policy=rebuno.PERMISSIVE) as kernel:
            under_way = runs.start(kernel)
            for _ in range(moment):
                await asyncio.sleep(0)
        for task in under_way:
            error = (await asyncio.gather(task, return_exceptions=True))[0]
            if isinstance(error, BaseException):
                closed += 1
                assert isinstance(error, rebuno.StoreError)
                assert "closed" in str(error)
        async with rebuno.open(where, policy=rebuno.PERMISSIVE) as kernel:
            for execution in await kernel.operator.executions(agent_id=f"agent-{moment}"):
                assert (execution.status, execution.holder) in [("running", None), ("completed", None)]
                assert not any(step.status == "failed" for step in await kernel.operator.steps(execution.id))
            for name, ended in zip(IDS, await asyncio.gather(*runs.start(kernel)), strict=True):
                runs.check(name, ended)
                chain = verify(rows(await kernel.operator.events(ended.id)))
                assert chain.fault == ""
    assert closed > 10


PARKS = 'bundle tests\ndefault allow\nrule slow { allow tool "slow" limit 1 per 1h else wait up to 2h }\n'


@in_loop
async def test_who_waits_for_long_is_left_too(where: str) -> None:
    """A step that is parked, a plain function in its thread, and a handler between its steps keep nobody."""
    inside, gate = threading.Event(), threading.Event()

    @rebuno.tool
    def slow(n: int) -> int:
        return n

    def waits() -> bool:
        inside.set()
        return gate.wait(60)

    handlers: dict[str, Callable[[], Awaitable[object]]] = {
        "parked": lambda: slow(n=1),
        "thread": lambda: rebuno.step("thread", waits),
        "between": lambda: asyncio.sleep(0 if gate.is_set() else 60),
    }

    async def run(kernel: rebuno.Kernel, id: str) -> rebuno.Execution:
        async def handler() -> object:
            await slow(n=0)
            return await handlers[id]()

        return await kernel.run(handler, id=id, agent="agent")

    async with rebuno.open(where, policy=compile_text(PARKS)) as kernel:
        under_way = [asyncio.create_task(run(kernel, id)) for id in handlers]
        await asyncio.to_thread(inside.wait, 60)
    for id, task in zip(handlers, under_way, strict=True):
        with pytest.raises(rebuno.StoreError, match=f"was closed while it ran the execution `{id}`"):
            await task
    gate.set()
    async with rebuno.open(where, policy=compile_text(PARKS.replace("1 per 1h", "9 per 1h"))) as kernel:
        ended = [await run(kernel, id) for id in handlers]
    assert [(row.status, row.output, row.attempt) for row in ended] == [
        ("completed", 1, 2),
        ("completed", True, 2),
        ("completed", None, 2),
    ]


@in_loop
async def test_a_kernel_that_is_left_takes_no_more_runs(where: str) -> None:
    """A caller that still has it is told so."""
    async with rebuno.open(where, policy=rebuno.PERMISSIVE) as kernel:
        pass
    with pytest.raises(rebuno.StoreError, match="the kernel is closed; open it again"):
        await kernel.run(lambda: "done", id="run", agent="agent")


@pytest.mark.parametrize("how", ["cancelled", "overdue", "left"])
@in_loop
async def test_a_blocked_run_whose_bodies_run_can_be_stopped(where: str, how: str) -> None:
    """Its `run` returns at once, and does not wait for the body that another branch has under way."""
    ask = rebuno.tool("ask")(lambda: 1)
    begun, waits, stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
    beside: list[asyncio.Task[object]] = []

    async def body() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async def handler() -> None:
        beside.append(asyncio.create_task(rebuno.step("body", body)))
        await begun.wait()
        try:
            await ask()
        finally:
            waits.set()

    async with rebuno.open(where, policy=compile_text(ASK)) as kernel:
        deadline = 1.0 if how == "overdue" else None
        run = asyncio.create_task(kernel.run(handler, id="run", deadline=deadline))
        await waits.wait()
        if how == "cancelled":
            # The handler is done after this turn, and what is left of the run are its bodies.
            await asyncio.sleep(0)
            await kernel.cancel("run")
        if how == "left":
            await kernel.shut()
            with pytest.raises(rebuno.StoreError, match="closed"):
                await asyncio.wait_for(run, 10)
        else:
            assert (await asyncio.wait_for(run, 10)).status == "cancelled"
        assert stopped.is_set()


@in_loop
async def test_a_run_that_was_cancelled_as_the_kernel_is_left_says_so(where: str) -> None:
    """It is not to be resumed, and nobody is told that it is."""
    begun = asyncio.Event()

    async def handler() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with rebuno.open(where, policy=rebuno.PERMISSIVE) as kernel:
        run = asyncio.create_task(kernel.run(handler, id="run"))
        await begun.wait()
        await kernel.cancel("run")
    assert (await run).status == "cancelled"
