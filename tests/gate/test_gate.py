"""A gate in front of an agent that another program runs, on a real store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import ConflictError, ValidationError
from rebuno.gate import UNSET, Allow, Ask, Deny, Gate, Recorded, open_gate
from rebuno.policy import compile_text
from rebuno.types import Step
from tests.embedded.support import in_loop

POLICY = """bundle session
default deny because "no rule allows it"
known asked = input or turns
rule secret { deny tool "fetch" when after tool "read_file" where (args.path == ".env") because "a secret was read" }
rule read { allow tool "read_file", "fetch", "note" }
rule pay-known { allow tool "pay" when args.account in asked }
rule pay { require approval for tool "pay" message "pay this?" }
rule boss { require approval for tool "fire" approvers "alice" }
rule two { require approval for tool "wire" approvers "alice", "bob" quorum 2 }
rule few { allow tool "mail" limit 1 per execution }
"""
S, AGENT = "5b1c3c0e-0000-4000-8000-000000000001", "claude-code"


@asynccontextmanager
async def gate(tmp_path: Path, *, observe: bool = False, policy: str = POLICY) -> AsyncIterator[Gate]:
    async with open_gate(tmp_path / "store.db", policy=compile_text(policy), observe=observe) as opened:
        yield opened


async def intact(opened: Gate, ref: str) -> None:
    verified = await opened.operator.verify(ref)
    assert not verified.fault, verified.fault


async def steps(opened: Gate, ref: str = S) -> list[Step]:
    return await opened.operator.steps((await opened.operator.execution(ref)).id)


@in_loop
async def test_a_call_is_judged_settled_and_recorded(tmp_path: Path) -> None:
    """What it gave is a fact for later calls, and the same call is not run twice."""
    async with gate(tmp_path) as opened:
        await opened.say(S, AGENT, "look around")
        verdict = await opened.judge(S, "c1", "fetch", {"url": "a"}, AGENT, safe=True, call={"name": "WebFetch"})
        assert isinstance(verdict, Allow)
        assert verdict == await opened.judge(S, "c1", "fetch", {"url": "a"}, AGENT, safe=True)
        assert await opened.settle(S, "c1", AGENT, result={"text": "hello"})
        assert not await opened.settle(S, "c1", AGENT, result="again")
        again = await opened.judge(S, "c1", "fetch", {"url": "a"}, AGENT, safe=True)
        assert again == Recorded(verdict.step_id, {"text": "hello"})
        assert isinstance(await opened.judge(S, "c2", "read_file", {"path": ".env"}, AGENT, safe=True), Allow)
        denied = await opened.judge(S, "c3", "fetch", {"url": "b"}, AGENT)
        assert isinstance(denied, Deny)
        assert (denied.reason, denied.rule_id) == ("a secret was read", "secret")
        assert denied == await opened.judge(S, "c3", "fetch", {"url": "b"}, AGENT)
        assert isinstance(await opened.judge(S, "c4", "delete", {}, AGENT), Deny)
        shown = await opened.operator.execution(S)
        assert shown.input == {"request": "look around"}
        events = await opened.operator.events(shown.id)
        assert events[2].payload["call"] == {"id": "c1", "raw": {"name": "WebFetch"}}
        await intact(opened, S)


@in_loop
async def test_the_users_turns_count(tmp_path: Path) -> None:
    """The first thing that a person types is the input, the next are turns."""
    async with gate(tmp_path) as opened:
        await opened.say(S, AGENT, "pay DE75")
        assert isinstance(await opened.judge(S, "1", "pay", {"account": "DE75"}, AGENT), Allow)
        assert isinstance(await opened.judge(S, "2", "pay", {"account": "XX99"}, AGENT), Ask)
        await opened.say(S, AGENT, "and pay YY11")
        assert isinstance(await opened.judge(S, "3", "pay", {"account": "YY11"}, AGENT), Allow)
        assert [turn.text for turn in (await opened.operator.story(S)).turns] == ["and pay YY11"]
        await intact(opened, S)


@in_loop
async def test_a_question_blocks_its_own_call_only(tmp_path: Path) -> None:
    """Granted, the same call runs once, under its own id or another."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
        assert isinstance(asked, Ask)
        assert asked.message == "pay this?"
        assert isinstance(await opened.judge(S, "2", "note", {}, AGENT), Allow)
        assert await opened.judge(S, "1", "pay", {"account": "a"}, AGENT) == asked
        assert await opened.judge(S, "3", "pay", {"account": "a"}, AGENT) == asked, "it takes the waiting place"
        assert await opened.wait(S, "1", AGENT, asked, seconds=0) == asked
        await opened.operator.grant(asked.approval_id, decided_by="alice")
        allowed = await opened.judge(S, "4", "pay", {"account": "a"}, AGENT)
        assert allowed == Allow(asked.step_id)
        assert await opened.settle(S, "4", AGENT, result="paid")
        assert isinstance(await opened.judge(S, "4", "pay", {"account": "a"}, AGENT), Recorded)
        another = await opened.judge(S, "5", "pay", {"account": "a"}, AGENT)
        assert isinstance(another, Ask)
        assert another.step_id != asked.step_id
        await opened.operator.deny(another.approval_id, decided_by="alice", rationale="a fraud")
        denied = await opened.wait(S, "5", AGENT, another, seconds=5)
        assert isinstance(denied, Deny)
        assert denied.reason == "a fraud"
        await intact(opened, S)


