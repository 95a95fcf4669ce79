"""The life of an execution: begun or taken over, ended, suspended, let go."""

import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import uuid_utils

from rebuno.errors import ConflictError, ExecutionExpired, NotFoundError, Stale, Terminated
from rebuno.journal.records import (
    ApprovalRow,
    ApprovalWrite,
    Copied,
    ExecutionRow,
    ExecutionWrite,
    Lease,
    NewEvent,
    StepRow,
)
from rebuno.journal.store import Store
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import facts, resources, stops
from rebuno.kernel.core.ask import withdraw
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.background import Background
from rebuno.kernel.core.divergence import diverged
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.heavy import LONG, LONG_FOR_ALL, beside, read
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import CLIENT, InputOrigin, background, check_same_folder, of_child
from rebuno.kernel.core.sealed import has_other_input, opened, sealed_start, with_parent
from rebuno.kernel.core.transact import transact, write
from rebuno.kernel.lifecycle.cancel import DEADLINE_EXCEEDED, cancel
from rebuno.kernel.lifecycle.close import close
from rebuno.kernel.lifecycle.votes import expire
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.policy import Policy, restore_policy, step_facts_needed

# How long a lease holds without being renewed, in seconds.
LEASE = 30.0


async def begin(
    store: Store,
    policy: Policy,
    *,
    agent_id: str,
    input: str,
    key: str | None,
    let_go: Collection[tuple[str, int]] = (),
    pin: bool = False,
    deadline: float | None = None,
    workdir: str = "",
    parent: str = "",
    parent_step: str = "",
    attempt: type[Attempt] = Attempt,
) -> Attempt | ExecutionRow:
    """Starts an execution, or takes over where an earlier run of it stopped.

    `key` is the caller's own id, or that of an execution. `let_go` names attempts of this process (execution's id and
    number) that are known to have ended, whatever the store says of their leases. With `pin` a new execution is judged
    to its end by the policy of its start; `deadline` gives it so many seconds; `workdir` is the folder that it works
    in. `parent` is the execution whose handler begins it, in the body of its step `parent_step` if it is given;
    `attempt` is the class of the attempt.

    Returns the execution itself where no handler may run: it has ended, or still waits for a person and its attempt is
    not `hosted`.

    Raises:
        ConflictError: the id belongs to another input or workdir, to an execution that is not pinned and should be or
            that a server delivers to its agent, or a live process runs it (`holder` names it).
        ExecutionExpired: retention took the execution.
        ValidationError: a handler begins it and names another workdir than its own.
        BundleError: it is pinned, and the policy of its start cannot be compiled any more. Nothing was recorded.
        SealKeyMissing, SealErased: it is sealed, and its key is not in the ring, or was destroyed.
        StoreError
    """

    async def one_try(_: int) -> Attempt | ExecutionRow:
        execution = await _known(store, agent_id, key) if key is not None else None
        if execution is None:
            execution = _new(
                store, policy, agent_id=agent_id, input=input, key=key, pinned=pin, deadline=deadline, parent=parent
            )
            view, execution, origin = await _origin(store, policy, execution, parent, parent_step)
            origin = origin.in_folder(workdir, by_host=not parent or attempt.hosted)
            if attempt.hosted:
                origin = origin.of_host()
            events = (new_event.created(execution, origin.said), _started(execution, policy))
            copied = Copied(root=origin.of(execution.id)) if parent else None
            if not await view.create(execution, events, copied):
                if key is not None:
                    await _refuse_expired(store, agent_id, key)
                raise Stale("somebody has begun it meanwhile")
            # What is on the disk now is known: nothing of it has to be read.
            new = await _attempt(attempt, view, policy, replace(execution, head_seq=len(events)), ())
            new.recorded.begin()
            return new
        if await has_other_input(store, execution, input):
            raise ConflictError(f"the id `{key}` belongs to an execution with another input; use another id")
        await check_same_folder(store, execution, workdir)
        if execution.status.terminal:
            return execution
        if execution.served:
            raise ConflictError(f"the execution `{key}` is run by its agent, to which a server delivers it")
        if pin and not execution.pinned:
            raise ConflictError(f"the execution `{key}` was begun without `pin`; leave it out, or use another id")
        ended = (execution.id, execution.attempt) in let_go
        if execution.holder is not None and not ended and await store.alive(execution):
            raise ConflictError(
                f"the execution `{key}` is running in {execution.holder}; wait for it to end",
                holder=str(execution.holder),
            )
        if 0 < execution.deadline_at <= store.now():
            with suppress(ConflictError):
                await cancel(store, execution.id, reason=DEADLINE_EXCEEDED)
            raise Stale("it has ended")
        if await expire(store, execution.id):
            raise Stale("a question has expired")
        today = await _judge(store, policy, execution)
        view = await opened(store, execution, today)
        if execution.seal:
            execution = await view.execution(execution.id)
        return await _take_over(attempt, view, today, execution)

    return await transact(one_try, retried=(Stale, Terminated))


