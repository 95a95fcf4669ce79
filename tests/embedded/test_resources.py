"""Resources of handlers in an embedded kernel: opened again, captured, and restored in forks."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.drivers import FolderDriver
from rebuno.kernel import recording_lines
from rebuno.sdk import context
from rebuno.testing import recorded, replay
from tests.embedded.resource_runs import drafting, ran
from tests.embedded.support import ROOT, in_loop

BUNDLE = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    """Each test looks at its own."""
    ran.clear()


async def events(kernel: rebuno.Kernel, ref: str, *types: str) -> list[rebuno.types.Event]:
    """The events of these types."""
    execution = await kernel.operator.execution(ref)
    return [event for event in await kernel.operator.events(execution.id) if event.type in types]


def opened(tmp_path: Path) -> Any:
    """A kernel on a file."""
    return rebuno.open(tmp_path / "agent.db", policy=rebuno.PERMISSIVE)


@in_loop
async def test_each_step_leaves_a_checkpoint(tmp_path: Path) -> None:
    """After a baseline; the last one still holds when the handler returns, so that none more is made."""
    async with opened(tmp_path) as kernel:
        done = await kernel.run(drafting(tmp_path / "at"), ["a", "b"], id="draft", agent="agent")
        assert done.output == [[], ["a"]]
        assert ran == ["create", "checkpoint", "write a", "checkpoint", "write b", "checkpoint"]
        points = await kernel.operator.fork_points("draft")
        ends = [event.event_seq for event in await events(kernel, "draft", "step.succeeded")]
        assert [one.covered_seq for one in points.checkpoints][1:] == ends
        assert [one.generation for one in points.checkpoints] == [0, 1, 2]
        assert (await kernel.operator.verify("draft")).fault == ""
        assert await kernel.run(drafting(tmp_path / "at"), ["a", "b"], id="draft", agent="agent") == done


@in_loop
async def test_a_fork_finds_what_was_there(tmp_path: Path) -> None:
    """In a folder of its own, at every point: its steps come to what the source's came to."""
    async with opened(tmp_path) as kernel:
        words = ["a", "fail", "c"]
        done = await kernel.run(drafting(tmp_path / "at"), words, id="draft", agent="agent")
        assert done.output == [[], ["failed"], ["a", "fail"]]
        for at in range(1, done.head_seq + 1):
            ran.clear()
            fork = await kernel.operator.fork("draft", at_seq=at, key=f"fork-{at}")
            again = await kernel.run(drafting(tmp_path / "at"), words, id=f"fork-{at}", agent="agent")
            assert (again.status, again.output) == ("completed", done.output), f"at event {at}"
            restored = fork.restoration["draft"] if fork.restoration else {}
            assert ran[0] == ("restore" if restored.get("checkpoint_ref") else "create")
            assert ("checkpoint" in ran[1:2]) is not restored.get("covered", False)
            assert (await kernel.operator.verify(fork.id)).fault == ""
        folders = list((tmp_path / "at" / "folders").iterdir())
        assert len(folders) == 1 + done.head_seq


def test_a_killed_run_opens_its_folder_again(tmp_path: Path) -> None:
    """The step that was cut off runs again in a new generation, and only then there is a checkpoint."""

    def run() -> Any:
        words = [str(tmp_path / "agent.db"), str(tmp_path / "at"), "a", "die", "b"]
        program = [sys.executable, "-m", "tests.embedded.resource_runs", *words]
        done = subprocess.run(program, cwd=ROOT, capture_output=True, check=False, timeout=120)
        return json.loads(done.stdout) if done.stdout else done.returncode

    assert run() == -9

    async def body() -> None:
        async with opened(tmp_path) as kernel:
            done = await kernel.run(drafting(tmp_path / "at"), ["a", "die", "b"], id="draft", agent="agent")
            assert done.output == [[], ["a", "die"], ["a", "die"]]
            assert ran == ["open", "checkpoint", "write die", "checkpoint", "write b", "checkpoint"]
            points = await kernel.operator.fork_points("draft")
            assert [one.generation for one in points.checkpoints] == [0, 1, 3, 4]
            (refused,) = await events(kernel, "draft", "resource.checkpoint_failed")
            assert refused.payload["error"] == "writers_active"
            assert (await kernel.operator.verify("draft")).fault == ""

    asyncio.run(body())