@pytest.mark.parametrize("restarted", [False, True])
@in_loop
async def test_one_grant_lets_one_call_run(tmp_path: Path, restarted: bool) -> None:
    """The first that comes has it; another that waited for the same is a call of its own again."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
        assert isinstance(asked, Ask)
        assert await opened.judge(S, "2", "pay", {"account": "a"}, AGENT) == asked
        await opened.operator.grant(asked.approval_id, decided_by="alice")
        assert await opened.judge(S, "2", "pay", {"account": "a"}, AGENT) == Allow(asked.step_id)
        assert await opened.judge(S, "2", "pay", {"account": "a"}, AGENT) == Allow(asked.step_id)
        if not restarted:
            assert isinstance(await opened.judge(S, "1", "pay", {"account": "a"}, AGENT), Ask)
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "pay", {"account": "a"}, AGENT), Ask)
        assert await opened.settle(S, "2", AGENT, result="paid")
        assert not await opened.settle(S, "2", AGENT, result="paid")
        await intact(opened, S)


@in_loop
async def test_waiting_ends_with_the_answer(tmp_path: Path) -> None:
    """A hook that is held open hears of the answer."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
        assert isinstance(asked, Ask)
        waiting = asyncio.create_task(opened.wait(S, "1", AGENT, asked, seconds=60))
        await asyncio.sleep(0)
        await opened.operator.grant(asked.approval_id, decided_by="bob")
        assert await waiting == Allow(asked.step_id)


@in_loop
async def test_an_answer_in_the_host(tmp_path: Path) -> None:
    """Where the host asked a person itself, the outcome says who let the call run."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
        assert isinstance(asked, Ask)
        assert await opened.settle(S, "1", AGENT, result="paid", granted_by="carol")
        found = await opened.operator.approval(asked.approval_id)
        assert (found.status, found.decided_by, found.asserted_by) == ("granted", "carol", AGENT)
        [step] = await steps(opened)
        assert step.status == "succeeded"
        # One that she may not answer ran all the same: it is recorded, and approved by nobody.
        asked = await opened.judge(S, "2", "fire", {"who": "bob"}, AGENT)
        assert isinstance(asked, Ask)
        assert asked.approvers == ("alice",)
        assert await opened.settle(S, "2", AGENT, result="fired", granted_by="carol")
        assert (await opened.operator.approval(asked.approval_id)).status == "withdrawn"
        await intact(opened, S)


@pytest.mark.parametrize("by", ["alice", "\ud800", "x" * 5000, "a\x00b"])
@in_loop
async def test_an_answer_in_the_host_that_does_not_count(tmp_path: Path, by: str) -> None:
    """Who has answered before, or has no name that can be kept: the outcome is recorded, and approved by nobody."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "wire", {"n": 1}, AGENT)
        assert isinstance(asked, Ask)
        await opened.operator.grant(asked.approval_id, decided_by="alice")
        assert await opened.settle(S, "1", AGENT, result="sent", granted_by=by)
        assert (await opened.operator.approval(asked.approval_id)).status == "withdrawn"
        assert [step.status for step in await steps(opened)] == ["succeeded"]
        await intact(opened, S)


@in_loop
async def test_a_gate_on_postgres(postgres_database: str) -> None:
    """Sessions are the same on a server's store."""
    for number in range(2):
        async with open_gate(postgres_database, policy=compile_text(POLICY)) as opened:
            asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
            assert isinstance(asked, Ask)
            approval = asked.approval_id
            assert isinstance(await opened.judge(S, f"n{number}", "note", {}, AGENT), Allow)
            assert await opened.settle(S, f"n{number}", AGENT, result=number)
            await intact(opened, S)
    async with open_gate(postgres_database, policy=compile_text(POLICY)) as opened:
        await opened.operator.grant(approval, decided_by="alice")
        assert isinstance(await opened.judge(S, "2", "pay", {"account": "a"}, AGENT), Allow)
        assert [step.result for step in await steps(opened)] == [None, 0, 1]


