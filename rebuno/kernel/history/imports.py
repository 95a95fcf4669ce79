"""What becomes of a recorded execution that another store takes over: its places in limits, and how it goes on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import uuid_utils

from rebuno.errors import StoreCorrupt
from rebuno.journal.pot_records import CopiedTake, WindowPlace
from rebuno.journal.records import ApprovalRow, Copied, ExecutionRow, NewEvent, StepRow
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import inheritance
from rebuno.kernel.core.divergence import may_be_done
from rebuno.kernel.core.pots import CopiedTakes
from rebuno.kernel.core.quorum import Panel
from rebuno.kernel.lifecycle.dispatch import queued
from rebuno.model.clock import rfc3339
from rebuno.model.decision import FORK_EFFECT, Decision, Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, StepStatus

if TYPE_CHECKING:
    from rebuno.kernel.history.archive import Recording


def places_of(recording: "Recording") -> Iterator[WindowPlace]:
    """The places that the steps have in limits, each since its first event. Raises `StoreCorrupt` where the log names
    what is no limit."""
    begun: set[str] = set()
    for event in recording.events:
        step_id = event.payload.get("step_id")
        if not event.type.startswith("step.") or event.type == "step.rate_limited" or step_id in begun:
            continue
        try:
            begun.add(str(step_id))
            yield from inheritance.places(recording.execution, str(step_id), event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreCorrupt(
                f"the history is damaged: event {event.event_seq} names no limit: {error}; export it again"
            ) from None


def takes_of(recording: "Recording") -> tuple[CopiedTake, ...]:
    """What the steps have taken from pots, since when. Raises `StoreCorrupt` as `places_of`."""
    execution = recording.execution
    made = next((event.payload for event in recording.events if event.type == "execution.forked"), {})
    session = execution.session or inheritance.session_in(made)
    takes = CopiedTakes(execution, session, execution, session)
    for event in recording.events:
        if not event.type.startswith("step.") or event.type == "step.rate_limited":
            continue
        try:
            takes.read(event, str(event.payload.get("step_id")))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreCorrupt(
                f"the history is damaged: event {event.event_seq} names no limit: {error}; export it again"
            ) from None
    return tuple(takes.all())


def continued(recording: "Recording", now: float) -> tuple[ExecutionRow, list[NewEvent], Copied]:
    """An execution that has not ended as it goes on in another store, the events that tell so, and its rows."""
    execution = replace(
        recording.execution,
        pinned=False,
        deadline_at=0.0,
        # Of a fork it is the event of its source.
        fork_seq=recording.execution.fork_seq if recording.execution.forked_from else recording.execution.head_seq,
        # No step waits for it here.
        spawned_step_id="",
    )
    head = recording.execution.head_seq
    told = new_event.execution("imported", at_seq=head, head_hash=recording.execution.head_hash.hex())
    events = [told]
    # No request of an attempt here has come to them.
    steps = [replace(step, visited=0, submission=0) for step in recording.steps]
    approvals = list(recording.approvals)
    for number, step in enumerate(steps):
        if step.status is StepStatus.ALLOWED and step.idempotency is Idempotency.ONCE:
            steps[number], question = _asked_anew(execution, step, now, head + len(events) + 2)
            approvals.append(question)
            events += _asking(steps[number], question, now)
    dispatch = None
    if execution.status is ExecutionStatus.RUNNING:
        if any(question.status == "pending" for question in approvals):
            events.append(
                new_event.execution("blocked", attempt=execution.attempt, reason="awaiting_steps", replayed=0),
            )
            execution = replace(execution, status=ExecutionStatus.BLOCKED)
        elif execution.served:
            said, dispatch = queued(execution)
            events.append(said)
    return execution, events, Copied(tuple(steps), tuple(approvals), dispatch)


def _asked_anew(execution: ExecutionRow, step: StepRow, now: float, number: int) -> tuple[StepRow, ApprovalRow]:
    """A step that may have started under its grant elsewhere, and the question of event `number` about it."""
    question = ApprovalRow(
        id=str(uuid_utils.uuid7()),
        execution_id=step.execution_id,
        step_id=step.step_id,
        cause="policy",
        status="pending",
        message=may_be_done(execution),
        rule_id=FORK_EFFECT,
        digest=step.digest,
        bundle=step.bundle,
        created_at=now,
        requested_seq=number,
    )
    return replace(step, status=StepStatus.AWAITING, approval_id=question.id), question


def _asking(step: StepRow, question: ApprovalRow, now: float) -> list[NewEvent]:
    reason = "an effect of a fork"
    decision = Decision(Verdict.APPROVAL, FORK_EFFECT, reason, bundle=step.bundle, digest=step.digest)
    at = rfc3339(now)
    asked = (new_event.awaiting(step, decision, question.id), new_event.requested(question, (Panel(),)))
    return [replace(event, occurred_at=at) for event in asked]
