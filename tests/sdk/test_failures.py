"""An agent's own bug: what it was and where it stands, in the result, in the journal and in the log, and no more."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.journal.records import Event
from rebuno.kernel import verify_execution
from rebuno.model import identity, raised
from rebuno.model.raised import KEY, MOST_BYTES
from rebuno.sdk import link
from tests.sdk.served import Served, play
from tests.sdk.support import Crash

SECRET = "hunter2-in-a-variable"


@rebuno.tool("total")
def total(order: dict[str, Any]) -> int:
    password = SECRET
    return int(order["amount"]) if password else 0


async def by_a_tool(order: dict[str, Any]) -> int:
    return int(await total(order))


async def by_a_coroutine(order: dict[str, Any]) -> Any:
    async def body() -> Any:
        return order["amount"]

    return await rebuno.step("lookup", body)


async def by_the_handler(order: dict[str, Any]) -> Any:
    return order["amount"]


def plainly(order: dict[str, Any]) -> Any:
    return order["amount"]


HANDLERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a tool": (by_a_tool, total),
    "a step that is a coroutine": (by_a_coroutine, by_a_coroutine),
    "the handler": (by_the_handler, by_the_handler),
    "a handler that is a plain function": (plainly, plainly),
}
DENIES = 'bundle b\nrule no { deny local "s" because "closed" }\n'
KERNELS = ["embedded", "served"]


def source(function: Callable[..., Any]) -> range:
    """The lines of a function in this file."""
    lines, first = inspect.getsourcelines(inspect.unwrap(getattr(function, "__wrapped__", function)))
    return range(first, first + len(lines))


def ended(kernel: str, handler: Callable[..., Any]) -> tuple[dict[str, Any] | None, str, list[dict[str, Any]]]:
    """What the end of a run tells: the failure, its reason, and the events with payloads."""
    found: list[Any] = []

    async def embedded() -> None:
        async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as opened:
            run = await opened.run(handler, {"order": {}}, id="run")
            again = await opened.run(handler, {"order": {}}, id="run")
            assert run.failure == again.failure
            assert (await opened.operator.verify("run")).fault == ""
            events: list[Event] = await opened.operator.events(run.id)
            found.extend((run.failure, run.failure_reason, [{"type": e.type, **e.payload} for e in events]))

    async def served(on: Served) -> None:
        async with on.agent("shop", handler):
            made = await on.client.create("shop", {"order": {}})
            run = await on.ended(made.id)
            events = await on.client.events(made.id)
            failure = run.failure.model_dump() if run.failure else None
            found.extend((failure, run.failure_reason, [{"type": e.type, **e.payload} for e in events]))

    if kernel == "embedded":
        asyncio.run(embedded())
    else:
        play(served)
    return found[0], found[1], found[2]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("how", HANDLERS)
def test_a_bug_is_told_with_its_type_its_place_and_its_traceback(
    kernel: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In the result, in the journal, in the log; what variables held is nowhere."""
    handler, culprit = HANDLERS[how]
    with caplog.at_level(logging.INFO):
        failure, reason, events = ended(kernel, handler)
    assert failure is not None
    assert (failure["type"], failure["message"]) == ("KeyError", "'amount'")
    assert Path(failure["file"]) == Path(__file__)
    assert failure["line"] in source(culprit)
    assert reason.startswith(("tool_error: ", "agent_error: KeyError: "))
    last = events[-1]
    assert (last["type"], last["reason"]) == ("execution.failed", reason)
    assert any('order["amount"]' in frame["source"] for frame in last["raised"]["traceback"])
    for event in events:
        if event["type"] == "step.failed":
            assert event["raised"]["type"] == "KeyError"
            assert event["raised"]["line"] in source(culprit)
    logged = [record for record in caplog.records if record.exc_info]
    assert len(logged) == 1, "once"
    assert "KeyError: 'amount'" in caplog.text
    assert 'order["amount"]' in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in identity.canonical(events)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_a_handler_gets_of_a_failure_is_what_it_was(kernel: str) -> None:
    """`{type, message}`, on the first run and on every replay; and so is what the journal keeps of the step."""
    seen: list[dict[str, Any]] = []

    async def catches(order: dict[str, Any]) -> str:
        try:
            await total(order)
        except rebuno.ToolError as error:
            seen.append(error.error)
        try:
            return str(await rebuno.step("pause", lambda: 1))
        finally:
            if len(seen) == 1 and kernel == "embedded":
                raise Crash

    async def embedded(path: Any) -> None:
        async with rebuno.open(path, policy=rebuno.PERMISSIVE) as opened:
            with pytest.raises(Crash):
                await opened.run(catches, {"order": {}}, id="run")
            assert (await opened.run(catches, {"order": {}}, id="run")).status == "completed"
            step = (await opened.operator.steps((await opened.operator.execution("run")).id))[0]
            assert step.error is not None
            seen.append(identity.parse(step.error))

    async def served(on: Served) -> None:
        async with on.agent("shop", catches):
            made = await on.client.create("shop", {"order": {}})
            assert (await on.ended(made.id)).status == "completed"
            seen.append((await on.client.list_steps(made.id))[0].error)

    if kernel == "embedded":
        asyncio.run(embedded(":memory:"))
    else:
        play(served)
    assert len(seen) == (3 if kernel == "embedded" else 2)
    assert all(error == {"type": "KeyError", "message": "'amount'"} for error in seen)


