"""What every store promises about copies, limits, deadlines, retention and leading, through the protocol alone."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from rebuno.errors import NotFoundError
from rebuno.journal.chain import verify
from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Copied,
    Full,
    NewEvent,
    Spend,
    StepWrite,
    Tombstone,
    VoteRow,
)
from rebuno.journal.store import Store
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Kind, StepStatus
from tests.journal.builders import (
    Opener,
    approval,
    asking,
    batch,
    ending,
    event,
    execution,
    in_loop,
    started,
    starting,
    step,
    written,
)

VOTES = (VoteRow("ann", "granted", 12.5, "key:ops", "fine"), VoteRow("böb", "granted", 13.0))


@in_loop
async def test_a_copy_brings_its_own_numbers_and_times(opener: Opener) -> None:
    """Events keep the time that they had or get that of the write, rows keep everything, and the chain is new."""
    async with opener() as store:
        at = "2020-02-03T04:05:06.000007Z"
        done = step(
            "s1",
            "e9",
            StepStatus.SUCCEEDED,
            result="1",
            attempt=3,
            approval_id="a1",
            decided_seq=2,
            started_seq=3,
            outcome_seq=4,
            decided_at=1.5,
            started_at=2.5,
            completed_at=3.5,
        )
        answered = replace(
            approval("a1", "e9", status="granted"),
            votes=VOTES,
            created_at=1.6,
            decided_at=2.4,
            requested_seq=2,
            resolved_seq=3,
        )
        made = execution("e9", store.holder, created_at=1.25, forked_from="e1", fork_seq=4, pinned=True)
        made = replace(made, deadline_at=9e9)
        events = [NewEvent("execution.created", {"n": 1}, at), event("execution.forked")]
        before = store.now()
        assert await store.create(made, events, Copied((done,), (answered,)))
        log = await store.events("e9")
        assert (log[0].occurred_at, verify(log).fault) == (at, "")
        assert log[1].occurred_at > at
        read = await store.execution("e9")
        assert (read.created_at, read.head_hash) == (1.25, log[1].hash)
        assert read.updated_at >= before - 1
        assert replace(read, head_seq=0, head_hash=bytes(32), updated_at=0.0) == made
        assert await store.steps("e9") == [done]
        assert await store.approvals(execution_id="e9") == [answered]


@in_loop
async def test_an_id_belongs_to_one_execution(opener: Opener) -> None:
    """The second creation says no and leaves nothing, whichever process it is from."""
    async with opener() as store:
        await started(store)
        assert not await store.create(execution(agent_id="other", key="k"), [event("execution.created")])
        assert await store.find("other", "k") is None
        assert len(await store.events("e1")) == 1


@in_loop
async def test_what_a_model_used_is_kept_with_its_step(opener: Opener) -> None:
    """Unknown until the outcome says it; zero is known."""
    async with opener() as store:
        await started(store)
        call = step(kind=Kind.LLM)
        await written(store, starting(call))
        read = await store.step("s1")
        assert (read.input_tokens, read.output_tokens) == (None, None)
        used = replace(call, status=StepStatus.SUCCEEDED, result="1", input_tokens=2**40, output_tokens=0)
        await written(store, batch("e1", event("step.succeeded"), steps=(StepWrite(used, settled=0),)))
        read = await store.step("s1")
        assert (read.input_tokens, read.output_tokens) == (2**40, 0)


@in_loop
async def test_a_question_keeps_its_terms_and_gathers_votes(opener: Opener) -> None:
    """A pending approval may be written again, with one vote more; its number and time stay until it is resolved."""
    async with opener() as store:
        await started(store)
        await written(store, starting(step()))
        terms: dict[str, Any] = {"bundle": "shell", "approvers": ("ann", "böb"), "quorum": 2, "timeout_at": 9e9}
        asked = replace(approval(), **terms)
        await written(store, asking(asked))
        assert replace(await store.approval("a1"), requested_seq=0, created_at=0.0) == asked
        first = replace(asked, votes=VOTES[:1])
        await written(store, batch("e1", event("approval.granted"), approvals=(ApprovalWrite(first),)))
        read = await store.approval("a1")
        assert (read.votes, read.status, read.requested_seq, read.resolved_seq) == (VOTES[:1], "pending", 3, 0)
        assert (read.decided_at, read.created_at > 0) == (0.0, True)
        granted = replace(first, status="granted", votes=VOTES, decided_by="böb", asserted_by="login")
        await written(store, batch("e1", event("approval.granted"), approvals=(ApprovalWrite(granted, resolved=0),)))
        assert await store.approvals(execution_id="e1", status="granted") == [
            replace(granted, requested_seq=3, resolved_seq=5, created_at=read.created_at, decided_at=await at(store, 5))
        ]


async def at(store: Store, seq: int) -> float:
    """When the execution's newest event was written, which is number `seq`."""
    read = await store.execution("e1")
    assert read.head_seq == seq
    return read.updated_at


# ---------------------------------------------------------------- limits


