"""An agent that is told of executions by webhooks, and runs them over HTTP."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import rebuno
from tests.sdk.wire import SECRET, Wire, agent, play, tell


@rebuno.tool("double")
async def double(number: int) -> int:
    return number * 2


async def doubling(input: dict[str, Any]) -> Any:
    return await double(number=input["number"])


def test_a_delivery_runs_the_handler_and_reports_its_output() -> None:
    """The step is submitted before its body runs, its outcome reported before the handler goes on."""
    wire = Wire({"number": 21})
    assert play(wire, doubling) == [{"output": 42}]
    [submitted] = wire.bodies("steps")
    described = submitted.pop("definition")
    assert (described["server"], described["name"], len(described["digest"])) == ("", "double", 64)
    assert submitted == {
        "kind": "tool_call",
        "target": "double",
        "args": {"number": 21},
        "idempotency": "safe_to_retry",
        "submission": 1,
        "edits": True,
    }
    mine = [path for path in wire.paths() if not path.startswith("v0/")]
    assert mine == ["steps", "steps/step-1/complete", "complete"]
    assert wire.bodies("steps/step-1/complete") == [{"result": 42}]


def test_every_request_is_signed_and_names_its_delivery() -> None:
    """The kernel knows who speaks, and for which attempt."""
    wire = Wire({"number": 1})
    play(wire, doubling)
    assert all(call.signed for call in wire.calls)
    assert {call.attempt for call in wire.calls if not call.path.startswith("v0/")} == {"1"}


WEBHOOKS: list[tuple[str, dict[str, Any], int]] = [
    ("another signature", {"signature": "sha256=00"}, 401),
    ("no signature", {"signature": ""}, 401),
    ("no JSON", {"body": b"{"}, 400),
    ("a field is missing", {"body": b'{"execution_id":"a","dispatch_id":"b","dispatch_attempt":1}'}, 400),
    ("another path", {"path": "/elsewhere"}, 404),
    ("another method", {"method": "PUT"}, 405),
    ("a lease of no time", {"lease": 0.0}, 400),
    ("a lease that has ended", {"lease": -1.0}, 400),
    ("as long as it may be, and no JSON", {"body": b" " * 64 * 1024}, 400),
    ("a byte too long", {"body": b" " * (64 * 1024 + 1)}, 413),
]


@pytest.mark.parametrize(("options", "status"), [row[1:] for row in WEBHOOKS], ids=[row[0] for row in WEBHOOKS])
def test_only_whole_and_signed_webhooks_are_taken(options: dict[str, Any], status: int) -> None:
    """A caller without the secret starts nothing."""
    wire = Wire()

    async def whole() -> None:
        async with agent(wire, doubling) as made:
            assert await tell(made, **options) == status

    asyncio.run(whole())
    assert wire.calls == []


@pytest.mark.parametrize("path", ["steps", "steps/step-1/complete", "complete", ""])
@pytest.mark.parametrize("how", ["lose", "cut"])
def test_lost_answers_are_asked_for_again(path: str, how: str) -> None:
    """A request whose answer is lost goes out again as it was, and the body runs once."""
    wire = Wire({"number": 1})
    setattr(wire, how, [path, path])
    ran = []

    async def handler(input: Any) -> Any:
        ran.append(input)
        return await rebuno.step("count", lambda: len(ran))

    assert {str(one) for one in play(wire, handler)} == {"{'output': 1}"}
    tries = [call.body for call in wire.calls if call.path == path and call.method == ("POST" if path else "GET")]
    assert len(tries) == 3
    assert all(one == tries[0] for one in tries)
    assert len(ran) == 1


def _raises(error: Exception) -> Callable[[Any], Any]:
    async def handler(input: Any) -> None:
        raise error

    return handler


async def _two_parameters(to: str, text: str) -> str:
    return to + text


async def _not_json(input: Any) -> object:
    return object()


class Mail(BaseModel):
    """What the model handler takes."""

    to: str
    copies: int = 1


async def _model(mail: Mail) -> list[Any]:
    return [mail.to, mail.copies]


ENDS: list[tuple[str, Callable[..., Any], Any, str]] = [
    ("an exception of the handler's own", _raises(ValueError("no")), None, "agent_error: ValueError: no"),
    ("a refusal that is a word", _raises(rebuno.PolicyError("too_much")), None, "too_much"),
    ("a refusal in prose", _raises(rebuno.PolicyError("not today")), None, "policy_denied: not today"),
    ("an output that is no JSON", _not_json, None, "agent_error: NotJSON: `output`"),
    ("fields are missing", _two_parameters, {"to": "a"}, "input_invalid: the input lacks the field text"),
    ("a model does not fit", _model, {"copies": "x"}, "input_invalid: `to`: Field required; `copies`"),
    ("no object for a model", _model, [1], "input_invalid: `input`"),
]


@pytest.mark.parametrize(("handler", "input", "reason"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_what_ends_a_handler_is_the_reason_of_the_failure(
    handler: Callable[..., Any], input: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The kernel is told in the words that operators look for."""
    caplog.set_level("CRITICAL", "rebuno.agent")
    [said] = play(Wire(input), handler)
    assert said["error"].startswith(reason)