@in_loop
async def test_a_question_between_steps(tmp_path: Path) -> None:
    """While a person is asked the run is over; the next one opens what it had, and its checkpoint still holds."""

    async def handler(words: Any) -> Any:
        first = await drafting(tmp_path / "at")(words[:1])
        await pay()
        return [*first, *await drafting(tmp_path / "at")(words[1:])]

    @rebuno.tool
    async def pay() -> str:
        return "paid"

    async with rebuno.open(tmp_path / "agent.db", policy=rebuno_policy(tmp_path)) as kernel:
        waits = await kernel.run(handler, ["a", "b"], id="draft", agent="agent")
        assert waits.status == "blocked"
        ran.clear()
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana")
        done = await kernel.run(handler, ["a", "b"], id="draft", agent="agent")
        assert done.output == [[], ["a"]]
        assert ran == ["open", "write b", "checkpoint"]


def rebuno_policy(tmp_path: Path) -> Path:
    """A bundle that asks about payments."""
    path = tmp_path / "asks.rbp"
    path.write_text(BUNDLE, encoding="utf-8")
    return path


@in_loop
async def test_checkpoints_as_their_policy_says(tmp_path: Path) -> None:
    """Every second step, and one at the end for what is not covered; without them, none."""
    async with opened(tmp_path) as kernel:
        policy = rebuno.CheckpointPolicy(every_steps=2)
        await kernel.run(drafting(tmp_path / "at", policy), ["a", "b", "c"], id="draft", agent="agent")
        assert ran == ["create", "checkpoint", "write a", "write b", "checkpoint", "write c", "checkpoint"]
        ran.clear()
        policy = rebuno.CheckpointPolicy(every_steps=2, on_completion=False)
        await kernel.run(drafting(tmp_path / "at", policy), ["a"], id="other", agent="agent")
        assert ran == ["create", "checkpoint", "write a"]

        async def handler() -> None:
            folder = await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"))
            await rebuno.step("touch", (folder / "x").touch, resources=["files"])

        done = await kernel.run(handler, id="none")
        points = await kernel.operator.fork_points(done.id)
        assert (list(points.resources), points.checkpoints) == (["files"], [])


@in_loop
async def test_steps_run_one_at_a_time(tmp_path: Path) -> None:
    """From the first resource on, in the order of their calls; model calls and steps inside of others do not wait."""
    inside, most = 0, 0

    async def count() -> int:
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        for _ in range(5):
            await asyncio.sleep(0)
        inside -= 1
        return inside

    async def outer() -> list[int]:
        return [*await asyncio.gather(rebuno.step("inner", count), rebuno.step("inner", count))]

    async def handler() -> int:
        nonlocal most
        await asyncio.gather(*(rebuno.step("before", count) for _ in range(4)))
        before, most = most, 0
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"))
        order: list[int] = []

        async def note(n: int) -> None:
            order.append(n)
            await count()

        await asyncio.gather(*(rebuno.step("after", note, {"n": n}) for n in range(4)))
        after, most = most, 0
        assert order == [0, 1, 2, 3]
        await rebuno.step("outer", outer)
        return before * 100 + after * 10 + most

    async with opened(tmp_path) as kernel:
        assert (await kernel.run(handler)).output == 412


@in_loop
async def test_a_step_that_is_cancelled_lets_the_next_one_begin(tmp_path: Path) -> None:
    """Also one that still waited for its turn; and one that fails."""

    began = asyncio.Event()

    async def long() -> None:
        began.set()
        await asyncio.sleep(3600)

    def fails() -> None:
        raise ValueError("no")

    async def handler() -> str:
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"), checkpoints=rebuno.CheckpointPolicy())
        for promise in ("safe_to_retry", "at_most_once"):
            first = asyncio.create_task(rebuno.step("long", long, None, promise, ["files"]))
            second = asyncio.create_task(rebuno.step("long", long))
            await began.wait()
            began.clear()
            second.cancel()
            first.cancel()
            await asyncio.gather(first, second, return_exceptions=True)
        with pytest.raises(rebuno.ToolError):
            await rebuno.step("fails", fails, resources=["files"])
        return str(await rebuno.step("ends", lambda: "ended", resources=["files"]))

    async with opened(tmp_path) as kernel:
        done = await asyncio.wait_for(kernel.run(handler, id="run"), 60)
        assert (done.status, done.output) == ("completed", "ended")
        assert (await kernel.operator.verify("run")).fault == ""


