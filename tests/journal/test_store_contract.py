"""What every store promises, tried on each of them through the `Store` protocol alone."""

import asyncio
from dataclasses import replace

import pytest

from rebuno.errors import LeaseSuperseded, NotFoundError, NotJSON, RebunoError, Stale, StoreError, Terminated
from rebuno.journal.chain import verify
from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Basis,
    Batch,
    ExecutionWrite,
    Holder,
    Lease,
    StepWrite,
    VoteRow,
)
from rebuno.journal.stops import StopRow
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
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

OTHER = Holder("0" * 32, "elsewhere", 1)


@in_loop
async def test_an_execution_reads_back_as_it_was_created(opener: Opener) -> None:
    """Every field comes back; the store adds the head and the times."""
    async with opener() as store:
        made = execution(holder=store.holder, key="order-42", input='{"big":' + "9" * 5000 + "}")
        assert await store.create(made, [event("execution.created", n=10**30), event("dispatch.queued")])
        read = await store.execution("e1")
        assert replace(read, head_seq=0, head_hash=bytes(32), created_at=0.0, updated_at=0.0) == made
        assert (read.head_seq, read.created_at) == (2, read.updated_at)
        log = await store.events("e1")
        assert [(e.event_seq, e.type, e.payload) for e in log] == [
            (1, "execution.created", {"n": 10**30}),
            (2, "dispatch.queued", {}),
        ]
        assert len({e.occurred_at for e in log}) == 1, "events of one write share their time"
        assert (verify(log).fault, verify(log).hash) == ("", read.head_hash)


@in_loop
async def test_a_key_belongs_to_one_execution_of_an_agent(opener: Opener) -> None:
    """The second creation says no and leaves nothing; another agent may use the same key."""
    async with opener() as store:
        assert await store.create(execution("e1", key="k"), [event("execution.created")])
        assert not await store.create(execution("e2", key="k"), [event("execution.created")])
        assert await store.create(execution("e3", key="k", agent_id="other"), [event("execution.created")])
        assert await store.events("e2") == []
        assert [e.id for e in await store.named("k")] == ["e1", "e3"]
        found = await store.find("agent", "k")
        assert found is not None
        assert found.id == "e1"
        assert await store.find("agent", "unknown") is None


@in_loop
async def test_a_batch_numbers_its_rows_by_its_events(opener: Opener) -> None:
    """A step and an approval carry the numbers and the time of the events that they name."""
    async with opener() as store:
        await started(store)
        made = batch("e1", event("step.proposed"), event("step.awaiting_approval"), event("approval.requested"))
        waiting = step(status=StepStatus.AWAITING, approval_id="a1")
        made = replace_rows(made, StepWrite(waiting, decided=1), ApprovalWrite(approval(), requested=2))
        assert await written(store, made) == 4
        (read,) = await store.steps("e1")
        (asked,) = await store.approvals(status="pending")
        assert (read.decided_seq, read.started_seq, read.outcome_seq) == (3, 0, 0)
        assert (asked.requested_seq, asked.resolved_seq) == (4, 0)
        assert read.decided_at == asked.created_at > 0
        assert replace(read, decided_seq=0, decided_at=0.0) == waiting
        assert replace(asked, requested_seq=0, created_at=0.0) == approval()
        assert await store.step("s1") == read
        assert await store.approval("a1") == asked


def replace_rows(made: Batch, step: StepWrite, approval: ApprovalWrite) -> Batch:
    made.steps, made.approvals = (step,), (approval,)
    return made


@in_loop
async def test_batches_commit_in_the_order_of_write(opener: Opener) -> None:
    """Deferred or not, of one execution or of many, numbers follow the order of the calls and the chain holds."""
    async with opener() as store:
        for id in ("e1", "e2"):
            await started(store, id)
        made = [batch(f"e{1 + i % 2}", event(i=i), deferred=i % 3 == 0) for i in range(60)]
        for one in made:
            store.write(one)
        await asyncio.gather(*(one.committed for one in made))
        for id, first in (("e1", 0), ("e2", 1)):
            log = await store.events(id)
            assert [e.payload["i"] for e in log[1:]] == list(range(first, 60, 2))
            assert verify(log).seq == 31


@in_loop
async def test_a_read_sees_what_was_written_before_it(opener: Opener) -> None:
    """Also a deferred batch that nobody waited for."""
    async with opener() as store:
        await started(store)
        store.write(batch("e1", deferred=True))
        assert len(await store.events("e1")) == 2


