"""What a handler may do to its tasks: cancel them, leave them, swallow what ends it."""

import asyncio
import gc
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

import rebuno
from tests.sdk.support import OPEN, Crash, outcome, play

ASK = OPEN + 'rule ask { require approval for tool "ask" or local "ask" }\n'

ask = rebuno.tool("ask")(lambda: "asked")


async def slow() -> str:
    await asyncio.sleep(30)
    return "slow"


def fast() -> str:
    return "fast"


def statuses(steps: list[Any]) -> dict[str, str]:
    """The steps by target."""
    return {step.target: step.status for step in steps}


# ---------------------------------------------------------------- cancelled by the handler


@pytest.mark.parametrize("idempotency", ["safe_to_retry", "at_most_once"])
def test_a_body_that_the_handler_times_out_is_recorded_as_cancelled(idempotency: str) -> None:
    """The resumed handler goes down the same branch: the replay waits until it is cancelled again."""
    started: list[int] = []

    async def body() -> None:
        started.append(1)
        await slow()

    crashed: list[int] = []

    async def handler() -> str:
        try:
            async with asyncio.timeout(0.05):
                await rebuno.step("wait", body, idempotency=idempotency)
        except TimeoutError:
            branch = await rebuno.step("late", fast)
        if not crashed:
            crashed.append(1)
            raise Crash
        return f"late {branch}"

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run")
        ended = await kernel.run(handler, id="run")
        assert (ended.output, ended.replayed) == ("late fast", 2)
        wait, _ = await kernel.operator.steps(ended.id)
        assert (wait.status, wait.error["reason"]) == ("failed", "cancelled")

    play(scenario)
    assert started == [1]


def test_a_task_group_that_fails_cancels_its_other_bodies_on_the_replay_too() -> None:
    """The error is replayed, so the group cancels again what waits."""
    runs: list[str] = []

    def broken() -> None:
        raise OSError("broken")

    async def handler() -> str:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(rebuno.step("slow", slow))
                group.create_task(rebuno.step("broken", broken))
        except* rebuno.ToolError as errors:
            runs.append(str(errors.exceptions[0]))
        if len(runs) == 1:
            raise Crash
        return runs[1]

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run")
        ended = await kernel.run(handler, id="run")
        assert ended.output == runs[0] == "broken: broken"

    play(scenario)


def test_a_retry_of_a_cancelled_at_most_once_step_is_refused() -> None:
    """Its effect may have happened; the same call again needs another identity."""

    async def handler() -> object:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await rebuno.step("pay", slow, idempotency="at_most_once")
        return await rebuno.step("pay", fast, idempotency="at_most_once")

    ended = outcome(handler)
    assert ended.failure_reason == "policy_denied: prior attempt outcome unknown; retry refused"


# ---------------------------------------------------------------- a run that is cancelled


CUTS: list[tuple[str, Callable[[asyncio.Event], Awaitable[Any]]]] = [
    ("in a body", lambda inside: rebuno.step("slow", lambda: reached(inside, slow()))),
    ("between steps", lambda inside: reached(inside, slow())),
    (
        "in an at_most_once body",
        lambda inside: rebuno.step("once", lambda: reached(inside, slow()), None, "at_most_once"),
    ),
    ("in an inner step", lambda inside: rebuno.step("out", lambda: rebuno.step("in", lambda: reached(inside, slow())))),
]


async def reached(inside: asyncio.Event, then: Awaitable[str]) -> str:
    inside.set()
    return await then


@pytest.mark.parametrize("cut", [c[1] for c in CUTS], ids=[c[0] for c in CUTS])
def test_a_cancelled_run_records_nothing_and_can_be_resumed_at_once(
    cut: Callable[[asyncio.Event], Awaitable[Any]],
) -> None:
    """A caller that stops a run says nothing about its steps; the same process takes it up again."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        inside = asyncio.Event()

        async def handler() -> object:
            await rebuno.step("first", fast)
            return await (cut(inside) if not inside.is_set() else rebuno.step("second", fast))

        run = asyncio.create_task(kernel.run(handler, id="run"))
        await inside.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        (row,) = await kernel.operator.executions()
        assert (row.status, row.holder) == ("running", None)
        steps = await kernel.operator.steps(row.id)
        assert {step.status for step in steps[1:]} <= {"executing"}
        ended = await kernel.run(handler, id="run")
        assert (ended.status, ended.output, ended.attempt) == ("completed", "fast", 2)

    play(scenario)


@pytest.mark.parametrize("turns", range(12))
def test_a_run_cancelled_while_it_begins_can_be_resumed_at_once(turns: int) -> None:
    """Whatever it had written by then, nobody holds it any more."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        run = asyncio.create_task(kernel.run(lambda: rebuno.step("first", fast), id="run", agent="agent"))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait({run})
        ended = await kernel.run(lambda: rebuno.step("first", fast), id="run", agent="agent")
        assert ended.output == "fast"

    play(scenario)


