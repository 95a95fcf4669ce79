"""D18: from wherever a step is called it is recorded under its run, or refused with a reason; none runs unrecorded."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rebuno
from tests.embedded.support import in_loop, journal

RAN: list[str] = []


async def fetch() -> str:
    """A step that notes that it ran."""

    def body() -> str:
        RAN.append("ran")
        return "fetched"

    return str(await rebuno.step("fetch", body))


def in_a_loop_of_its_own() -> str:
    return asyncio.run(fetch())


async def threadsafe() -> str:
    loop = asyncio.get_running_loop()
    return await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(fetch(), loop).result(20))


async def threadsafe_from_a_pool() -> str:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as pool:
        return await asyncio.wrap_future(
            pool.submit(lambda: asyncio.run_coroutine_threadsafe(fetch(), loop).result(20))
        )


async def in_a_group() -> str:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fetch())
    return task.result()


async def in_an_empty_context() -> str:
    return await asyncio.get_running_loop().create_task(fetch(), context=contextvars.Context())


async def in_a_callback() -> str:
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[str]] = []
    called = asyncio.Event()

    def callback() -> None:
        tasks.append(loop.create_task(fetch()))
        called.set()

    loop.call_soon(callback)
    await called.wait()
    return await tasks[0]


async def in_a_timer() -> str:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def callback() -> None:
        try:
            said = in_a_loop_of_its_own()
        except RuntimeError as error:
            said = str(error)
        loop.call_soon_threadsafe(done.set_result, said)

    threading.Timer(0.0, callback).start()
    return await done


async def in_the_default_executor() -> str:
    return await asyncio.get_running_loop().run_in_executor(None, in_a_loop_of_its_own)


async def in_a_plain_body() -> str:
    return str(await rebuno.step("outer", in_a_loop_of_its_own))


async def in_an_async_generator() -> str:
    async def pieces() -> Any:
        yield await fetch()

    return "".join([piece async for piece in pieces()])


async def shielded() -> str:
    return await asyncio.shield(fetch())


async def in_time() -> str:
    return await asyncio.wait_for(fetch(), 20)


async def as_completed() -> str:
    (value,) = [await done for done in asyncio.as_completed([fetch()])]
    return value


# Where a step is called · whether it is recorded; else it is refused.
WAYS: list[tuple[Callable[[], Awaitable[str]], bool]] = [
    (threadsafe, True),
    (in_a_group, True),
    (in_a_callback, True),
    (in_an_async_generator, True),
    (shielded, True),
    (in_time, True),
    (as_completed, True),
    (threadsafe_from_a_pool, False),  # a pool's threads do not know the run
    (in_an_empty_context, False),
    (in_a_timer, False),
    (in_the_default_executor, False),
    (in_a_plain_body, False),  # another loop than the handler's
]


@pytest.mark.parametrize(("way", "recorded"), WAYS, ids=[way.__name__ for way, _ in WAYS])
@in_loop
async def test_a_step_is_recorded_or_refused(tmp_path: Path, way: Callable[[], Awaitable[str]], recorded: bool) -> None:
    """The error says what to do; nothing hangs, and no body runs that the journal does not know."""
    path = tmp_path / "store.db"
    RAN.clear()

    async def handler() -> str:
        try:
            return await way()
        except (RuntimeError, rebuno.ToolError) as error:
            return str(error)

    async with asyncio.timeout(30), rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        ended = await kernel.run(handler, id="run", agent="agent")
    steps = [step.target for step in (await journal(path))[0]]
    if recorded:
        assert (ended.output, steps, RAN) == ("fetched", ["fetch"], ["ran"])
    else:
        assert "outside an execution" in ended.output or "another event loop" in ended.output
        assert "fetch" not in steps
        assert RAN == []


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_one_kernel_in_two_loops_of_two_threads_works_or_says_so(
    tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    """No deadlock and no error about event loops; what did run ran once, and the first loop goes on."""
    path = str(tmp_path / "store.db") if store == "sqlite" else request.getfixturevalue("postgres")
    RAN.clear()

    async def scenario() -> None:
        async with asyncio.timeout(30), rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:

            def elsewhere(key: str) -> str:
                return str(asyncio.run(kernel.run(fetch, id=key, agent="agent")).status)

            there = asyncio.gather(*(asyncio.to_thread(elsewhere, f"there-{n}") for n in range(3)))
            here = await asyncio.gather(*(kernel.run(fetch, id=f"here-{n}", agent="agent") for n in range(3)))
            assert await there == ["completed"] * 3
            assert [ended.output for ended in here] == ["fetched"] * 3

    asyncio.run(scenario())
    assert len(RAN) == 6


def test_a_kernel_that_its_loop_took_along_says_that_it_is_closed(tmp_path: Path) -> None:
    """Opened in one `asyncio.run` and used in another: an error at once, in every call."""
    opened = rebuno.open(tmp_path / "store.db", policy=rebuno.PERMISSIVE)
    kernel = asyncio.run(_enter(opened))
    for _ in range(2):
        with pytest.raises(rebuno.StoreError, match="is closed"):
            asyncio.run(kernel.run(fetch, id="run", agent="agent"))


async def _enter(opened: Any) -> rebuno.Kernel:
    kernel: rebuno.Kernel = await opened.__aenter__()
    return kernel