@in_loop
async def test_a_limit_gives_out_so_many_places(opener: Opener) -> None:
    """The next step is told which limit is full and until when; the same step spends once."""
    async with opener() as store:
        limit = Spend("rule/agent", 2, 3600)
        before = store.now()
        assert [await store.spend(id, [limit]) for id in ("s1", "s2", "s1")] == [None] * 3
        full = await store.spend("s3", [limit])
        assert full is not None
        assert full.due is not None
        assert full.spend == limit
        assert before + 3599 < full.due < store.now() + 3601
        assert [await store.spend(id, [limit]) for id in ("s1", "s2")] == [None] * 2
        assert await store.spend("s3", [Spend("rule/other", 2, 3600)]) is None


@in_loop
async def test_places_are_taken_in_every_limit_or_in_none(opener: Opener) -> None:
    """One that is full leaves the others as they were, and of several the first is told."""
    async with opener() as store:
        hour, day, ever = Spend("h", 1, 3600), Spend("d", 1, 86400), Spend("e1/x", 1, None)
        wide = Spend("w", 2, 3600)
        assert await store.spend("s1", [hour, day]) is None
        assert await store.spend("s1", [ever]) is None
        for asked, told in [((wide, hour), hour), ((hour, day), hour), ((day, hour), day), ((ever, day, hour), ever)]:
            full = await store.spend("s2", asked)
            assert full is not None
            assert full.spend == told, asked
        assert [await store.spend(id, [wide]) for id in ("s3", "s4")] == [None, None], "a refused step took no place"


@pytest.mark.parametrize("number", [0, 1])
@in_loop
async def test_a_limit_that_never_has_room_again_says_so(opener: Opener, number: int) -> None:
    """It has no place at all, or counts for the whole execution."""
    async with opener() as store:
        limit = Spend("e1/k", number, 60 if number == 0 else None)
        if number:
            assert await store.spend("s0", [limit]) is None
        assert await store.spend("s1", [limit]) == Full(limit, None)


@in_loop
async def test_a_limit_that_became_smaller_waits_for_enough_places(opener: Opener) -> None:
    """Its next place comes free when so many of the old ones left that one more fits."""
    async with opener() as store:
        for n in range(3):
            assert await store.spend(f"s{n}", [Spend("k", 3, 3600)]) is None
            await asyncio.sleep(0.02)
        three = await store.spend("s9", [Spend("k", 3, 3600)])
        one = await store.spend("s9", [Spend("k", 1, 3600)])
        assert three is not None
        assert one is not None
        assert three.due is not None
        assert one.due is not None
        assert 0.03 < one.due - three.due < 5


@in_loop
async def test_a_place_comes_free_when_it_has_left_the_window(opener: Opener) -> None:
    """At the time that was said; then even the step that had one takes a new one."""
    async with opener() as store:
        limit = Spend("k", 1, 1)
        assert await store.spend("s1", [limit]) is None
        full = await store.spend("s2", [limit])
        assert full is not None
        assert full.due is not None
        while store.now() < full.due:
            assert await store.spend("s2", [limit]) in (None, full)
            await asyncio.sleep(full.due - store.now() + 0.01)
        assert await store.spend("s2", [limit]) is None
        assert await store.spend("s1", [limit]) is not None


@in_loop
async def test_steps_that_ask_at_once_never_get_more_places_than_there_are(opener: Opener) -> None:
    """Fifty ask for seven."""
    async with opener() as store:
        asked = await asyncio.gather(*(store.spend(f"s{n}", [Spend("k", 7, 3600)]) for n in range(50)))
        assert sum(full is None for full in asked) == 7


# ---------------------------------------------------------------- what is due


@in_loop
async def test_questions_that_nobody_answered_are_due(opener: Opener) -> None:
    """The most overdue first; those without a time, in time, or answered are not."""
    async with opener() as store:
        await started(store)
        await written(store, starting(step()))
        times = {"a0": 0.0, "a1": 300.0, "a2": 100.0, "a3": 200.0, "a4": 400.0}
        for id, until in times.items():
            await written(store, asking(replace(approval(id), timeout_at=until)))
        closed = replace(await store.approval("a3"), status="withdrawn")
        await written(store, batch("e1", event("approval.withdrawn"), approvals=(ApprovalWrite(closed, resolved=0),)))
        assert ids(await store.approvals_due(400.0)) == ["a2", "a1"]
        assert ids(await store.approvals_due(9e9, limit=1)) == ["a2"]
        assert await store.approvals_due(100.0) == []


def ids(found: list[ApprovalRow]) -> list[str]:
    return [one.id for one in found]


@in_loop
async def test_executions_past_their_deadline_are_due(opener: Opener) -> None:
    """The most overdue first; those without one, in time, or ended are not."""
    async with opener() as store:
        for id, until in {"e0": 0.0, "e1": 300.0, "e2": 100.0, "e3": 200.0, "e4": 400.0}.items():
            await started(store, id, deadline_at=until)
        await written(store, ending("e3"))
        assert [one.id for one in await store.executions_due(400.0)] == ["e2", "e1"]
        assert [one.id for one in await store.executions_due(9e9, limit=1)] == ["e2"]
        assert await store.executions_due(100.0) == []


