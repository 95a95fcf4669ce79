"""A store whose answers are lost: behind a proxy, on each of the event loops."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import AgentRow, ApiKeyRow, ExecutionWrite, Lease
from rebuno.model.execution import ExecutionStatus
from tests.acceptance.faulting.loops import run_on
from tests.acceptance.faulting.proxy import FaultProxy, behind
from tests.journal.builders import batch, event, started, written
from tests.journal.test_postgres_faults import do

# What the store waits for a lock, and how much longer for an answer, in seconds.
PATIENCE, SILENCE = 0.5, 0.3
# Longer than anything here may take, in seconds: anyone who is not done by then hangs.
HANGS = 40.0


AGENT = AgentRow("a", "http://MARK", "first", 0.0)
KEY = ApiKeyRow("k", "MARK", ("x",), b"first", 1.0)
EVENTS = "SELECT count(*) FROM rebuno.events WHERE execution_id = '{}'"

Body = Callable[[PostgresStore, PostgresStore], Awaitable[None]]


def play(
    loop: str, own: str, proxy: FaultProxy, body: Body, *, short: bool | None = None, silence: float = SILENCE
) -> None:
    """Runs a test with a store behind the proxy and one that is not; `short` says which way changes go."""

    async def run() -> None:
        async with asyncio.timeout(HANGS):
            store = await PostgresStore.open(behind(own, proxy), patience=PATIENCE, silence=silence)
            other = await PostgresStore.open(own, patience=PATIENCE)
            try:
                if short is not None:
                    await warm(store, short=short)
                await body(store, other)
            finally:
                await store.close()
                await other.close()

    run_on(loop, run())


async def warm(store: PostgresStore, *, short: bool) -> None:
    """Writes elsewhere until changes go the way that they are to go."""
    await started(store, "warm")
    express = store._workers._sender
    if not short:
        express._closed = True
        for line in list(express._lines):
            express._drop(line)
        return
    while not express.ready:
        await written(store, batch("warm"))
        await asyncio.sleep(0)


async def seen(url: str, statement: str) -> None:
    """Returns once a statement finds something."""
    while not await asyncio.to_thread(do, url, statement):
        pass


def lease_of(store: PostgresStore, id: str = "e1") -> Lease:
    """The lease of the first attempt, which this store began."""
    return Lease(id, 1, store.holder.owner)


def changes(**more: Any) -> Any:
    """A batch of the attempt that runs `e1`, with one event."""

    async def do(store: PostgresStore) -> object:
        return await written(store, batch("e1", event("step.proposed", mark="MARK"), lease=lease_of(store), **more))

    return do


def moves(id: str) -> Any:
    """What a replica does with an execution that it finds: it takes it, and writes on."""

    async def after(other: PostgresStore) -> None:
        found = await other.execution(id)
        claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=other.holder, lease_until=9e9)
        await written(other, batch(id, event("dispatch.acked"), execution=claim, base=found.head_seq))
        await written(other, batch(id, event("dispatch.acked")))

    return after


async def until(happens: Callable[[], object]) -> None:
    """Returns once this is so."""
    while True:
        if happens():
            return
        await asyncio.sleep(0.001)