def test_a_refusal_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    """What the policy makes a handler raise has no traceback."""
    from rebuno.policy.compile import compile_text

    async def whole() -> rebuno.Execution:
        async with rebuno.open(":memory:", policy=compile_text(DENIES)) as opened:
            return await opened.run(step, id="run")

    async def step() -> None:
        await rebuno.step("s", lambda: 1)

    with caplog.at_level(logging.INFO):
        run = asyncio.run(whole())
    assert (run.status, run.failure_reason, run.failure) == ("failed", "closed", None)
    assert not [record for record in caplog.records if record.exc_info]


def deep(n: int) -> int:
    if n == 0:
        raise ValueError("x" * 100_000)
    return deep(n - 1)


def shallow() -> None:
    raise UnicodeError("\ud800\x1b[2J" * 10)


@pytest.mark.parametrize("fails", [lambda: deep(500), shallow, lambda: eval("1/0"), lambda: identity.parse("{")])
def test_what_is_kept_is_bounded_and_can_be_read_again(fails: Callable[[], Any]) -> None:
    """A recursion, a huge message, text that is no Unicode, code without a file."""
    try:
        fails()
    except Exception as error:
        kept = raised.of(error)
    assert len(identity.canonical(kept).encode()) <= MOST_BYTES
    assert raised.checked(identity.parse(identity.canonical(kept))) == kept
    assert kept["file"] == __file__ or not kept["traceback"]


async def looks_up(order: dict[str, Any]) -> Any:
    return order["amount"]


