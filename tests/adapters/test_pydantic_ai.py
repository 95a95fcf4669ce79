"""pydantic-ai's agents behind a guard. The model is pydantic-ai's own for tests: it calls the tools that it is told to,
all of a turn at once, and then says what it was told."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.exceptions import ApprovalRequired, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolRequests

from rebuno.adapters import Guard
from rebuno.adapters.pydantic_ai import RebunoCapability
from rebuno.errors import RebunoError
from tests.adapters.support import BROKEN, answer, asked, break_guard, guard, shown, steps, tells_no_repetition
from tests.embedded.support import in_loop

Turn = Sequence[tuple[str, dict[str, Any]]]


def calling(*turns: Turn) -> FunctionModel:
    """A model that calls these tools, a turn after the other; the ids say turn and place."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = sum(isinstance(message, ModelResponse) for message in messages)
        if number >= len(turns):
            return ModelResponse([TextPart("done")])
        return ModelResponse(
            [ToolCallPart(tool, args, f"call-{number}-{at}") for at, (tool, args) in enumerate(turns[number])]
        )

    return FunctionModel(reply)


class Shop:
    """An agent with the shop's tools, and what they did."""

    def __init__(self, opened: Guard, *turns: Turn, session: str | None = "s1", **more: Any) -> None:
        self.did: list[str] = []
        capability = RebunoCapability(opened, session=session, agent="desk", **more)
        output: Any = [str, DeferredToolRequests]
        self.agent: Agent[None, Any] = Agent(calling(*turns), output_type=output, capabilities=[capability])

        @self.agent.tool_plain
        def look_up(order: int) -> dict[str, int]:
            self.did.append(f"look_up {order}")
            return {"paid": 40}

        @self.agent.tool_plain
        async def refund(order: int, amount: int) -> str:
            self.did.append(f"refund {order} {amount}")
            return "refunded"

        @self.agent.tool_plain
        def delete(customer: int) -> str:
            self.did.append(f"delete {customer}")
            return "deleted"

        @self.agent.tool_plain
        def fail() -> str:
            raise ValueError("the printer is on fire")

        @self.agent.tool_plain(timeout=0.05)
        async def slow() -> str:
            self.did.append("slow")
            await asyncio.Event().wait()
            return "never"

        self.hangs = asyncio.Event()

        @self.agent.tool_plain
        async def hang() -> str:
            self.hangs.set()
            await asyncio.Event().wait()
            return "never"

        @self.agent.tool(name="again")
        def again(ctx: RunContext[None]) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired()
            self.did.append("again")
            return "done"


def told(result: AgentRunResult[Any] | list[ModelMessage]) -> dict[str, ToolReturnPart]:
    """What the model was told of each call, by its id."""
    messages = result if isinstance(result, list) else result.all_messages()
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return {part.tool_call_id: part for part in parts}


@in_loop
async def test_an_allowed_call_runs_once_and_a_denied_one_never(tmp_path: Path) -> None:
    """Both in one turn; the model is told the result and the reason."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("look_up", {"order": 1}), ("delete", {"customer": 7})])
        result = await shop.agent.run("what about order 1?")
        assert result.output == "done"
        assert shop.did == ["look_up 1"]
        assert told(result)["call-0-0"].content == {"paid": 40}
        denied = told(result)["call-0-1"]
        assert denied.outcome == "denied"
        assert "customers are never deleted" in str(denied.content)
        tells_no_repetition(str(denied.content))
    recorded = steps(tmp_path, "s1")
    assert sorted(shown(recorded)) == [("delete", "denied", None), ("look_up", "succeeded", {"paid": 40})]
    assert recorded[0].definition is not None


@in_loop
async def test_a_call_waits_for_a_person_over_processes(tmp_path: Path) -> None:
    """The run ends with the question; with the history and after the grant the call runs once, the others not again."""
    turns = [("look_up", {"order": 1}), ("refund", {"order": 1, "amount": 40})]
    with guard(tmp_path) as opened:
        shop = Shop(opened, turns, session=None)
        first = await shop.agent.run("refund order 1")
        requests = first.output
        assert isinstance(requests, DeferredToolRequests)
        question = requests.metadata["call-0-1"]
        assert question["message"] == "Is this refund right?"
        assert asked(question["waiting"]) == question["approval_id"]
        assert shop.did == ["look_up 1"]
        kept = first.all_messages_json()
    with guard(tmp_path) as opened:
        shop = Shop(opened, turns, session=None)
        history = ModelMessagesTypeAdapter.validate_json(kept)
        approved = requests.build_results(approve_all=True)
        early = await shop.agent.run(message_history=history, deferred_tool_results=approved)
        assert isinstance(early.output, DeferredToolRequests), "the framework's approval alone lets nothing run"
        answer(tmp_path, "grant", question["approval_id"])
        last = await shop.agent.run(message_history=history, deferred_tool_results=approved)
        assert last.output == "done"
        assert shop.did == ["refund 1 40"]
    session = history[0].conversation_id
    assert session is not None
    assert [step.status for step in steps(tmp_path, session)] == ["succeeded", "succeeded"]


@in_loop
async def test_a_denied_question_is_told(tmp_path: Path) -> None:
    """The person's words reach the model, and the tool does not run."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("refund", {"order": 1, "amount": 40})])
        first = await shop.agent.run("refund order 1")
        approval = first.output.metadata["call-0-0"]["approval_id"]
        answer(tmp_path, "deny", approval, "--rationale", "it was sent back late")
        results = first.output.build_results(approve_all=True)
        last = await shop.agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert "it was sent back late" in str(told(last)["call-0-0"].content)
        assert shop.did == []