def test_a_model_and_plain_functions_work_as_they_do_embedded() -> None:
    """The input becomes the model; a plain handler runs in a thread of its own."""
    assert play(Wire({"to": "ana"}), _model) == [{"output": ["ana", 1]}]
    threads = []

    def plain(to: str) -> str:
        threads.append(threading.current_thread())
        return to

    assert play(Wire({"to": "bo"}), plain) == [{"output": "bo"}]
    assert threads != [threading.main_thread()]


async def _seen(call: Callable[[], Any]) -> Any:
    try:
        return await call()
    except rebuno.RebunoError as error:
        return [type(error).__name__, str(error)]


ANSWERS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("a replay", {"decision": "replay", "result": 7}, [{"output": 7}]),
    ("a replayed failure", {"decision": "replay", "error": {"message": "no"}}, [{"output": ["ToolError", "roll: no"]}]),
    ("a denial", {"decision": "denied", "reason": "no dice"}, [{"output": ["PolicyError", "no dice"]}]),
    (
        "a limit",
        {"decision": "rate_limited", "reason": "rate_limit_exceeded"},
        [{"output": ["RateLimited", "rate_limit_exceeded"]}],
    ),
    ("a question", {"decision": "blocked", "approval_id": "a"}, []),
    ("a parked step", {"decision": "blocked", "reason": "rate_limit_exceeded"}, []),
    ("others wait", {"decision": "execution_blocked"}, []),
]