def test_a_coroutine_that_a_cancelled_plain_handler_returns_is_closed() -> None:
    """Nobody can await it any more."""

    unheard = slow()

    async def scenario(kernel: rebuno.Kernel) -> None:
        inside, go_on = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def handler() -> Any:
            loop.call_soon_threadsafe(inside.set)
            go_on.wait()
            return unheard

        run = asyncio.create_task(kernel.run(handler, id="run", agent="agent"))
        await inside.wait()
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
        go_on.set()

    play(scenario)
    # Its thread may outlive the kernel for a moment.
    limit = time.monotonic() + 30
    while (state := inspect.getcoroutinestate(unheard)) != inspect.CORO_CLOSED:
        assert time.monotonic() < limit, f"nobody closed the coroutine that the handler returned: {state}"
        time.sleep(0.001)


def test_a_cancelled_run_ends_after_its_bodies() -> None:
    """A body's cleanup is over before the next attempt may begin."""
    order: list[str] = []

    async def scenario(kernel: rebuno.Kernel) -> None:
        inside = asyncio.Event()

        async def body() -> None:
            inside.set()
            try:
                await slow()
            finally:
                await asyncio.sleep(0.02)
                order.append("cleaned up")

        run = asyncio.create_task(kernel.run(lambda: rebuno.step("slow", body), id="run", agent="agent"))
        await inside.wait()
        run.cancel()
        await asyncio.wait({run})
        order.append("run ended")

    play(scenario)
    assert order == ["cleaned up", "run ended"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["handler", "coroutine", "thread"])
def test_an_interrupt_leaves_the_step_started(kind: type[BaseException], where: str, tmp_path: Any) -> None:
    """It ends the program, records no outcome, and the next program takes the run up."""
    path = tmp_path / "store.db"
    interrupts = iter([kind])

    async def coroutine() -> str:
        return thread()

    def thread() -> str:
        for interrupt in interrupts:
            raise interrupt
        return "done"

    async def handler() -> object:
        if where == "handler":
            await rebuno.step("before", fast)
            return thread()
        return await rebuno.step("act", coroutine if where == "coroutine" else thread)

    with pytest.raises(kind):
        rebuno.run_sync(handler, path=path, policy=rebuno.PERMISSIVE, id="run")
    ended = rebuno.run_sync(handler, path=path, policy=rebuno.PERMISSIVE, id="run")
    assert (ended.output, ended.attempt) == ("done", 2)


# ---------------------------------------------------------------- what outlives the handler


def test_a_body_that_a_stray_task_runs_is_cut_off_at_the_end() -> None:
    """The run does not wait for what nobody awaits; the journal says that it was cancelled."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        strays = []

        async def handler() -> str:
            inside = asyncio.Event()
            strays.append(asyncio.create_task(rebuno.step("stray", lambda: reached(inside, slow()))))
            await inside.wait()
            return "done"

        ended = await kernel.run(handler)
        assert ended.output == "done"
        assert statuses(await kernel.operator.steps(ended.id)) == {"stray": "cancelled"}
        await asyncio.wait(strays)

    play(scenario)


@pytest.mark.parametrize("turns", range(6))
def test_a_stray_body_runs_before_the_end_or_not_at_all(turns: int) -> None:
    """Wherever its submission stood when the handler ended, no body runs that the journal does not know."""
    ran: list[str] = []

    async def body() -> None:
        ran.append("stray")

    async def scenario(kernel: rebuno.Kernel) -> None:
        strays = []

        async def handler() -> None:
            strays.append(asyncio.create_task(rebuno.step("stray", body, idempotency="at_most_once")))
            for _ in range(turns):
                await asyncio.sleep(0)

        ended = await kernel.run(handler)
        await asyncio.wait(strays)
        steps = await kernel.operator.steps(ended.id)
        assert ran == [step.target for step in steps if step.status == "succeeded"]

    play(scenario)


def test_a_task_that_submits_after_the_end_is_refused() -> None:
    """`Terminated`, and nothing is recorded."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        over = asyncio.Event()
        strays = []

        async def stray() -> None:
            await over.wait()
            await rebuno.step("late", fast)

        async def handler() -> None:
            strays.append(asyncio.create_task(stray()))

        ended = await kernel.run(handler)
        over.set()
        with pytest.raises(rebuno.Terminated, match="the step `late` was submitted after its handler's end"):
            await strays[0]
        assert await kernel.operator.steps(ended.id) == []

    play(scenario)