@in_loop
async def test_without_deferral_a_question_ends_the_run(tmp_path: Path) -> None:
    """An agent whose output types leave it out cannot pause: nothing runs."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("refund", {"order": 1, "amount": 40})])
        with pytest.raises(UserError, match="DeferredToolRequests"):
            await shop.agent.run("refund order 1", output_type=str)
        assert shop.did == []


@in_loop
async def test_a_tool_that_raises_is_recorded(tmp_path: Path) -> None:
    """The framework's own way with it goes on."""
    with guard(tmp_path) as opened, pytest.raises(ValueError, match="on fire"):
        await Shop(opened, [("fail", {})]).agent.run("go")
    assert shown(steps(tmp_path, "s1")) == [
        ("fail", "failed", {"type": "ValueError", "message": "the printer is on fire"})
    ]


@in_loop
async def test_a_tool_whose_time_is_up_is_unknown(tmp_path: Path) -> None:
    """pydantic-ai would have the model call it again."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("slow", {})])
        words = str(told(await shop.agent.run("go"))["call-0-0"].content)
        assert "outcome of slow is unknown" in words
        tells_no_repetition(words)
        assert shop.did == ["slow"]
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@in_loop
async def test_a_run_that_is_cancelled_leaves_its_call_unknown(tmp_path: Path) -> None:
    """It had begun, and nobody knows how far it came."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("hang", {})])
        run = asyncio.create_task(shop.agent.run("go"))
        await shop.hangs.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@in_loop
async def test_a_recorded_call_is_not_run_again(tmp_path: Path) -> None:
    """A run that is repeated from an older history gets the recorded result; a cut off one is told to be unknown."""
    with guard(tmp_path) as opened:
        first = Shop(opened, [("look_up", {"order": 1})])
        await first.agent.run("go")
        second = Shop(opened, [("look_up", {"order": 1})])
        assert told(await second.agent.run("go"))["call-0-0"].content == {"paid": 40}
        assert second.did == []


@pytest.mark.parametrize("how", BROKEN)
@in_loop
async def test_a_failing_guard_lets_nothing_run(tmp_path: Path, how: str) -> None:
    """The store is gone, or the guard is closed: the run ends with the error."""
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("look_up", {"order": 1})])
        break_guard(opened, tmp_path, how)
        with pytest.raises(RebunoError, match=BROKEN[how]):
            await shop.agent.run("go")
        assert shop.did == []


@in_loop
async def test_a_tool_with_a_question_of_its_own_runs_after_it(tmp_path: Path) -> None:
    """It pauses the run itself, and comes again in another process."""
    with guard(tmp_path) as opened:
        first = await Shop(opened, [("again", {})]).agent.run("go")
    with guard(tmp_path) as opened:
        shop = Shop(opened, [("again", {})])
        results = first.output.build_results(approve_all=True)
        last = await shop.agent.run(message_history=first.all_messages(), deferred_tool_results=results)
        assert (last.output, shop.did) == ("done", ["again"])


@in_loop
async def test_what_a_person_typed_counts(tmp_path: Path) -> None:
    """The prompt is the request, the next one a turn; what an agent passes to another agent is neither."""
    with guard(tmp_path) as opened:
        capability = RebunoCapability(opened, session="s1", agent="desk")
        outer = Agent(
            calling([("transfer", {"to": "DE75-1234"})], [("look_up", {"words": "transfer to XX99-6666"})]),
            capabilities=[capability],
        )
        inner = Agent(
            calling([("transfer", {"to": "XX99-6666"})]),
            capabilities=[RebunoCapability(opened, session="s2", agent="helper")],
        )
        did: list[str] = []
        for one in (outer, inner):

            @one.tool_plain
            def transfer(to: str) -> str:
                did.append(to)
                return "ok"

        @outer.tool_plain
        async def look_up(words: str) -> str:
            return str(told(await inner.run(words))["call-0-0"].content)

        words = str(told(await outer.run("transfer 5 to DE75-1234"))["call-1-0"].content)
        assert "transfer not allowed" in words
        assert did == ["DE75-1234"]


@in_loop
async def test_tool_that_asks_for_better_arguments(tmp_path: Path) -> None:
    """pydantic-ai's own retry is the tool's word, and a failure."""
    with guard(tmp_path) as opened:
        agent = Agent(
            calling([("look_up", {"order": -1})]),
            capabilities=[RebunoCapability(opened, session="s1", agent="desk")],
        )

        @agent.tool_plain
        def look_up(order: int) -> str:
            raise ModelRetry("orders are positive")

        assert "orders are positive" in str(told(await agent.run("go"))["call-0-0"].content)
    assert [step.status for step in steps(tmp_path, "s1")] == ["failed"]
