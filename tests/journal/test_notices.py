"""What a target is owed of questions, on each store."""

from dataclasses import replace

from rebuno.journal.notices import NoticeRow, NoticeStage
from rebuno.journal.records import Batch, Copied, ExecutionWrite, NewEvent, Tombstone
from rebuno.journal.store import Store
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from tests.journal.builders import Opener, approval, execution, in_loop, step

HOUR = 3600.0


async def _ask(
    store: Store, name: str, *, age: float, lasts: float, status: str = "pending", old: bool = False
) -> None:
    """A question that was asked so long ago, and lasts so long; of an `old` execution, or of one that began now."""
    now = store.now()
    made = replace(
        approval(f"q-{name}", f"e-{name}", f"s-{name}", status),
        created_at=now - age,
        timeout_at=now - age + lasts if lasts else 0.0,
        decided_at=0.0 if status == "pending" else now - age,
        requested_seq=1,
    )
    asked = step(f"s-{name}", f"e-{name}", StepStatus.AWAITING, decided_seq=1)
    row = execution(f"e-{name}", created_at=now - age - 1 if old else 0.0)
    events = (NewEvent("execution.created", {}),)
    assert await store.create(row, events, Copied(steps=(asked,), approvals=(made,)))


async def _owed(store: Store) -> list[tuple[str, NoticeStage]]:
    return [(row.approval_id, row.stage) for row in await store.notices_owed("ops")]


@in_loop
async def test_reminders_come_at_half_and_at_nine_tenths(opener: Opener) -> None:
    """Never both at once, none without a deadline, and none of what has expired."""
    async with opener() as store:
        await _ask(store, "new", age=0.1 * HOUR, lasts=HOUR)
        await _ask(store, "half", age=0.6 * HOUR, lasts=HOUR)
        await _ask(store, "nearly", age=0.95 * HOUR, lasts=HOUR)
        await _ask(store, "over", age=2 * HOUR, lasts=HOUR)
        await _ask(store, "ever", age=2 * HOUR, lasts=0)
        assert await _owed(store) == [
            *[(f"q-{name}", NoticeStage.ASKED) for name in ("ever", "half", "nearly", "new", "over")],
            ("q-half", NoticeStage.HALF),
            ("q-nearly", NoticeStage.NEARLY),
        ]


@in_loop
async def test_what_was_answered_before_is_not_told(opener: Opener) -> None:
    """Neither that of before the target was known, nor what a fork has copied."""
    async with opener() as store:
        await _ask(store, "before", age=2 * HOUR, lasts=0, status="granted", old=True)
        assert await _owed(store) == []
        await store.add_notices("ops", (), store.now() - HOUR)
        await _ask(store, "copied", age=60, lasts=0, status="granted")
        await _ask(store, "lately", age=60, lasts=0, status="denied", old=True)
        assert await _owed(store) == [("q-lately", NoticeStage.ASKED), ("q-lately", NoticeStage.ANSWERED)]
        assert [(row.target, row.stage) for row in await store.notices_owed("other")] == []


@in_loop
async def test_one_notice_of_a_question_waits_for_the_other(opener: Opener) -> None:
    """An answer is not told before its question, however often that fails; a repetition adds nothing."""
    async with opener() as store:
        await store.add_notices("ops", (), store.now() - HOUR)
        await _ask(store, "one", age=60, lasts=0, status="granted", old=True)
        owed = await store.notices_owed("ops")
        await store.add_notices("ops", owed, None)
        await store.add_notices("ops", owed, None)
        assert await _owed(store) == []
        first = await store.notice_due("ops")
        assert first is not None
        assert (first.approval_id, first.stage, first.attempts) == ("q-one", NoticeStage.ASKED, 0)
        await store.settle_notice(replace(first, attempts=1, due_at=store.now() + HOUR))
        assert await store.notice_due("ops") is None
        await store.settle_notice(replace(first, attempts=2, done_at=store.now()))
        second = await store.notice_due("ops")
        assert second is not None
        assert second.stage is NoticeStage.ANSWERED
        await store.settle_notice(replace(second, done_at=store.now()))
        # What is done stays done.
        await store.settle_notice(replace(second, done_at=0.0))
        assert await store.notice_due("ops") is None


@in_loop
async def test_what_a_target_has_seen_never_goes_back(opener: Opener) -> None:
    """A process that comes late with an older time changes nothing."""
    async with opener() as store:
        assert await store.notices_seen("ops") is None
        await store.add_notices("ops", (), 20.0)
        await store.add_notices("ops", (), 10.0)
        assert await store.notices_seen("ops") == 20.0


@in_loop
async def test_a_notice_of_nothing_is_not_added(opener: Opener) -> None:
    """Retention may have taken the question meanwhile; and it takes the notices along."""
    async with opener() as store:
        row = NoticeRow("gone", "ops", NoticeStage.ASKED, 0, 1.0, 1.0, 0.0)
        await store.add_notices("ops", (row,), None)
        assert await store.notice_due("ops") is None
        await _ask(store, "one", age=60, lasts=0)
        await store.add_notices("ops", await store.notices_owed("ops"), None)
        ended = ExecutionStatus.COMPLETED
        await _end(store, "e-one")
        head = (await store.execution("e-one")).head_hash
        assert await store.bury(Tombstone("e-one", "agent", None, ended, "", head, store.now()))
        assert await store.notice_due("ops") is None


async def _end(store: Store, name: str) -> None:
    batch = Batch(
        name, (NewEvent("execution.completed", {}),), execution=ExecutionWrite(ExecutionStatus.COMPLETED, "1")
    )
    store.write(batch)
    await batch.committed