@in_loop
async def test_a_driver_that_fails(tmp_path: Path) -> None:
    """Its checkpoint is an event, and no error of the step; what fails to open fails the handler."""

    class Broken(FolderDriver):
        def checkpoint(self, handle: Path) -> str:
            raise OSError("the disk is full")

    class Odd(FolderDriver):
        def checkpoint(self, handle: Path) -> Any:
            return {"at": 1}

    class Endless(FolderDriver):
        def checkpoint(self, handle: Path) -> str:
            return "x" * 65_537

    class Unsayable(FolderDriver):
        def checkpoint(self, handle: Path) -> str:
            return "\ud800"

    class Gone(FolderDriver):
        def create(self, ref: str | None = None) -> Any:
            raise rebuno.CheckpointUnavailable("it is gone")

    async def handler(kind: Any) -> str:
        drivers = {"Broken": Broken, "Odd": Odd, "Endless": Endless, "Unsayable": Unsayable, "Gone": Gone}
        driver = drivers[kind](tmp_path / "at")
        await rebuno.resource("files", driver=driver, checkpoints=rebuno.CheckpointPolicy())
        return str(await rebuno.step("act", lambda: "acted", resources=["files"]))

    async with opened(tmp_path) as kernel:
        for kind, why in (
            ("Broken", "the disk is full"),
            ("Odd", "a checkpoint's reference is text, not of type dict"),
            ("Endless", "a checkpoint's reference has 65,537 characters, and at most 65,536 are taken"),
            ("Unsayable", "`checkpoint_ref` holds the lone surrogate U+D800, which is no character"),
        ):
            done = await kernel.run(handler, kind, id=kind)
            assert done.output == "acted"
            failed = await events(kernel, kind, "resource.checkpoint_failed")
            assert [event.payload["error"] for event in failed] == [why] * 3
        gone = await kernel.run(handler, "Gone", id="Gone")
        assert (gone.status, gone.failure_reason) == ("failed", "agent_error: CheckpointUnavailable: it is gone")


def ended(threads: set[Any]) -> None:
    """Returns once no thread runs any more."""
    while threads:
        time.sleep(0.001)


@in_loop
async def test_no_checkpoint_is_made_while_a_cancelled_step_still_runs(tmp_path: Path) -> None:
    """A thread cannot be stopped: what it has written so far is no state of the log."""
    began, goes_on = threading.Event(), threading.Event()

    def write() -> None:
        began.set()
        goes_on.wait()

    async def handler() -> None:
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"), checkpoints=rebuno.CheckpointPolicy())
        cancelled = asyncio.create_task(rebuno.step("write", write, resources=["files"]))
        await asyncio.to_thread(began.wait)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        await rebuno.step("next", lambda: None, resources=["files"])
        goes_on.set()
        run = context.required("the test")
        assert run.external is not None
        await asyncio.to_thread(ended, run.external.threads)
        await rebuno.step("last", lambda: None, resources=["files"])

    async with opened(tmp_path) as kernel:
        assert (await kernel.run(handler, id="run")).status == "completed"
        failed = await events(kernel, "run", "resource.checkpoint_failed")
        assert [event.payload["error"] for event in failed] == ["a step that was cancelled still runs in its thread"]
        points = await kernel.operator.fork_points("run")
        assert [one.generation for one in points.checkpoints] == [0, 3]


