"""Long texts are read beside the event loop, whatever way a submission takes."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.policy.compile import compile_text
from rebuno.policy.facets.shell import script
from rebuno.policy.facets.sql import tree
from rebuno.policy.matcher import read_ahead
from tests.sdk.support import Crash

pytestmark = pytest.mark.anyio

POLICY = """default allow
rule sql { deny tool "query" when any table of args.text == "secrets" }
rule shell { deny tool "shell" when any program of args.text == "rm" }
"""


def _watched(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[str]:
    # The names of the threads in which a reader works.
    work: Callable[..., Any] = getattr(module, name)
    threads: list[str] = []

    def watching(*args: Any) -> Any:
        threads.append(threading.current_thread().name)
        return work(*args)

    monkeypatch.setattr(module, name, watching)
    return threads


@pytest.mark.parametrize(
    ("tool", "module", "name", "text"),
    [
        ("query", tree, "_script", "select a from t where a = 1" + " and b = 1" * 600),
        ("query", tree, "_script", "select '" + "x" * 3_000 + "' from t"),
        ("query", tree, "_script", "select a from " + "t," * 29_900 + "t"),
        ("shell", script, "walk", "ls; " * 1_500),
        ("shell", script, "walk", "ls " + "a " * 30_000),
    ],
)
async def test_a_long_text_is_read_beside_the_loop(
    tool: str, module: Any, name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision on the loop finds what was read, and reads nothing itself."""
    threads = _watched(monkeypatch, module, name)
    called = rebuno.wrap_tool(tool, lambda args: "done", args_schema={"properties": {"text": {}}})

    async def handler() -> Any:
        return await called(text=text)

    for reader in (tree.script, script.read_script):
        reader.cache_clear()
    async with rebuno.open(tmp_path / "a.db", policy=compile_text(POLICY)) as kernel:
        await kernel.run(handler, id="a", agent="a")
    assert threads
    assert {thread.rpartition("_")[0] for thread in threads} == {"rebuno-heavy"}


KNOWN = """default deny
known said = input
known read = result of tool "read" at text
rule note { allow local "*" }
rule reading { allow tool "read" }
rule send { allow tool "send" when FACET of args.to in said }
rule answer { allow tool "answer" when FACET of args.to in read }
"""


