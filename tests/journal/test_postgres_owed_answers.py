"""No answer of PostgreSQL is waited for for ever: lines that stall, or end in the middle of an answer, are given up.

Each on asyncio's postgres loop and on uvloop.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from rebuno.errors import StoreBusy, StoreError, StoreUnreachable
from rebuno.journal.chain import verify
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import (
    Lease,
    Spend,
)
from tests.acceptance.faulting.loops import run_on
from tests.acceptance.faulting.proxy import Chance, Fault, FaultProxy, before_postgres, behind
from tests.journal.builders import batch, event, execution, started, written
from tests.journal.lost import AGENT, EVENTS, HANGS, changes, lease_of, moves, play, until
from tests.journal.test_postgres_faults import do

# ---------------------------------------------------------------- no answer is waited for for ever


@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
def test_a_part_of_an_answer_together_with_a_reset_is_a_lost_line(
    loop: str, postgres: str, losing: FaultProxy, short: bool
) -> None:
    """Both are there before the loop looks: it reads the part, and goes on to the reset."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        losing.arm(Fault.PARTIAL, "MARK")
        doing = asyncio.ensure_future(changes()(store))
        await asyncio.sleep(0)
        until = time.monotonic() + HANGS
        # No task of the loop runs meanwhile.
        while not losing.hits[Fault.PARTIAL]:
            assert time.monotonic() < until
        assert await doing == 2
        await store.ready()
        assert await written(store, batch("e1", lease=lease_of(store))) == 3
        assert do(postgres, EVENTS.format("e1")) == [(3,)]

    play(loop, postgres, losing, body, short=short)


@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
def test_a_line_that_stalls_for_ever_is_given_up(loop: str, postgres: str, losing: FaultProxy, short: bool) -> None:
    """Nothing tells of it, not even an error: the bound in time does, and the write is found."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        losing.arm(Fault.STALL, "MARK")
        assert await changes()(store) == 2
        assert losing.hits == {Fault.STALL: 1}
        assert do(postgres, EVENTS.format("e1")) == [(2,)]

    play(loop, postgres, losing, body, short=short)


QUESTIONS: dict[str, tuple[str, Callable[[PostgresStore], Awaitable[object]]]] = {
    "a read": ("rebuno.execution_rows WHERE id", lambda store: store.execution("e1")),
    "a list": ("ORDER BY", lambda store: store.executions()),
    "a place": ("rebuno.spends", lambda store: store.spend("s", [Spend("k", 1, None)])),
    "a lease": ("lease_until = CASE", lambda store: store.extend(lease_of(store), 9e9)),
    "an agent": ("leaders", lambda store: store.put_agent(AGENT)),
    "a role": ("rebuno.leaders", lambda store: store.lead("sweeps", 1.0)),
    "a bundle": ("sources", lambda store: store.save_bundle("d", [("p", "t")])),
}


@pytest.mark.parametrize(("at", "asked"), QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_question_on_a_line_that_stalls_for_ever_is_asked_again(
    loop: str, postgres: str, losing: FaultProxy, at: str, asked: Callable[[PostgresStore], Awaitable[object]]
) -> None:
    """On another line, within the bound."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        losing.arm(Fault.STALL, at)
        await asked(store)
        assert losing.hits == {Fault.STALL: 1}

    play(loop, postgres, losing, body)


