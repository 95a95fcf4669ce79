"""The guard asks the gate from any thread and any event loop, and never lets a call run by failing."""

import asyncio
import datetime
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rebuno.adapters import Guard, ToolCall
from rebuno.adapters.calls import DEFERRED, arguments, jsonable, leaves_unknown, told
from rebuno.errors import BundleError, ConflictError, RebunoError, StoreError, ValidationError
from rebuno.gate import Allow, Ask, Deny, Recorded
from rebuno.policy import compile_text
from tests.adapters.support import POLICY, answer, asked, guard, shown, steps, tells_no_repetition
from tests.embedded.support import in_loop

ROOT = Path(__file__).parents[2]


def call(number: int, tool: str = "look_up", session: str = "s1", agent: str = "desk", **args: Any) -> ToolCall:
    return ToolCall(session, agent, f"call-{number}", tool, args)


def test_a_call_is_judged_and_recorded_from_a_plain_function(tmp_path: Path) -> None:
    """Allowed and settled; the same call again is not let in; a denied one says why."""
    with guard(tmp_path) as opened:
        assert isinstance(opened.judge(call(1, order=1)), Allow)
        opened.settle(call(1, order=1), result={"paid": 12})
        again = opened.judge(call(1, order=1))
        assert isinstance(again, Recorded)
        assert again.result == {"paid": 12}
        denied = opened.judge(call(2, "delete", customer=7))
        assert isinstance(denied, Deny)
        words = told(call(2, "delete"), denied)
        assert "delete not allowed" in words
        assert "customers are never deleted" in words
        tells_no_repetition(words)
    assert shown(steps(tmp_path, "s1")) == [("look_up", "succeeded", {"paid": 12}), ("delete", "denied", None)]


@in_loop
async def test_any_event_loop_may_ask(tmp_path: Path) -> None:
    """The caller's loop is not the gate's; many calls of one session at once."""
    with guard(tmp_path) as opened:
        verdicts = await asyncio.gather(*(opened.ajudge(call(number, order=number)) for number in range(8)))
        assert all(isinstance(verdict, Allow) for verdict in verdicts)
        await asyncio.gather(*(opened.asettle(call(number), result=number) for number in range(8)))
    assert sorted(step.result for step in steps(tmp_path, "s1")) == list(range(8))


def test_threads_may_ask_at_once(tmp_path: Path) -> None:
    """As a framework does that runs a turn's tools in a pool."""
    with guard(tmp_path) as opened, ThreadPoolExecutor(6) as pool:
        calls = [call(number, order=number % 2) for number in range(12)]
        assert all(isinstance(verdict, Allow) for verdict in pool.map(opened.judge, calls))
        list(pool.map(lambda one: opened.settle(one, result="ok"), calls))
    assert {step.status for step in steps(tmp_path, "s1")} == {"succeeded"}
    assert len(steps(tmp_path, "s1")) == 12


def test_an_asked_call_runs_after_the_grant(tmp_path: Path) -> None:
    """The text for the model names the approval and the command; the same call is let in once it is granted."""
    refund = call(1, "refund", order=5, amount=40)
    with guard(tmp_path) as opened:
        waiting = opened.judge(refund)
        assert isinstance(waiting, Ask)
        words = told(refund, waiting, store=opened.store)
        tells_no_repetition(words)
        assert "Is this refund right?" in words
    answer(tmp_path, "grant", asked(words))
    with guard(tmp_path) as opened:
        assert isinstance(opened.judge(refund), Allow)


def test_the_guard_waits_for_an_answer(tmp_path: Path) -> None:
    """With `wait` the call is held, and let in as soon as a person has granted it."""
    refund = call(1, "refund", order=5, amount=40)
    with guard(tmp_path) as opened:
        waiting = opened.judge(refund)
        assert isinstance(waiting, Ask)
        opened.wait = 60
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(opened.judge, refund)
            answer(tmp_path, "grant", waiting.approval_id)
            assert isinstance(held.result(), Allow)
        opened.wait = 0
        other = opened.judge(call(2, "refund", order=6, amount=1))
        assert isinstance(other, Ask)
        assert not opened.answered(other.approval_id, seconds=0)
        answer(tmp_path, "deny", other.approval_id, "--rationale", "too late")
        assert opened.answered(other.approval_id, seconds=0)
        denied = opened.judge(call(2, "refund", order=6, amount=1))
    assert isinstance(denied, Deny)
    assert "too late" in denied.reason


