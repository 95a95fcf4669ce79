"""`step()`: local work is recorded once and replays identically."""

import asyncio
import datetime
import enum
import math
from asyncio import events
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import rebuno
from rebuno.model.identity import canonical
from rebuno.policy import compile_text
from tests.sdk.support import OPEN, Crash, outcome, play, seen_twice


class Point(NamedTuple):
    x: int
    y: int


class Level(enum.IntEnum):
    HIGH = 3


VALUES: list[tuple[str, object, object]] = [
    ("null", None, None),
    ("nothing but text", "", ""),
    ("a tuple is a list", (1, (2, 3)), [1, [2, 3]]),
    ("a named tuple too", Point(1, 2), [1, 2]),
    ("an IntEnum is its number", Level.HIGH, 3),
    ("a real stays real", 1.0, 1.0),
    ("minus zero keeps its sign", -0.0, -0.0),
    ("an integer past a double", 10**30 + 1, 10**30 + 1),
    ("an integer past Python's limit on digits", 10**5000, 10**5000),
    ("NUL", "\0", "\0"),
    ("line separators and markup", "\u2028<&>\x7f", "\u2028<&>\x7f"),
    ("text outside the first plane", "𝒳\U0010ffff", "𝒳\U0010ffff"),
    ("keys in another order", {"b": 1, "a": {"": [None]}}, {"a": {"": [None]}, "b": 1}),
]