@in_loop
async def test_what_resource_refuses(tmp_path: Path) -> None:
    """Each with a typed error, before anything is opened."""
    driver = FolderDriver(tmp_path / "at")

    class Nameless:
        driver_id = ""

    class NoCheckpoints:
        driver_id = "none"

        def create(self, ref: str | None) -> Any:
            return 1, None

    class NoJSON(FolderDriver):
        configuration: Any

        def __init__(self) -> None:
            super().__init__(tmp_path / "at")
            self.configuration = {"at": tmp_path}

    async def refused(error: type[Exception], key: Any, driver: Any, **more: Any) -> None:
        with pytest.raises(error):
            await rebuno.resource(key, driver=driver, **more)

    async def inside() -> None:
        await refused(RuntimeError, "files", driver)

    async def handler() -> None:
        await refused(rebuno.ValidationError, "no key", driver)
        await refused(rebuno.ValidationError, 7, driver)
        await refused(ValueError, "files", Nameless())
        await refused(ValueError, "files", object())
        await refused(ValueError, "files", NoCheckpoints(), checkpoints=rebuno.CheckpointPolicy())
        await refused(rebuno.NotJSON, "files", NoJSON())
        await refused(rebuno.ValidationError, "unbound", NoCheckpoints())
        assert await rebuno.resource("files", driver=driver) is await rebuno.resource("files", driver=driver)
        await rebuno.step("inside", inside)
        with pytest.raises(rebuno.ValidationError, match="`other` is not registered"):
            await rebuno.step("act", lambda: None, resources=["other"])
        with pytest.raises(TypeError):
            await rebuno.step("act", lambda: None, resources="files")
        # What is refused has had its turn.
        await rebuno.step("act", lambda: None, resources=["files"])
        await refused(TypeError, "other", driver, checkpoints=True)
        with pytest.raises(ValueError, match="every_steps"):
            rebuno.CheckpointPolicy(every_steps=0)

    async with opened(tmp_path) as kernel:
        done = await asyncio.wait_for(kernel.run(handler, id="run"), 60)
        assert done.status == "completed", done.failure_reason
        assert list((await kernel.operator.fork_points("run")).resources) == ["unbound", "files"]
    with pytest.raises(RuntimeError):
        await rebuno.resource("files", driver=driver)


@in_loop
async def test_another_driver_under_the_same_key(tmp_path: Path) -> None:
    """In a later run of the same execution it is a conflict, and the handler hears of it."""

    async def handler(pays: Any) -> str:
        driver = FolderDriver(tmp_path / ("at" if not ran else "elsewhere"))
        ran.append("run")
        try:
            await rebuno.resource("files", driver=driver)
        except rebuno.ConflictError:
            return "conflict"
        return str(await pay_first())

    @rebuno.tool("pay")
    async def pay_first() -> str:
        return "paid"

    async with rebuno.open(tmp_path / "agent.db", policy=rebuno_policy(tmp_path)) as kernel:
        waits = await kernel.run(handler, True, id="run")
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana")
        assert (await kernel.run(handler, True, id="run")).output == "conflict"


@in_loop
async def test_a_replay_opens_nothing(tmp_path: Path) -> None:
    """A recording is compared with the handler, and no driver is asked."""
    async with opened(tmp_path) as kernel:
        await kernel.run(drafting(tmp_path / "at"), ["a", "b"], id="draft", agent="agent")
        file = tmp_path / "draft.jsonl"
        file.write_text("".join(recording_lines(await kernel.operator.record("draft"))), encoding="utf-8")
    ran.clear()
    assert (await replay(recorded(file), drafting(tmp_path / "nowhere"))).same
    assert ran == []


@in_loop
async def test_a_cancelled_step_that_is_replayed_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A step that was cancelled in the first run comes to no end in a later one, and the next begins all the same."""

    began = asyncio.Event()

    async def long() -> None:
        began.set()
        await asyncio.sleep(3600)

    @rebuno.tool("pay")
    async def pay_later() -> str:
        return "paid"

    async def handler() -> str:
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"))
        left = asyncio.create_task(rebuno.step("long", long, resources=["files"]))
        # It is submitted before the next one, and cancelled in its body.
        await asyncio.sleep(0)
        if not ran:
            await began.wait()
            left.cancel()
        ran.append("run")
        return str(await pay_later())

    async with rebuno.open(tmp_path / "agent.db", policy=rebuno_policy(tmp_path)) as kernel:
        waits = await asyncio.wait_for(kernel.run(handler, id="run"), 60)
        await kernel.operator.grant(waits.approvals[0].id, decided_by="ana")
        done = await asyncio.wait_for(kernel.run(handler, id="run"), 60)
        assert (done.status, done.output) == ("completed", "paid")