@in_loop
async def test_executions_that_ended_are_listed_by_when(opener: Opener) -> None:
    """Oldest first, whatever they came to; those that run are not."""
    async with opener() as store:
        ends = [ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED]
        for n in range(4):
            await started(store, f"e{n}")
        for n, status in reversed(list(enumerate(ends))):
            await written(store, ending(f"e{n}", status))
            await asyncio.sleep(0.002)
        assert await store.create(replace(execution("e9"), status=ExecutionStatus.FAILED), [event()])
        assert [one.id for one in await store.executions_ended(9e9)] == ["e2", "e1", "e0", "e9"]
        assert [one.id for one in await store.executions_ended(9e9, limit=1)] == ["e2"]
        second = await store.execution("e1")
        assert [one.id for one in await store.executions_ended(second.updated_at)] == ["e2"]


# ---------------------------------------------------------------- retention


async def ended(store: Store, id: str, **changes: Any) -> Tombstone:
    """An execution with one row of every kind, that has ended; what must be left of it."""
    await started(store, id, **changes)
    await written(store, starting(step(f"{id}-s", id)))
    await written(store, asking(approval(f"{id}-a", id, f"{id}-s")))
    await store.spend(f"{id}-s", [Spend(f"{id}/rule", 1, None), Spend("shared", 2, 3600)])
    await written(store, ending(id))
    read = await store.execution(id)
    return Tombstone(id, read.agent_id, read.key, read.status, "ab" * 32, read.head_hash, read.updated_at)


@in_loop
async def test_an_execution_is_buried_with_all_its_rows(opener: Opener) -> None:
    """Nothing of it is found any more, except what the tombstone says; another execution keeps everything."""
    async with opener() as store:
        left, kept = await ended(store, "e1", key="k"), await ended(store, "e2", key="k2")
        assert await store.bury(left)
        assert not await store.bury(left), "the second time it is gone"
        for gone in (store.execution("e1"), store.step("e1-s"), store.approval("e1-a")):
            with pytest.raises(NotFoundError):
                await gone
        for lists in (store.events("e1"), store.steps("e1"), store.approvals(execution_id="e1"), store.named("k")):
            assert await lists == []
        assert [one.id for one in await store.executions_ended(9e9)] == ["e2"]
        assert await store.tombstone("agent", "k") == await store.tombstone("", "e1") == left
        assert await store.tombstone("other", "k") is None
        assert await store.removed("k") == await store.removed("e1") == await store.removed("e") == [left]
        assert await store.removed("e12") == []
        named = await ended(store, "e5", key="e1")
        assert await store.bury(named)
        assert await store.tombstone("agent", "e1") == named, "a key of this agent goes before any id"
        assert await store.tombstone("other", "e1") == left
        assert await store.tombstone("agent", "k2") is None
        assert (len(await store.events("e2")), kept.key) == (4, "k2")
        assert [one.step_id for one in await store.steps("e2")] == ["e2-s"]
        assert ids(await store.approvals()) == ["e2-a"]


@in_loop
async def test_a_buried_key_or_id_starts_no_second_run(opener: Opener) -> None:
    """Of that agent; another agent's key is its own."""
    async with opener() as store:
        await store.bury(await ended(store, "e1", key="k"))
        assert not await store.create(execution("e2", key="k"), [event()])
        assert not await store.create(execution("e1"), [event()])
        assert await store.create(execution("e3", key="k", agent_id="other"), [event()])
        assert [one.id for one in await store.executions()] == ["e3"]


@in_loop
async def test_only_an_execution_that_ended_is_buried(opener: Opener) -> None:
    """One that runs stays, and an unknown one leaves no tombstone."""
    async with opener() as store:
        await started(store, key="k")
        made = Tombstone("e1", "agent", "k", ExecutionStatus.COMPLETED, "", bytes(32), 1.0)
        assert not await store.bury(made)
        assert not await store.bury(replace(made, id="e7", key="k7"))
        assert (await store.execution("e1")).status is ExecutionStatus.RUNNING
        assert await store.tombstone("agent", "k") is await store.tombstone("agent", "k7") is None


@in_loop
async def test_places_in_limits_outlive_those_of_the_execution_only(opener: Opener) -> None:
    """What the buried execution took from all is still taken; what was counted for it alone is forgotten."""
    async with opener() as store:
        await store.bury(await ended(store, "e1"))
        assert await store.spend("x", [Spend("shared", 1, 3600)]) is not None
        assert await store.spend("x", [Spend("e1/rule", 1, None)]) is None


# ---------------------------------------------------------------- leading


@in_loop
async def test_who_leads_keeps_leading(opener: Opener) -> None:
    """Asked again, in time or late; roles are apart."""
    async with opener() as store:
        assert [await store.lead(role, 0.01) for role in ("sweep", "sweep", "dispatch")] == [True] * 3
        await asyncio.sleep(0.02)
        assert await store.lead("sweep", 30)
