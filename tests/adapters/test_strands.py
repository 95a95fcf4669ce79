"""Strands agents behind a guard. Strands' own client of OpenAI speaks to a simulated provider, which calls tools as it
is told to."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool
from strands.interventions import Deny, InterventionHandler
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager
from strands.types.tools import ToolContext

from rebuno.adapters import Guard
from rebuno.adapters.strands import RebunoIntervention
from tests.adapters.scripted import Scripted, Turn, scripted
from tests.adapters.support import BROKEN, answer, asked, break_guard, guard, shown, steps, tells_no_repetition
from tests.embedded.support import in_loop


def model_of(provider: Scripted) -> OpenAIModel:
    client = {"base_url": f"{provider.url}/v1", "api_key": "none", "max_retries": 0}
    return OpenAIModel(client_args=client, model_id="simulated")


class Shop:
    """An agent with the shop's tools, and what they did."""

    def __init__(self, opened: Guard, provider: Scripted, folder: Path, *beside: InterventionHandler) -> None:
        self.did: list[str] = []
        self.hangs = asyncio.Event()

        @tool
        def look_up(order: int) -> dict[str, Any]:
            """Looks an order up."""
            self.did.append(f"look_up {order}")
            return {"status": "success", "content": [{"json": {"paid": 40}}]}

        @tool
        async def refund(order: int, amount: int) -> str:
            """Pays money back."""
            self.did.append(f"refund {order} {amount}")
            return "refunded"

        @tool
        def delete(customer: int) -> str:
            """Deletes a customer."""
            self.did.append(f"delete {customer}")
            return "deleted"

        @tool
        def fail() -> str:
            """Fails."""
            raise ValueError("no such printer")

        @tool
        async def slow() -> str:
            """Takes too long."""
            raise TimeoutError

        @tool
        async def hang() -> str:
            """Never ends."""
            self.hangs.set()
            await asyncio.Event().wait()
            return "never"

        @tool(context=True)
        def again(tool_context: ToolContext[Any]) -> str:
            """Has a question of its own."""
            self.did.append(f"again {tool_context.interrupt('own', reason='really?')}")
            return "done"

        self.agent = Agent(
            model=model_of(provider),
            name="desk",
            tools=[look_up, refund, delete, fail, slow, hang, again],
            interventions=[RebunoIntervention(opened), *beside],
            session_manager=FileSessionManager("s1", str(folder / "sessions")),
            callback_handler=None,
        )

    def go_on(self, result: Any, response: str = "yes") -> Any:
        """The next run, with a response to each interrupt."""
        given: Any = [{"interruptResponse": {"interruptId": one.id, "response": response}} for one in result.interrupts]
        return self.agent(given)


@contextmanager
def shop(tmp_path: Path, *plan: Turn, beside: tuple[InterventionHandler, ...] = ()) -> Iterator[tuple[Shop, Scripted]]:
    with scripted(*plan) as provider, guard(tmp_path) as opened:
        yield Shop(opened, provider, tmp_path, *beside), provider


def test_an_allowed_call_runs_once_and_a_denied_one_never(tmp_path: Path) -> None:
    """Both in one turn, where Strands runs them at once; the model is told the result and the reason."""
    with shop(tmp_path, [("look_up", {"order": 1}), ("delete", {"customer": 7})]) as (it, provider):
        assert str(it.agent("what about order 1?")).strip() == "done"
        assert it.did == ["look_up 1"]
        assert '"paid": 40' in provider.told["call_0_0"]
        assert "customers are never deleted" in provider.told["call_0_1"]
        tells_no_repetition(provider.told["call_0_1"])
    paid = ("look_up", "succeeded", {"paid": 40})
    assert sorted(shown(steps(tmp_path, "s1")), key=str) == [("delete", "denied", None), paid]


def test_a_call_waits_for_a_person_over_processes(tmp_path: Path) -> None:
    """The agent is interrupted; with its session and after the grant the call runs once, the others not again."""
    turn = [("look_up", {"order": 1}), ("refund", {"order": 1, "amount": 40})]
    with shop(tmp_path, turn) as (it, _):
        first: Any = it.agent("refund order 1")
        assert first.stop_reason == "interrupt"
        (pause,) = first.interrupts
        assert pause.reason["message"] == "Is this refund right?"
        assert asked(pause.reason["waiting"]) == pause.reason["approval_id"]
        assert it.did == ["look_up 1"]
    answer(tmp_path, "grant", pause.reason["approval_id"])
    with shop(tmp_path, turn) as (it, provider):
        assert str(it.go_on(first)).strip() == "done"
        assert it.did == ["refund 1 40"]
        assert provider.told["call_0_1"] == "refunded"
        assert '"paid": 40' in provider.told["call_0_0"]
    assert [step.status for step in steps(tmp_path, "s1")] == ["succeeded", "succeeded"]


def test_a_response_alone_lets_nothing_run(tmp_path: Path) -> None:
    """The model is told how the call is granted; the next one like it runs after the grant."""
    refund = ("refund", {"order": 1, "amount": 40})
    with shop(tmp_path, [refund], [refund]) as (it, provider):
        second = it.go_on(it.agent("refund order 1"))
        assert "needs the approval of a person" in provider.told["call_0_0"]
        tells_no_repetition(provider.told["call_0_0"])
        assert it.did == []
        answer(tmp_path, "grant", second.interrupts[0].reason["approval_id"])
        it.go_on(second)
        assert it.did == ["refund 1 40"]


