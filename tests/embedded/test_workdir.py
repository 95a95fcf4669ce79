"""`workdir session` in a run: the folder that the program named when the run began holds for all that belongs to it."""

import json
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import ConflictError, ValidationError
from rebuno.policy import compile_text
from tests.embedded.support import in_loop

POLICY = """bundle session
workdir session
home "/home/bot"
default deny
rule sub { allow tool "delegate", "later" }
rule write { allow tool "write" when every redirect of args.command under "." and args.path under "." }
"""


@rebuno.tool("write")
def write(**args: str) -> str:
    return "written"


async def wrote(path: str, **more: str) -> str:
    """What becomes of a call: a handler gets a denial as a text."""
    said = str(await write(path=path, command="echo > log", **more))
    return "denied" if "not allowed" in said else said


async def agent(path: Any) -> str:
    return await wrote(path)


def opened(tmp_path: Path, name: str = "store.db") -> Any:
    return rebuno.open(tmp_path / name, policy=compile_text(POLICY))


@pytest.mark.parametrize(
    ("workdir", "path", "output"),
    [
        ("/work/app", "/work/app/a", "written"), ("/work/app", "src/a", "written"), ("/work/app", "../a", "denied"),
        ("/work/app", "/etc/a", "denied"), ("", "/work/app/a", "denied"), ("/", "a", "denied"),
        ("/home/bot", ".bashrc", "denied"), ("/home/bot/app", ".bashrc", "written"),
    ],
)  # fmt: skip
@in_loop
async def test_a_run_in_its_folder(tmp_path: Path, workdir: str, path: str, output: str) -> None:
    """The folder is recorded in the first event, shown, and whole in the log."""
    async with opened(tmp_path) as kernel:
        ended = await kernel.run(agent, path, workdir=workdir)
        assert ended.output == output
        shown = await kernel.operator.execution(ended.id)
        assert shown.workdir == (workdir or None)
        assert json.loads(shown.model_dump_json())["workdir"] == (workdir or None)
        [created, *_] = await kernel.operator.events(ended.id)
        assert created.payload.get("workdir") == (workdir or None)
        assert not (await kernel.operator.verify(ended.id)).fault
        assert (await kernel.operator.story(ended.id)).execution.workdir == (workdir or None)
        # Judged again later, it is judged in the same folder.
        for step in await kernel.operator.judged(ended.id):
            assert step.facts.workdir == workdir
            assert kernel.policy.decide(step.facts).verdict == step.verdict


@in_loop
async def test_a_call_brings_no_folder_along(tmp_path: Path) -> None:
    """The `cwd` of a call is where its command begins, and nothing else starts there."""
    async with opened(tmp_path) as kernel:

        async def outside() -> list[str]:
            calls = (("a", "/work/app/src"), ("a", "/etc"), ("/etc/a", "/work/app"))
            return [await wrote(path, cwd=cwd) for path, cwd in calls]

        assert (await kernel.run(outside, workdir="/work/app")).output == ["written", "denied", "denied"]


@pytest.mark.parametrize("workdir", ["work", ".", "~", "C:\\work", "/a\nb", "/a\0", "/\ud800", "/" + "a" * 5000, " /a"])
@in_loop
async def test_what_is_no_folder(tmp_path: Path, workdir: str) -> None:
    """It is refused before anything is recorded."""
    async with opened(tmp_path) as kernel:
        with pytest.raises(ValidationError, match="workdir"):
            await kernel.run(agent, "a", workdir=workdir)
        assert await kernel.operator.executions() == []


@in_loop
async def test_taken_up_again(tmp_path: Path) -> None:
    """A run goes on in its folder, whether it is named again or not; another one is another run."""
    async with opened(tmp_path) as kernel:
        first = await kernel.run(agent, "/work/app/a", id="job", workdir="/work/app")
        for named in ("", "/work/app"):
            assert (await kernel.run(agent, "/work/app/a", id="job", workdir=named)).id == first.id
        with pytest.raises(ConflictError, match="another workdir"):
            await kernel.run(agent, "/work/app/a", id="job", workdir="/work/other")
        bare = await kernel.run(agent, "/work/app/a", id="bare")
        assert bare.output == "denied"
        with pytest.raises(ConflictError, match="another workdir"):
            await kernel.run(agent, "/work/app/a", id="bare", workdir="/work/app")


@pytest.mark.parametrize("apart", [False, True], ids=["same store", "another store"])
@in_loop
async def test_a_run_that_a_handler_begins(tmp_path: Path, apart: bool) -> None:
    """It works in the folder of the handler's run, and no handler names another."""
    async with opened(tmp_path) as kernel, opened(tmp_path, "other.db" if apart else "store.db") as inner:

        async def parent(workdir: Any) -> Any:
            return (await inner.run(agent, "/work/app/a", workdir=workdir)).output

        async def in_a_tool(workdir: Any) -> Any:
            return await rebuno.tool("delegate")(lambda: parent(workdir))()

        for way in (parent, in_a_tool):
            ended = await kernel.run(way, "", workdir="/work/app", agent="parent")
            # What another store holds of the parent is not known there.
            assert ended.output == ("denied" if apart else "written")
            refused = await kernel.run(way, "/work", workdir="/work/app", agent="parent")
            assert refused.status == "failed"
            assert "an agent names no `workdir`" in str(refused.failure_reason)
        children = [one for one in await inner.operator.executions() if one.agent_id == "agent"]
        assert {(await inner.operator.execution(one.id)).workdir for one in children} == {
            None if apart else "/work/app"
        }


@in_loop
async def test_forks_and_other_stores(tmp_path: Path) -> None:
    """A fork, a fork of a fork, and an imported history have the folder of their source."""
    async with opened(tmp_path) as kernel, opened(tmp_path, "other.db") as other:
        first = await kernel.run(agent, "/work/app/a", workdir="/work/app")
        made = await kernel.operator.fork(first.id, at_seq=2)
        again = await kernel.operator.fork(made.id, at_seq=2)
        for one in (made, again):
            assert (await kernel.operator.execution(one.id)).workdir == "/work/app"
        ran = await kernel.run(agent, id=again.id, agent="agent")
        assert ran.output == "written"
        assert not (await kernel.operator.verify(again.id)).fault
        recording = await kernel.operator.record(first.id)
        taken = await other.operator.restore(recording)
        assert (await other.operator.execution(taken.id)).workdir == "/work/app"
        assert [step.facts.workdir for step in await other.operator.judged(taken.id)] == ["/work/app"]


def test_without_a_loop(tmp_path: Path) -> None:
    """`run_sync` names it too."""
    policy = compile_text(POLICY)
    ended = rebuno.run_sync(agent, "/work/app/a", path=tmp_path / "s.db", policy=policy, workdir="/work/app")
    assert ended.output == "written"


def test_assertions_of_tests() -> None:
    """`assert_decision` asks in a folder."""
    from rebuno.testing import assert_decision

    given: dict[str, Any] = {"path": "/work/app/a", "command": "echo > log"}
    assert_decision(compile_text(POLICY), "allow", "write", given, workdir="/work/app", rule="write")
    assert_decision(compile_text(POLICY), "deny", "write", given)
