"""Answers of PostgreSQL that are lost: every write is found again, however far the log has moved since.

Each on asyncio's postgres loop and on uvloop: what the one tells of a lost socket twice, the other tells once.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from rebuno.errors import Terminated
from rebuno.journal.chain import verify
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.postgres.changes import PostgresChanges
from rebuno.journal.postgres.group import ChangeGroup
from rebuno.journal.records import (
    AgentRow,
    Copied,
    Dispatch,
    DispatchState,
    ExecutionRow,
    ExecutionWrite,
    StepWrite,
    Tombstone,
)
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.acceptance.faulting.proxy import Fault, FaultProxy
from tests.journal.builders import batch, ending, event, execution, started, starting, step, written
from tests.journal.lost import AGENT, EVENTS, HANGS, KEY, changes, lease_of, moves, play, seen
from tests.journal.test_postgres_faults import do

# ---------------------------------------------------------------- found again, whatever came after


@dataclass(frozen=True)
class Deed:
    """A write whose answer is lost: at the message that holds `MARK` (or `at`). `there` is a question that finds rows
    once it was carried out, `after` what others do then, before the writer hears anything; `comes_to` is what it must
    be told all the same, and `left` a question and its answer after that."""

    name: str
    prepare: Callable[[PostgresStore], Awaitable[object]]
    do: Callable[[PostgresStore], Awaitable[object]]
    there: str
    after: Callable[[PostgresStore], Awaitable[object]]
    comes_to: object
    left: tuple[str, list[tuple[Any, ...]]]
    at: str = "MARK"


def creates(made: Callable[[], ExecutionRow], copied: Copied | None = None, *kinds: str) -> Any:
    """A deed that adds an execution `e2`."""

    async def do(store: PostgresStore) -> object:
        events = [event("execution.created", mark="MARK"), *(event(kind) for kind in kinds)]
        return await store.create(made(), events, copied)

    return do


async def one(store: PostgresStore) -> None:
    await started(store)


async def nothing(store: PostgresStore) -> None:
    """Nobody does anything."""


def buries(id: str) -> Any:
    """What retention does with an execution that has ended."""

    async def after(other: PostgresStore) -> None:
        with suppress(Terminated):
            await written(other, ending(id))
        row = await other.execution(id)
        await other.bury(Tombstone(id, "agent", row.key, row.status, "", row.head_hash, row.updated_at))

    return after


async def settles(store: PostgresStore) -> object:
    done = StepWrite(step(status=StepStatus.SUCCEEDED, result='"MARK"'), settled=0)
    return await written(store, batch("e1", event("step.succeeded"), steps=(done,), lease=lease_of(store)))


async def with_a_step(store: PostgresStore) -> None:
    await started(store)
    await written(store, starting(step()))


async def ends(store: PostgresStore) -> object:
    end = ending()
    end.execution = ExecutionWrite(ExecutionStatus.COMPLETED, output='"MARK"', attempt=1)
    end.lease = lease_of(store)
    return await written(store, end)


async def registers(store: PostgresStore) -> object:
    return (await store.put_agent(AGENT)).id


async def registered(store: PostgresStore) -> None:
    await store.put_agent(replace(AGENT, webhook_url="http://there"))
    await store.put_policy("a", "before")


LOST = [
    Deed(
        "an execution is made, and taken by a replica",
        nothing,
        creates(lambda: execution("e2")),
        "SELECT 1 FROM rebuno.executions WHERE id = 'e2'",
        moves("e2"),
        True,
        ("SELECT id, head_seq FROM rebuno.executions WHERE id LIKE 'e%'", [("e2", 3)]),
    ),
    Deed(
        "one with a key",
        nothing,
        creates(lambda: execution("e2", key="mine")),
        "SELECT 1 FROM rebuno.executions WHERE id = 'e2'",
        moves("e2"),
        True,
        ("SELECT id, head_seq FROM rebuno.executions WHERE id LIKE 'e%'", [("e2", 3)]),
    ),
    Deed(
        "one that is queued in a session",
        nothing,
        creates(
            lambda: execution("e2", served=True, session="s"),
            Copied(dispatch=Dispatch("d", "e2", "agent", DispatchState.QUEUED, 0, 0, 0.0)),
        ),
        "SELECT 1 FROM rebuno.executions WHERE id = 'e2'",
        moves("e2"),
        True,
        ("SELECT execution_id FROM rebuno.dispatches", [("e2",)]),
    ),
    Deed(
        "a fork with the steps that it copies",
        one,
        creates(
            lambda: execution("e2", forked_from="e1", fork_seq=1),
            Copied((replace(step("s9", "e2", StepStatus.SUCCEEDED, result="1"), decided_seq=2, outcome_seq=2),)),
            "step.succeeded",
        ),
        "SELECT 1 FROM rebuno.executions WHERE id = 'e2'",
        moves("e2"),
        True,
        ("SELECT step_id FROM rebuno.steps", [("s9",)]),
    ),
    Deed(
        "one that ended and was buried meanwhile",
        nothing,
        creates(lambda: execution("e2")),
        "SELECT 1 FROM rebuno.executions WHERE id = 'e2'",
        buries("e2"),
        True,
        ("SELECT id FROM rebuno.executions WHERE output_hash IS NULL AND id LIKE 'e%'", []),
    ),
    Deed(
        "a batch that rests on nothing",
        one,
        changes(),
        "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1' AND event_seq = 2",
        moves("e1"),
        2,
        (EVENTS.format("e1"), [(4,)]),
    ),
    Deed(
        "a batch that rests on the newest event",
        one,
        changes(base=1),
        "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1' AND event_seq = 2",
        moves("e1"),
        2,
        (EVENTS.format("e1"), [(4,)]),
    ),
    Deed(
        "an outcome",
        with_a_step,
        settles,
        "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1' AND event_seq = 3",
        moves("e1"),
        3,
        ("SELECT status FROM rebuno.steps", [("succeeded",)]),
    ),
    Deed(
        "an end, buried meanwhile",
        one,
        ends,
        "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1' AND event_seq = 2",
        buries("e1"),
        2,
        (EVENTS.format("e1"), [(0,)]),
    ),
    Deed(
        "an agent, which another operator changes",
        nothing,
        registers,
        "SELECT 1 FROM rebuno.agents",
        lambda other: other.put_agent(AgentRow("a", "http://second", "second", 0.0)),
        "a",
        ("SELECT secret FROM rebuno.agents", [("second",)]),
    ),
    Deed(
        "what an agent says of itself",
        registered,
        lambda store: store.describe_agent("a", "MARK", None, None),
        "SELECT 1 FROM rebuno.agents WHERE description = 'MARK'",
        lambda other: other.describe_agent("a", "second", None, None),
        True,
        ("SELECT description FROM rebuno.agents", [("second",)]),
    ),
    Deed(
        "the removal of an agent, which is registered again",
        registered,
        lambda store: store.delete_agent("a"),
        "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM rebuno.agents)",
        lambda other: other.put_agent(AgentRow("a", "http://second", "second", 0.0)),
        True,
        ("SELECT secret FROM rebuno.agents", [("second",)]),
        "FROM rebuno.agents",
    ),
    Deed(
        "a bundle, which another operator changes",
        registered,
        lambda store: store.put_policy("a", "MARK"),
        "SELECT 1 FROM rebuno.policies WHERE version = 2",
        lambda other: other.put_policy("a", "second"),
        2,
        ("SELECT version, text FROM rebuno.policies", [(3, "second")]),
    ),
    Deed(
        "a key with a new token, which is revoked",
        nothing,
        lambda store: store.put_key(KEY),
        "SELECT 1 FROM rebuno.api_keys",
        lambda other: other.put_key(replace(KEY, revoked_at=2.0)),
        None,
        ("SELECT revoked_at FROM rebuno.api_keys", [(2.0,)]),
    ),
]


@pytest.mark.parametrize("deed", LOST, ids=lambda deed: deed.name)
def test_a_write_is_found_again_whatever_was_written_after_it(
    loop: str, postgres: str, losing: FaultProxy, deed: Deed
) -> None:
    """Carried out and its line stalled; others go on from it; then the line is reset: it is answered as it was, and
    what came after it stands."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await deed.prepare(store)
        losing.arm(Fault.STALL, deed.at)
        doing = asyncio.ensure_future(deed.do(store))
        await seen(postgres, deed.there)
        await deed.after(other)
        losing.release()
        assert await doing == deed.comes_to
        assert losing.hits == {Fault.STALL: 1}
        assert do(postgres, deed.left[0]) == deed.left[1]
        for found in await other.executions():
            assert verify(await other.events(found.id)).fault == ""

    play(loop, postgres, losing, body, short=True)


