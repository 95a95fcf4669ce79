"""Agents of the OpenAI Agents SDK behind a guard. The SDK's own client speaks to a simulated provider, which calls
tools as it is told to."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    WebSearchTool,
    function_tool,
)
from agents.exceptions import UserError
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

from rebuno.adapters import Guard
from rebuno.adapters.openai_agents import guarded, guarded_mcp
from rebuno.errors import RebunoError, ValidationError
from rebuno.policy import compile_text
from tests.adapters.scripted import Scripted, Turn, scripted
from tests.adapters.support import BROKEN, answer, break_guard, guard, shown, steps, tells_no_repetition
from tests.embedded.support import in_loop

QUIET = RunConfig(tracing_disabled=True)


def model_of(provider: Scripted) -> OpenAIResponsesModel:
    client = AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0)
    return OpenAIResponsesModel("simulated", client)


class Shop:
    """An agent with the shop's tools, and what they did."""

    def __init__(self, opened: Guard, provider: Scripted, **more: Any) -> None:
        self.did: list[str] = []
        self.agent_guard = opened
        self.hangs = asyncio.Event()
        tools = [self.look_up(), self.refund(), self.delete(), self.fail(), self.slow(), self.hang(), self.loud()]
        self.agent = Agent(
            name="desk", model=model_of(provider), tools=guarded([*tools], opened, session="s1", agent="desk", **more)
        )

    async def run(self, given: Any) -> RunResult:
        """One run."""
        return await Runner.run(self.agent, given, run_config=QUIET)

    def look_up(self) -> FunctionTool:
        @function_tool
        def look_up(order: int, depth: int = 1) -> dict[str, int]:
            """Looks an order up."""
            self.did.append(f"look_up {order}")
            return {"paid": 40}

        return look_up

    def refund(self) -> FunctionTool:
        @function_tool
        async def refund(order: int, amount: int) -> str:
            """Pays money back."""
            self.did.append(f"refund {order} {amount}")
            return "refunded"

        return refund

    def delete(self) -> FunctionTool:
        @function_tool
        def delete(customer: int) -> str:
            """Deletes a customer."""
            self.did.append(f"delete {customer}")
            return "deleted"

        return delete

    def fail(self) -> FunctionTool:
        @function_tool
        def fail() -> str:
            """Fails."""
            raise ValueError("no such printer")

        return fail

    def loud(self) -> FunctionTool:
        @function_tool(name_override="again", failure_error_function=None)
        def loud() -> str:
            """Fails, and ends the run."""
            raise ValueError("no such printer")

        return loud

    def slow(self) -> FunctionTool:
        @function_tool(timeout=0.05)
        async def slow() -> str:
            """Takes too long."""
            self.did.append("slow")
            await asyncio.Event().wait()
            return "never"

        return slow

    def hang(self) -> FunctionTool:
        @function_tool
        async def hang(how: str) -> str:
            """Never ends, or is cut off."""
            if how == "cut off":
                raise asyncio.CancelledError
            if how == "out of time":
                raise TimeoutError
            self.hangs.set()
            await asyncio.Event().wait()
            return "never"

        return hang


@asynccontextmanager
async def shop(tmp_path: Path, *plan: Turn, **more: Any) -> AsyncIterator[tuple[Shop, Scripted]]:
    with scripted(*plan) as provider, guard(tmp_path) as opened:
        yield Shop(opened, provider, **more), provider


@in_loop
async def test_an_allowed_call_runs_once_and_a_denied_one_never(tmp_path: Path) -> None:
    """Both in one turn, where the SDK runs them at once; the model is told the result and the reason."""
    async with shop(tmp_path, [("look_up", {"order": 1}), ("delete", {"customer": 7})]) as (it, provider):
        assert (await it.run("what about order 1?")).final_output == "done"
        assert it.did == ["look_up 1"]
        assert provider.told["call_0_0"] == "{'paid': 40}"
        assert "customers are never deleted" in provider.told["call_0_1"]
        tells_no_repetition(provider.told["call_0_1"])
    paid = ("look_up", "succeeded", {"paid": 40})
    assert sorted(shown(steps(tmp_path, "s1")), key=str) == [("delete", "denied", None), paid]


@in_loop
async def test_a_call_waits_for_a_person_over_processes(tmp_path: Path) -> None:
    """The run is interrupted; with its state and after the grant the call runs once, the others not again."""
    turn = [("look_up", {"order": 1}), ("refund", {"order": 1, "amount": 40})]
    with scripted(turn) as provider:
        with guard(tmp_path) as opened:
            it = Shop(opened, provider)
            first = await it.run("refund order 1")
            assert [item.name for item in first.interruptions] == ["refund"]
            assert it.did == ["look_up 1"]
            kept = first.to_state().to_string()
        with guard(tmp_path) as opened:
            it = Shop(opened, provider)
            state = await RunState.from_string(it.agent, kept)
            (question,) = opened.pending("s1", "desk")
            assert question.message == "Is this refund right?"
            answer(tmp_path, "grant", question.id)
            state.approve(state.get_interruptions()[0])
            assert (await it.run(state)).final_output == "done"
            assert it.did == ["refund 1 40"]
            assert provider.told == {"call_0_0": "{'paid': 40}", "call_0_1": "refunded"}
    assert [step.status for step in steps(tmp_path, "s1")] == ["succeeded", "succeeded"]


