"""A new execution that begins where another one stood at one of its events."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import uuid_utils

from rebuno.errors import (
    ConflictError,
    NotFoundError,
    PolicyError,
    StoreCorrupt,
    ToolError,
    ValidationError,
    failure_reason,
)
from rebuno.journal.pot_records import WindowPlace
from rebuno.journal.records import ApprovalRow, Copied, EventRow, ExecutionRow, NewEvent, StepRow
from rebuno.journal.store import Store
from rebuno.journal.words import TurnRow
from rebuno.kernel.core import events
from rebuno.kernel.core.inheritance import places, session_of
from rebuno.kernel.core.limit_outcome import EXCEEDED, UNAVAILABLE
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.names import check_name
from rebuno.kernel.core.origins import began_by, of_copy
from rebuno.kernel.core.pots import CopiedTakes
from rebuno.kernel.core.sealed import opened, plain, sealed_start, seals_of
from rebuno.kernel.lifecycle.cancel import check_deadline
from rebuno.kernel.lifecycle.dispatch import queued
from rebuno.kernel.lifecycle.fork_resources import CopiedResources
from rebuno.model import identity
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.policy import Policy, restore_policy

# How a failure reason begins that a step gave.
_OF_A_STEP: Final = ("tool_error", "policy_")
# Why a step was denied that still waited at the end.
_BY_THE_END: Final = frozenset(f"execution_{status.value}" for status in ExecutionStatus if status.terminal)


async def fork(
    store: Store,
    source: ExecutionRow,
    at_seq: int,
    *,
    key: str | None = None,
    session: str = "",
    digest: str = "",
    pinned: bool = False,
    deadline: float | None = None,
    created_by: str = "",
    heard: int | None = None,
    policy: Policy | None = None,
) -> ExecutionRow:
    """A new execution with the source's input and the steps that it had settled by its event `at_seq`, with their
    verdicts, times, events and places in limits. Nobody runs it yet; that of a served execution is queued for its
    agent. `key` is the caller's own id for it, `session` the served one's own; it ends `deadline` seconds from now.

    It is judged by whatever is the agent's policy then, even where the source was pinned; `policy` is that of today,
    where it is known, whose `secret`s seal what is copied too. With `pinned` it is judged to
    its end by the policy kept under `digest`, which without one is that of the source's start.

    Raises:
        ValidationError: the source has no such event, the key is no name, or the deadline is none.
        ConflictError: the agent has an execution under this key already, or one that runs in this session.
        BundleError: it is to be pinned to a policy that cannot be compiled here.
        StoreCorrupt: the source's log is damaged.
        SealKeyMissing, SealErased: the source is sealed, and its key is not in the ring, or was destroyed.
        StoreError
    """
    if key is not None:
        # An empty key is none that a run could give.
        check_name("id", key or " ")
    if deadline is not None:
        check_deadline(deadline)
    if pinned:
        policy = restore_policy(digest or source.digest, await store.bundle(digest or source.digest) or ())
    if not 1 <= at_seq <= source.head_seq:
        raise ValidationError(f"the execution `{source.id}` has the events 1 to {source.head_seq}, and no {at_seq}")
    seen = await opened(store, source)
    if source.seal:
        source = await seen.execution(source.id)
    steps, approvals = await load(seen, source.id)
    new = ExecutionRow(
        id=str(uuid_utils.uuid7()),
        agent_id=source.agent_id,
        key=key,
        status=ExecutionStatus.RUNNING,
        input=source.input,
        digest=digest or source.digest,
        pinned=pinned,
        deadline_at=store.now() + deadline if deadline is not None else 0.0,
        forked_from=source.id,
        fork_seq=at_seq,
        served=source.served,
        session=session,
        # What `previous()` gives stands on what has completed, and never changes.
        continues=source.continues,
        # A subagent's input is no more a person's own in a fork; but no step waits for the fork.
        spawned_execution_id=source.spawned_execution_id,
        created_by=created_by,
        on_behalf_of=source.on_behalf_of,
    )
    view, new = await sealed_start(store, new, policy, source=source)
    seals = seals_of(view)
    if seals is not None and not source.seal:
        # Its hashes are keyed, as those of what it runs anew will be.
        steps = {one.step_id: replace(one, args_hash=seals.args_hash(one.args)) for one in steps.values()}
    said = {"session": kept} if (kept := await session_of(store, source)) else {}
    origin = await of_copy(seen, source)
    # A fork takes no turn in the session of its source, and counts in it.
    takes = CopiedTakes(new, session or kept, source, kept)
    bodies, turns = await _with_bodies(seen, source, steps), await seen.turns(source.id)
    copy = _Copy(new, at_seq, bodies, approvals, takes, turns, heard, (seals or identity).step_id)
    copy.add(events.created(new, origin.said))
    told = {
        "source": source.id,
        "parent": await began_by(store, source),
        "at_seq": at_seq,
        "source_head_seq": source.head_seq,
        "source_head_hash": source.head_hash.hex(),
        **said,
    }
    forked = events.execution("forked", **told)
    copy.add(forked)
    external = CopiedResources(source.id, at_seq)
    after = 0
    while page := await store.events(source.id, after=after):
        for event in page:
            try:
                copy.take(event)
                if external.take(event):
                    copy.keep(event)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise StoreCorrupt(
                    f"event {event.event_seq} of execution `{source.id}` is damaged: {error}; restore a copy"
                ) from error
        after = page[-1].event_seq
        if after >= copy.last:
            break
    more, held, restoration = await external.copied(store, new.id, copy.events, copy.numbers)
    copy.events += more
    if restoration:
        forked.payload = {**told, "restoration": restoration}
    copied = replace(copy.rows(), root=origin.of(new.id), external=held)
    if new.served:
        due, dispatch = queued(new)
        copy.add(due)
        copied = replace(copied, dispatch=dispatch)
    if not await view.create(new, copy.events, copied):
        if session:
            raise ConflictError(f"the session `{session}` of the agent `{new.agent_id}` is in use; name a new one")
        raise ConflictError(f"the agent `{new.agent_id}` has an execution with the id `{key}` already; use another id")
    return await store.execution(new.id)


async def retry_point(store: Store, source: ExecutionRow) -> int:
    """The event at which a fork of a failed or cancelled execution tries again: the newest one before what its end
    did to its steps and, where a step made it fail, before that step failed.

    Raises:
        ConflictError: the execution has not ended, or has completed.
        StoreError
    """
    if source.status not in (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED):
        raise ConflictError(
            f"the execution `{source.id}` is {source.status.value}; only failed and cancelled ones are retried"
        )
    seen = await opened(store, source)
    if source.seal:
        # Why it failed is compared with what its steps raised.
        source = await seen.execution(source.id)
    steps, approvals = await load(seen, source.id)
    # The last event is the end itself.
    last = source.head_seq - 1
    ended_with = [step for step in steps.values() if _closed(step, approvals)]
    if ended_with:
        last = min(last, min(step.outcome_seq for step in ended_with) - 1)
    settled = [step for step in steps.values() if 0 < step.outcome_seq <= last]
    culprit = _culprit(source, settled) if source.status is ExecutionStatus.FAILED else None
    return last if culprit is None else culprit.outcome_seq - 1


def _culprit(source: ExecutionRow, settled: list[StepRow]) -> StepRow | None:
    """The step that made an execution fail; None where none did."""
    bad = [step for step in settled if step.status in (StepStatus.FAILED, StepStatus.DENIED)]
    said = [step for step in bad if source.failure_reason in _reasons(step)]
    if said:
        return _cause(max(said, key=_end), settled)
    # What a limit kept out is no step, and left none.
    if not bad or source.failure_reason in (EXCEEDED, UNAVAILABLE):
        return None
    newest = max(bad, key=_end)
    after_it = any(_end(step) > _end(newest) for step in settled)
    return _cause(newest, settled) if source.failure_reason.startswith(_OF_A_STEP) or not after_it else None


def _cause(step: StepRow, settled: list[StepRow]) -> StepRow:
    """The step inside a failed one's body that made it fail, which would come to the same again; else itself."""
    inside = [inner for inner in settled if inner.parent_id == step.step_id and _end(inner) < _end(step)]
    bad = [inner for inner in inside if inner.status in (StepStatus.FAILED, StepStatus.DENIED)]
    if not bad:
        return step
    message = error_of(step).get("message")
    said = [inner for inner in bad if str(_raised(inner)) == message]
    newest = max(said or bad, key=_end)
    after_it = any(_end(inner) > _end(newest) for inner in inside)
    return _cause(newest, settled) if said or not after_it else step