def test_what_ran_when_the_process_ended_is_unknown(tmp_path: Path) -> None:
    """A new process is told so, and its model is not asked to repeat it; a reading may run again."""
    with guard(tmp_path) as opened:
        assert isinstance(opened.judge(call(1, "pay", amount=3)), Allow)
        assert isinstance(opened.judge(ToolCall("s1", "desk", "call-2", "look_up", {}, safe=True)), Allow)
    with guard(tmp_path) as opened:
        cut_off = opened.judge(call(1, "pay", amount=3))
        assert isinstance(cut_off, Recorded)
        words = told(call(1, "pay"), cut_off)
        assert "outcome of pay is unknown" in words
        tells_no_repetition(words)
        assert isinstance(opened.judge(ToolCall("s1", "desk", "call-2", "look_up", {}, safe=True)), Allow)
        equal = opened.judge(call(3, "pay", amount=3))
    assert isinstance(equal, Ask)


@pytest.mark.parametrize("error", [TimeoutError(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_what_is_cut_off_is_unknown(tmp_path: Path, error: BaseException) -> None:
    """A tool's time was up, or its task or its program was stopped."""
    with guard(tmp_path) as opened:
        opened.judge(call(1, "pay", amount=3))
        opened.settle(call(1, "pay"), error=error)
        verdict = opened.judge(call(1, "pay", amount=3))
    assert isinstance(verdict, Recorded)
    assert verdict.unknown


def test_a_server_that_gave_no_answer_leaves_it_unknown() -> None:
    """Also where a framework has put its own exception around the client's; what the server answered is known."""

    def wrapped(code: object) -> ValueError:
        inner, outer = ConnectionError(), ValueError("the tool failed")
        inner.code = code  # type: ignore[attr-defined]
        outer.__cause__ = inner
        return outer

    assert leaves_unknown(wrapped(-32000))
    assert not leaves_unknown(wrapped(-32602))
    assert not leaves_unknown(wrapped([]))


def test_what_a_tool_raised_is_recorded(tmp_path: Path) -> None:
    """Its type and its text; and a framework's own text of a failure."""
    with guard(tmp_path) as opened:
        opened.judge(call(1))
        opened.settle(call(1), error=ValueError("no such order"))
        opened.judge(call(2))
        opened.settle(call(2), error="the tool said no")
        verdict = opened.judge(call(1))
        assert isinstance(verdict, Recorded)
        assert told(call(1), verdict) == "look_up has run already and failed: no such order"
    assert [step.error for step in steps(tmp_path, "s1")] == [
        {"type": "ValueError", "message": "no such order"},
        {"type": "", "message": "the tool said no"},
    ]


def test_a_tool_that_pauses_the_run_comes_again(tmp_path: Path) -> None:
    """It ran in part; the framework runs it again under the same id, and each time is a step of its own."""
    with guard(tmp_path) as opened:
        opened.judge(call(1, "again"))
        opened.settle(call(1, "again"), error=DEFERRED)
        assert isinstance(opened.judge(call(1, "again")), Allow)
        opened.settle(call(1, "again"), error=DEFERRED)
    with guard(tmp_path) as opened:
        assert isinstance(opened.judge(call(1, "again")), Allow)
        opened.settle(call(1, "again"), result="done")
        verdict = opened.judge(call(1, "again"))
    assert isinstance(verdict, Recorded)
    assert verdict.result == "done"
    assert [step.status for step in steps(tmp_path, "s1")] == ["failed", "failed", "succeeded"]


@in_loop
async def test_a_caller_that_is_cancelled_leaves_no_running_call(tmp_path: Path) -> None:
    """Its tool never runs, so the call that was let in meanwhile ends as not carried out."""
    with guard(tmp_path) as opened:
        task = asyncio.create_task(opened.ajudge(call(1, "pay", amount=3)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        verdict = await opened.ajudge(call(1, "pay", amount=3))
        while isinstance(verdict, Allow):  # it was asked before the first one was withdrawn
            verdict = await opened.ajudge(call(1, "pay", amount=3))
        assert isinstance(verdict, Recorded)
        assert verdict.error is not None
        assert verdict.error["message"] == "the call was cancelled before its tool ran"


def test_a_session_that_begins_inside_a_call_is_a_subagents(tmp_path: Path) -> None:
    """What it was given is not a person's word, whatever its agent is called."""
    with guard(tmp_path) as opened:
        opened.say("s1", "desk", "transfer it to DE75-1234")
        outer = call(1)
        assert isinstance(opened.judge(outer), Allow)
        with opened.inside(outer):
            opened.say("s2", "helper", "transfer it to XX99-6666")
            verdict = opened.judge(call(1, "transfer", session="s2", agent="helper", to="XX99-6666"))
            assert isinstance(verdict, Deny)
            inner = call(2, session="s2", agent="helper")
            assert isinstance(opened.judge(inner), Allow)
            opened.settle(inner, result=1)
        assert isinstance(opened.judge(call(2, "transfer", to="DE75-1234")), Allow)
    assert shown(steps(tmp_path, "s2")) == [("transfer", "denied", None), ("look_up", "succeeded", 1)]


def test_a_call_inside_a_subagents_call_stays_in_its_session(tmp_path: Path) -> None:
    """A tool of a subagent that calls further tools of the same run does not get the outer session's rights."""
    with guard(tmp_path) as opened:
        opened.say("s1", "desk", "transfer it to DE75-1234", run="outer")
        outer = replace(call(1), run="outer")
        assert isinstance(opened.judge(outer), Allow)
        with opened.inside(outer):
            opened.say("s1", "helper", "transfer it to XX99-6666", run="inner")
            middle = replace(call(2, agent="helper"), run="inner")
            assert isinstance(opened.judge(middle), Allow)
            with opened.inside(middle):
                deepest = replace(call(3, "transfer", agent="helper", to="XX99-6666"), run="inner")
                assert isinstance(opened.judge(deepest), Deny)
    assert [step.target for step in steps(tmp_path, "s1/call-1")] == ["look_up", "transfer"]
    assert [step.target for step in steps(tmp_path, "s1")] == ["look_up"]


@in_loop
async def test_the_first_calls_of_a_session_may_come_at_once(tmp_path: Path) -> None:
    """In a process that takes it up again, none of them is taken for cut off by an earlier process."""
    with guard(tmp_path) as opened:
        await opened.ajudge(call(0))
        await opened.asettle(call(0), result="ok")
    for number in range(1, 40, 4):
        with guard(tmp_path) as opened:
            calls = [call(number + place, order=number + place) for place in range(4)]
            assert all(isinstance(verdict, Allow) for verdict in await asyncio.gather(*map(opened.ajudge, calls)))
            again = await asyncio.gather(*map(opened.ajudge, calls))
            assert all(isinstance(verdict, Allow) for verdict in again)
            await asyncio.gather(*(opened.asettle(one, result="ok") for one in calls))
    assert {step.status for step in steps(tmp_path, "s1")} == {"succeeded"}


def test_a_broken_bundle_opens_no_guard(tmp_path: Path) -> None:
    """Nor does a store that is none."""
    (tmp_path / "broken.rbp").write_text("bundle broken\nrule { allow", encoding="utf-8")
    with pytest.raises(BundleError):
        Guard(tmp_path / "shop.db", policy=tmp_path / "broken.rbp")
    (tmp_path / "none.db").write_text("no store at all", encoding="utf-8")
    with pytest.raises(StoreError):
        Guard(tmp_path / "none.db", policy=compile_text(POLICY))
    assert not [thread for thread in threading.enumerate() if thread.name == "rebuno-guard"]


def test_where_the_policy_is_observed_everything_runs(tmp_path: Path) -> None:
    """What it would have said is told and recorded."""
    with guard(tmp_path, observe=True) as opened:
        let_in = opened.judge(call(1, "delete", customer=7))
        assert isinstance(let_in, Allow)
        assert let_in.observed == "deny: customers are never deleted"
        opened.settle(call(1, "delete"), result="deleted")
        assert isinstance(opened.judge(call(2, "refund", order=1)), Allow)
    assert [(step.status, step.decision) for step in steps(tmp_path, "s1")] == [
        ("succeeded", "deny"),
        ("executing", "require_approval"),
    ]


def test_a_session_goes_on_in_another_process_once_it_is_released(tmp_path: Path) -> None:
    """While one process has it, no other one is let in; and back again."""
    with guard(tmp_path) as opened:
        opened.judge(call(1))
        opened.settle(call(1), result="ok")
        said = "from tests.adapters.test_guard import judged_elsewhere; judged_elsewhere()"
        line = [sys.executable, "-c", said, str(tmp_path)]
        beside = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
        assert beside.stdout == "ConflictError", beside.stderr
        opened.judge(call(4, order=4))
        opened.release("s1", "desk")
        opened.settle(call(4), result="it ran, and was not let go of")
        opened.release("s1", "desk")
        beside = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
        assert beside.stdout == "Allow", beside.stderr
        assert isinstance(opened.judge(call(3)), Allow)


def judged_elsewhere() -> None:
    """Says what another process is told."""
    with guard(Path(sys.argv[1])) as opened:
        try:
            sys.stdout.write(type(opened.judge(call(2))).__name__)
            opened.settle(call(2), result="ok")
        except ConflictError as error:
            sys.stdout.write(type(error).__name__)


def test_a_closed_guard_lets_nothing_run(tmp_path: Path) -> None:
    """Neither from a function nor from a coroutine; closing it twice does nothing."""
    opened = guard(tmp_path)
    opened.close()
    opened.close()
    with pytest.raises(RebunoError, match="closed"):
        opened.judge(call(1))
    with pytest.raises(RebunoError, match="closed"):
        asyncio.run(opened.ajudge(call(1)))


def test_a_store_that_is_gone_lets_nothing_run(tmp_path: Path) -> None:
    """The error says what is wrong with it; a call that has run is not recorded by stealth."""
    with guard(tmp_path) as opened:
        opened.judge(call(1))
        (tmp_path / "shop.db").unlink()
        with pytest.raises(StoreError, match="moved or deleted"):
            opened.judge(call(2))
        with pytest.raises(StoreError, match="moved or deleted"):
            opened.settle(call(1), result="ok")


def test_a_password_in_a_url_is_not_told(tmp_path: Path) -> None:
    """The command that the model reads leaves out the store then."""
    assert Guard.shown_store("postgresql://me:hunter2@db/x") == ""
    assert Guard.shown_store(tmp_path / "a.db") == str(tmp_path / "a.db")


@dataclass
class Order:
    id: int
    at: datetime.date


def test_results_and_arguments_become_json() -> None:
    """As a model would be shown them; what has no such form is recorded as a text, and never let in."""
    assert jsonable(Order(1, datetime.date(2026, 1, 2))) == {"id": 1, "at": "2026-01-02"}
    assert jsonable({1: b"\xff", "x": float("inf")}) == {"1": "_w==", "x": "Infinity"}
    assert jsonable(threading.current_thread()).startswith("<_MainThread")
    loop: list[Any] = []
    loop.append(loop)
    assert isinstance(jsonable(loop), str)
    assert jsonable("a\ud800b") == "a?b"
    assert arguments({"order": Order(1, datetime.date(2026, 1, 2))}) == {"order": {"id": 1, "at": "2026-01-02"}}
    for wrong in ({"x": threading.Lock()}, [1], loop):
        with pytest.raises(ValidationError):
            arguments(wrong)
