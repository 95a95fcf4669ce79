"""Resources of our own SDK on a real server: the same handlers as embedded."""

import asyncio
from pathlib import Path
from typing import Any

import rebuno
from rebuno.drivers import FolderDriver
from tests.embedded.resource_runs import drafting, ran
from tests.sdk.served import Served, play
from tests.server.support import TOKEN, until


def test_a_fork_finds_what_was_there(tmp_path: Path) -> None:
    """At the end of each step, in a folder of its own."""
    handler = drafting(tmp_path / "at")

    async def scenario(kernel: Served) -> None:
        ran.clear()
        async with kernel.agent("draft", handler):
            source = await kernel.ended((await kernel.client.create("draft", ["a", "fail", "c"])).id)
            assert source.output == [[], ["failed"], ["a", "fail"]]
            writes = [what for word in ("a", "fail", "c") for what in (f"write {word}", "checkpoint")]
            assert ran == ["create", "checkpoint", *writes]
            points = await kernel.client.fork_points(source.id)
            assert [one.generation for one in points.checkpoints] == [0, 1, 2, 3]
            for one in points.checkpoints[1:]:
                ran.clear()
                fork = await kernel.client.fork(source.id, at_seq=one.covered_seq)
                assert fork.restoration is not None
                assert fork.restoration["draft"]["checkpoint_ref"] == one.checkpoint_ref
                done = await kernel.ended(fork.id)
                assert (done.output, done.restoration) == (source.output, None)
                assert ran[0] == "restore"
                assert ran.count("checkpoint") == 3 - one.generation
            assert (await kernel.client.verify(fork.id)).valid

    play(scenario)


def test_a_session_works_on_in_one_folder(tmp_path: Path) -> None:
    """Each execution opens what the one before left."""

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("draft", drafting(tmp_path / "at")):
            first = await kernel.client.create("draft", ["a"], session="s")
            second = await kernel.client.create("draft", ["b"], session="s")
            assert (await kernel.ended(first.id)).output == [[]]

            async def over() -> bool:
                return (await kernel.client.get(second.id)).status.terminal

            await until(over)
            assert (await kernel.client.get(second.id)).output == [["a"]]

    play(scenario)


def test_subagents_of_one_resource_work_side_by_side(tmp_path: Path) -> None:
    """A tool that waits for a subagent lets the next one begin, and each counts when its subagent has ended."""

    @rebuno.tool(resources=["files"])
    async def delegate_files(n: int) -> Any:
        async with rebuno.Client(url[0], TOKEN) as client:
            return await rebuno.subagent("child", {"n": n}, client=client)

    async def parent() -> Any:
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"), checkpoints=rebuno.CheckpointPolicy())
        return await asyncio.gather(delegate_files(n=1), delegate_files(n=2))

    async def child(n: int) -> int:
        return n * 10

    url: list[str] = []

    async def scenario(kernel: Served) -> None:
        url.append(kernel.url)
        async with kernel.agent("child", child), kernel.agent("parent", parent):
            execution = await kernel.client.create("parent")

            async def over() -> bool:
                return (await kernel.client.get(execution.id)).status.terminal

            await until(over)
            done = await kernel.client.get(execution.id)
            assert (done.status, done.output) == ("completed", [10, 20])
            assert (await kernel.client.verify(execution.id)).valid

    play(scenario)


def test_one_tool_with_several_subagents_goes_on(tmp_path: Path) -> None:
    """Its turn is one: it is taken back once, when both have ended at the same time."""

    async def delegate_inner(n: int) -> Any:
        async with rebuno.Client(url[0], TOKEN) as client:
            return await rebuno.subagent("child", {"n": n}, client=client)

    async def ended() -> None:
        async def over() -> bool:
            found = (await delegated.list_executions(agent_id="child")).executions
            return len(found) == 2 and all(one.status.terminal for one in found)

        async with rebuno.Client(url[0], TOKEN) as delegated:
            await until(over)

    async def both() -> Any:
        waits = [rebuno.step("inner", delegate_inner, {"n": n}) for n in (1, 2)]
        return (await asyncio.gather(*waits, rebuno.step("ended", ended)))[:2]

    async def parent() -> Any:
        await rebuno.resource("files", driver=FolderDriver(tmp_path / "at"), checkpoints=rebuno.CheckpointPolicy())
        outer = [rebuno.step("both", both, resources=["files"]), rebuno.step("next", lambda: 5, resources=["files"])]
        return await asyncio.gather(*outer)

    async def child(n: int) -> int:
        return n * 10

    url: list[str] = []

    async def scenario(kernel: Served) -> None:
        url.append(kernel.url)
        async with kernel.agent("child", child), kernel.agent("parent", parent):
            execution = await kernel.client.create("parent")

            async def over() -> bool:
                return (await kernel.client.get(execution.id)).status.terminal

            await until(over)
            done = await kernel.client.get(execution.id)
            assert (done.status, done.output) == ("completed", [[10, 20], 5])

    play(scenario)


def test_a_driver_of_coroutine_functions(tmp_path: Path) -> None:
    """It runs on the handler's event loop."""

    loops: list[asyncio.AbstractEventLoop] = []

    class Box:
        driver_id = "box"
        configuration = ("a", 1)

        async def create(self, ref: str | None) -> tuple[list[str], list[str]]:
            loops.append(asyncio.get_running_loop())
            return ([] if ref is None else ref.split()), ["bound"]

        async def open(self, binding: Any) -> list[str]:
            assert binding == ["bound"]
            return []

        async def checkpoint(self, handle: list[str]) -> str:
            return " ".join(["began", *handle])

    async def handler() -> Any:
        box = await rebuno.resource("box", driver=Box(), checkpoints=rebuno.CheckpointPolicy())
        await rebuno.step("add", lambda: box.append("one"), resources=["box"])
        assert [asyncio.get_running_loop()] == loops[-1:]
        return box

    async def scenario(kernel: Served) -> None:
        async with kernel.agent("boxes", handler):
            source = await kernel.ended((await kernel.client.create("boxes")).id)
            assert source.output == ["one"]
            fork = await kernel.client.fork(source.id, at_seq=(await kernel.client.fork_points(source.id)).latest_seq)
            # The step is replayed: what it did is in the checkpoint.
            assert (await kernel.ended(fork.id)).output == ["began", "one"]

    play(scenario)