def _end(step: StepRow) -> int:
    return step.outcome_seq


def _raised(step: StepRow) -> ToolError | PolicyError:
    """What a handler gets of a step that failed or was denied."""
    error = error_of(step)
    if step.status is StepStatus.DENIED:
        return PolicyError(str(error.get("reason") or step.reason or "policy_denied"))
    if error.get("reason") == "policy_revoked":
        return PolicyError(str(error.get("message")))
    return ToolError(error, target=step.target)


def _reasons(step: StepRow) -> tuple[str, ...]:
    """Why an execution says that it failed where this step made it fail, in the words of any version."""
    raised = _raised(step)
    return failure_reason(raised), f"tool_error: {raised}"


def _closed(step: StepRow, approvals: Mapping[str, ApprovalRow]) -> bool:
    """Whether the end of the execution settled the step."""
    if step.status is StepStatus.CANCELLED:
        return True
    answer = approvals.get(step.approval_id)
    if answer is not None and answer.step_id == step.step_id and answer.status in ("denied", "expired"):
        # A person may give whatever reason.
        return False
    return step.status is StepStatus.DENIED and error_of(step).get("reason") in _BY_THE_END


def error_of(step: StepRow) -> dict[str, Any]:
    """What is recorded of why a step failed or was denied; empty where that is no object."""
    error = identity.parse(step.error) if step.error else None
    return error if isinstance(error, dict) else {}


