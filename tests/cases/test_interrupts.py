"""D07: what stops the program says nothing about the step that it stopped in."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import rebuno
from tests.embedded.support import ROOT, bundle, in_loop, journal, run
from tests.sdk.support import Crash

OPEN = bundle("allow")

PROGRAM = """
import sys
from pathlib import Path
import rebuno

path, what = Path(sys.argv[1]), sys.argv[2]

def work():
    raise KeyboardInterrupt if what == "interrupt" else SystemExit(3)

async def work_async():
    work()

async def handler():
    return await rebuno.step("work", work_async if "async" in sys.argv else work, idempotency="at_most_once")

rebuno.run_sync(handler, path=path, policy=rebuno.PERMISSIVE, id="run", agent="agent")
"""


@pytest.mark.parametrize("how", ["thread", "async"])
@pytest.mark.parametrize(("what", "code"), [("interrupt", -2), ("exit", 3)])
def test_an_interrupt_leaves_the_kernel_unchanged(tmp_path: Path, what: str, code: int, how: str) -> None:
    """The program ends as it would without a kernel; the step stays started, and is indeterminate for the next run."""
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", PROGRAM, str(path), what, how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (code, 130 if what == "interrupt" else code), done.stderr
    (step,), _ = asyncio.run(journal(path))
    assert (step.status, step.error) == ("executing", None)

    async def handler() -> object:
        try:
            return await rebuno.step("work", lambda: "ran", idempotency="at_most_once")
        except rebuno.ToolError as error:
            return error.reason

    assert asyncio.run(run(path, OPEN, handler)).output == "indeterminate"


@in_loop
async def test_a_step_that_was_waited_for_too_long_takes_the_same_branch_again(tmp_path: Path) -> None:
    """The agent sees a timeout, the journal says that the body was cancelled, and a replay does not ask the body."""
    path = tmp_path / "store.db"
    ran: list[str] = []
    stops = iter([True])

    async def work() -> None:
        ran.append("work")
        await asyncio.Event().wait()

    async def handler() -> list[str]:
        try:
            async with asyncio.timeout(0.05):
                await rebuno.step("work", work, idempotency="at_most_once")
            branch = "done"
        except TimeoutError:
            branch = "too slow"
        said = [branch, await rebuno.step("next", lambda: "went on")]
        if next(stops, False):
            raise Crash
        return said

    with pytest.raises(Crash):
        await run(path, OPEN, handler)
    steps, _ = await journal(path)
    assert [(step.target, step.status) for step in steps] == [("work", "failed"), ("next", "succeeded")]
    assert steps[0].error["reason"] == "cancelled"
    assert (await run(path, OPEN, handler)).output == ["too slow", "went on"]
    assert ran == ["work"]


@in_loop
async def test_a_body_that_finishes_after_its_run_was_cancelled_changes_nothing(tmp_path: Path) -> None:
    """A plain function cannot be stopped; the run ends as cancelled at once, and what it gives later is dropped."""
    path = tmp_path / "store.db"
    inside, go_on, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> str:
        inside.set()
        go_on.wait(20)
        finished.set()
        return "late"

    async def handler() -> object:
        return await rebuno.step("work", work, idempotency="at_most_once")

    async with rebuno.open(path, policy=rebuno.PERMISSIVE) as kernel:
        running = asyncio.create_task(kernel.run(handler, id="run", agent="agent"))
        await asyncio.to_thread(inside.wait, 20)
        await kernel.cancel("run")
        assert (await running).status == "cancelled"
        go_on.set()
        await asyncio.to_thread(finished.wait, 20)
        assert (await kernel.run(handler, id="run", agent="agent")).status == "cancelled"
    (step,), events = await journal(path)
    assert (step.status, step.result) == ("cancelled", None)
    assert events[-1].type == "execution.cancelled"


@pytest.mark.parametrize("kind", [GeneratorExit, asyncio.CancelledError])
@in_loop
async def test_odd_exceptions_of_a_plain_body_hang_nothing(tmp_path: Path, kind: type[BaseException]) -> None:
    """Neither a thread nor the loop waits for ever: the run ends in one way or another, and the next one too."""
    path = tmp_path / "store.db"

    def work() -> None:
        raise kind

    async def handler() -> object:
        return await rebuno.step("work", work)

    async def ended() -> Any:
        try:
            return (await run(path, OPEN, handler)).status
        except BaseException as error:
            return type(error)

    async with asyncio.timeout(20):
        first, second = await ended(), await ended()
    assert {first, second} <= {"failed", kind}
