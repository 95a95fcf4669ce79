"""Handlers against recordings: what comes instead of what, and that nothing is done."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreCorrupt, ValidationError
from rebuno.kernel import recording_lines
from rebuno.policy.compile import compile_text
from rebuno.testing import Recording, Replayed, assert_replays, memory_kernel, recorded, replay

POLICY = compile_text("""\
bundle t
default allow
rule ask { require approval for tool "ask" }
rule no { deny tool "no" because "never" }
""")

ran: list[str] = []
hung: list[asyncio.Event] = []


@rebuno.tool("say")
async def say(text: str) -> str:
    ran.append(text)
    return text.upper()


@rebuno.tool("ask")
async def ask(text: str) -> str:
    return text


@rebuno.tool("no")
async def no() -> None:
    """Denied."""


def fails() -> None:
    raise OSError("no")


async def talk(input: Any) -> list[object]:
    """Tools, nested and parallel ones, a failure, a denial."""
    first = await rebuno.step("outer", lambda: say("inner"))
    both = await asyncio.gather(say("a"), say("b"), say("a"))
    try:
        await rebuno.step("fails", fails)
    except rebuno.ToolError as error:
        return [first, both, str(error), await no(), input]
    return []


def record(handler: Callable[..., Any], input: Any = None, *, dies: bool = False) -> Recording:
    """What a handler did, until its end or until it `hangs`."""

    async def through() -> Recording:
        async with memory_kernel(POLICY) as kernel:
            running = asyncio.create_task(kernel.run(handler, input, id="run", agent="agent"))
            hung[:] = [asyncio.Event()]
            if dies:
                await hung[0].wait()
                running.cancel()
            await asyncio.wait({running})
            return await kernel.operator.record("run")

    return asyncio.run(through())


def against(recording: Recording, handler: Callable[..., Any]) -> Replayed:
    """The replay, in which no body may run."""
    ran.clear()
    found = asyncio.run(replay(recording, handler))
    assert ran == []
    return found


def test_the_same_handler_goes_the_same_way() -> None:
    """With every recorded outcome, to the same end."""
    found = against(record(talk, {"q": 1}), talk)
    assert found == Replayed(found.execution_id, 7, 6, True)


async def shorter(input: Any) -> list[object]:
    return [await rebuno.step("outer", lambda: say("inner"))]


async def other_args(input: Any) -> list[object]:
    first = await rebuno.step("outer", lambda: say("inner"))
    await asyncio.gather(say("a"), say("c"), say("a"))
    return [first]


async def more(input: Any) -> list[object]:
    value = await talk(input)
    await say("more")
    return value


async def other_end(input: Any) -> list[object]:
    return [*await talk(input), "more"]


async def breaks(input: Any) -> list[object]:
    await talk(input)
    raise LookupError("broken")


async def swallows(input: Any) -> list[object]:
    """Makes nothing of being stopped, over and over."""
    while True:
        try:
            await say("never recorded")
        except Exception:
            continue


@pytest.mark.parametrize(
    ("handler", "came", "instead_of", "unvisited", "ended"),
    [
        (shorter, None, None, 5, 'completed with ["INNER"]'),
        (other_args, '{"text":"c"}', '{"text":"b"}', 3, ""),  # not the first recorded one, but the one like it
        (more, '{"text":"more"}', None, 0, ""),
        (other_end, None, None, 0, 'completed with ["INNER",["A","B","A"],"fails: no",'),
        (breaks, None, None, 0, "failed: agent_error: LookupError: broken"),
        (swallows, '{"text":"never recorded"}', '{"text":"a"}', 6, ""),
    ],
)
def test_another_way_is_told(
    handler: Callable[..., Any], came: str | None, instead_of: str | None, unvisited: int, ended: str
) -> None:
    """Which step came instead of which, which ones did not come, and which end."""
    found = against(record(talk, {"q": 1}), handler)
    assert not found.same
    assert (found.came.args if found.came else None) == came
    assert (found.instead_of.args if found.instead_of else None) == instead_of
    assert len(found.unvisited) == unvisited
    assert found.ended.startswith(ended)
    assert bool(found.ended) == bool(ended)


async def waits(input: Any) -> object:
    await say("before")
    return [await ask("may I"), await say("after")]


async def waits_aside(input: Any) -> object:
    async def branch() -> None:
        for n in range(20):
            await say(f"aside {n}")

    return await asyncio.gather(branch(), ask("may I"))


async def asks_other(input: Any) -> object:
    await say("before")
    return await ask("may you")


async def asks_nothing(input: Any) -> object:
    return await say("before")


@pytest.mark.parametrize("handler", [waits, waits_aside])
def test_a_run_that_waits_is_replayed_up_to_there(handler: Callable[..., Any]) -> None:
    """What comes after is not known, and no divergence."""
    found = against(record(handler), handler)
    assert (found.same, found.came) == (True, None)


def test_a_run_that_waits_for_something_else_diverges() -> None:
    """So does one that does not wait."""
    found = against(record(waits), asks_other)
    assert (found.same, found.came and found.came.args, found.instead_of and found.instead_of.args) == (
        False,
        '{"text":"may you"}',
        '{"text":"may I"}',
    )
    found = against(record(waits), asks_nothing)
    assert (found.same, found.ended) == (False, 'completed with "BEFORE"')


async def hangs() -> None:
    hung[0].set()
    await asyncio.Event().wait()


async def dies(input: Any) -> object:
    await say("before")
    return await rebuno.step("last", hangs, idempotency="at_most_once")


async def stops_early(input: Any) -> object:
    await say("before")
    await hangs()
    return None


def test_a_run_that_was_cut_off_is_replayed_up_to_there() -> None:
    """In a body, whose outcome nobody knows, or between two steps: what comes next is new."""
    assert against(record(dies, dies=True), dies).same
    assert against(record(stops_early, dies=True), waits).same
    assert not against(record(dies, dies=True), waits).same


def test_a_file_is_replayed(tmp_path: Path) -> None:
    """`assert_replays` takes it by its path, and says what it found."""
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(recording_lines(record(talk, {"q": 1}))))
    assert assert_replays(path, talk).visited == 6
    with pytest.raises(AssertionError, match=r'came: tool_call `say` {"text":"c"}\ninstead of: tool_call `say` {"te'):
        assert_replays(recorded(path), other_args)
    with pytest.raises(AssertionError, match=r"completed with .*; recorded is: completed with"):
        assert_replays(path, other_end)
    path.write_text(path.read_text()[:-10])
    with pytest.raises(StoreCorrupt):
        assert_replays(path, talk)


def test_the_handler_must_take_the_input() -> None:
    """Nothing is called with what it does not name."""

    async def other(name: str) -> None:
        """Wants a field that was not recorded."""

    with pytest.raises(ValidationError, match="name"):
        against(record(talk, {"q": 1}), other)