async def _with_bodies(store: Store, execution: ExecutionRow, steps: dict[str, StepRow]) -> dict[str, StepRow]:
    """The steps of an execution, and the steps not yet reached in whose bodies copied steps stand. These are read from
    the source of the fork, unless retention has removed it."""
    if not execution.forked_from or all(_placed(step, steps) for step in steps.values()):
        return steps
    try:
        source = await plain(store).execution(execution.forked_from)
        seen = await opened(store, source)
        known = await _with_bodies(seen, source, (await load(seen, source.id))[0])
    except NotFoundError:
        return steps
    seals = seals_of(store)
    return _Copy(execution, 0, known, {}, named=(seals or identity).step_id).moved() | steps


def _placed(step: StepRow, steps: dict[str, StepRow]) -> bool:
    """Whether the bodies around the step are known, without which its id in a fork is not."""
    while step.parent_id and step.parent_id in steps:
        step = steps[step.parent_id]
    return not step.parent_id


class _Copy:
    """What a fork takes over, under ids of its own."""

    def __init__(
        self,
        new: ExecutionRow,
        at_seq: int,
        steps: dict[str, StepRow],
        approvals: dict[str, ApprovalRow],
        takes: CopiedTakes | None = None,
        turns: Iterable[TurnRow] = (),
        heard: int | None = None,
        named: Callable[[str, str, str, str, int], str] = identity.step_id,
    ) -> None:
        # Gives the ids of steps.
        self._named = named
        self.events: list[NewEvent] = []
        self._new = new
        self._at_seq = at_seq
        heard = at_seq if heard is None else max(at_seq, heard)
        self._turns = {turn.event_seq: turn for turn in turns if turn.event_seq <= heard}
        # The last event that is looked at.
        self.last = max([at_seq, *self._turns])
        # What only the source's end settled came to nothing that could be replayed: the fork does it anew, or asks.
        self._steps = {
            step.step_id: step
            for step in steps.values()
            if 0 < step.outcome_seq <= at_seq and not _closed(step, approvals) and _placed(step, steps)
        }
        self._all = steps
        self._ids: dict[str, str] = {"": ""}
        self._approvals = {
            a.id: a for a in approvals.values() if a.step_id in self._steps and 0 < a.resolved_seq <= at_seq
        }
        self._asked = approvals.keys()
        self._approval_ids = {approval_id: str(uuid_utils.uuid7()) for approval_id in self._approvals} | {"": ""}
        # Where each copied event of the source stands in the fork.
        self.numbers: dict[int, int] = {0: 0}
        self._places: list[WindowPlace] = []
        self._takes = takes

    def add(self, event: NewEvent) -> None:
        """Adds an event of the fork's own."""
        self.events.append(event)

    def keep(self, event: EventRow) -> None:
        """Copies an event of the source as it is."""
        self.events.append(NewEvent(event.type, event.payload, event.occurred_at))
        self.numbers[event.event_seq] = len(self.events)

    def take(self, event: EventRow) -> None:
        """Copies an event of the source, if it is about a step that is copied, or what the user wrote."""
        payload = event.payload
        if event.event_seq in self._turns:
            self.keep(event)
        family = event.type.partition(".")[0]
        about_step = family == "step" and payload.get("step_id") in self._steps
        about_approval = family == "approval" and payload.get("approval_id") in self._approvals
        if event.event_seq > self._at_seq or not (about_step or about_approval):
            return
        moved: dict[str, Any] = {**payload, "step_id": self._id(str(payload["step_id"]))}
        if "parent_step_id" in payload:
            moved["parent_step_id"] = self._id(str(payload["parent_step_id"]))
        if "approval_id" in payload:
            moved["approval_id"] = self._approval_id(str(payload["approval_id"]))
        if about_step and self._takes is not None:
            said = self._takes.read(event, moved["step_id"])
            moved |= {} if said is None else {"limits": said}
        self.events.append(NewEvent(event.type, moved, event.occurred_at))
        self.numbers[event.event_seq] = len(self.events)
        if about_step:
            # Only the first event of a step names limits.
            self._places += places(self._new, moved["step_id"], event)

    def moved(self) -> dict[str, StepRow]:
        """The steps under the ids that they have in the fork, each as one that has not settled."""
        return {
            self._id(step.step_id): replace(
                step, step_id=self._id(step.step_id), parent_id=self._id(step.parent_id), outcome_seq=0
            )
            for step in self._all.values()
            if _placed(step, self._all)
        }

    def rows(self) -> Copied:
        """The rows that the copied events tell of."""
        steps = [
            replace(
                step,
                step_id=self._id(step.step_id),
                execution_id=self._new.id,
                parent_id=self._id(step.parent_id),
                approval_id=self._approval_id(step.approval_id),
                decided_seq=self.numbers[step.decided_seq],
                started_seq=self.numbers[step.started_seq],
                outcome_seq=self.numbers[step.outcome_seq],
                # Attempts of the source came to it, and none of the fork's own.
                visited=0,
                submission=0,
            )
            for step in self._steps.values()
        ]
        approvals = [
            replace(
                approval,
                id=self._approval_ids[approval.id],
                execution_id=self._new.id,
                step_id=self._id(approval.step_id),
                # What a person let the source do is no leave for the fork.
                scope="once",
                requested_seq=self.numbers[approval.requested_seq],
                resolved_seq=self.numbers[approval.resolved_seq],
            )
            for approval in self._approvals.values()
        ]
        turns = [
            replace(turn, execution_id=self._new.id, event_seq=self.numbers[turn.event_seq])
            for turn in self._turns.values()
        ]
        # What the source counts in a shared pot is there already.
        own = {step.step_id for step in steps}
        takes = tuple(one for one in self._takes.all() if one.step_id in own) if self._takes is not None else ()
        places = tuple(self._places)
        return Copied(tuple(steps), tuple(approvals), places=places, takes=takes, turns=tuple(turns))

    def _approval_id(self, approval_id: str) -> str:
        """The id in the fork of an approval of the source; that of a standing grant stays."""
        return self._approval_ids.get(approval_id, "" if approval_id in self._asked else approval_id)

    def _id(self, step_id: str) -> str:
        """The id in the fork of a step of the source, copied or not: as the fork's handler will submit it."""
        trail = []
        while step_id not in self._ids:
            trail.append(self._all[step_id])
            step_id = trail[-1].parent_id
        for step in reversed(trail):
            scope = self._ids[step.parent_id] or self._new.id
            self._ids[step.step_id] = self._named(scope, step.kind, step.target, step.args_hash, step.occurrence)
        return self._ids[trail[0].step_id] if trail else self._ids[step_id]