async def _origin(
    store: Store, policy: Policy, new: ExecutionRow, parent_id: str, step_id: str
) -> tuple[Store, ExecutionRow, InputOrigin]:
    """The store through which a new execution is created, its row, and where its input comes from."""
    if not parent_id:
        return *await sealed_start(store, new, policy), CLIENT
    above, parent, step = await with_parent(store, parent_id, step_id)
    view, new = await sealed_start(store, new, policy, parent=parent, step=step)
    return view, new, await of_child(above, parent_id, step_id)


async def _known(store: Store, agent_id: str, key: str) -> ExecutionRow | None:
    found = await store.find(agent_id, key)
    if found is None and may_be_own(key):
        with suppress(NotFoundError):
            found = await store.execution(key)
    return found if found is not None and found.agent_id == agent_id else None


def may_be_own(key: str) -> bool:
    """Whether this may be the id of an execution, which is a UUID; the caller's own ids are looked up by themselves."""
    return len(key) == 36 and key.count("-") == 4


async def _refuse_expired(store: Store, agent_id: str, key: str) -> None:
    gone = await store.tombstone(agent_id, key)
    if gone is not None:
        raise ExecutionExpired(key, execution_id=gone.id, status=gone.status.value, output_hash=gone.output_hash)


async def _judge(store: Store, policy: Policy, execution: ExecutionRow) -> Policy:
    """Whose rules hold: today's, unless the execution is pinned to those of its start."""
    if not execution.pinned or execution.digest == policy.digest:
        return policy
    pinned = restore_policy(execution.digest, await store.bundle(execution.digest) or ())
    return pinned.with_shadows(policy.shadows)


def _new(
    store: Store,
    policy: Policy,
    *,
    agent_id: str,
    input: str,
    key: str | None,
    pinned: bool,
    deadline: float | None,
    parent: str,
) -> ExecutionRow:
    now = store.now()
    return ExecutionRow(
        id=str(uuid_utils.uuid7()),
        agent_id=agent_id,
        key=key,
        status=ExecutionStatus.RUNNING,
        input=input,
        digest=policy.digest,
        attempt=1,
        holder=store.holder,
        lease_until=now + LEASE,
        deadline_at=now + deadline if deadline is not None else 0.0,
        pinned=pinned,
        spawned_execution_id=parent,
    )


def _started(execution: ExecutionRow, policy: Policy) -> NewEvent:
    holder = execution.holder
    assert holder is not None
    return new_event.execution(
        "started", attempt=execution.attempt, host=holder.host, pid=holder.pid, digest=policy.digest
    )


async def _attempt(
    kind: type[Attempt], store: Store, policy: Policy, execution: ExecutionRow, approvals: Iterable[ApprovalRow]
) -> Attempt:
    input = await read(execution.input)
    lease = Lease(execution.id, execution.attempt, store.holder.owner)
    store.keep(lease)
    attempt = kind(store, policy, execution, lease, approvals, input)
    await attempt.hear()
    # So that the first step need not wait for that.
    await stops.look(store)
    return attempt


