"""Sessions that have ended, wait, or come from a copy of their store."""

import asyncio
from pathlib import Path

import pytest

from rebuno.errors import ValidationError
from rebuno.gate import Allow, Ask, Deny, Recorded
from rebuno.journal.sqlite import copies
from tests.embedded.support import in_loop
from tests.gate.test_gate import AGENT, S, gate, intact


@in_loop
async def test_what_ran_when_the_store_was_copied_does_not_run_twice(tmp_path: Path) -> None:
    """A copy does not say how a call ended that was running: the same call is not let in again, and one that only reads
    or was started since is."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    policy = "bundle all\ndefault allow\n"
    async with gate(tmp_path, policy=policy) as opened:
        assert isinstance(await opened.judge(S, "1", "send", {"n": 1}, AGENT), Allow)
        assert isinstance(await opened.judge(S, "2", "read", {"n": 1}, AGENT, safe=True), Allow)
        copies.backup(path, copy)
        assert await opened.settle(S, "1", AGENT, result="sent")
    copies.restore(copy, path, by="ana")
    async with gate(tmp_path, policy=policy) as opened:
        again = await opened.judge(S, "1", "send", {"n": 1}, AGENT)
        assert isinstance(again, Recorded)
        assert again.unknown
        assert isinstance(await opened.judge(S, "2", "read", {"n": 1}, AGENT, safe=True), Allow)
        asked = await opened.judge(S, "3", "send", {"n": 2}, AGENT)
        assert isinstance(asked, Ask)
        await opened.operator.grant(asked.approval_id, decided_by="ana")
        assert isinstance(await opened.judge(S, "3", "send", {"n": 2}, AGENT), Allow)
    async with gate(tmp_path, policy=policy) as opened:
        assert isinstance(await opened.judge(S, "3", "send", {"n": 2}, AGENT), Allow)
        await intact(opened, S)


@in_loop
async def test_the_end_told_twice_begins_nothing(tmp_path: Path) -> None:
    """Neither a second end nor a late outcome makes a fork of a session that has completed."""
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "1", "note", {}, AGENT), Allow)
        await opened.end(S, AGENT)
        await opened.end(S, AGENT)
        assert not await opened.settle(S, "1", AGENT, result="late")
        assert [one.status for one in await opened.operator.executions()] == ["completed"]
        assert isinstance(await opened.judge(S, "2", "note", {"n": 2}, AGENT), Allow)
        await opened.end(S, AGENT)
        assert not await opened.settle(S, "2", AGENT, result="late")
        await opened.end(S, AGENT)
        assert [one.idempotency_key for one in await opened.operator.executions()] == [f"{S}~2", S]


@in_loop
async def test_an_idle_session_that_waits_is_left_alone(tmp_path: Path) -> None:
    """It does not count as completed, and its log does not grow with each look."""
    async with gate(tmp_path) as opened:
        asked = await opened.judge(S, "1", "pay", {"account": "a"}, AGENT)
        assert isinstance(asked, Ask)
        await opened.let_go(S, AGENT)
        assert await opened.idle(seconds=-1) == 0
        before = (await opened.operator.execution(S)).head_seq
        assert await opened.idle(seconds=-1) == 0
        assert (await opened.operator.execution(S)).head_seq == before
        await opened.operator.deny(asked.approval_id, decided_by="ana")
        assert await opened.idle(seconds=-1) == 1
        assert (await opened.operator.execution(S)).status == "completed"


@in_loop
async def test_a_session_is_not_its_own_parent(tmp_path: Path) -> None:
    """It says so, and the session can be used all the same; so can two that name each other."""
    async with gate(tmp_path) as opened, asyncio.timeout(30):
        with pytest.raises(ValidationError, match="its own parent"):
            await opened.start(S, AGENT, parent=S, parent_call="1")
        assert isinstance(await opened.judge(S, "1", "note", {}, AGENT), Allow)
        await asyncio.gather(opened.start("a", AGENT, parent="b"), opened.start("b", AGENT, parent="a"))
        assert isinstance(await opened.judge("a", "1", "note", {}, AGENT), Allow)
        assert isinstance(await opened.judge("b", "1", "note", {}, AGENT), Allow)


@in_loop
async def test_a_call_that_was_let_in_is_held_against_todays_rules(tmp_path: Path) -> None:
    """The same call asked again after the policy became stricter, or was enforced, is refused; how it ended is kept."""
    easy = 'bundle all\nrule all { allow tool "*" }\ndefault deny\n'
    async with gate(tmp_path, policy=easy) as opened:
        for tool in ("fetch", "delete", "pay"):
            assert isinstance(await opened.judge(S, tool, tool, {"account": "a"}, AGENT), Allow)
    async with gate(tmp_path, observe=True) as opened:
        assert isinstance(await opened.judge(S, "seen", "delete", {"n": 1}, AGENT), Allow)
        assert isinstance(await opened.judge(S, "delete", "delete", {"account": "a"}, AGENT), Allow)
    async with gate(tmp_path) as opened:
        assert isinstance(await opened.judge(S, "fetch", "fetch", {"account": "a"}, AGENT), Allow)
        for call_id, args, said in (
            ("delete", {"account": "a"}, "no rule allows it"),
            ("seen", {"n": 1}, "no rule allows it"),
        ):
            denied = await opened.judge(S, call_id, "delete", args, AGENT)
            assert isinstance(denied, Deny)
            assert denied.reason == said
        unasked = await opened.judge(S, "pay", "pay", {"account": "a"}, AGENT)
        assert isinstance(unasked, Deny)
        assert (unasked.rule_id, "approve" in unasked.reason) == ("pay", True)
        assert isinstance(await opened.judge(S, "pay again", "pay", {"account": "a"}, AGENT), Ask)
        assert await opened.settle(S, "delete", AGENT, result="deleted before")
        await intact(opened, S)
