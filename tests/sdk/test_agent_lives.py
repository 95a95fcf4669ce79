"""When an agent's run of an execution ends: replaced, given up for a subagent, or lost."""

import asyncio
import logging
import time
from typing import Any

import httpx2
import pytest

import rebuno
from rebuno.sdk.context import required
from tests.sdk.wire import EXECUTION, Call, Wire, agent, play, tell

NEWER = "0193a000-0000-7000-8000-0000000000d2"


class Sleeper:
    """A handler that sleeps until it is stopped; `runs` says how each run ended."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    async def __call__(self) -> None:
        number = len(self.runs)
        self.runs.append("runs")
        try:
            await rebuno.step(f"run {number}", lambda: number)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.runs[number] = "stopped"
            raise


def _refuses(*attempts: str) -> Any:
    def answer(call: Call) -> tuple[int, Any] | None:
        superseded = {"code": "lease_superseded", "message": "another attempt owns it"}
        return (409, superseded) if call.path == "heartbeat" and call.attempt in attempts else None

    return answer


def test_a_lost_lease_stops_the_handler_within_a_heartbeat() -> None:
    """Another delivery runs it now; nothing is reported."""
    wire, sleeper = Wire(), Sleeper()
    wire.answer = _refuses("1")
    began = time.monotonic()
    assert play(wire, sleeper, lease=0.9) == []
    assert sleeper.runs == ["stopped"]
    assert time.monotonic() - began < 5
    assert wire.paths().count("heartbeat") == 1


def test_heartbeats_go_out_while_a_plain_function_computes() -> None:
    """It runs in a thread, and the kernel hears of the agent all the while."""
    wire = Wire()
    beats: list[str] = []

    def plain() -> int:
        while len(beats) < 2:
            time.sleep(0.01)
            beats[:] = [path for path in wire.paths() if path == "heartbeat"]
        return len(beats)

    assert play(wire, plain, lease=0.6) == [{"output": 2}]


def test_a_heartbeat_that_fails_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    """One lost answer is no lost lease."""
    caplog.set_level(logging.CRITICAL, "rebuno.agent")
    wire = Wire()
    wire.lose = ["heartbeat"]

    async def handler() -> int:
        await wire.heard("heartbeat", 2)
        return 1

    assert play(wire, handler, lease=0.6) == [{"output": 1}]


def test_a_kernel_that_is_away_too_long_has_taken_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    """The handler stops once its lease must have run out, and the kernel delivers it anew."""
    caplog.set_level(logging.CRITICAL, "rebuno.agent")
    wire = Wire()
    wire.answer = lambda call: (503, None) if call.path in ("steps", "heartbeat") else None
    assert play(wire, lambda: rebuno.step("s", lambda: 1), lease=0.5) == []
    assert len(wire.bodies("steps")) > 1


def test_a_handler_that_asks_for_nothing_stops_too(caplog: pytest.LogCaptureFixture) -> None:
    """Its heartbeats have told that the kernel is away."""
    caplog.set_level(logging.CRITICAL, "rebuno.agent")
    wire, stopped = Wire(), []
    wire.answer = lambda call: (503, None) if call.path == "heartbeat" else None

    async def handler() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)

    assert play(wire, handler, lease=0.5) == []
    assert stopped == [True]


REPLACED: list[tuple[str, dict[str, Any], tuple[str, ...], list[str]]] = [
    ("the same delivery again", {"attempt": 1}, (), ["runs"]),
    ("a newer attempt", {"attempt": 2}, (), ["stopped", "runs"]),
    ("a new dispatch", {"attempt": 7, "dispatch": NEWER}, (), ["stopped", "runs"]),
    ("an old one that comes late", {"attempt": 7, "dispatch": NEWER}, ("7",), ["runs"]),
]


@pytest.mark.parametrize(("again", "refused", "runs"), [row[1:] for row in REPLACED], ids=[row[0] for row in REPLACED])
def test_the_newest_delivery_is_the_one_that_runs(
    again: dict[str, Any], refused: tuple[str, ...], runs: list[str]
) -> None:
    """Webhooks come twice, and may come late: the kernel knows which one holds."""
    wire, sleeper = Wire(), Sleeper()
    wire.answer = _refuses(*refused)

    async def whole() -> None:
        async with agent(wire, sleeper) as made:
            assert await tell(made) == 200
            await wire.heard("steps")
            assert await tell(made, **again) == 200
            if len(runs) > 1:
                await wire.heard("steps", 2)
            if refused:
                await wire.heard("heartbeat")
            await asyncio.sleep(0)
            assert sleeper.runs == runs

    asyncio.run(whole())
    assert sleeper.runs == ["stopped"] * len(runs)
    assert wire.bodies("complete") == []


def test_a_closed_agent_takes_nothing() -> None:
    """What the kernel is not acknowledged it delivers elsewhere."""

    async def whole() -> None:
        async with agent(Wire(), Sleeper()) as made:
            await made.close()
            assert await tell(made) == 503

    asyncio.run(whole())


# ---------------------------------------------------------------- subagents


@rebuno.tool("ask")
async def ask(who: str) -> Any:
    return await rebuno.subagent(who, {"for": who})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBUNO_API_KEY", "key")


def test_an_execution_is_given_up_while_its_subagent_runs() -> None:
    """The child is made of the tool's step, under the client's key, and nothing is reported of the parent."""
    wire = Wire()
    assert play(wire, lambda: ask(who="clerk")) == []
    [call] = [call for call in wire.calls if call.path == "v0/executions"]
    assert call.body == {
        "agent_id": "clerk",
        "input": {"for": "clerk"},
        "spawned_by": {"execution_id": EXECUTION, "step_id": "step-1"},
    }
    assert call.headers["authorization"] == "Bearer key"
    assert wire.paths()[-1] == "suspend"


def test_a_subagent_that_ended_at_once_is_not_waited_for() -> None:
    """Between its creation and the suspension it may have come to its end: the recorded outcome is the tool's."""
    wire = Wire()
    outcome = {"decision": "replay", "step_id": "step-1", "result": "done"}

    def answer(call: Call) -> tuple[int, Any] | None:
        if call.path == "suspend":
            # The second time, the parent's step has been told.
            if wire.paths().count("suspend") == 2:
                wire.outcomes["step-1"] = {"status": "succeeded", "result": "done"}
            return 200, {"suspended": False}
        return (200, outcome) if call.path == "steps/step-1/complete" else None

    wire.answer = answer
    assert play(wire, lambda: ask(who="clerk")) == [{"output": "done"}]