def test_dispatches_that_were_taken_unheard_are_taken_by_the_next_question(
    loop: str, postgres: str, losing: FaultProxy
) -> None:
    """Anyone who asked and lost the answer gets them again at once; nobody else does, and nobody twice."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        rows = Copied(dispatch=Dispatch("d", "e2", "agent", DispatchState.QUEUED, 0, 0, 0.0))
        assert await store.create(replace(execution("e2", served=True), lease_until=0.0), [event()], rows)
        now = store.now()
        losing.arm(Fault.STALL, "UPDATE rebuno.dispatches SET due_at")
        asking = asyncio.ensure_future(store.dispatches_due(now, now + 35, limit=10))
        await seen(postgres, "SELECT 1 FROM rebuno.dispatches WHERE due_at > 1")
        assert await other.dispatches_due(now, now + 35, limit=10) == []
        losing.release()
        assert [one.id for one in await asking] == ["d"]
        assert losing.hits == {Fault.STALL: 1}
        assert await store.dispatches_due(now, now + 35, limit=10) == []

    play(loop, postgres, losing, body)


def test_dispatches_that_a_late_statement_takes_are_taken_by_the_next_question(
    loop: str, postgres: str, losing: FaultProxy
) -> None:
    """The statement arrives after its line was given up, and after it was sent again."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        now = store.now()
        losing.arm(Fault.LATE, "UPDATE rebuno.dispatches SET due_at")
        assert await store.dispatches_due(now, now + 35, limit=10) == []
        rows = Copied(dispatch=Dispatch("d", "e2", "agent", DispatchState.QUEUED, 0, 0, 0.0))
        assert await store.create(replace(execution("e2", served=True), lease_until=0.0), [event()], rows)
        losing.release()
        await seen(postgres, "SELECT 1 FROM rebuno.dispatches WHERE due_at > 1")
        assert losing.hits == {Fault.LATE: 1}
        assert [one.id for one in await store.dispatches_due(now, now + 35, limit=10)] == ["d"]

    play(loop, postgres, losing, body)