async def _take_over(
    kind: type[Attempt], store: Store, policy: Policy, execution: ExecutionRow
) -> Attempt | ExecutionRow:
    asked = await store.approvals(execution_id=execution.id, limit=sys.maxsize)
    approvals = {approval.id: approval for approval in asked}
    changes = ExecutionChanges()
    if any(approval.status == "pending" for approval in asked):
        steps, approvals = await load(store, execution.id, step_facts_needed(policy))
        changes = await judge_waiting(policy, execution, steps, approvals, await background(store, execution))
    gone = {write.approval.id for write in changes.approvals}
    # A host goes on with its other calls.
    waits = not kind.hosted and any(a.status == "pending" and a.id not in gone for a in approvals.values())
    if waits:
        if not changes.events and execution.status is ExecutionStatus.BLOCKED:
            return execution
        if execution.status is not ExecutionStatus.BLOCKED:
            changes.add(
                (new_event.execution("blocked", attempt=execution.attempt, reason="awaiting_steps", replayed=0),)
            )
        row = ExecutionWrite(ExecutionStatus.BLOCKED, attempt=execution.attempt)
    else:
        if execution.status is ExecutionStatus.BLOCKED:
            changes.add((new_event.execution("resumed"),))
        row = ExecutionWrite(
            ExecutionStatus.RUNNING,
            attempt=execution.attempt + 1,
            holder=store.holder,
            lease_until=store.now() + LEASE,
        )
        changes.add((_started(replace(execution, attempt=execution.attempt + 1, holder=store.holder), policy),))
    await write(store, execution.id, changes, row, base=execution.head_seq)
    execution = await store.execution(execution.id)
    if waits:
        return execution
    if changes.approvals:
        asked = await store.approvals(execution_id=execution.id, limit=sys.maxsize)
    taken = await _attempt(kind, store, policy, execution, asked)
    taken.resources = await resources.load(store, execution.id)
    return taken


async def judge_waiting(
    policy: Policy,
    execution: ExecutionRow,
    steps: dict[str, StepRow],
    approvals: dict[str, ApprovalRow],
    known: Background,
) -> ExecutionChanges:
    """Nobody is asked about what today's bundle denies, or about a done step that it no longer denies. Long texts are
    decided about beside the event loop."""
    size = len(execution.input) + sum(len(step.args) + len(step.result or "") for step in steps.values())
    work = partial(_judged_waiting, policy, execution, steps, approvals, known)
    return work() if size <= LONG else await beside(work, long=size > LONG_FOR_ALL)


def _judged_waiting(
    policy: Policy,
    execution: ExecutionRow,
    steps: dict[str, StepRow],
    approvals: dict[str, ApprovalRow],
    known: Background,
) -> ExecutionChanges:
    changes = ExecutionChanges()
    past = facts.history(steps.values(), approvals.values())
    input = identity.parse(execution.input)
    for question in approvals.values():
        if question.status != "pending":
            continue
        step = steps[question.step_id]
        today = facts.current_decision(policy, step, agent=execution.agent_id, input=input, past=past, background=known)
        if question.cause == "policy" and today.verdict is Verdict.DENY:
            changes.add(*withdraw(question, step, today))
        elif question.cause == "revoked" and today.verdict is not Verdict.DENY:
            changes.add(
                (new_event.approval("withdrawn", question),),
                (),
                (ApprovalWrite(replace(question, status="withdrawn"), resolved=0),),
            )
    return changes


async def finish(
    attempt: Attempt, *, output: str | None = None, failure_reason: str = "", raised: dict[str, Any] | None = None
) -> ExecutionRow:
    """Ends the execution with an output, or with the reason of its failure and what was `raised`, as
    `rebuno.model.raised` tells it. Committed when this returns.

    Raises:
        Terminated, LeaseSuperseded, StoreError: it has ended otherwise, or could not be written.
    """

    async def one_try(_: int) -> ExecutionRow:
        await attempt.all_known()
        attempt.check()
        await end(attempt, output=output, failure_reason=failure_reason, raised=raised)
        return await _let_go(attempt)

    return await transact(one_try)