def test_a_step_submitted_from_a_body_that_has_ended_is_refused() -> None:
    """It would stand inside a step that is settled."""

    async def handler() -> str:
        over = asyncio.Event()
        strays: list[asyncio.Task[Any]] = []

        async def late() -> None:
            await over.wait()
            await rebuno.step("late", fast)

        async def outer() -> None:
            strays.append(asyncio.create_task(late()))

        await rebuno.step("outer", outer)
        over.set()
        (error,) = await asyncio.gather(*strays, return_exceptions=True)
        return str(error)

    assert outcome(handler).output == "a step was submitted from the body of another one that has ended already"


# ---------------------------------------------------------------- what a handler makes of `Blocked`


async def swallows() -> str:
    try:
        return str(await ask())
    except rebuno.Blocked:
        return "went on"


async def swallows_and_goes_on() -> str:
    await swallows()
    with suppress(rebuno.Blocked):
        await rebuno.step("more", fast)
    raise OSError("lost its way")


async def wraps() -> str:
    try:
        return str(await ask())
    except rebuno.Blocked as error:
        raise ValueError("framework: tool failed") from error


async def in_a_group() -> str:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ask())
    return str(asked.result())


@pytest.mark.parametrize("handler", [swallows, swallows_and_goes_on, wraps, in_a_group])
def test_whatever_a_handler_makes_of_blocked_the_run_is_blocked(handler: Callable[[], Awaitable[str]]) -> None:
    """Its return value and its exceptions count for nothing; no step is recorded but the one that waits."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        ended = await kernel.run(handler, id="run")
        assert (ended.status, ended.output, ended.failure_reason) == ("blocked", None, None)
        assert [question.target for question in ended.approvals] == ["ask"]
        assert statuses(await kernel.operator.steps(ended.id)) == {"ask": "awaiting_approval"}

    play(scenario, ASK)


@pytest.mark.parametrize("swallowed", [True, False])
def test_a_body_whose_inner_step_waits_records_nothing(swallowed: bool) -> None:
    """Whether the body swallows `Blocked` or wraps it, it runs again after the answer, and then sees the result."""
    ran: list[str] = []

    async def outer() -> str:
        ran.append("outer")
        try:
            return str(await rebuno.step("ask", fast))
        except rebuno.Blocked as error:
            if swallowed:
                return "made up"
            raise ValueError("wrapped") from error

    async def scenario(kernel: rebuno.Kernel) -> None:
        async def handler() -> object:
            return await rebuno.step("outer", outer)

        ended = await kernel.run(handler, id="run")
        assert ended.status == "blocked"
        assert statuses(await kernel.operator.steps(ended.id)) == {"outer": "executing", "ask": "awaiting_approval"}
        await kernel.operator.grant(ended.approvals[0].id, decided_by="ana")
        assert (await kernel.run(handler, id="run")).output == "fast"

    play(scenario, ASK)
    assert ran == ["outer", "outer"]


def test_a_body_in_a_thread_does_not_stop_the_others() -> None:
    """Plain functions run beside each other and beside the event loop."""
    meeting = threading.Barrier(3, timeout=5)

    async def handler() -> int:
        return len(await asyncio.gather(*(rebuno.step(f"t{n}", lambda: meeting.wait() >= 0) for n in range(3))))

    assert outcome(handler).output == 3


def test_what_ends_a_run_in_a_body_is_told_once() -> None:
    """To its caller; the event loop has no exception left that nobody came for."""
    left: list[dict[str, Any]] = []

    async def ends() -> None:
        raise Crash

    async def scenario(kernel: rebuno.Kernel) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: left.append(said))

        async def handler() -> None:
            await rebuno.step("ends", ends)

        with pytest.raises(Crash):
            await kernel.run(handler)
        gc.collect()
        await asyncio.sleep(0)

    play(scenario)
    assert left == []
