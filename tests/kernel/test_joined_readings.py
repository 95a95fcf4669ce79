"""Readings that many executions need at once are shared, and none is believed that is older than it may be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rebuno.errors import StoreError
from rebuno.journal.sqlite import SQLiteStore
from rebuno.journal.stops import StopRow
from rebuno.kernel.core import stops
from rebuno.kernel.served.joined import JoinedReads
from rebuno.kernel.served.policies import Policies
from rebuno.kernel.served.registry import Registry
from tests.embedded.support import in_loop


class Slow(SQLiteStore):
    """A store in memory that counts what it is asked, and answers once `go` is set."""

    asked: list[str]
    go: asyncio.Event
    fails: bool

    async def _held(self) -> None:
        await self.go.wait()
        if self.fails:
            raise StoreError("no")

    async def stops(self, *, lifted: bool = False) -> list[StopRow]:
        self.asked.append("stops")
        found = await super().stops(lifted=lifted)
        await self._held()
        return found

    async def agent(self, agent_id: str) -> Any:
        self.asked.append("agent")
        await self._held()
        return await super().agent(agent_id)

    async def policy(self, agent_id: str) -> Any:
        self.asked.append("policy")
        await self._held()
        return await super().policy(agent_id)


@asynccontextmanager
async def slow() -> AsyncIterator[Slow]:
    store = await Slow.open(":memory:")
    store.asked, store.go, store.fails = [], asyncio.Event(), False
    try:
        yield store
    finally:
        await store.close()


async def turns() -> None:
    """Lets everything that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


@in_loop
async def test_sixteen_who_ask_at_once_ask_the_store_once() -> None:
    """What is stopped, an agent, and its policy; each hears the same."""
    async with slow() as store:
        registry, policies = Registry(store), Policies(store, (), permits=True)
        asking: list[asyncio.Task[Any]] = [asyncio.create_task(stops.look(store)) for _ in range(16)]
        asking += [asyncio.create_task(policies.today("agent")) for _ in range(16)]
        missing = [asyncio.create_task(registry.agent("agent")) for _ in range(16)]
        await turns()
        assert sorted(store.asked) == ["agent", "policy", "stops"]
        store.go.set()
        said = await asyncio.gather(*asking)
        assert len({id(policy) for policy in said[16:]}) == 1
        heard = await asyncio.gather(*missing, return_exceptions=True)
        assert {str(error) for error in heard} == {"there is no agent `agent`"}
        assert len(store.asked) == 3


@in_loop
async def test_a_failure_is_told_to_all_and_not_kept() -> None:
    """The next one asks anew."""
    async with slow() as store:
        store.fails = True
        asking = [asyncio.create_task(stops.look(store)) for _ in range(4)]
        await turns()
        store.go.set()
        heard = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(error) for error in heard] == [StoreError] * 4
        store.fails = False
        await stops.look(store)
        assert store.asked == ["stops", "stops"]


@in_loop
async def test_one_who_goes_takes_nobody_along() -> None:
    """A request that is cancelled while it waits for what others wait for, too."""
    async with slow() as store:
        first, second = [asyncio.create_task(stops.look(store)) for _ in range(2)]
        await turns()
        first.cancel()
        await turns()
        store.go.set()
        await second
        assert store.asked == ["stops"]


@in_loop
async def test_what_was_read_before_a_change_is_not_believed_after_it() -> None:
    """A stop that this process sets while an older reading is under way holds at once."""
    async with slow() as store:
        old = asyncio.create_task(stops.look(store))
        await turns()
        stop = StopRow("01a2-stop", "agent", "", "", "ana", 1.0)
        await store.add_stop(stop)
        stops.forget(store)
        new = asyncio.create_task(stops.look(store))
        await turns()
        assert store.asked == ["stops", "stops"]
        store.go.set()
        await asyncio.gather(old, new)
        assert [one.id for one in stops.of(store).stops] == [stop.id]


@in_loop
async def test_a_reading_that_takes_too_long_answers_none_who_came_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be of a time before the stop that they must obey."""
    monkeypatch.setattr(stops, "FRESH", 0.0)
    async with slow() as store:
        asking = []
        for _ in range(2):
            asking.append(asyncio.create_task(stops.look(store)))
            await turns()
        store.go.set()
        await asyncio.gather(*asking)
        assert store.asked == ["stops", "stops"]


@in_loop
async def test_joined_reads_begin_anew_after_a_change() -> None:
    """Who asked before still gets what was under way."""
    reads: JoinedReads[int] = JoinedReads()
    go, numbers = asyncio.Event(), iter(range(9))

    async def read() -> int:
        number = next(numbers)
        await go.wait()
        return number

    async def ask() -> int:
        return await reads.join("key", read)

    before = [asyncio.create_task(ask()) for _ in range(2)]
    await turns()
    reads.forget()
    after = [asyncio.create_task(ask()) for _ in range(2)]
    await turns()
    go.set()
    assert await asyncio.gather(*before, *after) == [0, 0, 1, 1]
    assert await ask() == 2
