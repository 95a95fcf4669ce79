"""A served execution from its creation to its end, on every store; on PostgreSQL each request goes to the other of two
replicas."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from rebuno.errors import ConflictError, ForbiddenError, LeaseSuperseded, NotFoundError, Terminated
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.kernel.serving import Dispatched, Outcome
from rebuno.model.answer import Say
from rebuno.model.clock import FixedClock
from rebuno.model.execution import ExecutionStatus
from tests.kernel.served import LEASE, World, world

Scenario = Callable[[Callable[[World], Awaitable[None]]], None]

ASKS = 'bundle asks\ndefault allow\nrule pay { require approval for tool "pay" because "money" }\n'


@asynccontextmanager
async def opened(url: str | None, clock: FixedClock) -> AsyncIterator[list[ServedStore]]:
    """One store in memory, or two on one database."""
    async with AsyncExitStack() as stack:
        stores: list[ServedStore] = []
        for _ in range(1 if url is None else 2):
            store: ServedStore = await (
                SQLiteStore.open(":memory:", clock=clock) if url is None else PostgresStore.open(url, clock=clock)
            )
            stack.push_async_callback(store.close)
            stores.append(store)
        yield stores


@pytest.fixture(params=["sqlite", "postgres"])
def play(request: pytest.FixtureRequest) -> Scenario:
    """Plays a scenario."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgres")

    def played(scenario: Callable[[World], Awaitable[None]]) -> None:
        async def whole() -> None:
            clock = FixedClock()
            async with opened(url, clock) as stores, world(stores, clock) as made:
                await scenario(made)

        asyncio.run(whole())

    return played


def test_an_execution_is_delivered_and_completes(play: Scenario) -> None:
    """Its agent is told once, its steps are recorded, its log tells of the delivery, and no dispatch is left."""

    async def scenario(w: World) -> None:
        await w.agent()
        run = await w.begin(input={"n": 1})
        await w.until(run, "dispatch.acked")
        first = await run.submit("look", {"n": 1})
        assert first.say is Say.PROCEED
        assert (await run.done(first, [1])).outcome is Outcome.RECORDED
        again = await run.done(first, "another")
        assert (again.outcome, again.result) == (Outcome.REPLAY, "[1]")
        await run.complete({"ok": True}, '{"page":2}')
        row = await w.row(run)
        assert (row.status, row.output, row.state, row.holder) == (
            ExecutionStatus.COMPLETED,
            '{"ok":true}',
            '{"page":2}',
            None,
        )
        assert [event.type for event in await w.store.events(run.id)] == [
            "execution.created",
            "dispatch.queued",
            "execution.started",
            "dispatch.acked",
            "step.executing",
            "step.succeeded",
            "execution.completed",
        ]
        assert await w.store.dispatch(run.id) is None
        with pytest.raises(Terminated):
            await run.complete(None)
        assert (await run.submit()).say is Say.EXECUTION_TERMINAL
        assert (await run.done(first)).outcome is Outcome.EXECUTION_TERMINAL
        with pytest.raises(LeaseSuperseded):
            await run.beat()
        await w.quiet()

    play(scenario)