@in_loop
async def test_pages_follow_each_other(opener: Opener) -> None:
    """Events by number, steps by the event that decided them, executions newest first."""
    async with opener() as store:
        for n in range(5):
            await started(store, f"e{n}", agent_id="odd" if n % 2 else "even")
        for n in range(4):
            await written(store, starting(step(f"s{n}", "e0")))
        assert [e.event_seq for e in await store.events("e0", after=1, limit=2)] == [2, 3]
        assert [s.step_id for s in await store.steps("e0", after=3, limit=2)] == ["s2", "s3"]
        assert [e.id for e in await store.executions(limit=2)] == ["e4", "e3"]
        assert [e.id for e in await store.executions(before="e3")] == ["e2", "e1", "e0"]
        assert [e.id for e in await store.executions(agent_id="odd")] == ["e3", "e1"]
        assert await store.executions(status="completed") == []
        assert [e.id for e in await store.beginning("e")] == ["e0", "e1", "e2", "e3", "e4"]
        assert [e.id for e in await store.beginning("e3")] == ["e3"]
        assert await store.beginning("%") == []


@in_loop
async def test_what_was_judged_before_another_s_event_is_stale_whatever_its_number(opener: Opener) -> None:
    """Of two batches on their way, the second has the number that the log has reached by another's event: it rests on
    one that is not there. What is judged anew, or rests on nothing, is written."""
    async with opener() as store:
        lease = await started(store)
        await written(store, batch("e1"))
        basis = Basis()
        late = [batch("e1", base=n, basis=basis, lease=lease) for n in (1, 2, 2)]
        free = batch("e1", lease=lease)
        for one in (*late, free):
            store.write(one)
        found = await asyncio.gather(*(one.committed for one in (*late, free)), return_exceptions=True)
        assert [f if isinstance(f, int) else type(f) for f in found] == [Stale, Stale, Stale, 3]
        assert await written(store, batch("e1", base=3, basis=Basis(), lease=lease)) == 4


@in_loop
async def test_a_batch_that_rests_on_an_old_event_is_stale(opener: Opener) -> None:
    """It is refused once the log has moved on, and leaves nothing; without a base it holds whatever came between."""
    async with opener() as store:
        lease = await started(store)
        assert await written(store, batch("e1", base=1, lease=lease)) == 2
        with pytest.raises(Stale):
            await written(store, batch("e1", base=1, lease=lease))
        assert lease.poison is None, "a stale batch may be judged again"
        assert await written(store, batch("e1", base=2, lease=lease)) == 3
        assert await written(store, batch("e1", lease=lease)) == 4


@pytest.mark.parametrize("status", [StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.DENIED, StepStatus.CANCELLED])
def test_a_settled_step_is_never_overwritten(opener: Opener, status: StepStatus) -> None:
    """Whatever its terminal state, a later write of the row is stale as a whole."""

    async def body() -> None:
        async with opener() as store:
            await started(store)
            await written(store, starting(step()))
            await written(store, starting(step(status=status, result="1")))
            before = await store.step("s1")
            with pytest.raises(Stale):
                await written(store, starting(step(result="2")))
            assert await store.step("s1") == before
            assert (await store.execution("e1")).head_seq == 3

    asyncio.run(body())


@in_loop
async def test_a_step_of_another_execution_is_out_of_reach(opener: Opener) -> None:
    """A batch of one execution cannot move a step of another."""
    async with opener() as store:
        await started(store, "e1")
        await started(store, "e2")
        await written(store, starting(step()))
        with pytest.raises(Stale):
            await written(store, starting(step(execution_id="e2", result="1")))


@in_loop
async def test_the_first_answer_to_an_approval_wins(opener: Opener) -> None:
    """The second is stale, and its events are not in the log."""
    async with opener() as store:
        await started(store)
        await written(store, starting(step()))
        await written(store, asking(approval()))
        granted = ApprovalWrite(replace(await store.approval("a1"), status="granted", decided_by="ann"), resolved=0)
        await written(store, batch("e1", event("approval.granted"), approvals=(granted,)))
        denied = ApprovalWrite(replace(granted.approval, status="denied", decided_by="bob"), resolved=0)
        with pytest.raises(Stale):
            await written(store, batch("e1", event("approval.denied"), approvals=(denied,)))
        (read,) = await store.approvals(execution_id="e1")
        assert (read.status, read.decided_by, read.resolved_seq) == ("granted", "ann", 4)
        assert await store.approvals(execution_id="e1", status="pending") == []
        assert await store.approvals() == [read]