def test_others_do_not_wait_behind_an_answer_that_does_not_come(loop: str, postgres: str, losing: FaultProxy) -> None:
    """Executions that are written to side by side: one meets the stall, the others are done before it is."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        for n in range(1, 6):
            await started(store, f"e{n}")
        losing.arm(Fault.STALL, "MARK")
        doing = asyncio.ensure_future(changes()(store))
        await until(lambda: losing.hits[Fault.STALL])
        # The line owes the answer for a while by then, and is given nothing any more.
        await until(lambda: any(line.slow for line in store._workers._express._lines))
        assert await asyncio.gather(*(written(store, batch(f"e{n}")) for n in range(2, 6))) == [2] * 4
        assert not doing.done()
        losing.release()
        assert await doing == 2

    play(loop, postgres, losing, body, short=True, silence=HANGS)


def test_a_store_that_owes_an_answer_is_not_ready(
    loop: str, postgres: str, losing: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readiness goes the way of writes: that other questions are answered is not enough."""
    monkeypatch.setattr("rebuno.journal.postgres.served._OWED", 0.0)

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        await store.ready()
        losing.arm(Fault.STALL, "MARK")
        doing = asyncio.ensure_future(changes()(store))
        await until(lambda: losing.hits[Fault.STALL])
        with pytest.raises(StoreBusy, match="owed an answer"):
            await store.ready()
        assert (await store.execution("e1")).id == "e1"
        losing.release()
        await doing
        await store.ready()

    play(loop, postgres, losing, body, short=True)


def test_a_store_that_may_be_read_but_not_written_is_not_ready(loop: str, postgres: str, losing: FaultProxy) -> None:
    """A write is tried."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        do(postgres, "ALTER TABLE rebuno.leaders RENAME TO away")
        assert await store.executions() == []
        with pytest.raises(StoreError):
            await store.ready()

    play(loop, postgres, losing, body)


@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
def test_a_store_closes_though_the_server_never_answers(
    loop: str, postgres: str, losing: FaultProxy, short: bool
) -> None:
    """Anyone who waits is told with a typed error that no answer came, and another process goes on from there."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        for _ in range(40):
            # Every new line stalls as well.
            losing.arm(Fault.STALL, "")
        doing = asyncio.ensure_future(changes()(store))
        reading = asyncio.ensure_future(store.executions())
        await asyncio.sleep(0)
        await store.close()
        # No line was answered on: nobody is told that it was done, or that it was not.
        told = await asyncio.gather(doing, reading, return_exceptions=True)
        assert [type(one) for one in told] == [StoreUnreachable, StoreUnreachable]
        assert losing.hits[Fault.STALL]
        with pytest.raises(StoreError, match="is closed"):
            await store.executions()
        # What was in doubt comes no more behind another who goes on.
        await moves("e1")(other)
        log = await other.events("e1")
        assert verify(log).fault == ""
        assert [e.type for e in log[-2:]] == ["dispatch.acked"] * 2
        assert do(postgres, EVENTS.format("e1")) == [(len(log),)]

    play(loop, postgres, losing, body, short=short)


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
def test_a_run_of_faults_doubles_and_loses_nothing(loop: str, postgres: str, short: bool, fault: Fault) -> None:
    """Executions that are begun and written to at once while a seeded proxy loses answers, of one kind at a time."""

    async def body() -> None:
        chance = Chance(seed=7, rate=0.15, limit=12, longest=0.1, kinds=(fault,))
        with before_postgres(postgres, chance=chance) as losing:
            store = await PostgresStore.open(behind(postgres, losing), patience=5.0)
            if not short:
                store._workers._express._closed = True
            losing.let(True)

            async def agent(i: int) -> None:
                assert await store.create(execution(f"e{i}", store.holder), [event("execution.created")])
                lease = Lease(f"e{i}", 1, store.holder.owner)
                n = 0
                while n < 10 or losing.total < chance.limit:
                    assert await written(store, batch(f"e{i}", event(n=n), lease=lease, base=n + 1)) == n + 2
                    n += 1
                numbers[f"e{i}"] = n

            numbers: dict[str, int] = {}
            async with asyncio.timeout(HANGS):
                await asyncio.gather(*(agent(i) for i in range(6)))
            losing.let(False)
            assert losing.hits == {fault: chance.limit}
            for id, count in numbers.items():
                log = await store.events(id, limit=100_000)
                assert verify(log).fault == ""
                assert [e.payload["n"] for e in log[1:]] == list(range(count))
            await store.close()

    run_on(loop, body())
