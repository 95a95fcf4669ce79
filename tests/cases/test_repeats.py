"""D18: what was recorded is not done again: before a pause, inside an enclosing step, from threads and other loops."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import rebuno
from tests.embedded.support import answer, bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")


@in_loop
async def test_what_was_fetched_before_two_pauses_is_fetched_once(tmp_path: Path) -> None:
    """Two approvals, answered in two resumes with a store opened anew each time."""
    path = tmp_path / "store.db"
    lines: list[str] = []
    rules = 'bundle b\ndefault allow\nrule ask { require approval for tool "ask" }\n'

    async def handler() -> list[object]:
        fetched = await rebuno.step("fetch", lambda: lines.append("fetched"))
        return [fetched, *[await rebuno.tool("ask")(lambda n: n)(n) for n in range(2)]]

    for _ in range(2):
        blocked = await run(path, rules, handler)
        await answer(path, blocked.approvals[0].id, granted=True)
    ended = await run(path, rules, handler)
    assert (ended.output, lines) == ([None, 0, 1], ["fetched"])


@pytest.mark.parametrize("once", [True, False])
@in_loop
async def test_an_inner_step_is_not_run_again_when_the_outer_one_was_cut_off(tmp_path: Path, once: bool) -> None:
    """The outer step's outcome is unknown if it may be done once; a safe one runs again around the recorded inner."""
    path = tmp_path / "store.db"
    lines: list[str] = []
    stops = iter([True])

    async def outer() -> str:
        await rebuno.step("inner", lambda: lines.append("inner"))
        lines.append("outer")
        if next(stops, False):
            raise Crash
        return "whole"

    async def handler() -> object:
        try:
            return await rebuno.step("outer", outer, idempotency="at_most_once" if once else "safe_to_retry")
        except rebuno.ToolError as error:
            return error.reason

    with pytest.raises(Crash):
        await run(path, OPEN, handler)
    ended = await run(path, OPEN, handler)
    assert ended.output == ("indeterminate" if once else "whole")
    assert lines == (["inner", "outer"] if once else ["inner", "outer", "outer"])


def fetch() -> str:
    """A step from a plain function, as a thread would call it."""
    return asyncio.run(_fetch())


async def _fetch() -> str:
    value = await rebuno.step("fetch", lambda: "fetched")
    return str(value)


def in_a_pool() -> str:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fetch).result()


def in_a_thread() -> str:
    said: list[str] = []

    def body() -> None:
        try:
            said.append(fetch())
        except RuntimeError as error:
            said.append(str(error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return said[0]


@pytest.mark.parametrize("call", [in_a_pool, in_a_thread, fetch], ids=["a pool", "a plain thread", "to_thread"])
@in_loop
async def test_a_step_from_a_thread_is_refused_with_a_reason(tmp_path: Path, call: object) -> None:
    """None runs unrecorded: the error says where to await it, or that the thread has lost the execution."""
    path = tmp_path / "store.db"
    assert callable(call)

    async def handler() -> str:
        try:
            return str(await asyncio.to_thread(call))
        except RuntimeError as error:
            return str(error)

    said = str((await run(path, OPEN, handler)).output)
    assert "outside an execution" in said or "another event loop" in said
    assert (await journal(path))[0] == []


@in_loop
async def test_the_synchronous_front_inside_a_running_loop_says_so(tmp_path: Path) -> None:
    """At once, and nothing is recorded."""
    with pytest.raises(RuntimeError, match="where an event loop runs"):
        rebuno.run_sync(lambda: None, path=tmp_path / "store.db", policy=rebuno.PERMISSIVE, agent="agent")
    assert not (tmp_path / "store.db").exists()


def test_the_synchronous_front_can_be_called_again(tmp_path: Path) -> None:
    """Each call has a loop of its own."""
    path = tmp_path / "store.db"
    for n in range(2):
        ended = rebuno.run_sync(lambda: "ran", path=path, policy=rebuno.PERMISSIVE, id=f"run-{n}", agent="agent")
        assert ended.output == "ran"