def test_a_failed_subagent_fails_its_tool() -> None:
    """As the kernel recorded it, and not in the words of the exception on the way."""
    wire = Wire()
    error = {"reason": "subagent_failed", "execution_id": "child", "failure_reason": "tool_error"}
    wire.outcomes["step-1"] = {"status": "failed", "error": error}

    def answer(call: Call) -> tuple[int, Any] | None:
        if call.path == "steps/step-1/fail":
            return 200, {"decision": "replay", "step_id": "step-1", "error": error}
        return (200, {"suspended": False}) if call.path == "suspend" else None

    wire.answer = answer

    async def handler() -> Any:
        try:
            return await ask(who="clerk")
        except rebuno.ToolError as failed:
            return failed.error

    assert play(wire, handler) == [{"output": error}]


def test_it_is_given_up_once_every_body_waits() -> None:
    """A tool that works goes on to its end, one inside which a subagent is waited for does not; two wait as one."""
    wire = Wire()
    worked = []

    async def work() -> str:
        await wire.heard("v0/executions", 2)
        await asyncio.sleep(0.05)
        worked.append("suspend" not in wire.paths())
        return "work"

    async def handler() -> Any:
        outer = rebuno.step("outer", lambda: ask(who="b"))
        return await asyncio.gather(ask(who="a"), rebuno.step("work", work), outer)

    assert play(wire, handler) == []
    assert worked == [True]
    assert wire.paths()[-1] == "suspend"
    assert wire.paths().count("suspend") <= 2