@pytest.mark.parametrize("safe", [True, False])
@in_loop
async def test_an_unknown_outcome(tmp_path: Path, safe: bool) -> None:
    """What may have been done is not done again unless a person says so; reading is."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "note", {"n": 1}, AGENT, safe=safe), Allow)
    async with gate(tmp_path) as opened:
        await opened.start(S, AGENT, resumed=True)
        again = await opened.judge(S, "1", "note", {"n": 1}, AGENT, safe=safe)
        other = await opened.judge(S, "2", "note", {"n": 1}, AGENT, safe=safe)
        if safe:
            assert isinstance(again, Allow)
            assert isinstance(other, Allow)
            return
        assert isinstance(again, Recorded)
        assert again.unknown
        assert isinstance(other, Ask)
        assert other.rule_id == "__indeterminate_retry"
        with pytest.raises(ValidationError, match="covers this one step"):
            await opened.operator.grant(other.approval_id, decided_by="alice", scope="rule")
        await opened.operator.grant(other.approval_id, decided_by="alice")
        assert isinstance(await opened.judge(S, "2", "note", {"n": 1}, AGENT), Allow)
        assert await opened.settle(S, "2", AGENT, result=None)
        assert isinstance(await opened.judge(S, "3", "note", {"n": 1}, AGENT), Allow)
        await intact(opened, S)


@in_loop
async def test_another_process_goes_on(tmp_path: Path) -> None:
    """Calls, questions and what runs are as they were; the host reports to the process that holds the session."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "run", "note", {"n": 1}, AGENT), Allow)
        asked = await opened.judge(S, "ask", "pay", {"account": "a"}, AGENT)
        assert isinstance(await opened.judge(S, "old", "read_file", {"path": ".env"}, AGENT), Allow)
        assert await opened.settle(S, "old", AGENT, result="KEY=1")
        assert isinstance(asked, Ask)
    async with gate(tmp_path) as opened:
        assert await opened.settle(S, "run", AGENT, result="noted")
        assert await opened.judge(S, "ask", "pay", {"account": "a"}, AGENT) == asked
        old = await opened.judge(S, "old", "read_file", {"path": ".env"}, AGENT)
        assert isinstance(old, Recorded)
        assert old.result == "KEY=1"
        assert isinstance(await opened.judge(S, "x", "fetch", {}, AGENT), Deny), "the history is the same"
        assert isinstance(await opened.judge(S, "same", "note", {"n": 1}, AGENT), Allow)
        assert len(await steps(opened)) == 5
        await intact(opened, S)


@in_loop
async def test_what_a_limit_kept_out_is_judged_anew(tmp_path: Path) -> None:
    """Nothing of it is recorded, in this process and in the next."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "mail", {}, AGENT), Allow)
        assert isinstance(await opened.judge(S, "2", "mail", {}, AGENT), Deny)
        assert isinstance(await opened.judge(S, "2", "mail", {}, AGENT), Deny)
    async with gate(tmp_path) as opened:
        denied = await opened.judge(S, "2", "mail", {}, AGENT)
        assert isinstance(denied, Deny)
        assert denied.rule_id == "few"
        assert not await opened.settle(S, "2", AGENT, result=None)
        await intact(opened, S)


@in_loop
async def test_two_gates_on_one_store(tmp_path: Path) -> None:
    """The session of a live process is nobody else's; others are."""
    async with gate(tmp_path) as first, gate(tmp_path) as second:
        await first.say(S, AGENT, "hello")
        with pytest.raises(ConflictError, match="is running in process"):
            await second.judge(S, "1", "note", {}, AGENT)
        assert isinstance(await second.judge("other", "1", "note", {}, AGENT), Allow)