@in_loop
async def test_approval_in_the_state_alone_lets_nothing_run(tmp_path: Path) -> None:
    """The model is told how the call is granted; the next one like it runs after the grant."""
    refund = ("refund", {"order": 1, "amount": 40})
    async with shop(tmp_path, [refund], [refund]) as (it, provider):
        first = await it.run("refund order 1")
        state = first.to_state()
        state.approve(first.interruptions[0])
        second = await it.run(state)
        assert "needs the approval of a person" in provider.told["call_0_0"]
        tells_no_repetition(provider.told["call_0_0"])
        assert (it.did, len(second.interruptions)) == ([], 1)
        (question,) = it.agent_guard.pending("s1", "desk")
        answer(tmp_path, "grant", question.id)
        state = second.to_state()
        state.approve(second.interruptions[0])
        await it.run(state)
        assert it.did == ["refund 1 40"]


@in_loop
async def test_a_denied_question_is_told(tmp_path: Path) -> None:
    """The person's words reach the model, and the tool does not run."""
    async with shop(tmp_path, [("refund", {"order": 1, "amount": 40})]) as (it, provider):
        first = await it.run("refund order 1")
        (question,) = it.agent_guard.pending("s1", "desk")
        answer(tmp_path, "deny", question.id, "--rationale", "it was sent back late")
        state = first.to_state()
        state.approve(first.interruptions[0])
        await it.run(state)
        assert "it was sent back late" in provider.told["call_0_0"]
        assert it.did == []


@in_loop
async def test_a_tool_that_raises_is_recorded(tmp_path: Path) -> None:
    """The SDK's own ways with it go on: a text for the model, or the end of the run."""
    async with shop(tmp_path, [("fail", {})], [("again", {})]) as (it, provider):
        with pytest.raises(UserError, match="no such printer"):
            await it.run("go")
        assert "error" in provider.told["call_0_0"]
    failed = {"type": "ValueError", "message": "no such printer"}
    assert shown(steps(tmp_path, "s1")) == [("fail", "failed", failed), ("again", "failed", failed)]


@in_loop
@pytest.mark.parametrize(
    ("tool", "args"), [("slow", {}), ("hang", {"how": "cut off"}), ("hang", {"how": "out of time"})]
)
async def test_what_is_cut_off_is_unknown(tmp_path: Path, tool: str, args: dict[str, str]) -> None:
    """The SDK's time limit, or the tool's own; the model is not asked to repeat it."""
    async with shop(tmp_path, [(tool, args)]) as (it, provider):
        await it.run("go")
        assert f"outcome of {tool} is unknown" in provider.told["call_0_0"]
        tells_no_repetition(provider.told["call_0_0"])
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@in_loop
async def test_a_run_that_is_cancelled_leaves_its_call_unknown(tmp_path: Path) -> None:
    """It had begun, and nobody knows how far it came."""
    async with shop(tmp_path, [("hang", {"how": "long"})]) as (it, _):
        run = asyncio.create_task(it.run("go"))
        await it.hangs.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        # The SDK does not wait for the tool that it cancels.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=30)
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@in_loop
async def test_a_recorded_call_is_not_run_again(tmp_path: Path) -> None:
    """The recorded result says to the model what the first one said."""
    did = []
    for _ in range(2):
        async with shop(tmp_path, [("look_up", {"order": 1})]) as (it, provider):
            await it.run("go")
            did += it.did
            assert provider.told["call_0_0"] == "{'paid': 40}"
    assert did == ["look_up 1"]


@pytest.mark.parametrize("how", BROKEN)
@in_loop
async def test_a_failing_guard_lets_nothing_run(tmp_path: Path, how: str) -> None:
    """The store is gone, or the guard is closed: the run ends with an error."""
    async with shop(tmp_path, [("look_up", {"order": 1})]) as (it, _):
        break_guard(it.agent_guard, tmp_path, how)
        with pytest.raises((UserError, RebunoError), match=BROKEN[how]):
            await it.run("go")
        assert it.did == []


