"""A store that was restored from a copy knows that it may be behind the world."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import StoreForeign, ValidationError
from rebuno.gate import Allow, Ask, open_gate
from rebuno.journal.sqlite import copies
from rebuno.policy import compile_text
from tests.embedded.support import in_loop

POLICY = """bundle restored
default allow
rule no { deny tool "never" because "never" }
rule ask { require approval for tool "pay" message "pay?" }
"""
ran: list[str] = []


@rebuno.tool("send", idempotency="at_most_once")
async def send(n: int) -> int:
    ran.append(f"send {n}")
    return n


@rebuno.tool("pay", idempotency="at_most_once")
async def pay(n: int) -> int:
    ran.append(f"pay {n}")
    return n


@rebuno.tool("look")
async def look(n: int) -> int:
    ran.append(f"look {n}")
    return n


@rebuno.tool("never", idempotency="at_most_once")
async def never() -> str:
    return "never"


def opened(path: Path) -> Any:
    ran.clear()
    return rebuno.open(path, policy=compile_text(POLICY))


async def twice() -> list[int]:
    return [await send(1), await look(1), await send(2)]


@in_loop
async def test_what_came_after_the_copy_is_asked_about(tmp_path: Path) -> None:
    """Recorded steps replay, reading runs, and each effect asks a person; nothing is denied that was not."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    made = []

    async def copied() -> list[int]:
        first = await send(1)
        made.append(copies.backup(path, copy))
        return [first, await look(1), await send(2)]

    async with opened(path) as kernel:
        assert (await kernel.run(copied, id="run", agent="a")).output == [1, 1, 2]
    copies.restore(copy, path, by="ana")
    async with opened(path) as kernel:
        blocked = await kernel.run(twice, id="run", agent="a")
        assert blocked.status == "blocked"
        assert ran == ["look 1"]
        [asked] = blocked.approvals
        assert asked.rule_id == "__restored"
        with pytest.raises(ValidationError, match="covers this one step"):
            await kernel.operator.grant(asked.id, decided_by="ana", scope="rule")
        await kernel.operator.grant(asked.id, decided_by="ana")
        assert (await kernel.run(twice, id="run", agent="a")).output == [1, 1, 2]
        assert (await kernel.run(twice, id="new")).status == "blocked", "nobody knows what the other runs did"
        assert str((await kernel.run(never, id="never")).output) == "never not allowed. reason: never"
        await kernel.operator.accept_restore(by="ana")
        assert (await kernel.run(twice, id="another")).status == "completed"
        assert not (await kernel.operator.verify("run")).fault
        assert len(made) == 1


@in_loop
async def test_what_was_granted_before_is_asked_about_again(tmp_path: Path) -> None:
    """It may have run since."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"

    async def handler() -> int:
        return int(await pay(7))

    async with opened(path) as kernel:
        first = (await kernel.run(handler, id="run")).approvals[0]
        await kernel.operator.grant(first.id, decided_by="ana")
        copies.backup(path, copy)
        assert (await kernel.run(handler, id="run")).output == 7
    copies.restore(copy, path, by="ana")
    async with opened(path) as kernel:
        blocked = await kernel.run(handler, id="run")
        assert (blocked.status, ran) == ("blocked", [])
        [asked] = blocked.approvals
        assert asked.id != first.id
        assert "restored from a copy" in str(asked.message)
        await kernel.operator.grant(asked.id, decided_by="ana")
        assert (await kernel.run(handler, id="run")).output == 7
        assert ran == ["pay 7"]
        assert not (await kernel.operator.verify("run")).fault


@in_loop
async def test_the_calls_of_a_host_ask_too(tmp_path: Path) -> None:
    """And a database says so where it was restored by its own tools."""
    async with open_gate(tmp_path / "a.db", policy=compile_text(POLICY)) as gate:
        await gate.operator.mark_restored(by="ana")
        assert isinstance(await gate.judge("s", "1", "send", {}, "host"), Ask)
        assert isinstance(await gate.judge("s", "2", "look", {}, "host", safe=True), Allow)
        await gate.operator.accept_restore(by="ana")
        assert isinstance(await gate.judge("s", "3", "send", {"n": 2}, "host"), Allow)


@in_loop
async def test_a_copy_over_a_live_file_is_noticed(tmp_path: Path) -> None:
    """Nothing more is written."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    async with opened(path) as kernel:
        await kernel.run(twice, id="one")
        copies.backup(path, copy)
        shutil.copyfile(copy, path)
        with pytest.raises(StoreForeign):
            await kernel.run(twice, id="two")
    assert ran == ["send 1", "look 1", "send 2"]
