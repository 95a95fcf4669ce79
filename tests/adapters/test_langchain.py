"""LangChain's agents behind a guard, sync and async. LangChain's own client of OpenAI speaks to a simulated provider,
which calls tools as it is told to."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt
from pydantic import SecretStr

from rebuno.adapters import Guard
from rebuno.adapters.langchain import RebunoMiddleware
from rebuno.errors import RebunoError
from tests.adapters.scripted import Scripted, Turn, scripted
from tests.adapters.support import (
    BROKEN,
    answer,
    asked,
    break_guard,
    guard,
    in_thread,
    shown,
    steps,
    tells_no_repetition,
)

CONFIG: Any = {"configurable": {"thread_id": "s1"}}


def client_of(model: Scripted) -> ChatOpenAI:
    return ChatOpenAI(model="simulated", base_url=f"{model.url}/v1", api_key=SecretStr("none"), max_retries=0)


class Shop:
    """An agent with the shop's tools, and what they did; `invoke` is plain or not, as `mode` says."""

    def __init__(self, opened: Guard, model: Scripted, mode: str, checkpointer: Any = None, **more: Any) -> None:
        self.did: list[str] = []
        self.mode = mode
        self.guard = opened
        self.agent: Any = create_agent(
            client_of(model),
            [
                StructuredTool.from_function(one)
                for one in (self.look_up, self.refund, self.delete, self.fail, self.slow, self.again)
            ],
            middleware=[RebunoMiddleware(opened, agent="desk", **more)],
            checkpointer=checkpointer or InMemorySaver(),
        )

    def invoke(self, given: Any) -> dict[str, Any]:
        """One run of the graph."""
        if isinstance(given, str):
            given = {"messages": [{"role": "user", "content": given}]}
        if self.mode == "sync":
            return dict(self.agent.invoke(given, CONFIG))
        return dict(asyncio.run(self.agent.ainvoke(given, CONFIG)))

    def look_up(self, order: int) -> dict[str, int]:
        """Looks an order up."""
        self.did.append(f"look_up {order}")
        return {"paid": 40}

    def refund(self, order: int, amount: int) -> str:
        """Pays money back."""
        self.did.append(f"refund {order} {amount}")
        return "refunded"

    def delete(self, customer: int) -> str:
        """Deletes a customer."""
        self.did.append(f"delete {customer}")
        return "deleted"

    def fail(self, how: str) -> str:
        """Fails."""
        raise ToolException("the printer is on fire") if how == "tool" else ValueError("no such printer")

    def slow(self) -> str:
        """Takes too long."""
        self.did.append("slow")
        raise TimeoutError

    def again(self) -> str:
        """Has a question of its own."""
        self.did.append(f"again {interrupt('really?')}")
        return "done"


MODES = pytest.mark.parametrize("mode", ["sync", "async"])


@contextmanager
def shop(tmp_path: Path, mode: str, *plan: Turn, **more: Any) -> Iterator[tuple[Shop, Scripted]]:
    with scripted(*plan) as model, guard(tmp_path) as opened:
        yield Shop(opened, model, mode, **more), model


@MODES
def test_an_allowed_call_runs_once_and_a_denied_one_never(tmp_path: Path, mode: str) -> None:
    """Both in one turn, where LangChain runs them at once; the model is told the result and the reason."""
    turn = [("look_up", {"order": 1}), ("delete", {"customer": 7}), ("look_up", {"order": 2})]
    with shop(tmp_path, mode, turn) as (it, model):
        result = it.invoke("what about order 1?")
        assert result["messages"][-1].text == "done"
        assert sorted(it.did) == ["look_up 1", "look_up 2"]
        assert model.told["call_0_0"] == '{"paid": 40}'
        assert "customers are never deleted" in model.told["call_0_1"]
        tells_no_repetition(model.told["call_0_1"])
    recorded = sorted(shown(steps(tmp_path, "s1")), key=str)
    paid = ("look_up", "succeeded", {"paid": 40})
    assert recorded == [("delete", "denied", None), paid, paid]


@MODES
def test_a_call_waits_for_a_person_over_processes(tmp_path: Path, mode: str) -> None:
    """The graph is interrupted; with its checkpoints and after the grant the call runs once, the others not again."""
    turn = [("look_up", {"order": 1}), ("refund", {"order": 1, "amount": 40})]
    with scripted(turn) as model:
        did, first = lives(tmp_path, mode, model, ["refund order 1"])
        question = first["__interrupt__"][0].value
        assert question["message"] == "Is this refund right?"
        assert asked(question["waiting"]) == question["approval_id"]
        assert did == ["look_up 1"]
        did, early = lives(tmp_path, mode, model, [Command(resume=True)])
        assert early["__interrupt__"], "going on alone lets nothing run"
        answer(tmp_path, "grant", question["approval_id"])
        did, last = lives(tmp_path, mode, model, [Command(resume=True)])
        assert last["messages"][-1].text == "done"
        assert did == ["refund 1 40"]
        assert model.told == {"call_0_0": '{"paid": 40}', "call_0_1": "refunded"}
    assert [step.status for step in steps(tmp_path, "s1")] == ["succeeded", "succeeded"]