@pytest.mark.parametrize(("value", "read"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_the_first_run_sees_what_the_replay_sees(value: object, read: object) -> None:
    """The result is read back from what was recorded, on both runs."""
    ran: list[object] = []

    def body() -> object:
        ran.append(value)
        return value

    first, replayed = seen_twice(lambda: rebuno.step("value", body))
    assert first == replayed == read, "a list, where the body gave a tuple"
    assert canonical(first) == canonical(replayed) == canonical(read), "1.0 is not 1"
    assert len(ran) == 1


def deep(levels: int) -> object:
    """A list in a list in a list."""
    value: object = 0
    for _ in range(levels):
        value = [value]
    return value


UNFIT: list[tuple[str, object, str]] = [
    ("NaN", {"x": [1, math.nan]}, "{}.x[1]` is nan"),
    ("infinity", math.inf, "{}` is inf"),
    ("bytes", [b"raw"], "{}[0]` is a bytes"),
    ("a set", {"tags": {1}}, "{}.tags` is a set"),
    ("a datetime", {"items": [1, 2, 3, {"when": datetime.datetime(2026, 1, 1)}]}, "{}.items[3].when` is a datetime"),
    ("a key that is a number", {"by_id": {7: "x"}}, "{}.by_id` has the key 7"),
    ("a lone surrogate", "a\ud800", "{}` holds the lone surrogate U+D800"),
    ("an object", object(), "{}` is an object"),
    ("too many levels", deep(5000), "is nested more than 128 levels deep"),
]


@pytest.mark.parametrize(("value", "says"), [u[1:] for u in UNFIT], ids=[u[0] for u in UNFIT])
def test_a_result_that_is_no_json_fails_the_step_for_good(value: object, says: str) -> None:
    """Recorded as the step's failure, a `TypeError` that names the path, the same on the replay."""
    ran: list[int] = []

    def body() -> object:
        ran.append(1)
        return value

    first, replayed = seen_twice(lambda: rebuno.step("value", body))
    assert says.format("result") in str(first)
    for error in (first, replayed):
        assert isinstance(error, rebuno.ResultError)
        assert isinstance(error, TypeError)
        assert isinstance(error, rebuno.ToolError)
    assert (str(first), first.error) == (str(replayed), replayed.error)
    assert ran == [1]


@pytest.mark.parametrize(("value", "says"), [u[1:] for u in UNFIT], ids=[u[0] for u in UNFIT])
def test_an_argument_that_is_no_json_stops_the_call(value: object, says: str) -> None:
    """A `TypeError` that names the path, before the body, and nothing is recorded."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        async def handler() -> None:
            await rebuno.step("value", lambda value: ran.append(value), {"value": value})

        ended = await kernel.run(handler)
        assert (ended.failure_reason or "").startswith("agent_error: NotJSON: ")
        assert says.format("args.value") in (ended.failure_reason or "")
        assert await kernel.operator.steps(ended.id) == []

    ran: list[object] = []
    play(scenario)
    assert ran == []


# What annotations forbid, and untyped callers do.
untyped: Any = rebuno.step
MISUSE: list[tuple[str, Callable[[], Any], str]] = [
    ("args is a list", lambda: untyped("s", print, args=[1]), "TypeError: the args of step(`s`) are of type list"),
    ("an empty list too", lambda: untyped("s", print, args=[]), "TypeError: the args of step(`s`) are of type list"),
    ("a key of args is a number", lambda: untyped("s", print, args={1: 2}), "NotJSON: `args` has the key 1"),
    ("no name", lambda: rebuno.step("", print), "ValidationError: the target of a step is empty"),
    ("no Unicode", lambda: rebuno.step("\ud800", print), "ValidationError: the target of a step is not valid Unicode"),
    ("an unknown promise", lambda: rebuno.step("s", print, idempotency="once"), "ValidationError: 'once' is not a"),
]


@pytest.mark.parametrize(("call", "says"), [m[1:] for m in MISUSE], ids=[m[0] for m in MISUSE])
def test_a_malformed_call_records_nothing(call: Callable[[], Any], says: str) -> None:
    """The error says what is wrong, and the journal holds no step."""

    async def scenario(kernel: rebuno.Kernel) -> None:
        async def handler() -> None:
            await call()

        ended = await kernel.run(handler)
        assert (ended.failure_reason or "").startswith(f"agent_error: {says}")
        assert await kernel.operator.steps(ended.id) == []

    play(scenario)


def fail(text: str = "boom") -> None:
    """A body that fails."""
    raise OSError(text)


def test_a_failure_is_the_same_error_on_both_runs() -> None:
    """A `ToolError` with the recorded type and message; the original is its cause where it happened."""
    first, replayed = seen_twice(lambda: rebuno.step("write", fail, {"text": "disk is gone"}))
    for error in (first, replayed):
        assert type(error) is rebuno.ToolError
        assert error.error == {"type": "OSError", "message": "disk is gone"}
        assert (str(error), error.reason) == ("write: disk is gone", "")
    assert first.step_id == replayed.step_id != ""
    assert isinstance(first.__cause__, OSError)
    assert replayed.__cause__ is None


@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        ("caf\udce9", "caf?"),  # a file name that is not UTF-8, as Python shows it
        ("x" * 20_000_000, "x" * 65_536),  # longer than the journal takes
    ],
)
def test_an_error_text_that_cannot_be_recorded_is_shortened_or_cleaned(text: str, recorded: str) -> None:
    """Both runs see the text as it was recorded."""
    first, replayed = seen_twice(lambda: rebuno.step("write", lambda: fail(text)))
    assert first.error == replayed.error == {"type": "OSError", "message": recorded}


def test_the_body_gets_its_args_as_keywords() -> None:
    """`fn(**args)`, for a plain function, a coroutine function, and what only gives an awaitable."""

    async def coroutine(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a - b

    async def handler() -> list[int]:
        args = {"b": 2, "a": 5}
        return [
            await rebuno.step("plain", lambda a, b: a - b, args),
            await rebuno.step("coroutine", coroutine, args),
            await rebuno.step("awaitable", lambda a, b: coroutine(a, b), args),
        ]

    assert outcome(handler).output == [3, 3, 3]


def test_a_signature_that_does_not_fit_is_a_failed_step() -> None:
    """It happens in the body, so it is recorded like any other failure."""
    ended = outcome(lambda: rebuno.step("s", fail, {"txt": "x"}))
    assert (ended.failure_reason or "").startswith("tool_error: s: fail() got an unexpected keyword argument 'txt'")


def test_a_plain_function_that_raises_stop_iteration_fails() -> None:
    """asyncio cannot carry a `StopIteration` out of a thread; the step fails instead of hanging."""
    first, replayed = seen_twice(lambda: rebuno.step("next", iter([]).__next__))
    assert first.error == replayed.error == {"type": "RuntimeError", "message": "the function raised StopIteration"}


def test_a_body_that_waits_for_something_cancelled_fails() -> None:
    """Nobody cancelled the body itself: the handler gets an error, and the replay does not wait for ever."""

    async def body() -> None:
        waited = asyncio.get_running_loop().create_future()
        waited.cancel()
        await waited

    first, replayed = seen_twice(lambda: rebuno.step("wait", body))
    assert first.error == replayed.error == {"type": "CancelledError", "message": ""}


def test_an_unmatched_local_step_is_allowed_under_default_deny() -> None:
    """Local work is not an effect that a default means to stop."""
    assert outcome(lambda: rebuno.step("now", lambda: 7), bundle="bundle strict\ndefault deny\n").output == 7


def test_a_local_step_that_a_rule_denies_raises() -> None:
    """`PolicyError` with the rule's reason and id, on both runs, and the body never runs."""
    bundle = OPEN + 'rule no-clock { deny local "now" because "use the clock of the input" }\n'
    first, replayed = seen_twice(lambda: rebuno.step("now", fail), bundle)
    for error in (first, replayed):
        assert isinstance(error, rebuno.PolicyError)
        assert (error.reason, error.rule_id) == ("use the clock of the input", "no-clock")
    assert first.step_id == replayed.step_id != ""


def orphaned(idempotency: str) -> tuple[list[str], rebuno.Execution]:
    """What ran, and the end, of a run that dies inside the body of one step."""
    ran: list[str] = []

    def body() -> str:
        ran.append("body")
        if len(ran) == 1:
            raise Crash
        return "again"

    async def handler() -> object:
        try:
            return await rebuno.step("act", body, idempotency=idempotency)
        except rebuno.ToolError as error:
            return error.reason

    ended: list[rebuno.Execution] = []

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run")
        ended.append(await kernel.run(handler, id="run"))

    play(scenario)
    return ran, ended[0]


@pytest.mark.parametrize(
    ("idempotency", "bodies", "output"),
    [
        ("safe_to_retry", 2, "again"),  # it may run again
        ("at_most_once", 1, "indeterminate"),  # nobody knows how it ended
    ],
)
def test_a_body_that_died_runs_again_only_if_it_may(idempotency: str, bodies: int, output: str) -> None:
    """The two promises of a step whose outcome was lost."""
    ran, ended = orphaned(idempotency)
    assert (len(ran), ended.status, ended.output) == (bodies, "completed", output)


def test_the_stricter_of_two_idempotencies_governs() -> None:
    """A step that was recorded as `at_most_once` is not run again because the code calls it safe now."""
    ran: list[str] = []

    def body() -> None:
        ran.append("body")
        raise Crash

    promises = iter(["at_most_once", "safe_to_retry"])

    async def handler() -> str:
        try:
            await rebuno.step("act", body, idempotency=next(promises))
        except rebuno.ToolError as error:
            return error.reason
        return "ran"

    async def scenario(kernel: rebuno.Kernel) -> None:
        with pytest.raises(Crash):
            await kernel.run(handler, id="run")
        assert (await kernel.run(handler, id="run")).output == "indeterminate"

    play(scenario)
    assert ran == ["body"]


def test_identical_calls_are_told_apart_by_their_order() -> None:
    """The first call replays the first result, the second the second, in a row and side by side."""
    numbers = iter(range(100))

    async def call() -> list[object]:
        row = [await rebuno.step("n", numbers.__next__) for _ in range(3)]
        return row + list(await asyncio.gather(*(rebuno.step("m", lambda: next(numbers)) for _ in range(3))))

    first, replayed = seen_twice(call)
    assert first == replayed
    assert sorted(first) == [0, 1, 2, 3, 4, 5]


async def outside() -> None:
    await rebuno.step("now", lambda: 1)


def test_a_step_outside_an_execution_is_refused() -> None:
    """`RuntimeError` that says where a step belongs."""
    with pytest.raises(RuntimeError, match=r"step\(`now`\) was called outside an execution"):
        asyncio.run(outside())
    with pytest.raises(RuntimeError, match=r"execution\(\) was called outside an execution"):
        rebuno.execution()


def test_a_step_from_another_loop_is_refused_whether_or_not_it_is_recorded() -> None:
    """In the handler's own thread too, as where loops are nested; a run that is resumed counts as the first did."""
    ran: list[int] = []
    said: list[object] = []

    @rebuno.tool("pay", idempotency="at_most_once")
    async def pay(n: int) -> int:
        ran.append(n)
        return n

    def elsewhere() -> str:
        here = asyncio.get_running_loop()
        events._set_running_loop(None)
        other = asyncio.new_event_loop()
        try:
            other.run_until_complete(pay(7))
        except RuntimeError as error:
            return str(error)
        finally:
            other.close()
            events._set_running_loop(here)
        return "it was submitted"

    async def handler() -> None:
        # What is recorded is read ahead from the first step on.
        await rebuno.step("first", lambda: 0)
        said.append(elsewhere())
        said.append(await pay(7))
        if len(said) == 2:
            raise Crash

    async def play() -> None:
        async with rebuno.open(":memory:", policy=compile_text(OPEN)) as kernel:
            with pytest.raises(Crash):
                await kernel.run(handler, id="run")
            assert (await kernel.run(handler, id="run")).status == "completed"

    asyncio.run(play())
    assert ran == [7]
    assert said[:2] == said[2:]
    assert "from another event loop than its handler's" in str(said[0])


def test_a_step_from_a_thread_of_ones_own_is_refused() -> None:
    """An executor's thread has lost the context; a body's thread has it, but another event loop."""

    async def pool() -> None:
        await asyncio.get_running_loop().run_in_executor(None, asyncio.run, outside())

    ended = outcome(pool)
    assert (ended.failure_reason or "").startswith(
        "agent_error: RuntimeError: step(`now`) was called outside an execution"
    )
    ended = outcome(lambda: rebuno.step("outer", lambda: asyncio.run(outside())))
    assert "from another event loop than its handler's" in (ended.failure_reason or "")


def test_a_step_inside_a_body_belongs_to_it() -> None:
    """The same call in a body and beside it are two steps; the journal knows which is whose."""

    async def outer() -> object:
        return await rebuno.step("n", lambda: "inner")

    async def scenario(kernel: rebuno.Kernel) -> None:
        async def handler() -> list[object]:
            return [await rebuno.step("outer", outer), await rebuno.step("n", lambda: "beside")]

        ended = await kernel.run(handler)
        assert ended.output == ["inner", "beside"]
        rows = {step.step_id: step for step in await kernel.operator.steps(ended.id)}
        parents = [(row.target, rows[row.parent_step_id].target if row.parent_step_id else "") for row in rows.values()]
        assert parents == [("outer", ""), ("n", "outer"), ("n", "")]

    play(scenario)
