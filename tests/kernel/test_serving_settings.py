"""What a server says for all: a deadline of new executions, and how long a question stands."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from rebuno.kernel.served.kernel import Settings
from rebuno.model.answer import AnswerKind
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import SETTINGS, World, opened, sound, world

ASKS = """\
bundle asks
default allow
rule plain { require approval for tool "send" }
rule timed { require approval for tool "pay" expires 1h }
"""


def play(settings: Settings, scenario: Callable[[World], Awaitable[None]]) -> None:
    """Plays a scenario on a replica in memory with these settings."""

    async def whole() -> None:
        clock = FixedClock()
        async with opened(None, clock) as stores, world(stores, clock, settings) as made:
            await scenario(made)
            await sound(made.store)

    asyncio.run(whole())


def test_new_executions_have_a_deadline() -> None:
    """From their creation on, a pending one's too; a fork has one only where that is asked for."""

    async def scenario(w: World) -> None:
        await w.agent()
        began = w.clock.now()
        run = await w.begin(session="s")
        waits = await w.create(session="s")
        assert (await w.row(run)).deadline_at == waits.deadline_at == pytest.approx(began + 600)
        await run.act("look")
        fork = await w.serving.fork(run.id, at_seq=(await w.row(run)).head_seq)
        assert fork.deadline_at == 0
        w.clock.advance(599)
        await w.serving.sweep()
        assert await w.status(run) is ExecutionStatus.RUNNING
        w.clock.advance(2)
        await w.serving.sweep()
        for ended in (await w.row(run), await w.store.execution(waits.id)):
            assert (ended.status, ended.failure_reason) == (ExecutionStatus.CANCELLED, "deadline_exceeded")
        assert (await w.store.execution(fork.id)).status is ExecutionStatus.RUNNING

    play(replace(SETTINGS, deadline=600.0), scenario)


@pytest.mark.parametrize("approvals", [None, 60.0])
def test_a_question_stands_as_long_as_its_rule_says_else_the_server(approvals: float | None) -> None:
    """Nobody's answer denies the step; without either it stands for ever."""

    async def scenario(w: World) -> None:
        await w.agent(policy=ASKS)
        run = await w.begin()
        now = w.clock.now()
        assert (await run.submit("send")).kind is AnswerKind.BLOCKED
        (plain,) = await w.serving.approvals()
        assert plain.timeout_at == (pytest.approx(now + approvals) if approvals else 0)
        other = await w.begin()
        assert (await other.submit("pay")).kind is AnswerKind.BLOCKED
        (timed,) = await w.serving.approvals(execution_id=other.id)
        assert timed.timeout_at == pytest.approx(now + 3600)
        w.clock.advance(61)
        states = {one.id: one.status for one in await w.serving.approvals(status=None)}
        assert states == {plain.id: "expired" if approvals else "pending", timed.id: "pending"}
        if approvals:
            run = await w.run()
            answer = await run.submit("send")
            assert (answer.kind, answer.reason) == (AnswerKind.DENIED, "approval_timeout")

    play(replace(SETTINGS, approvals=approvals), scenario)