def lives(tmp_path: Path, mode: str, model: Scripted, given: Sequence[Any]) -> tuple[list[str], dict[str, Any]]:
    """One life of a program: its guard and its checkpoints on the disk, and the last result."""
    with guard(tmp_path) as opened:
        if mode == "sync":
            with SqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
                it = Shop(opened, model, mode, saver)
                return it.did, [it.invoke(one) for one in given][-1]

        async def live() -> tuple[list[str], dict[str, Any]]:
            async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
                it = Shop(opened, model, mode, saver)
                results = []
                for one in given:
                    words = {"messages": [{"role": "user", "content": one}]} if isinstance(one, str) else one
                    results.append(dict(await it.agent.ainvoke(words, CONFIG)))
                return it.did, results[-1]

        return in_thread(live)


@MODES
def test_a_denied_question_is_told(tmp_path: Path, mode: str) -> None:
    """The person's words reach the model, and the tool does not run."""
    with shop(tmp_path, mode, [("refund", {"order": 1, "amount": 40})]) as (it, model):
        first = it.invoke("refund order 1")
        approval = first["__interrupt__"][0].value["approval_id"]
        answer(tmp_path, "deny", approval, "--rationale", "it was sent back late")
        it.invoke(Command(resume=True))
        assert "it was sent back late" in model.told["call_0_0"]
        assert it.did == []


@MODES
def test_two_questions_of_one_turn_are_answered_apart(tmp_path: Path, mode: str) -> None:
    """One is granted first: it runs, the other still waits."""
    turn = [("refund", {"order": 1, "amount": 1}), ("refund", {"order": 2, "amount": 2})]
    with shop(tmp_path, mode, turn) as (it, _):
        pauses = it.invoke("refund both")["__interrupt__"]
        assert len(pauses) == 2
        answer(tmp_path, "grant", pauses[1].value["approval_id"])
        left = it.invoke(Command(resume={pause.id: True for pause in pauses}))["__interrupt__"]
        assert [pause.value["approval_id"] for pause in left] == [pauses[0].value["approval_id"]]
        assert len(it.did) == 1
        answer(tmp_path, "grant", pauses[0].value["approval_id"])
        it.invoke(Command(resume=True))
        assert sorted(it.did) == ["refund 1 1", "refund 2 2"]


@MODES
def test_a_tool_that_raises_is_recorded(tmp_path: Path, mode: str) -> None:
    """LangChain's own way with it goes on."""
    with (
        shop(tmp_path, mode, [("fail", {"how": "value"})]) as (it, _),
        pytest.raises(ValueError, match="no such printer"),
    ):
        it.invoke("go")
    assert shown(steps(tmp_path, "s1")) == [("fail", "failed", {"type": "ValueError", "message": "no such printer"})]


@MODES
def test_a_tool_that_says_it_failed_is_recorded(tmp_path: Path, mode: str) -> None:
    """It handles its own error, and the model is told its words."""
    with shop(tmp_path, mode, [("fail", {"how": "tool"})]) as (it, model):
        it.agent.nodes["tools"].bound.tools_by_name["fail"].handle_tool_error = True
        it.invoke("go")
        assert model.told["call_0_0"] == "the printer is on fire"
    assert shown(steps(tmp_path, "s1")) == [("fail", "failed", {"type": "", "message": "the printer is on fire"})]


@MODES
def test_a_tool_whose_time_is_up_is_unknown(tmp_path: Path, mode: str) -> None:
    """The model is told so, and not to call it again."""
    with shop(tmp_path, mode, [("slow", {})]) as (it, model):
        it.invoke("go")
        assert "outcome of slow is unknown" in model.told["call_0_0"]
        tells_no_repetition(model.told["call_0_0"])
    (step,) = steps(tmp_path, "s1")
    assert isinstance(step.error, dict)
    assert step.error["reason"] == "indeterminate"


