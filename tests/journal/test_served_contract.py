"""What every store promises a served kernel, tried on each of them through the `ServedStore` protocol alone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rebuno.errors import LeaseSuperseded, NotFoundError, Terminated
from rebuno.journal.postgres import PostgresStore
from rebuno.journal.records import (
    AgentRow,
    ApiKeyRow,
    Copied,
    Dispatch,
    DispatchState,
    ExecutionRow,
    ExecutionWrite,
    Holder,
    Lease,
    StepWrite,
)
from rebuno.journal.served import ServedStore
from rebuno.journal.sqlite import SQLiteStore
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.journal.builders import batch, ending, event, in_loop, starting, step, written

Opener = Callable[[], AbstractAsyncContextManager[ServedStore]]


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a store of each kind; the same one each time within a test."""
    url = request.getfixturevalue("postgres") if request.param == "postgres" else None

    @asynccontextmanager
    async def opened() -> AsyncIterator[ServedStore]:
        store: ServedStore = await (SQLiteStore.open(tmp_path / "store.db") if url is None else PostgresStore.open(url))
        try:
            yield store
        finally:
            await store.close()

    return opened


def execution(id: str, status: ExecutionStatus = ExecutionStatus.RUNNING, **changes: Any) -> ExecutionRow:
    """A served execution that nobody runs."""
    made = ExecutionRow(id, "agent", None, status, "null", "digest", served=True)
    return replace(made, **changes)


def dispatch(execution_id: str, **changes: Any) -> Dispatch:
    """A dispatch of an execution that is due."""
    return replace(Dispatch(f"d-{execution_id}", execution_id, "agent", due_at=1.0), **changes)


async def add(store: ServedStore, made: ExecutionRow, queued: Dispatch | None = None) -> bool:
    """Adds an execution, with a dispatch or without."""
    return await store.create(made, [event("execution.created")], Copied(dispatch=queued))


async def claim(store: ServedStore, id: str, until: float) -> Lease:
    """Has an execution run under a lease that ends then."""
    lease = Lease(id, 1, f"d-{id}/1")
    write = ExecutionWrite(
        ExecutionStatus.RUNNING, attempt=1, holder=Holder(lease.owner, "agent", 0), lease_until=until
    )
    await written(store, batch(id, event("execution.started"), execution=write))
    return lease


@in_loop
async def test_what_a_served_execution_has_besides_reads_back(served: Opener) -> None:
    """As it was created, and as it changes: what it continues when it begins, its state when it ends."""
    made = execution(
        "e1",
        ExecutionStatus.PENDING,
        session="chat\0",
        spawned_execution_id="p",
        spawned_step_id="s",
        created_by="ci",
        on_behalf_of="ann",
    )
    async with served() as store:
        assert await add(store, made)
        read = await store.execution("e1")
        assert replace(read, head_seq=0, head_hash=bytes(32), created_at=0.0, updated_at=0.0) == made
        begun = ExecutionWrite(ExecutionStatus.RUNNING, dispatch=dispatch("e1"), continues="e0")
        await written(store, batch("e1", event("dispatch.queued"), execution=begun))
        assert (await store.execution("e1")).continues == "e0"
        assert await store.dispatch("e1") == dispatch("e1")
        end = ExecutionWrite(ExecutionStatus.COMPLETED, output="1", attempt=1, state='{"a":1}')
        await written(store, batch("e1", event("execution.completed"), execution=end))
        read = await store.execution("e1")
        assert (read.state, read.continues, read.output) == ('{"a":1}', "e0", "1")


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        (ExecutionStatus.RUNNING, True),  # nothing is said of it
        (ExecutionStatus.BLOCKED, False),  # what ends the wait makes a new one
        (ExecutionStatus.COMPLETED, False),
        (ExecutionStatus.FAILED, False),
        (ExecutionStatus.CANCELLED, False),
    ],
)
@in_loop
async def test_a_dispatch_goes_with_what_it_was_for(served: Opener, status: ExecutionStatus, kept: bool) -> None:
    """In the same change that blocks or ends the execution; a new one takes its place."""
    async with served() as store:
        await add(store, execution("e1"), dispatch("e1"))
        await written(store, batch("e1", execution=ExecutionWrite(status)))
        assert (await store.dispatch("e1") is not None) is kept
        if kept:
            new = dispatch("e1", id="d2", state=DispatchState.CLAIMED, attempt=3, failures=2, due_at=9.5)
            await written(store, batch("e1", execution=ExecutionWrite(status, dispatch=new)))
            assert await store.dispatch("e1") == new