async def end(
    attempt: Attempt,
    *,
    output: str | None = None,
    failure_reason: str = "",
    state: str | None = None,
    raised: dict[str, Any] | None = None,
) -> None:
    """Writes the end of an execution whose log is known. Raises `Stale` where it has grown meanwhile."""
    status = ExecutionStatus.FAILED if output is None else ExecutionStatus.COMPLETED
    number, replayed = attempt.lease.attempt, attempt.replayed
    changes = close(attempt.recorded.unsettled(), attempt.pending(), status)
    if output is None:
        more = {} if raised is None else {"raised": raised}
        last = new_event.execution("failed", attempt=number, reason=failure_reason, replayed=replayed, **more)
    else:
        last = new_event.execution(
            "completed", attempt=number, output_hash=identity.args_hash(output), replayed=replayed
        )
    other_way = diverged(attempt)
    changes.add((last,) if other_way is None else (other_way, last))
    row = ExecutionWrite(status, output=output, failure_reason=failure_reason, attempt=number, state=state)
    await attempt.write(changes.events, steps=changes.steps, approvals=changes.approvals, execution=row, judged=True)


async def suspend(attempt: Attempt) -> ExecutionRow | None:
    """Ends a blocked attempt. None where everything it waited for was answered meanwhile: run the handler again."""

    async def one_try(_: int) -> ExecutionRow | None:
        await attempt.current()
        attempt.check()
        number = attempt.lease.attempt
        if attempt.pending():
            status = ExecutionStatus.BLOCKED
            event = new_event.execution("blocked", attempt=number, reason="awaiting_steps", replayed=attempt.replayed)
        else:
            status = ExecutionStatus.RUNNING
            event = new_event.execution("resumed")
        # A blocked handler did not come to its end: only what is new in it says that it went another way.
        other_way = diverged(attempt) if attempt.fresh else None
        events = (event,) if other_way is None else (other_way, event)
        await attempt.write(events, execution=ExecutionWrite(status, attempt=number), judged=True)
        execution = await _let_go(attempt)
        return execution if status is ExecutionStatus.BLOCKED else None

    return await transact(one_try)


async def abandon(attempt: Attempt) -> None:
    """Lets go of an execution whose attempt ended without an outcome; the next one takes it over at once.

    A store that fails here changes nothing: the lease then runs out by itself.

    Raises:
        StoreError, LeaseSuperseded, Terminated: the store failed, or there was nothing to let go of.
    """
    attempt.ended = True
    attempt.store.drop(attempt.lease)
    # INVARIANT: the last write of the attempt. It adds no event, so it may follow a lost one under a lease of its own.
    lease = Lease(attempt.execution.id, attempt.lease.attempt, attempt.lease.owner)
    row = ExecutionWrite(ExecutionStatus.RUNNING, attempt=lease.attempt)
    await write(attempt.store, lease.execution_id, None, row, lease=lease)


async def _let_go(attempt: Attempt) -> ExecutionRow:
    attempt.ended = True
    attempt.store.drop(attempt.lease)
    return await attempt.store.execution(attempt.execution.id)


def continued(key: str, number: int) -> str:
    """The own id of the execution that a host's session goes on in, the `number`-th: after it completed, its next is a
    fork that holds all of it."""
    return key if number == 1 else f"{key}~{number}"


async def newest(store: Store, execution: ExecutionRow) -> ExecutionRow:
    """The execution that a host's session goes on in now; of any other execution itself."""
    number = 1
    while execution.status is ExecutionStatus.COMPLETED and execution.key is not None and not execution.served:
        base = execution.key.removesuffix(f"~{number}") if number > 1 else execution.key
        found = await store.find(execution.agent_id, continued(base, number + 1))
        if found is None or found.forked_from != execution.id:
            break
        number, execution = number + 1, found
    return execution