def test_a_denied_question_is_told(tmp_path: Path) -> None:
    """The person's words reach the model, and the tool does not run."""
    with shop(tmp_path, [("refund", {"order": 1, "amount": 40})]) as (it, provider):
        first: Any = it.agent("refund order 1")
        answer(tmp_path, "deny", first.interrupts[0].reason["approval_id"], "--rationale", "it was sent back late")
        it.go_on(first)
        assert "it was sent back late" in provider.told["call_0_0"]
        assert it.did == []


def test_a_tool_that_raises_is_recorded(tmp_path: Path) -> None:
    """Strands' own way with it goes on."""
    with shop(tmp_path, [("fail", {})]) as (it, provider):
        it.agent("go")
        assert "no such printer" in provider.told["call_0_0"]
    assert shown(steps(tmp_path, "s1")) == [("fail", "failed", {"type": "ValueError", "message": "no such printer"})]


def test_a_tool_whose_time_is_up_is_unknown(tmp_path: Path) -> None:
    """The model is told so, and not to call it again."""
    with shop(tmp_path, [("slow", {})]) as (it, provider):
        it.agent("go")
        assert "outcome of slow is unknown" in provider.told["call_0_0"]
        tells_no_repetition(provider.told["call_0_0"])
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@in_loop
async def test_a_run_that_is_cancelled_leaves_its_call_unknown(tmp_path: Path) -> None:
    """It had begun, and nobody knows how far it came."""
    with shop(tmp_path, [("hang", {})]) as (it, _):
        run = asyncio.create_task(it.agent.invoke_async("go"))
        await it.hangs.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=30)
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


def test_a_recorded_call_is_not_run_again(tmp_path: Path) -> None:
    """The recorded result says to the model what the first one said."""
    did, told = [], []
    for number in range(2):
        (folder := tmp_path / str(number)).mkdir()
        with scripted([("look_up", {"order": 1})]) as provider, guard(tmp_path) as opened:
            it = Shop(opened, provider, folder)
            it.agent("go")
            did += it.did
            told.append(provider.told["call_0_0"])
    assert did == ["look_up 1"]
    assert told[0] == told[1]


@pytest.mark.parametrize("how", BROKEN)
def test_a_failing_guard_lets_nothing_run(tmp_path: Path, how: str) -> None:
    """The store is gone, or the guard is closed, in the middle of a run: the model is told why."""
    with scripted([("look_up", {"order": 1})]) as provider, guard(tmp_path) as opened:

        class Breaks(InterventionHandler):
            name = "breaks"

            def before_model_call(self, event: Any, **kwargs: Any) -> Any:
                if not provider.requests:
                    break_guard(opened, tmp_path, how)
                return super().before_model_call(event, **kwargs)

        it = Shop(opened, provider, tmp_path, Breaks())
        it.agent("go")
        assert BROKEN[how] in provider.told["call_0_0"]
        assert it.did == []


def test_another_handler_refuses_what_was_let_in(tmp_path: Path) -> None:
    """The call has not run, and is recorded so."""

    class Sundays(InterventionHandler):
        name = "sundays"

        def before_tool_call(self, event: Any, **kwargs: Any) -> Deny:
            return Deny(reason="not on Sundays")

    with shop(tmp_path, [("look_up", {"order": 1})], beside=(Sundays(),)) as (it, provider):
        it.agent("go")
        assert "not on Sundays" in provider.told["call_0_0"]
        assert it.did == []
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["message"] == "another handler refused the call before its tool ran"


def test_a_tool_with_a_question_of_its_own_runs_after_it(tmp_path: Path) -> None:
    """It interrupts the agent itself, and comes again in another process."""
    with shop(tmp_path, [("again", {})]) as (it, _):
        first: Any = it.agent("go")
        assert first.interrupts[0].reason == "really?"
    with shop(tmp_path, [("again", {})]) as (it, _):
        assert str(it.go_on(first, "surely")).strip() == "done"
        assert it.did == ["again surely"]


def test_what_a_person_typed_counts(tmp_path: Path) -> None:
    """The prompt is the request; what an agent passes to another agent is not."""
    did: list[str] = []

    @tool
    def transfer(to: str) -> str:
        """Sends money."""
        did.append(to)
        return "ok"

    plan = [("transfer", {"to": "DE75-1234"})], [("look_up", {"words": "transfer to XX99-6666"})]
    with (
        scripted(*plan) as provider,
        scripted([("transfer", {"to": "XX99-6666"})]) as other,
        guard(tmp_path) as opened,
    ):

        def agent(name: str, model: Scripted, *tools: Any) -> Agent:
            handler = RebunoIntervention(opened, session="s1")
            return Agent(
                model=model_of(model), name=name, tools=[*tools], interventions=[handler], callback_handler=None
            )

        @tool
        def look_up(words: str) -> str:
            """Asks a helper."""
            return str(agent("helper", other, transfer)(words))

        agent("desk", provider, transfer, look_up)("transfer 5 to DE75-1234")
        assert "transfer not allowed" in other.told["call_0_0"]
        assert did == ["DE75-1234"]
    assert [step.target for step in steps(tmp_path, "s1")] == ["transfer", "look_up"]