@in_loop
async def test_what_is_due_is_handed_out_once(served: Opener) -> None:
    """The most overdue first, to one caller until the time that it names; not before a lease has run out."""
    async with served() as store, served() as other:
        for id, due, status in (
            ("late", 1.0, ExecutionStatus.RUNNING),
            ("later", 2.0, ExecutionStatus.RUNNING),
            ("early", 90.0, ExecutionStatus.RUNNING),
            ("leased", 1.0, ExecutionStatus.RUNNING),
        ):
            await add(store, execution(id, status), dispatch(id, due_at=due))
        await claim(store, "leased", 60.0)
        found = await store.dispatches_due(50.0, 80.0, limit=1)
        assert [(one.execution_id, one.id, one.state) for one in found] == [("late", "d-late", DispatchState.QUEUED)]
        both = await asyncio.gather(*(s.dispatches_due(50.0, 80.0, limit=9) for s in (store, other)))
        assert [one.execution_id for page in both for one in page] == ["later"]
        assert await store.dispatches_due(79.0, 80.0, limit=9) != []
        assert {one.execution_id for one in await store.dispatches_due(95.0, 99.0, limit=9)} == {
            "late",
            "later",
            "early",
            "leased",
        }


@in_loop
async def test_a_lease_is_extended_by_who_has_it_until_it_is_over(served: Opener) -> None:
    """Another attempt's is not, nor one that was given up, nor that of an ended execution."""
    async with served() as store:
        await add(store, execution("e1"))
        lease = await claim(store, "e1", 60.0)
        assert await store.extend(lease, 70.0)
        assert (await store.execution("e1")).lease_until == 70.0
        assert not await store.extend(Lease("e1", 1, "d-e1/2"), 80.0)
        assert await store.extend(lease, 0.0)
        assert not await store.extend(lease, 90.0)
        row = await store.execution("e1")
        assert (row.lease_until, row.holder and row.holder.owner) == (0.0, lease.owner)
        await written(store, ending("e1"))
        assert not await store.extend(lease, 90.0)


@in_loop
async def test_a_step_is_marked_once_an_attempt(served: Opener) -> None:
    """The same request may ask twice; a later write of the row does not take the mark away."""
    async with served() as store:
        await add(store, execution("e1"))
        lease = await claim(store, "e1", 60.0)
        row = step("s1")
        await written(store, starting(row))
        assert await store.mark(lease, "s1", 7)
        assert await store.mark(lease, "s1", 7)
        assert not await store.mark(lease, "s1", 8)
        assert not await store.mark(lease, "s-none", 8)
        done = replace(row, status=StepStatus.SUCCEEDED, result="1")
        await written(store, batch("e1", event("step.succeeded"), steps=(StepWrite(done, settled=0),)))
        read = await store.step("s1")
        assert (read.visited, read.submission, read.status) == (1, 7, StepStatus.SUCCEEDED)
        with pytest.raises(LeaseSuperseded):
            await store.mark(Lease("e1", 2, lease.owner), "s1", 9)
        with pytest.raises(NotFoundError):
            await store.mark(Lease("e-none", 1, lease.owner), "s1", 9)
        await written(store, ending("e1"))
        with pytest.raises(Terminated):
            await store.mark(lease, "s1", 9)


@in_loop
async def test_a_session_has_one_that_runs(served: Opener) -> None:
    """Another one is refused unless it waits; the rest is told in its order."""
    async with served() as store:
        assert await add(store, execution("e1", session="s"))
        assert not await add(store, execution("e2", session="s"))
        assert await add(store, execution("e3", session="s", agent_id="other"))
        assert await add(store, execution("e4"))
        assert await add(store, execution("e5"))
        for id in ("e6", "e7"):
            assert await add(store, execution(id, ExecutionStatus.PENDING, session="s"))
        live = await store.session("agent", "s", live=True)
        assert live is not None
        assert live.id == "e1"
        assert await store.sessions_free() == []
        assert await store.session("agent", "s", live=False) is None
        assert await store.session("agent", "", live=True) is None
        await written(store, ending("e1"))
        assert [one.id for one in await store.sessions_free()] == ["e6"]
        last = await store.session("agent", "s", live=False)
        assert last is not None
        assert last.id == "e1"
        assert [one.id for one in await store.executions(session="s")] == ["e7", "e6", "e3", "e1"]


