"""What an operator stops starts nothing any more, loses nothing, and goes on once that is lifted."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rebuno
from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.gate import Allow, Deny, open_gate
from rebuno.kernel.core import stops
from rebuno.policy import compile_text
from tests.embedded.support import in_loop

POLICY = """bundle stops
default allow
rule no { deny tool "never" because "never" }
rule ask { require approval for tool "pay" }
"""
ran: list[str] = []


@rebuno.tool("mail_send", idempotency="at_most_once")
async def mail_send(to: str) -> str:
    ran.append(to)
    return to


@rebuno.tool("look", idempotency="at_most_once")
async def look(n: int) -> int:
    ran.append(f"look {n}")
    return n


@rebuno.tool("never")
async def never() -> str:
    return "never"


@rebuno.tool("pay", idempotency="at_most_once")
async def pay(n: int) -> int:
    ran.append(f"pay {n}")
    return n


async def agent() -> list[Any]:
    return [await look(1), str(await never()), await mail_send("ana"), await rebuno.step("calc", lambda: 7)]


def opened(tmp_path: Path) -> Any:
    return rebuno.open(tmp_path / "store.db", policy=compile_text(POLICY))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped step looks again at once, and what is stopped is read anew each time."""
    ran.clear()
    monkeypatch.setattr(stops, "LOOK", 0.0)
    monkeypatch.setattr(stops, "FRESH", 0.0)


async def held(kernel: rebuno.Kernel, ref: str) -> None:
    """Returns once the log says that a step waits."""
    while True:
        try:
            if (await kernel.operator.story(ref)).kept_out:
                return
        except NotFoundError:
            pass
        await asyncio.sleep(0)


@in_loop
async def test_a_step_that_is_held_back_on_the_short_way_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stopped was read a moment ago, so that nothing is awaited before the step is routed."""
    monkeypatch.setattr(stops, "FRESH", 60.0)

    async def local() -> Any:
        return await rebuno.step("calc", lambda: ran.append("calc"))

    async with opened(tmp_path) as kernel:
        made = await kernel.operator.stop(agent="shop", by="ana")
        await stops.look(kernel._core.store)
        running = asyncio.create_task(kernel.run(local, id="run", agent="shop"))
        async with asyncio.timeout(30):
            await held(kernel, "run")
        assert ran == []
        await kernel.operator.lift(made.id, by="ana")
        stops.of(kernel._core.store).due = float("-inf")
        assert (await running).status == "completed"
        assert ran == ["calc"]
        assert len((await kernel.operator.story("run")).kept_out) == 1


@pytest.mark.parametrize(
    ("what", "before"),
    [
        ({"agent": "shop"}, []), ({"everything": True}, []), ({"tool": "mail_*"}, ["look 1"]),
        ({"tool": "mail_send"}, ["look 1"]),
    ],
)  # fmt: skip
@in_loop
async def test_a_run_waits_and_goes_on(tmp_path: Path, what: dict[str, Any], before: list[str]) -> None:
    """Another process stops it, a third lifts it; the trace tells why it waited."""
    async with opened(tmp_path) as kernel, rebuno.operate(tmp_path / "store.db") as operator:
        made = await operator.stop(**what, reason="look at it", by="ana")
        running = asyncio.create_task(kernel.run(agent, id="run", agent="shop"))
        await held(kernel, "run")
        assert ran == before
        [kept] = (await kernel.operator.story("run")).kept_out
        assert (kept.rule_id, kept.parked) == ("__stopped", True)
        assert kept.reason == "stopped by ana: look at it"
        lifted = await operator.lift(made.id[:18], by="ben")
        assert lifted.lifted_by == "ben"
        ended = await running
        assert ended.output == [1, "never not allowed. reason: never", "ana", 7]
        assert ran == ["look 1", "ana"]
        assert not (await kernel.operator.verify("run")).fault
        with pytest.raises(ConflictError, match="was lifted by ben already"):
            await operator.lift(made.id, by="ben")


@pytest.mark.parametrize("what", [{"agent": "other"}, {"tool": "mail"}, {"tool": "MAIL_*"}, {"tool": "calc"}])
@in_loop
async def test_others_go_on(tmp_path: Path, what: dict[str, Any]) -> None:
    """A name is compared letter by letter; a pattern of tools stops no local step."""
    async with opened(tmp_path) as kernel:
        await kernel.operator.stop(**what, by="ana")
        assert (await kernel.run(agent, id="run", agent="shop")).status == "completed"


@in_loop
async def test_what_is_recorded_replays(tmp_path: Path) -> None:
    """A stopped run is resumed to where it stood, and a granted step waits too."""

    async def handler() -> list[Any]:
        return [await look(1), await pay(2)]

    async with opened(tmp_path) as kernel:
        waiting = await kernel.run(handler, id="run", agent="shop")
        await kernel.operator.grant(waiting.approvals[0].id, decided_by="ana")
        made = await kernel.operator.stop(agent="shop", by="ana")
        running = asyncio.create_task(kernel.run(handler, id="run", agent="shop"))
        await held(kernel, "run")
        assert ran == ["look 1"]
        await kernel.operator.lift(made.id, by="ana")
        assert (await running).output == [1, 2]
        assert ran == ["look 1", "pay 2"]
        assert not (await kernel.operator.verify("run")).fault


@in_loop
async def test_a_stopped_run_can_be_cancelled(tmp_path: Path) -> None:
    """It does not wait for the stop."""
    async with opened(tmp_path) as kernel:
        await kernel.operator.stop(everything=True, by="ana")
        running = asyncio.create_task(kernel.run(agent, id="run", agent="shop"))
        await held(kernel, "run")
        await kernel.cancel("run")
        assert (await running).status == "cancelled"


@in_loop
async def test_the_calls_of_a_host_are_denied(tmp_path: Path) -> None:
    """Nothing is recorded of them, so that the same call may run once the stop is lifted."""
    async with open_gate(tmp_path / "store.db", policy=compile_text(POLICY)) as gate:
        made = await gate.operator.stop(agent="claude-code", by="ana")
        denied = await gate.judge("s", "1", "look", {}, "claude-code")
        assert isinstance(denied, Deny)
        assert (denied.rule_id, denied.reason) == ("__stopped", "stopped by ana")
        assert isinstance(await gate.judge("s", "1", "look", {}, "codex"), Allow)
        await gate.operator.lift(made.id, by="ana")
        assert isinstance(await gate.judge("s", "1", "look", {}, "claude-code"), Allow)


@pytest.mark.parametrize(
    "what",
    [
        {}, {"agent": "a", "tool": "b"}, {"agent": "a", "everything": True}, {"agent": " "}, {"agent": "a" * 300},
        {"tool": "\ud800"}, {"everything": True, "reason": "x" * 1001}, {"everything": True, "reason": "\ud800"},
    ],
)  # fmt: skip
@in_loop
async def test_what_is_malformed_stops_nothing(tmp_path: Path, what: dict[str, Any]) -> None:
    """It is refused by name."""
    async with opened(tmp_path) as kernel:
        with pytest.raises(ValidationError):
            await kernel.operator.stop(**what, by="ana")
        assert await kernel.operator.stops() == []
        with pytest.raises(NotFoundError):
            await kernel.operator.lift("", by="ana")
