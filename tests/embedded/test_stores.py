"""The life of executions on either store, opened by a path or a URL as programs do."""

import asyncio
from pathlib import Path

import pytest

import rebuno
from rebuno.journal.chain import verify
from rebuno.policy import compile_text
from tests.embedded.support import bundle, in_loop
from tests.rows import rows
from tests.sdk.support import Crash

ASKS = compile_text(bundle("ask"))
ACT = rebuno.tool("act")(lambda: "acted")


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a store of each kind is named by."""
    return str(tmp_path / "store.db" if request.param == "sqlite" else request.getfixturevalue("postgres"))


async def handler() -> list[object]:
    """A step, and one that needs a person."""
    return [await rebuno.step("before", lambda: "done", idempotency="at_most_once"), await ACT()]


@in_loop
async def test_a_run_is_pinned_blocked_forked_and_cancelled(where: str) -> None:
    """And every log is whole."""
    async with rebuno.open(where, policy=ASKS) as kernel:
        blocked = await kernel.run(handler, id="run", agent="agent", pin=True, deadline=1000)
        assert blocked.status == "blocked"
    async with rebuno.open(where, policy=compile_text(bundle("deny"))) as kernel:
        operator = kernel.operator
        # Pinned: the question stands, whatever today's policy says.
        assert (await kernel.run(handler, id="run", agent="agent")).approvals == blocked.approvals
        assert not (await operator.fork("run")).pinned
        fork = await operator.fork("run", key="fork", keep_policy=True)
        assert fork.pinned
        again = await kernel.run(handler, id="fork", agent="agent")
        assert ([asked.target for asked in again.approvals], again.replayed) == (["act"], 1)
        assert (await kernel.cancel("run")).status == "cancelled"
        await operator.grant(again.approvals[0].id, decided_by="ana")
        assert (await kernel.run(handler, id="fork", agent="agent")).output == ["done", "acted"]
        retried = await operator.retry("run")
        assert [step.target for step in await operator.steps(retried.id)] == ["before"]
        for row in await operator.executions():
            chain = verify(rows(await operator.events(row.id)))
            assert (chain.fault, chain.hash.hex()) == ("", row.head_hash)


@in_loop
async def test_a_run_is_cancelled_by_another_kernel_while_it_runs(where: str) -> None:
    """Its next submission is refused, and `run` says how it ended."""
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        inside.set()
        await go_on.wait()
        await rebuno.step("late", lambda: "ran", idempotency="at_most_once")

    async with rebuno.open(where, policy=ASKS) as kernel, rebuno.operate(where) as operator:
        running = asyncio.create_task(kernel.run(waits, id="run", agent="agent"))
        await inside.wait()
        ended = await operator.cancel("run", reason="no")
        go_on.set()
        assert (await running).status == "cancelled"
        assert await operator.steps(ended.id) == []


@in_loop
async def test_what_is_old_is_removed_for_good(where: str) -> None:
    """Its id is refused afterwards."""
    async with rebuno.open(where, policy=ASKS) as kernel:
        await kernel.run(lambda: "done", id="run", agent="agent")
        await asyncio.sleep(0.01)
        assert (await kernel.operator.sweep(retention=0)).removed == 1
        with pytest.raises(rebuno.ExecutionExpired):
            await kernel.run(lambda: "done", id="run", agent="agent")


@in_loop
async def test_several_pages_of_steps_replay(where: str) -> None:
    """In their order and from the last one on."""
    count = 1100
    order = list(range(count))
    stops = iter([True])

    async def many() -> int:
        got = [await rebuno.step("step", lambda n: n, {"n": n}) for n in order]
        if next(stops, False):
            raise Crash
        return sum(got)

    async with rebuno.open(where, policy=ASKS) as kernel:
        with pytest.raises(Crash):
            await kernel.run(many, id="run", agent="agent")
        order.reverse()
        ended = await kernel.run(many, id="run", agent="agent")
    assert (ended.output, ended.replayed) == (sum(range(count)), count)