MISUSED = [
    ("outside a tool", lambda: rebuno.subagent("clerk"), "was called outside a tool"),
    ("in a step of a kernel without agents", lambda: rebuno.step("s", lambda: rebuno.subagent("x")), "a served kernel"),
]


@pytest.mark.parametrize(("call", "said"), [row[1:] for row in MISUSED], ids=[row[0] for row in MISUSED])
def test_a_subagent_needs_a_tool_and_a_served_kernel(call: Any, said: str) -> None:
    """The error says which of them is missing."""

    async def handler() -> Any:
        return await call()

    async def whole() -> rebuno.Execution:
        async with rebuno.open(":memory:", policy=rebuno.PERMISSIVE) as kernel:
            return await kernel.run(handler)

    assert said in (asyncio.run(whole()).failure_reason or "")


# ---------------------------------------------------------------- what is left behind


def test_a_body_that_was_given_up_is_told_with_the_suspension() -> None:
    """The kernel would wait for it until the lease runs out."""
    wire = Wire()
    wire.decide = lambda said: {"decision": "blocked" if said["target"] == "inner" else "proceed", "approval_id": "a"}

    async def outer() -> Any:
        return await rebuno.step("inner", lambda: 1)

    assert play(wire, lambda: rebuno.step("outer", outer)) == []
    assert wire.paths()[-1] == "suspend"


def test_a_body_that_is_cut_off_is_reported_before_the_end() -> None:
    """A timeout around a step records that it was cancelled, although nobody waits for that report."""
    wire = Wire()
    late = "steps/step-1/fail"
    wire.lose = [late, late]

    async def handler() -> str:
        try:
            async with asyncio.timeout(0.05):
                await rebuno.step("slow", lambda: asyncio.sleep(60))
        except TimeoutError:
            return "late"
        return "in time"

    assert play(wire, handler) == [{"output": "late"}]
    assert [said["error"]["reason"] for said in wire.bodies(late)] == ["cancelled"] * 3
    assert wire.paths()[-1] == "complete"


def test_what_a_model_streams_is_handed_on_before_its_outcome() -> None:
    """Piece by piece and numbered, all of it; what is recorded does not depend on it."""
    wire = Wire()
    events = [f'data: {{"delta": "{"é" * 1000} {number}"}}\n\n' for number in range(5)] + ["data: [DONE]\n\n"]

    def provider(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content="".join(events).encode())

    async def handler() -> str:
        client = rebuno.http_client(transport=httpx2.MockTransport(provider))
        async with client, client.stream("POST", "http://model/v1/chat", json={"model": "m", "stream": True}) as answer:
            return (await answer.aread()).decode()

    assert play(wire, handler) == [{"output": "".join(events)}]
    pieces = wire.bodies("steps/step-1/stream")
    assert "".join(piece["data"] for piece in pieces) == "".join(events)
    assert [piece["seq"] for piece in pieces] == list(range(len(pieces)))
    assert all(len(piece["data"].encode()) <= 7000 for piece in pieces)
    assert wire.paths().index("steps/step-1/complete") > wire.paths().index("steps/step-1/stream")


def test_a_listener_that_is_not_there_costs_nothing() -> None:
    """A kernel that takes no pieces holds up no outcome."""
    wire = Wire()
    wire.answer = lambda call: (503, None) if call.path.endswith("/stream") else None

    async def talk() -> str:
        execution = required("talk")
        assert execution.served is not None
        execution.served.publish(rebuno.execution().step_id, "text")
        return "said"

    assert play(wire, lambda: rebuno.step("talk", talk)) == [{"output": "said"}]
    assert len(wire.bodies("steps/step-1/stream")) == 1