@pytest.mark.parametrize(("decision", "reported"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_answers_of_the_kernel_reach_the_handler(decision: dict[str, Any], reported: list[Any]) -> None:
    """No body runs; where something is waited for, nothing is reported, whatever the handler makes of it."""
    wire = Wire()
    wire.decide = lambda said: decision
    ran: list[int] = []

    async def handler() -> Any:
        return await _seen(lambda: rebuno.step("roll", lambda: ran.append(1)))

    assert play(wire, handler) == reported
    assert ran == []


def test_an_execution_that_has_ended_is_left_alone() -> None:
    """Neither when it is delivered nor when a step learns of it."""
    wire = Wire({"number": 1})
    wire.status = "cancelled"
    assert play(wire, doubling) == []
    assert wire.paths() == []
    wire = Wire({"number": 1})
    wire.decide = lambda said: {"decision": "execution_terminal", "step_id": ""}
    assert play(wire, doubling) == []


def test_a_denied_tool_tells_the_model() -> None:
    """The text that the model reads is the same as embedded."""
    wire = Wire({"number": 1})
    wire.decide = lambda said: {"decision": "denied", "reason": "no numbers", "rule_id": "r"}
    assert play(wire, doubling) == [{"output": "double not allowed. reason: no numbers"}]


def test_what_is_recorded_already_is_what_the_handler_gets() -> None:
    """An outcome that the kernel has of a step is stronger than the one that is reported."""
    wire = Wire({"number": 1})
    recorded = {"decision": "replay", "step_id": "step-1", "result": 99}
    wire.answer = lambda call: (200, recorded) if call.path.endswith("/complete") and "steps" in call.path else None
    assert play(wire, doubling) == [{"output": 99}]


def test_identical_parallel_calls_arrive_in_the_order_of_the_calls() -> None:
    """The kernel counts them as they come, and one whose answer is lost keeps its place."""
    wire = Wire()
    wire.lose = ["steps"]

    async def handler() -> Any:
        return await asyncio.gather(*(rebuno.step("s", lambda number=number: number) for number in range(20)))

    assert play(wire, handler) == [{"output": list(range(20))}]
    assert [said["submission"] for said in wire.bodies("steps")] == [1, *range(1, 21)]
    for number in range(20):
        assert wire.bodies(f"steps/step-{number + 1}/complete") == [{"result": number}]


def test_a_step_inside_a_body_names_its_parent() -> None:
    """The kernel tells them apart by it."""
    wire = Wire()

    async def outer() -> Any:
        return await rebuno.step("inner", lambda: 1)

    async def handler() -> Any:
        return await rebuno.step("outer", outer)

    play(wire, handler)
    assert [said.get("parent_step_id") for said in wire.bodies("steps")] == [None, "step-1"]


def test_a_result_brings_a_state_and_previous_reads_one() -> None:
    """An execution of a session leaves to the next what it wants to."""
    wire = Wire()
    wire.answer = lambda call: (200, {"state": {"turns": 1}}) if call.path == "previous" else None

    async def handler() -> Any:
        before = await rebuno.previous()
        return rebuno.Result(output="hi", state={"turns": before["turns"] + 1})

    assert play(wire, handler) == [{"output": "hi", "state": {"turns": 2}}]


def test_the_application_says_what_the_agent_is() -> None:
    """Its schemas are published when it starts, and again on a delivery where the kernel was away."""
    wire = Wire({"to": "ana"})
    path = "v0/agents/agent/metadata"

    async def whole() -> None:
        async with agent(wire, _model, description="mails", output_schema={"type": "array"}) as made:
            wire.cut = [path]
            await tell(made)
            await made.join()
            await tell(made, attempt=2)
            await made.join()

    asyncio.run(whole())
    said = [call.body for call in wire.calls if call.method == "PUT"]
    assert said[-1]["description"] == "mails"
    assert said[-1]["output_schema"] == {"type": "array"}
    assert said[-1]["input_schema"]["required"] == ["to"]
    assert len(said) == 2


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"secret": SECRET, "base_url": "http://k"}, "id is empty"),
        ({"agent_id": "a", "base_url": "http://k"}, "REBUNO_AGENT_SECRET"),
        ({"agent_id": "a", "secret": SECRET}, "REBUNO_URL"),
    ],
)
def test_an_agent_says_what_it_lacks(options: dict[str, Any], missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And reads it from the environment where it is there."""
    for name in ("REBUNO_URL", "REBUNO_AGENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=missing):
        rebuno.Agent(**{"agent_id": "", **options})
    monkeypatch.setenv("REBUNO_URL", "http://kernel/")
    monkeypatch.setenv("REBUNO_AGENT_SECRET", SECRET)
    assert rebuno.Agent("a").agent_id == "a"


def test_the_stub_can_fail_a_signature() -> None:
    """A wrong secret is seen by the tests' own kernel."""
    wire = Wire({"number": 1})

    async def whole() -> None:
        async with agent(wire, doubling) as made:
            made._link._secret = "another"
            await tell(made)
            await made.join()

    asyncio.run(whole())
    assert not any(call.signed for call in wire.calls)


@pytest.mark.parametrize(("given", "listens"), [("", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
def test_an_agent_listens_on_this_machine_unless_it_is_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str, listens: str
) -> None:
    """A program that is tried out is not open to the network."""
    heard: list[str] = []
    monkeypatch.setattr("uvicorn.run", lambda app, *, host, port, log_config: heard.append(host))
    agent = rebuno.Agent("agent", secret="s" * 32, base_url="http://127.0.0.1:1")
    if given:
        agent.run(doubling, host=given)
    else:
        agent.run(doubling)
    assert heard == [listens]