# ---------------------------------------------------------------- looked for while it is still under way


WAYS: dict[str, dict[str, Any]] = {"rests on nothing": {}, "rests on the newest event": {"base": 1}}


@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
@pytest.mark.parametrize("more", WAYS.values(), ids=list(WAYS))
def test_a_statement_that_is_carried_out_while_it_is_looked_for_is_neither_repeated_nor_stale(
    loop: str, postgres: str, losing: FaultProxy, more: dict[str, Any], short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line is cut while it waits for a lock, and it goes through right after it was not found."""
    looked, gone_on = threading.Event(), threading.Event()
    carried_out = PostgresChanges._carried_out

    def looking(self: PostgresChanges, connection: Any, group: ChangeGroup, sent: Any) -> bool:
        found = carried_out(self, connection, group, sent)
        if not found and not looked.is_set():
            looked.set()
            gone_on.wait(HANGS)
        return found

    monkeypatch.setattr(PostgresChanges, "_carried_out", looking)

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        with psycopg.connect(postgres) as stranger:
            stranger.execute("SELECT FROM rebuno.executions WHERE id = 'e1' FOR UPDATE")
            losing.arm(Fault.STALL, "MARK")
            doing = asyncio.ensure_future(changes(**more)(store))
            await seen(postgres, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            losing.release()
            await asyncio.to_thread(looked.wait, HANGS)
        await seen(postgres, "SELECT 1 FROM rebuno.events WHERE execution_id = 'e1' AND event_seq = 2")
        gone_on.set()
        assert await doing == 2
        assert do(postgres, EVENTS.format("e1")) == [(2,)]

    play(loop, postgres, losing, body, short=short)


@pytest.mark.parametrize("short", [True, False], ids=["short", "workers"])
@pytest.mark.parametrize("more", WAYS.values(), ids=list(WAYS))
def test_a_statement_that_arrives_after_it_was_sent_again_changes_nothing(
    loop: str, postgres: str, losing: FaultProxy, more: dict[str, Any], short: bool
) -> None:
    """It was on its way when its line was reset, was repeated, and then comes."""

    async def body(store: PostgresStore, other: PostgresStore) -> None:
        await started(store)
        losing.arm(Fault.LATE, "MARK")
        assert await changes(**more)(store) == 2
        losing.release()
        assert await changes()(store) == 3
        # Behind the late one, where that waited for the row.
        await moves("e1")(other)
        assert losing.hits == {Fault.LATE: 1}
        assert do(postgres, EVENTS.format("e1")) == [(5,)]
        assert verify(await other.events("e1")).fault == ""

    play(loop, postgres, losing, body, short=short)