@pytest.mark.parametrize(
    ("facet", "value", "found"),
    [
        ("path", "/a/b", True),
        ("path", "/a/c", False),
        ("name", "b", True),
        ("date", "2025-05-05", True),
        ("any email", "a@b.example", True),
        ("any link", "http://c.example/d", True),
        ("domain", "a@b.example", True),
        ("number", "1,250", True),
        ("number", "1,251", False),
    ],
)
@pytest.mark.parametrize("tool", ["send", "answer"])
async def test_what_is_sought_in_long_texts_is_found_beside_the_loop(
    facet: str, value: str, found: bool, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long input and long results are searched in another thread, with the decision that a short one gets; a short
    step that is submitted at the same time waits for it."""
    text = "see /a/b on May 5 2025 and pay $1,250 to a@b.example by http://c.example/d now. " * 300
    policy = compile_text(KNOWN.replace("FACET", facet))
    threads = _watched(monkeypatch, type(policy), "decide")
    schema: dict[str, Any] = {"properties": {"to": {}}}
    calls = {
        name: rebuno.wrap_tool(name, lambda args: {"text": text}, args_schema=schema)
        for name in ("read", "send", "answer")
    }
    says: list[str] = []

    async def submit(name: str) -> None:
        says.append(name if await calls[name](to=value) == {"text": text} else f"no {name}")

    async def handler() -> None:
        await submit("read")
        threads.clear()
        await asyncio.gather(submit(tool), submit("read"), submit(tool))

    async with rebuno.open(tmp_path / "a.db", policy=policy) as kernel:
        await kernel.run(handler, id="a", agent="a", input=text if tool == "send" else "short")
    said = tool if found else f"no {tool}"
    assert sorted(says) == sorted(["read", "read", said, said])
    assert {thread.rpartition("_")[0] for thread in threads} <= {"rebuno-heavy", "rebuno-long"}
    assert len(threads) >= 3


async def test_a_cancelled_step_leaves_the_history_to_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the decision of a step that nobody waits for any more goes on, no other one looks at the same history."""
    policy = compile_text(KNOWN.replace("FACET", "path"))
    entered, leave = threading.Event(), threading.Event()
    inside: list[str] = []
    ended: list[Any] = []
    decide = type(policy).decide

    def deciding(self: Any, facts: Any) -> Any:
        inside.append(facts.target)
        assert len(inside) == 1
        if facts.target == "send":
            entered.set()
            assert leave.wait(10)
        try:
            return decide(self, facts)
        finally:
            inside.remove(facts.target)

    monkeypatch.setattr(type(policy), "decide", deciding)
    send, read = (rebuno.wrap_tool(name, lambda args: 1, args_schema={}) for name in ("send", "read"))

    async def handler() -> None:
        task = asyncio.ensure_future(send(to="/a"))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        await asyncio.wait([task])
        other = asyncio.ensure_future(read())
        await asyncio.wait([other], timeout=0.05)
        leave.set()
        ended.append(await other)

    async with rebuno.open(tmp_path / "a.db", policy=policy) as kernel:
        await kernel.run(handler, id="a", agent="a", input="/a " * 10_000)
    assert (ended, inside) == ([1], [])


REVISED = {
    "denied": 'default allow\nrule r { deny tool "shell" when any program of args.text == "ls" }',
    "asked about": 'default allow\nrule r { require approval for tool "shell" when any program of args.text == "ls" }',
    "allowed": 'default allow\nrule r { deny tool "shell" when any program of args.text == "rm" }',
}


@pytest.mark.parametrize("revised", REVISED)
@pytest.mark.parametrize("done", [False, True])
async def test_a_recorded_step_is_decided_about_again_beside_the_loop(
    revised: str, done: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed handler submits its long text under a bundle that has changed: the outcome is that of a short one.
    `done`: the step had its result before."""
    policy = compile_text(REVISED[revised])
    threads = _watched(monkeypatch, type(policy), "decide")
    outcomes = []
    for text in ("ls", "ls; " * 1_500):
        dying = _handler(text, dies=True, done=done)
        async with rebuno.open(tmp_path / f"{len(text)}.db", policy=compile_text("default allow")) as kernel:
            with pytest.raises(Crash):
                await kernel.run(dying, id="a", agent="a")
        threads.clear()
        async with rebuno.open(tmp_path / f"{len(text)}.db", policy=policy) as kernel:
            run = await kernel.run(_handler(text, dies=False, done=True), id="a", agent="a")
        outcomes.append((run.status, run.output))
        heavy = {thread.rpartition("_")[0] for thread in threads} <= {"rebuno-heavy", "rebuno-long"}
        assert (heavy, bool(threads)) == (len(text) > 2, True)
    assert outcomes[0] == outcomes[1]


def _handler(text: str, *, dies: bool, done: bool) -> Callable[[], Any]:
    # One that submits a text; it `dies` in the body, or behind it where that is `done`.
    def body(args: Any) -> str:
        if dies and not done:
            raise Crash
        return "done"

    async def handler() -> Any:
        value = await rebuno.wrap_tool("shell", body, args_schema={"properties": {"text": {}}})(text=text)
        if dies:
            raise Crash
        return value

    return handler


async def test_a_waiting_question_is_looked_at_again_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person was asked about a long text, and today's bundle denies it."""
    handler = _handler("ls; " * 1_500, dies=False, done=True)
    async with rebuno.open(tmp_path / "a.db", policy=compile_text(REVISED["asked about"])) as kernel:
        assert (await kernel.run(handler, id="a", agent="a")).status == "blocked"
    policy = compile_text(REVISED["denied"])
    threads = _watched(monkeypatch, type(policy), "decide")
    async with rebuno.open(tmp_path / "a.db", policy=policy) as kernel:
        assert "done" not in str((await kernel.run(handler, id="a", agent="a")).output)
    assert {thread.rpartition("_")[0] for thread in threads} <= {"rebuno-heavy", "rebuno-long"}
    assert threads


async def test_a_granted_long_step_starts_by_what_was_decided_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who must be asked is not recorded: the same bundle is asked again."""
    policy = compile_text(REVISED["asked about"])
    handler = _handler("ls; " * 1_500, dies=False, done=True)
    threads = _watched(monkeypatch, type(policy), "decide")
    async with rebuno.open(tmp_path / "a.db", policy=policy) as kernel:
        assert (await kernel.run(handler, id="a", agent="a")).status == "blocked"
        (question,) = await kernel.operator.approvals()
        await kernel.operator.grant(question.id, decided_by="ann")
        threads.clear()
        assert (await kernel.run(handler, id="a", agent="a")).output == "done"
    assert {thread.rpartition("_")[0] for thread in threads} <= {"rebuno-heavy", "rebuno-long"}
    assert threads


def test_only_the_facets_that_a_policy_uses_read_ahead() -> None:
    """A policy without facets of SQL or shell text has no work to do before a decision."""
    assert (
        read_ahead.readers(compile_text('default allow\nrule r { deny tool "t" when host of args.u == "a.example" }'))
        == ()
    )
    assert len(read_ahead.readers(compile_text(POLICY))) == 2
    one = compile_text('default allow\nrule r { deny tool "t" when any statement of args.a == "drop" }')
    assert len(read_ahead.readers(one)) == 1


def test_long_texts_are_found_wherever_they_stand() -> None:
    """In lists and objects; short ones are left to the decision, and so are those beyond a number."""
    seen: list[str] = []
    long = "x" * (read_ahead.LONG + 1)
    read_ahead.read([seen.append], '{"a":["' + long + '",{"b":"' + long + '"}],"c":"short"}')
    assert seen == [long, long]
    seen.clear()
    read_ahead.read([seen.append], "[" + ",".join([f'"{long}"'] * 100) + "]")
    assert len(seen) == read_ahead.MOST
    read_ahead.read([seen.append], "no json")