@MODES
@pytest.mark.parametrize(
    "value", [{"paid": 40}, "text", '{"a":  1}', 12, None, [1, 2], [{"type": "text", "text": "x"}]]
)
def test_a_recorded_call_is_not_run_again(tmp_path: Path, mode: str, value: Any) -> None:
    """The recorded result says to the model what the first one said, to the letter."""
    did: list[int] = []

    def look_up(order: int) -> Any:
        """Looks an order up."""
        did.append(order)
        return value

    told = []
    for _ in range(2):
        # Each time a graph without a past, and the same ids of calls.
        with scripted([("look_up", {"order": 1})]) as model, guard(tmp_path) as opened:
            it = Shop(opened, model, mode)
            it.agent.nodes["tools"].bound.tools_by_name["look_up"].func = look_up
            it.invoke("go")
            told.append(model.told["call_0_0"])
    assert told[0] == told[1]
    assert did == [1]


@MODES
def test_the_message_of_a_command_is_recorded(tmp_path: Path, mode: str) -> None:
    """A tool may return an update of the graph's state; the call that is not run again gives its message."""
    did: list[int] = []

    def look_up(order: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Looks an order up."""
        did.append(order)
        return Command(update={"messages": [ToolMessage("paid 40", tool_call_id=tool_call_id)]})

    for _ in range(2):
        with shop(tmp_path, mode, [("look_up", {"order": 1})]) as (it, model):
            it.agent = create_agent(
                client_of(model), [look_up], middleware=[RebunoMiddleware(it.guard, session="s1", agent="desk")]
            )
            it.invoke("go")
            assert model.told["call_0_0"] == "paid 40"
    assert did == [1]


@MODES
@pytest.mark.parametrize("how", BROKEN)
def test_a_failing_guard_lets_nothing_run(tmp_path: Path, mode: str, how: str) -> None:
    """The store is gone, or the guard is closed: the run ends with the error."""
    with shop(tmp_path, mode, [("look_up", {"order": 1})]) as (it, _):
        break_guard(it.guard, tmp_path, how)
        with pytest.raises(RebunoError, match=BROKEN[how]):
            it.invoke("go")
        assert it.did == []


@MODES
def test_a_tool_with_a_question_of_its_own_gets_its_own_answer(tmp_path: Path, mode: str) -> None:
    """It pauses the graph itself, and the answer to the guard's question is not taken for its own."""
    with shop(tmp_path, mode, [("again", {})]) as (it, _):
        assert it.invoke("go")["__interrupt__"][0].value == "really?"
        it.invoke(Command(resume="yes"))
        assert it.did == ["again yes"]
    policy = tmp_path / "asks.rbp"
    policy.write_text('bundle asks\ndefault deny\nrule again { require approval for tool "again" }\n', encoding="utf-8")
    with scripted([("again", {})]) as model, Guard(tmp_path / "other.db", policy=policy) as opened:
        it = Shop(opened, model, mode)
        question = it.invoke("go")["__interrupt__"][0].value
        in_thread(lambda: granted(tmp_path / "other.db", question["approval_id"]))
        assert it.invoke(Command(resume="granted"))["__interrupt__"][0].value == "really?"
        assert it.did == []


async def granted(store: Path, approval: str) -> None:
    """A person grants."""
    import rebuno

    async with rebuno.operate(store) as operator:
        await operator.grant(approval, decided_by="emma")


@MODES
def test_what_a_person_typed_counts(tmp_path: Path, mode: str) -> None:
    """The message is the request, the next one a turn; what an agent passes to another agent is neither."""
    outer_plan = [("transfer", {"to": "DE75-1234"})], [("look_up", {"words": "transfer to XX99-6666"})]
    did: list[str] = []

    def transfer(to: str) -> str:
        """Sends money."""
        did.append(to)
        return "ok"

    with (
        scripted(*outer_plan) as model,
        scripted([("transfer", {"to": "XX99-6666"})]) as other,
        guard(tmp_path) as opened,
    ):
        inner = Shop(opened, other, mode)
        inner.agent = create_agent(
            client_of(other),
            [transfer],
            middleware=[RebunoMiddleware(opened)],
            name="helper",
        )

        def look_up(words: str) -> str:
            """Asks a helper."""
            return str(inner.agent.invoke({"messages": [("user", words)]})["messages"][-1].text)

        async def alook_up(words: str) -> str:
            """Asks a helper."""
            return str((await inner.agent.ainvoke({"messages": [("user", words)]}))["messages"][-1].text)

        outer = Shop(opened, model, mode)
        outer.agent = create_agent(
            client_of(model),
            [transfer, StructuredTool.from_function(look_up, coroutine=alook_up)],
            middleware=[RebunoMiddleware(opened)],
            checkpointer=InMemorySaver(),
            name="desk",
        )
        outer.invoke("transfer 5 to DE75-1234")
        assert "transfer not allowed" in other.told["call_0_0"]
        assert did == ["DE75-1234"]
    assert [step.target for step in steps(tmp_path, "s1")] == ["transfer", "look_up"]