@in_loop
async def test_no_write_takes_a_vote_away(opener: Opener) -> None:
    """Who votes, or ends the question, without having seen an earlier vote, is stale, and the votes stand."""
    ana, ben, eva = (VoteRow(name, "grant", 1.0) for name in ("ana", "ben", "eva"))
    async with opener() as store:
        await started(store)
        await written(store, starting(step()))
        await written(store, asking(approval()))
        asked = await store.approval("a1")
        for one in ((ana,), (ana, ben)):
            await written(store, _voting(replace(asked, votes=one)))
        for votes in ((), (ben,), (ana,), (ben, ana), (ana, eva), (ana, eva, ben)):
            with pytest.raises(Stale):
                await written(store, _voting(replace(asked, votes=votes, status="expired")))
        assert await store.approval("a1") == replace(asked, votes=(ana, ben))
        await written(store, _voting(replace(asked, votes=(ana, ben))))
        await written(store, _voting(replace(asked, votes=(ana, ben, eva), status="granted")))
        assert (await store.approval("a1")).votes == (ana, ben, eva)


def _voting(question: ApprovalRow) -> Batch:
    return batch("e1", event("approval.voted"), approvals=(ApprovalWrite(question),))


@in_loop
async def test_an_execution_that_ended_takes_nothing_more(opener: Opener) -> None:
    """Its output and state stay, and the lease is nobody's."""
    async with opener() as store:
        lease = await started(store)
        await written(store, ending())
        read = await store.execution("e1")
        assert (read.status, read.output, read.holder) == (ExecutionStatus.COMPLETED, "42", None)
        for late in (batch("e1", lease=lease), ending(status=ExecutionStatus.FAILED)):
            with pytest.raises(Terminated):
                await written(store, late)
        assert await store.execution("e1") == read


@in_loop
async def test_only_the_attempt_that_owns_the_lease_writes(opener: Opener) -> None:
    """Another owner or another attempt loses its lease, and cannot write even when the row is free again."""
    async with opener() as store:
        for n, (attempt, owner) in enumerate([(1, OTHER.owner), (2, store.holder.owner)]):
            await started(store, f"e{n}")
            stranger = Lease(f"e{n}", attempt, owner)
            with pytest.raises(LeaseSuperseded):
                await written(store, batch(f"e{n}", lease=stranger))
            assert stranger.lost
            taken = ExecutionWrite(ExecutionStatus.RUNNING, attempt=attempt, holder=Holder(owner, "h", 1))
            await written(store, batch(f"e{n}", execution=taken))
            with pytest.raises(LeaseSuperseded):
                await written(store, batch(f"e{n}", lease=stranger))


@in_loop
async def test_a_takeover_ends_the_old_lease(opener: Opener) -> None:
    """The new attempt takes the row without a lease; the old one's next batch is refused."""
    async with opener() as store:
        old = await started(store)
        claim = ExecutionWrite(ExecutionStatus.RUNNING, attempt=2, holder=store.holder, lease_until=9e9)
        await written(store, batch("e1", event("dispatch.acked"), execution=claim, base=1))
        new = Lease("e1", 2, store.holder.owner)
        await written(store, batch("e1", lease=new))
        with pytest.raises(LeaseSuperseded):
            await written(store, batch("e1", lease=old))
        assert (old.lost, new.lost) == (True, False)


@in_loop
async def test_after_a_lost_write_nothing_more_is_written_under_the_lease(opener: Opener) -> None:
    """The later batches fail with the same error, so that the log has no hole; others go on."""
    async with opener() as store:
        lease = await started(store)
        await started(store, "e2")
        broken = batch("e1", event("step.succeeded"), steps=(StepWrite(step("\ud800"), 0, 0),), lease=lease)
        later, other = batch("e1", lease=lease, deferred=True), batch("e2")
        for one in (broken, later, other):
            store.write(one)
        found = await asyncio.gather(*(one.committed for one in (broken, later, other)), return_exceptions=True)
        assert type(found[0]) is StoreError
        assert found[1] is found[0] is lease.poison
        assert found[2] == 2
        assert (await store.execution("e1")).head_seq == 1


@in_loop
async def test_a_batch_that_fails_takes_no_other_with_it(opener: Opener) -> None:
    """Of many written at once, the bad ones fail each with its own error and leave no row; the good ones are whole."""
    async with opener() as store:
        for n in range(6):
            await started(store, f"e{n}")
        await written(store, ending("e1"))
        await written(store, starting(step("s2", "e2", StepStatus.SUCCEEDED)))
        made = [starting(step(f"x{n}", f"e{n}")) for n in range(6)]
        made[2].steps += (StepWrite(step("s2", "e2")),)
        made[3] = batch("nowhere")
        made[4].base = 7
        for one in made:
            store.write(one)
        found = await asyncio.gather(*(one.committed for one in made), return_exceptions=True)
        assert [f if isinstance(f, int) else type(f) for f in found] == [2, Terminated, Stale, NotFoundError, Stale, 2]
        for n in (0, 5):
            assert [s.step_id for s in await store.steps(f"e{n}")] == [f"x{n}"]
        for n in (1, 2, 3, 4):
            with pytest.raises(NotFoundError):
                await store.step(f"x{n}")