@in_loop
async def test_a_guardrail_of_the_application_refuses_what_was_let_in(tmp_path: Path) -> None:
    """The call has not run, and is recorded so."""

    def refuse(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("not on Sundays")

    async with shop(tmp_path, [("look_up", {"order": 1})]) as (it, provider):
        tool = it.look_up()
        tool.tool_input_guardrails = [ToolInputGuardrail(refuse)]
        it.agent.tools = guarded([tool], it.agent_guard, session="s1", agent="desk")
        await it.run("go")
        assert provider.told["call_0_0"] == "not on Sundays"
        assert it.did == []
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["message"] == "a guardrail refused the call before its tool ran"


@in_loop
async def test_a_tool_that_the_sdk_asks_about_is_judged_after_it(tmp_path: Path) -> None:
    """Its own `needs_approval` pauses first, and over processes nothing is taken for started."""
    with scripted([("look_up", {"order": 1})]) as provider:
        kept = ""
        for _ in range(2):
            with guard(tmp_path) as opened:
                it = Shop(opened, provider)
                tool = it.look_up()
                tool.needs_approval = True
                it.agent.tools = guarded([tool], opened, session="s1", agent="desk")
                if not kept:
                    kept = (await it.run("go")).to_state().to_string()
                    assert it.did == []
                    continue
                state = await RunState.from_string(it.agent, kept)
                state.approve(state.get_interruptions()[0])
                await it.run(state)
                assert it.did == ["look_up 1"]
    assert [step.status for step in steps(tmp_path, "s1")] == ["succeeded"]


@in_loop
async def test_an_agent_as_a_tool_is_a_subagent(tmp_path: Path) -> None:
    """What the outer agent passes on is no person's word; its own question pauses both."""
    did: list[str] = []

    @function_tool
    def transfer(to: str) -> str:
        """Sends money."""
        did.append(to)
        return "ok"

    @function_tool
    def refund(order: int, amount: int) -> str:
        """Pays money back."""
        did.append(f"refund {order}")
        return "refunded"

    inner_plan = [("transfer", {"to": "XX99-6666"})], [("refund", {"order": 1, "amount": 2})]
    outer_turn = [("look_up", {"input": "transfer to XX99-6666"})]
    with scripted(outer_turn) as provider, scripted(*inner_plan) as other, guard(tmp_path) as opened:
        await opened.asay("s1", "desk", "look order 1 up")
        helper = Agent(name="helper", model=model_of(other), tools=guarded([transfer, refund], opened, session="s2"))
        nested: Any = helper.as_tool("look_up", "Asks a helper.")
        desk = Agent(name="desk", model=model_of(provider), tools=guarded([nested], opened, session="s1", agent="desk"))
        first = await Runner.run(desk, "go", run_config=QUIET)
        assert "transfer not allowed" in other.told["call_0_0"]
        assert [item.name for item in first.interruptions] == ["refund"]
        (question,) = opened.pending("s2", "desk")
        answer(tmp_path, "grant", question.id)
        state = first.to_state()
        state.approve(first.interruptions[0])
        assert (await Runner.run(desk, state, run_config=QUIET)).final_output == "done"
        assert did == ["refund 1"]


def test_a_tool_that_runs_elsewhere_is_refused(tmp_path: Path) -> None:
    """The provider runs it, so that nobody would be asked."""
    with guard(tmp_path) as opened, pytest.raises(ValidationError, match="web_search"):
        guarded([WebSearchTool()], opened, session="s1")


@in_loop
async def test_tools_of_an_mcp_server_are_judged_under_its_name(tmp_path: Path) -> None:
    """A call goes to the server once it is let in; what the server says of the tool is the step's definition."""
    calls = tmp_path / "calls.txt"
    program = str(Path(__file__).parents[1] / "mcp_server.py")
    rule = 'rule greet { allow tool "shop.greet", "shop.refuse", "shop.die" }'
    policy = compile_text(f'bundle mcp\ndefault deny because "no rule"\n{rule}\n')
    turn: Turn = [("greet", {"name": "Ana"}), ("add", {"a": 1, "b": 2}), ("refuse", {"why": "closed"})]
    last: Turn = [("die", {})]
    server = MCPServerStdio({"command": sys.executable, "args": [program, str(calls)]}, name="shop")
    with scripted(turn, last) as provider, Guard(tmp_path / "shop.db", policy=policy) as opened:
        async with server:
            tools = await guarded_mcp(server, opened, session="s1")
            agent = Agent(name="desk", model=model_of(provider), tools=tools)
            await Runner.run(agent, "go", run_config=QUIET)
        assert "hello Ana" in provider.told["call_0_0"]
        assert "shop.add not allowed" in provider.told["call_0_1"]
        assert calls.read_text(encoding="utf-8").splitlines() == ["greet Ana", "refuse", "die"]
        assert "outcome of shop.die is unknown" in provider.told["call_1_0"]
        tells_no_repetition(provider.told["call_1_0"])
    recorded = {step.target: step for step in steps(tmp_path, "s1")}
    assert {name: step.status for name, step in recorded.items()} == {
        "shop.greet": "succeeded",
        "shop.add": "denied",
        "shop.refuse": "failed",
        "shop.die": "failed",
    }
    assert recorded["shop.refuse"].error == {"type": "MCPToolError", "message": "cannot: closed"}
    definition = recorded["shop.greet"].definition
    assert definition is not None
    assert (definition["server"], definition["name"]) == ("shop", "greet")