async def in_a_group(order: dict[str, Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(60))
        group.create_task(looks_up(order))


async def in_groups_of_a_step(order: dict[str, Any]) -> None:
    async def body() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(in_a_group(order))

    await rebuno.step("s", body)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("handler", [in_a_group, in_groups_of_a_step])
def test_a_group_of_exceptions_is_told_by_the_one_that_matters(
    kernel: str, handler: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """What failed in a task group is told with its place, and is as loud as alone."""
    with caplog.at_level(logging.WARNING):
        failure, _, _ = ended(kernel, handler)
    assert failure is not None
    assert failure["type"] == "ExceptionGroup"
    assert "KeyError: 'amount'" in failure["message"]
    assert (failure["file"], failure["function"]) == (__file__, "looks_up")
    traces = [record.levelname for record in caplog.records if record.exc_info]
    assert traces == (["ERROR"] if handler is in_a_group else ["WARNING"])


def test_a_huge_group_is_looked_at_in_part() -> None:
    """However many members it has, and however deep they stand."""
    group: Exception = ValueError("\ud800" * 5000)
    for _ in range(500):
        group = ExceptionGroup("g" * 5000, [group, *(OSError(str(n)) for n in range(20))])
    kept = raised.of(group)
    assert len(identity.canonical(kept).encode()) <= MOST_BYTES
    assert raised.checked(identity.parse(identity.canonical(kept))) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "text",
        [],
        {},
        {"type": "E", "message": "m"},
        {"type": 1, "message": "m", "traceback": []},
        {"type": "E", "message": "m", "traceback": {}},
        {"type": "E", "message": "m", "traceback": [1]},
        {"type": "E", "message": "m", "traceback": [{"file": "f"}]},
        {"type": "E", "message": "m", "traceback": [{"file": "f", "source": "s", "line": "1"}]},
        {"type": "E", "message": "m", "traceback": [], "locals": {"a": 1}},
        {"type": "E", "message": "m", "traceback": [], "line": True},
        {"type": "E", "message": "m" * MOST_BYTES, "traceback": []},
    ],
)
def test_what_an_agent_makes_up_is_left_out(wrong: object) -> None:
    """The outcome is taken all the same, without it."""
    assert raised.checked(wrong) is None

    async def scenario(on: Served) -> None:
        from rebuno.sdk import http_transport

        async def fails() -> None:
            await rebuno.step("s", lambda: 1 / 0)

        sent = http_transport.HTTPTransport.fail
        made_up = identity.canonical(wrong)

        async def lies(self: Any, step_id: str, error: str, **more: Any) -> Any:
            return await sent(self, step_id, error, **{**more, "raised": made_up})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(http_transport.HTTPTransport, "fail", lies)
            async with on.agent("shop", fails):
                made = await on.client.create("shop")
                await on.ended(made.id)
        (step,) = await on.client.list_steps(made.id)
        assert step.error["type"] == "ZeroDivisionError"
        assert KEY not in step.error
        failed = next(e for e in await on.client.events(made.id) if e.type == "step.failed")
        assert "raised" not in failed.payload

    if isinstance(wrong, dict) and "locals" in wrong:
        play(scenario)


def test_an_earlier_kernel_gets_the_reason_alone() -> None:
    """It refuses what it does not know: the end of the execution is told without."""

    async def scenario(on: Served) -> None:
        sends = link.Line.send

        async def refuses(self: Any, method: str, *path: str, body: bytes = b"", **more: Any) -> Any:
            if path == ("fail",) and b'"raised"' in body:
                raise rebuno.ValidationError("`raised` is unknown")
            return await sends(self, method, *path, body=body, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(link.Line, "send", refuses)
            async with on.agent("shop", by_the_handler):
                made = await on.client.create("shop", {"order": {}})
                run = await on.ended(made.id)
        assert (run.status, run.failure_reason) == ("failed", "agent_error: KeyError: 'amount'")
        assert run.failure is None

    play(scenario)


def test_old_events_have_none_of_it() -> None:
    """A log of an earlier version is sound, and tells its story."""

    async def whole() -> None:
        from rebuno.kernel.core import events as new_event

        plain = new_event.failed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(new_event, "failed", lambda step, raised="": plain(step))
            async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as opened:
                run = await opened.run(by_a_tool, {"order": {}}, id="run")
                assert (await verify_execution(opened._core.store, run.id)).fault == ""
                story = await opened.operator.story("run")
        assert (story.steps[0].raised, story.steps[0].why) == (None, "'amount'")

    asyncio.run(whole())


@pytest.mark.parametrize("caught", [True, False])
@pytest.mark.parametrize("mistake", [True, False])
def test_a_traceback_is_logged_once_and_as_loud_as_it_matters(
    caught: bool, mistake: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistake of the code is heard of even where somebody catches it; what a service says only where nobody does."""

    def body() -> None:
        raise KeyError("amount") if mistake else OSError("away")

    async def handler() -> None:
        try:
            await rebuno.step("s", body)
        except rebuno.ToolError:
            if not caught:
                raise

    async def whole() -> None:
        async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as opened:
            await opened.run(handler, id="run")

    with caplog.at_level(logging.WARNING):
        asyncio.run(whole())
    traces = [record.levelname for record in caplog.records if record.exc_info]
    assert traces == (["WARNING"] if mistake else [] if caught else ["ERROR"])
    assert (("failed: tool_error" in caplog.text) is not caught) or caught