@in_loop
async def test_a_batch_without_events_leaves_the_head(opener: Opener) -> None:
    """It changes the row and answers the number of the newest event."""
    async with opener() as store:
        await started(store)
        quiet = Batch("e1", (), execution=ExecutionWrite(ExecutionStatus.BLOCKED))
        assert await written(store, quiet) == 1
        assert (await store.execution("e1")).status is ExecutionStatus.BLOCKED


@in_loop
async def test_a_payload_that_json_cannot_hold_is_refused_at_once(opener: Opener) -> None:
    """`write` raises it with the path; nothing is queued."""
    async with opener() as store:
        await started(store)
        with pytest.raises(NotJSON, match=r"payload\.when"):
            store.write(batch("e1", event(when=float("nan"))))
        assert len(await store.events("e1")) == 1


@in_loop
async def test_bundles_are_kept_under_their_digest(opener: Opener) -> None:
    """In order, once, and None where there is none."""
    async with opener() as store:
        sources = [("org.rbp", "bundle org"), ("agent.rbp", "bundle agent # ∀")]
        await store.save_bundle("d1", sources)
        await store.save_bundle("d1", sources)
        assert await store.bundle("d1") == sources
        assert await store.bundle("d2") is None


@in_loop
async def test_what_is_not_there_is_not_found(opener: Opener) -> None:
    """Each kind says which one."""
    async with opener() as store:
        for ask in (store.execution, store.step, store.approval):
            with pytest.raises(NotFoundError, match="`gone`"):
                await ask("gone")
        with pytest.raises(NotFoundError, match="`gone`"):
            await written(store, batch("gone"))


@in_loop
async def test_closing_writes_what_is_deferred(opener: Opener) -> None:
    """Then every call is refused, and a second close is no change."""
    async with opener() as store:
        await started(store)
        late = batch("e1", deferred=True)
        store.write(late)
        await store.close()
        assert await late.committed == 2
        with pytest.raises(StoreError, match="closed"):
            store.write(batch("e1"))
        with pytest.raises(RebunoError, match="closed"):
            await store.execution("e1")
        await store.close()


@in_loop
async def test_a_holder_lives_as_its_host_or_its_lease_says(opener: Opener) -> None:
    """This store lives, nobody does not; of others it is known by the end of their lease, at the latest."""
    async with opener() as store:
        mine = store.holder
        here = Holder("0" * 32, mine.host, 1)
        cases = [(None, 9e9, False), (mine, 0.0, True), (here, 1.0, False), (OTHER, 9e9, True), (OTHER, 1.0, False)]
        for holder, until, lives in cases:
            assert await store.alive(replace(execution(holder=holder), lease_until=until)) is lives, (holder, until)


@in_loop
async def test_events_are_found_by_their_numbers(opener: Opener) -> None:
    """In their order, however they are asked for; numbers that there are not give none."""
    async with opener() as store:
        await store.create(execution(), [event("execution.created"), event("dispatch.queued"), event("dispatch.acked")])
        found = await store.events_at("e1", [3, 1, 9])
        assert found == [one for one in await store.events("e1") if one.event_seq != 2]
        assert await store.events_at("e1", []) == []
        assert await store.events_at("e2", [1]) == []


@in_loop
async def test_stops_stand_until_they_are_lifted(opener: Opener) -> None:
    """They are told oldest first, and lifted once."""
    async with opener() as store:
        rows = [
            StopRow("1", "shop", "", "a \u0000 \u00e9", "ana", 10.5),
            StopRow("2", "", "mail_*", "", "ben", 11.0),
            StopRow("3", "", "", "", "ben", 12.0),
        ]
        for row in reversed(rows):
            await store.add_stop(row)
        assert await store.stops() == rows
        await store.lift_stop("2", "eve")
        await store.lift_stop("2", "ann")
        await store.lift_stop("9", "ann")
        assert await store.stops() == [rows[0], rows[2]]
        [_, lifted, _] = await store.stops(lifted=True)
        assert (lifted.lifted_by, lifted.lifted_at > 0) == ("eve", True)


@in_loop
async def test_a_definition_is_kept_once_under_its_digest(opener: Opener) -> None:
    """Whatever it says; pages come in the order of the digests."""
    async with opener() as store:
        texts = {"b": '{"description":"\\u0000"}', "a": "{}", "c": '{"é":"\U0001f600"}'}
        for digest, text in texts.items():
            await store.save_definition(digest, text)
            await store.save_definition(digest, text)
        assert await store.definition("b") == texts["b"]
        assert await store.definition("d") is None
        assert await store.definitions(limit=2) == [("a", texts["a"]), ("b", texts["b"])]
        assert await store.definitions(after="b") == [("c", texts["c"])]