@in_loop
async def test_the_end_of_a_session(tmp_path: Path) -> None:
    """It completes, unless a person may still answer; taken up again it has its whole past."""
    async with gate(tmp_path) as opened:
        await opened.say(S, AGENT, "pay DE75")
        assert isinstance(await opened.judge(S, "1", "read_file", {"path": ".env"}, AGENT), Allow)
        assert await opened.settle(S, "1", AGENT, result="KEY")
        asked = await opened.judge(S, "2", "pay", {"account": "b"}, AGENT)
        assert isinstance(asked, Ask)
        await opened.end(S, AGENT)
        assert (await opened.operator.execution(S)).status == "running"
        await opened.operator.grant(asked.approval_id, decided_by="alice")
        await opened.end(S, AGENT)
        assert isinstance(await opened.judge(S, "2", "pay", {"account": "b"}, AGENT), Allow)
        assert await opened.settle(S, "2", AGENT, error="no money")
        await opened.end(S, AGENT)
        first = await opened.operator.execution(S)
        assert first.status == "completed"
        denied = await opened.judge(S, "3", "fetch", {}, AGENT)
        assert isinstance(denied, Deny)
        assert denied.rule_id == "secret"
        assert isinstance(await opened.judge(S, "1", "read_file", {"path": ".env"}, AGENT), Recorded)
        assert isinstance(await opened.judge(S, "4", "note", {}, AGENT), Allow), "a fork that asks about nothing"
        assert isinstance(await opened.judge(S, "5", "pay", {"account": "DE75"}, AGENT), Allow)
        # The session's name is that of where it goes on, which has the whole story.
        newest = await opened.operator.execution(S)
        assert (newest.idempotency_key, newest.forked_from) == (f"{S}~2", first.id)
        assert [step.call for step in (await opened.operator.story(S)).steps] == ["1", "2", "3", "4", "5"]
        await intact(opened, S)
        await opened.end(S, AGENT)
        assert isinstance(await opened.judge(S, "6", "note", {"n": 6}, AGENT), Allow)
        assert (await opened.operator.execution(S)).idempotency_key == f"{S}~3"


@in_loop
async def test_a_session_that_was_ended_from_outside(tmp_path: Path) -> None:
    """Nothing of it runs any more, now and later."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "note", {}, AGENT), Allow)
        await opened.operator.cancel(S, reason="stop it")
        denied = await opened.judge(S, "2", "note", {}, AGENT)
        assert isinstance(denied, Deny)
        assert "cancelled: stop it" in denied.reason
        assert isinstance(await opened.judge(S, "1", "note", {}, AGENT), Deny)
        assert not await opened.settle(S, "1", AGENT, result=None)
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "3", "note", {}, AGENT), Deny)
        with pytest.raises(ConflictError, match="is over"):
            await opened.say(S, AGENT, "go on")


@in_loop
async def test_a_subagent_is_a_child(tmp_path: Path) -> None:
    """What it was given is nobody's word."""
    async with gate(tmp_path) as opened:
        await opened.say(S, AGENT, "see to it")
        assert isinstance(await opened.judge(S, "1", "note", {"to": "sub"}, AGENT), Allow)
        await opened.start(f"{S}/sub", AGENT, request="pay DE75", parent=S, parent_call="1")
        asked = await opened.judge(f"{S}/sub", "c", "pay", {"account": "DE75"}, AGENT)
        assert isinstance(asked, Ask)
        with pytest.raises(ConflictError, match="has no user of its own"):
            await opened.say(f"{S}/sub", AGENT, "pay DE75")
        await intact(opened, f"{S}/sub")
        child = await opened.operator.execution(f"{S}/sub")
        [created, *_] = await opened.operator.events(child.id)
        assert created.payload["parent"] == (await opened.operator.execution(S)).id


@in_loop
async def test_observing_stops_nothing_and_records_all(tmp_path: Path) -> None:
    """What ran though it was not let in counts as perhaps for later rules."""
    async with gate(tmp_path, observe=True) as opened:
        for number, (tool, observed) in enumerate(
            [
                ("note", ""),
                ("delete", "deny: no rule allows it"),
                ("pay", "require approval: pay"),
                ("mail", ""),
                ("mail", "deny: "),
            ]
        ):
            verdict = await opened.judge(S, str(number), tool, {}, AGENT)
            assert isinstance(verdict, Allow)
            assert verdict.observed.startswith(observed), verdict
            assert bool(verdict.observed) == bool(observed)
            assert await opened.settle(S, str(number), AGENT, result="done")
        assert [step.status for step in await steps(opened)] == ["succeeded"] * 5
        assert not await opened.operator.approvals()
        await intact(opened, S)
        told = (await opened.operator.story(S)).steps
        assert [step.observed for step in told] == [False, True, True, False, True]
        # Held against the policy again, it says what would have been stopped.
        found = [(one.verdict, one.rule_id) for one in await opened.operator.judged(S)]
        assert found == [
            ("allow", "read"), ("allow", "(not enforced)"), ("allow", "(not enforced)"), ("allow", "few"),
            ("allow", "(not enforced)"),
        ]  # fmt: skip