@in_loop
async def test_a_step_has_one_subagent_and_its_end_is_told_once(served: Opener) -> None:
    """Those that nobody told are found, and those whose parents have ended or whose steps have failed."""
    async with served() as store:
        await add(store, execution("p"))
        await add(store, execution("gone"))
        for id in ("s1", "s2", "s3"):
            await written(store, starting(step(id, "p")))
        await written(store, starting(step("s4", "gone")))

        def child(id: str, parent: str, step_id: str) -> ExecutionRow:
            return execution(id, spawned_execution_id=parent, spawned_step_id=step_id)

        assert await add(store, child("c1", "p", "s1"))
        assert not await add(store, child("c9", "p", "s1"))
        for id, parent, step_id in (("c2", "p", "s2"), ("c3", "p", "s3"), ("c4", "gone", "s4")):
            assert await add(store, child(id, parent, step_id))
        assert [one.id for one in await store.children("p")] == ["c1", "c2", "c3"]
        found = await store.child("s1")
        assert found is not None
        assert found.id == "c1"
        assert (await store.child("s9"), await store.child("")) == (None, None)
        assert await store.orphans() == []
        await written(store, ending("c1"))
        assert [one.id for one in await store.children_ended()] == ["c1"]
        await store.told("c1")
        assert (await store.children_ended(), [one.id for one in await store.children("p")]) == ([], ["c2", "c3"])
        failed = replace(step("s2", "p"), status=StepStatus.FAILED, error="{}")
        await written(store, batch("p", event("step.failed"), steps=(StepWrite(failed, settled=0),)))
        await written(store, ending("gone"))
        assert [one.id for one in await store.orphans()] == ["c2", "c4"]


@in_loop
async def test_agents_and_their_bundles_are_kept(served: Opener) -> None:
    """A change leaves what the agent said of itself; removing it removes its bundle."""
    async with served() as store, served() as other:
        made = await store.put_agent(AgentRow("agent", "http://a/", "s\0", 12.0))
        assert (made.secret, made.lease, made.registered_at > 0) == ("s\0", 12.0, True)
        assert await store.describe_agent("agent", "d", "{}", None)
        assert not await store.describe_agent("nobody", "d", None, None)
        changed = await store.put_agent(AgentRow("agent", "http://b/", "t"))
        assert changed == replace(
            made, webhook_url="http://b/", secret="t", lease=0.0, description="d", input_schema="{}"
        )
        assert await other.agents() == [changed]
        assert [await store.put_policy("agent", text) for text in ("one", "two\0")] == [1, 2]
        bundle = await other.policy("agent")
        assert bundle is not None
        assert (bundle.version, bundle.text) == (2, "two\0")
        assert await store.delete_agent("agent")
        assert not await store.delete_agent("agent")
        assert (await other.agent("agent"), await other.policy("agent")) == (None, None)


@in_loop
async def test_api_keys_are_found_by_their_hashes(served: Opener) -> None:
    """As they are now."""
    key = ApiKeyRow("k1", "ci", ("a:read", "b:write"), b"\0" * 32, 5.0)
    async with served() as store:
        await store.put_key(key)
        await store.put_key(ApiKeyRow("k2", "other", (), b"\1" * 32, 6.0))
        assert await store.api_key(b"\0" * 32) == key
        changed = replace(key, token_hash=b"\2" * 32, revoked_at=7.0)
        await store.put_key(changed)
        assert await store.api_key(b"\0" * 32) is None
        assert [one.id for one in await store.keys()] == ["k1", "k2"]
        assert (await store.keys())[0] == changed


@in_loop
async def test_what_there_is_is_counted(served: Opener) -> None:
    """Executions by their states, dispatches by theirs."""
    async with served() as store:
        await add(store, execution("e1"), dispatch("e1"))
        await add(store, execution("e2"), dispatch("e2", state=DispatchState.CLAIMED))
        await add(store, execution("e3", ExecutionStatus.PENDING))
        counts = await store.counts()
        assert (counts.executions, counts.queued, counts.claimed) == ((("pending", 1), ("running", 2)), 1, 1)


@in_loop
async def test_a_text_reaches_those_who_listen(served: Opener) -> None:
    """Every one of them, in its order; who comes later hears nothing of it."""
    async with served() as store:
        listening = [store.listen() for _ in range(2)]
        waiting = [asyncio.ensure_future(anext(each)) for each in listening]
        async with asyncio.timeout(10):
            while not all(one.done() for one in waiting):
                await store.notify("first \0")
                await asyncio.sleep(0.01)
            assert [one.result() for one in waiting] == ["first \0"] * 2
            await store.notify("last")
            for each in listening:
                while (text := await anext(each)) == "first \0":
                    continue
                assert text == "last"
                await each.aclose()
