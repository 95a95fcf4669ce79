"""An attempt that writes all the time outruns neither a new policy, which takes back its questions, nor its subagents'
ends."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial

import pytest

from rebuno.journal.records import ExecutionRow, StepRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.core.transact import PATIENCE
from rebuno.kernel.served import subagents
from rebuno.model.answer import Answer, AnswerKind
from tests.kernel.contention import MOST, Meanwhile, busy
from tests.kernel.served import LEASE, Run, Scenario, World

DENIES = 'bundle denies\ndefault allow\nrule act { deny tool "act" because "not any more" }\n'


@pytest.mark.parametrize("child", [False, True])
def test_a_new_policy_takes_back_its_questions_from_who_writes_all_the_time(serve: Scenario, child: bool) -> None:
    """Nobody is asked any more, and the execution runs again: sooner than it has to where a subagent still runs."""

    async def scenario(w: World) -> None:
        run, _, write = await busy(w)
        if child:
            await w.agent("child")
            step = await run.submit("ask")
            await w.create("child", spawned_by=(run.id, step.step_id))
            other = await w.run(agent="child")
        question = (await run.submit()).approval_id
        with Meanwhile(lambda time: write()).on(w.store) as meanwhile:
            await w.serving.set_policy("agent", DENIES)
        assert PATIENCE < meanwhile.times <= 2 * MOST
        assert (await w.store.approval(question)).status == "withdrawn"
        assert await w.status(run) == "running"
        w.clock.advance(LEASE / 2)
        if child:
            await other.beat()
        w.clock.advance(LEASE / 2 + 1)
        again = await w.run()
        assert (await again.submit()).kind is AnswerKind.DENIED
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)


def test_a_new_policy_leaves_what_waits_for_another_answer(serve: Scenario) -> None:
    """Of two questions it takes back one: an answer to the other, meanwhile or later, lets the execution run."""

    async def scenario(w: World) -> None:
        run, outer, write = await busy(w)
        await run.submit()
        other = (await run.submit("both")).approval_id

        async def writes(time: int) -> None:
            await write()
            if time == PATIENCE + 1:
                await w.serving.resolve(other, granted=False, decided_by="ana")

        with Meanwhile(writes).on(w.store):
            await w.serving.set_policy("agent", DENIES)
        await run.done(outer)
        again = await w.run()
        assert [(await again.submit(target)).kind for target in ("outer", "act", "both")] == [
            AnswerKind.REPLAY,
            AnswerKind.DENIED,
            AnswerKind.DENIED,
        ]
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)


async def _parent(w: World) -> tuple[Run, Answer, Answer, Run, Callable[[], Awaitable[object]]]:
    """A delivered execution with a body that goes on doing steps, and a subagent."""
    run, outer, write = await busy(w)
    await w.agent("child")
    step = await run.submit("ask")
    await w.create("child", spawned_by=(run.id, step.step_id))
    return run, outer, step, await w.run(agent="child"), write


@pytest.mark.parametrize("blocked", [False, True])
def test_a_parent_that_writes_all_the_time_is_told_of_its_child(serve: Scenario, blocked: bool) -> None:
    """After a few tries its step has the child's outcome; waiting for nothing else it runs again, once."""

    async def scenario(w: World) -> None:
        run, outer, step, child, write = await _parent(w)
        if blocked:
            await run.submit()
            await w.serving.set_policy("agent", DENIES)
        assert await w.status(run) == ("blocked" if blocked else "running")
        with Meanwhile(lambda time: write()).after_step(w.store) as meanwhile:
            await child.complete({"n": 1})
        assert PATIENCE < meanwhile.times <= 2 * MOST
        row = await w.serving.step(run.id, step.step_id)
        assert (row.status.value, row.result) == ("succeeded", '{"n":1}')
        await run.done(outer)
        if not blocked:
            await run.complete()
            return
        again = await w.run()
        assert (await again.submit("ask")).kind is AnswerKind.REPLAY
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)


def test_of_two_subagents_that_end_at_once_one_wakes_the_parent(
    serve: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its body writes until both are out of patience, and both find at once that nothing else is waited for."""
    waits, free, both = subagents._waits, set[str](), asyncio.Event()
    writes, inside = iter(range(0)), ContextVar("inside", default=False)

    async def together(store: ServedStore, parent: ExecutionRow, *, besides: ExecutionRow) -> bool:
        found = await waits(store, parent, besides=besides)
        if not found:
            free.add(besides.id)
            if len(free) == 2:
                both.set()
            # Where the other has done it before, this one goes alone.
            with suppress(TimeoutError):
                await asyncio.wait_for(both.wait(), 1)
        return found

    async def scenario(w: World) -> None:
        nonlocal writes
        free.clear()
        both.clear()
        writes = iter(range(60))
        run, _, write = await busy(w)
        await w.agent("child")
        steps = [await run.submit("ask", {"n": n}) for n in range(2)]
        for step in steps:
            await w.create("child", spawned_by=(run.id, step.step_id))
        ending = [await w.run(agent="child") for _ in steps]
        await run.submit()
        await w.serving.set_policy("agent", DENIES)
        monkeypatch.setattr(subagents, "_waits", together)
        for store in w.stores:
            monkeypatch.setattr(store, "step", partial(reads, store.step, write))
        await asyncio.gather(*(child.complete({"n": 1}) for child in ending))
        assert (await w.until(run)).count("execution.resumed") == 1

    async def reads(
        read: Callable[[str], Awaitable[StepRow]], write: Callable[[], Awaitable[object]], step_id: str
    ) -> StepRow:
        found = await read(step_id)
        if not inside.get() and next(writes, None) is not None:
            token = inside.set(True)
            await write()
            inside.reset(token)
        return found

    serve(scenario)


@pytest.mark.parametrize("time", range(1, PATIENCE + 4))
def test_a_busy_parent_that_gives_up_while_it_is_told_runs_again(serve: Scenario, time: int) -> None:
    """It suspends itself between what is told it and the write, at each of the tries, and is not forgotten."""

    async def scenario(w: World) -> None:
        run, _, _, child, write = await _parent(w)

        async def suspends(now: int) -> None:
            if now < time:
                await write()
            elif now == time:
                await run.suspend()

        with Meanwhile(suspends).after_step(w.store):
            await child.complete()
        if await w.status(run) == "running" and not (await w.until(run)).count("execution.blocked"):
            # It was told before it came to give up.
            assert not await run.suspend()
            return
        w.clock.advance(LEASE + 1)
        again = await w.run()
        assert (await again.submit("ask")).kind is AnswerKind.REPLAY
        assert (await w.until(run)).count("execution.resumed") == 1

    serve(scenario)