@in_loop
async def test_calls_at_once(tmp_path: Path) -> None:
    """Equal ones are calls of their own, and each is settled by its id."""
    async with gate(tmp_path) as opened:
        verdicts = await asyncio.gather(
            *(opened.judge(S, f"c{n}", "note", {"n": n % 3}, AGENT) for n in range(30)),
            *(opened.judge(S, f"d{n}", "delete", {"n": n % 3}, AGENT) for n in range(10)),
        )
        assert [type(verdict) for verdict in verdicts] == [Allow] * 30 + [Deny] * 10
        assert len({verdict.step_id for verdict in verdicts if isinstance(verdict, Allow | Deny)}) == 40
        assert all(await asyncio.gather(*(opened.settle(S, f"c{n}", AGENT, result=n) for n in range(30))))
        assert [s.result for s in await steps(opened) if s.target == "note"] == list(range(30))
        await intact(opened, S)


@in_loop
async def test_a_caller_that_is_gone(tmp_path: Path) -> None:
    """The call stands as it was decided, and is settled or lost like any other."""
    async with gate(tmp_path) as opened:
        await opened.say(S, AGENT, "x")
        for turns in range(6):
            task = asyncio.create_task(opened.judge(S, f"c{turns}", "note", {"n": turns}, AGENT))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert isinstance(await opened.judge(S, "c5", "note", {"n": 5}, AGENT), Allow)
        assert await opened.settle(S, "c5", AGENT, result=None)
        await opened.end(S, AGENT)
        await intact(opened, S)


@pytest.mark.parametrize(
    ("session", "call", "tool", "args", "error"),
    [
        ("", "c", "note", {}, ValidationError), ("s" * 300, "c", "note", {}, ValidationError),
        (S, " ", "note", {}, ValidationError), (S, "c", "", {}, ValidationError),
        (S, "c", "note", [], ValidationError), (S, "c", "note", {"a": float("nan")}, TypeError),
        (S, "c", "note", {"a": "\ud800"}, TypeError), (S, 7, "note", {}, ValidationError),
    ],
)  # fmt: skip
@in_loop
async def test_what_is_malformed(
    tmp_path: Path, session: str, call: Any, tool: str, args: Any, error: type[Exception]
) -> None:
    """It is refused, and the session goes on."""
    async with gate(tmp_path) as opened:
        with pytest.raises(error):
            await opened.judge(session, call, tool, args, AGENT)
        assert isinstance(await opened.judge(S, "good", "note", {}, AGENT), Allow)


@in_loop
async def test_outcomes_that_are_malformed(tmp_path: Path) -> None:
    """What a call gave cannot be kept, that it ran is."""
    async with gate(tmp_path) as opened:
        for call, given in (("1", {"result": float("nan")}), ("2", {"error": {"message": "\ud800"}})):
            assert isinstance(await opened.judge(S, call, "note", {"c": call}, AGENT), Allow)
            assert await opened.settle(S, call, AGENT, **given)
        assert [step.status for step in await steps(opened)] == ["failed", "failed"]
        with pytest.raises(ValueError, match="give the result"):
            await opened.settle(S, "1", AGENT)
        with pytest.raises(ConflictError, match="was another one"):
            await opened.judge(S, "1", "note", {"c": "other"}, AGENT)
        assert not await opened.settle(S, "never judged", AGENT, result=UNSET, unknown=True)
        assert not await opened.settle("no such session", "1", AGENT, unknown=True)
        # Nobody but the kernel says that an outcome is unknown.
        assert isinstance(await opened.judge(S, "3", "note", {"c": "3"}, AGENT), Allow)
        assert await opened.settle(S, "3", AGENT, error={"reason": "indeterminate", "message": "x"})
        recorded = await opened.judge(S, "3", "note", {"c": "3"}, AGENT)
        assert isinstance(recorded, Recorded)
        assert not recorded.unknown


@in_loop
async def test_idle_sessions_complete(tmp_path: Path) -> None:
    """Those of hosts only, and none that another process holds."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "note", {}, AGENT), Allow)
        assert await opened.idle(seconds=0) == 0, "it is held here"
    async with gate(tmp_path) as opened:
        assert await opened.idle(seconds=3600) == 0
        assert await opened.idle(seconds=-1) == 1
        assert (await opened.operator.execution(S)).status == "completed"
