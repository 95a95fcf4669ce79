"""The answers of people to questions about steps: votes are counted, the first answer that decides is the only one, and
wakes what waited only for it; what nobody answers in time expires."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from rebuno.errors import ConflictError, ForbiddenError, NotFoundError, Stale, StoreCorrupt, Terminated, ValidationError
from rebuno.journal.records import ApprovalRow, ApprovalWrite, ExecutionRow, ExecutionWrite, StepRow, StepWrite, VoteRow
from rebuno.journal.standing import StandingGrantRow
from rebuno.journal.store import Store
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import stops, transact
from rebuno.kernel.core.ask import refuse
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.grants import GrantScope
from rebuno.kernel.core.inheritance import session_of
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.names import check_person, folded
from rebuno.kernel.core.pots import no_room, take_at_grant
from rebuno.kernel.core.quorum import DENY, GRANT, Panel, agreed, granters
from rebuno.kernel.core.sealed import masked, opened, plain
from rebuno.kernel.lifecycle import edits, standing
from rebuno.kernel.lifecycle.cancel import DEADLINE_EXCEEDED, cancel
from rebuno.kernel.lifecycle.close import close
from rebuno.kernel.lifecycle.dispatch import resumed
from rebuno.kernel.lifecycle.edits import EditedCall
from rebuno.kernel.lifecycle.standing import StandingTerms
from rebuno.model.clock import rfc3339
from rebuno.model.decision import DIVERGED, INDETERMINATE_RETRY, RESTORED
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.policy import Policy

# Finds the policy by which a changed call is judged.
PolicyOf = Callable[[ExecutionRow, ApprovalRow], Awaitable[Policy]]

# The reasons that an agent receives where no person gives one.
DENIED, TIMEOUT, REVOKED = "approval_denied", "approval_timeout", "policy_revoked"


async def resolve(
    store: Store,
    approval_id: str,
    *,
    granted: bool,
    decided_by: str,
    asserted_by: str = "",
    rationale: str = "",
    scope: str = GrantScope.ONCE,
    edit: Mapping[str, Any] | None = None,
    policy_of: PolicyOf | None = None,
    stands: StandingTerms | None = None,
) -> ApprovalRow:
    """One person grants or denies. Committed when this returns; what waited for nothing else may run again.

    `edit` are new values of arguments: the changed call is judged anew, by the policy that `policy_of` finds (None: the
    one that asked), and runs in the place of the first. All grants of a question are for the same call. With `stands`
    the grant also covers later steps of the agent, until it ends.

    `asserted_by` is who vouches for the name `decided_by`. A denial decides at once, a grant once everybody whom the
    rules demand has given one: until then what is returned is still `pending`. Of several grants the narrowest `scope`
    counts.

    Raises:
        NotFoundError: there is no such approval.
        ForbiddenError: this person is not among the approvers, or the call may not be changed so; the question stays
            open.
        ConflictError: it was answered already, by this person or for good, it is overdue, its execution has ended or
            passed its deadline, or a limit has no room for what the step takes when it is granted.
        ValidationError: the name could be taken for another one, or there is no such scope here.
        StoreError
    """
    store = plain(store)
    asked = await store.approval(approval_id) if rationale else None
    if asked is not None:
        rationale = await masked(store, await store.execution(asked.execution_id), rationale)
    vote = VoteRow(decided_by, GRANT if granted else DENY, round(store.now(), 6), asserted_by, rationale)
    wanted = _scope(scope)
    if edit is not None and not granted:
        raise ValidationError("a denial changes nothing; leave the edit out")
    if edit is not None and wanted is not GrantScope.ONCE:
        raise ValidationError(f"an edit is of this one step; leave the scope `{wanted}` out")
    if stands is not None and (not granted or edit is not None or wanted is not GrantScope.ONCE):
        raise ValidationError("a grant that outlives the run is given alone: with no edit, and no other scope")
    given: list[StandingGrantRow] = []
    # A change that limits have counted, and that may not have been recorded.
    swapped: list[tuple[ExecutionRow, StepRow, EditedCall]] = []

    async def one_try(tried: int) -> None:
        question = await store.approval(approval_id)
        _check_open(question)
        # INVARIANT: the row of the execution is read before what the vote rests on, so that a later change is `Stale`.
        execution = await store.execution(question.execution_id)
        if 0 < execution.deadline_at <= store.now():
            with suppress(ConflictError):
                await cancel(store, execution.id, reason=DEADLINE_EXCEEDED)
            raise ConflictError(f"the execution of the approval `{approval_id}` has passed its deadline")
        approvals = await questions(store, execution.id)
        question = approvals[approval_id]
        _check_open(question)
        if overdue(question, store.now()):
            await expire(store, execution.id)
            raise Stale("the question has expired")
        panels = await panels_of(store, question)
        # Who was asked about the call as it was submitted may refuse a changed one too.
        seats = (*panels, *(await _first_panels(store, question))) if question.edited else panels
        _check_vote(question, seats, vote, wanted)
        call: EditedCall | None = None
        limits: list[Any] = []
        if granted and _is_about_edit(question, edit):
            step = await store.step(question.step_id)
            policy = await (policy_of or partial(edits.asked_policy, store))(execution, question)
            # What is sealed is judged in clear.
            view = await opened(store, execution)
            call = await edits.judge(view, policy, await view.execution(execution.id), question, step, edit)
            _check_call(question, call)
            swapped.append((execution, step, call))
            agreed_on, limits = await edits.swap(store, execution, step, call)
            call = replace(call, terms=agreed_on)
            panels = agreed_on.panels
        answered = _voted(question, panels, vote, wanted, call)
        approvals[approval_id] = answered
        more: dict[str, object] = {}
        if stands is not None:
            if answered.status != "granted" or len(answered.votes) > 1:
                raise ValidationError(
                    "a grant that outlives the run is given by one person; several must grant this question"
                )
            step = await store.step(question.step_id)
            policy = await (policy_of or partial(edits.asked_policy, store))(execution, question)
            given[:] = [standing.made(store, policy, execution, question, step, vote, stands)]
            more["standing"] = standing.told(given[0])
        if answered.status == "granted" and answered.cause == "policy" and call is None:
            step = await store.step(answered.step_id)
            if answered.edits and (full := await edits.take_back(store, execution, step)) is not None:
                raise ConflictError(no_room(full))
            await take_at_grant(store, execution, await session_of(store, execution), step)
        changes, row = await _changes(store, execution, approvals, answered, vote, call, limits, more)
        await transact.answer(store, execution, approvals.values(), changes, row, tried=tried)
        swapped.clear()

    try:
        await transact.transact(one_try)
    except Terminated:
        raise ConflictError(f"the execution of the approval `{approval_id}` has ended") from None
    except asyncio.CancelledError:
        # What was written may be committed yet; where it is not, the next grant takes what it must.
        swapped.clear()
        raise
    finally:
        for execution, step, call in swapped[-1:]:
            await edits.take_back(store, execution, step, call)
    for grant in given:
        await store.add_standing_grant(grant)
        stops.forget(store)
    return await store.approval(approval_id)


def overdue(question: ApprovalRow, now: float) -> bool:
    """Whether nobody has answered in time."""
    return question.status == "pending" and 0 < question.timeout_at < now


async def expire(store: Store, execution_id: str) -> int:
    """Ends the overdue questions of one execution, which may run again if it waited for nothing else; how many."""

    async def one_try(tried: int) -> int:
        execution = await store.execution(execution_id)
        if execution.status.terminal:
            return 0
        approvals = await questions(store, execution_id)
        late = [question for question in approvals.values() if overdue(question, store.now())]
        if not late:
            return 0
        changes = ExecutionChanges()
        ends = False
        for question in late:
            expired = approvals[question.id] = replace(question, status="expired")
            said = new_event.approval("expired", expired, timeout_at=rfc3339(expired.timeout_at))
            changes.add((said,), (), (ApprovalWrite(expired, resolved=0),))
            if expired.cause == "revoked":
                ends = True
            else:
                _refuse(changes, await store.step(expired.step_id), TIMEOUT)
        row: ExecutionWrite | None
        if ends:
            row = await _end(store, execution, approvals, changes, REVOKED)
        else:
            row = _resume(execution, approvals, changes)
        await transact.answer(store, execution, approvals.values(), changes, row, tried=tried)
        return len(late)

    try:
        return await transact.transact(one_try)
    except Terminated:
        return 0


async def expire_due(store: Store) -> int:
    """Ends every overdue question of the store; how many. An execution that is damaged, or was removed meanwhile, keeps
    no other from it."""
    total = 0
    while due := await store.approvals_due(store.now()):
        ended = 0
        for execution_id in dict.fromkeys(question.execution_id for question in due):
            try:
                ended += await expire(store, execution_id)
            except (StoreCorrupt, NotFoundError):
                continue
        if not ended:
            break
        total += ended
    return total


async def questions(store: Store, execution_id: str) -> dict[str, ApprovalRow]:
    """Every approval of an execution."""
    return {question.id: question for question in await store.approvals(execution_id=execution_id, limit=sys.maxsize)}


async def panels_of(store: Store, question: ApprovalRow) -> tuple[Panel, ...]:
    """Who must agree: as the row says, or as the log does where several layers ask different people."""
    if question.edited and question.votes:
        # Those that the changed call asks.
        return (Panel(question.approvers, question.quorum),)
    return await _first_panels(store, question)


async def _first_panels(store: Store, question: ApprovalRow) -> tuple[Panel, ...]:
    for event in await store.events(question.execution_id, after=question.requested_seq - 1, limit=1):
        if event.type == "approval.requested" and "panels" in event.payload:
            try:
                return tuple(_panel(said) for said in event.payload["panels"])
            except (KeyError, TypeError) as error:
                raise StoreCorrupt(f"event {event.event_seq} of execution `{event.execution_id}`: {error}") from None
        if event.type == "approval.requested" and "quorum" in event.payload:
            return (_panel({"approvers": (), **event.payload}),)
    return (Panel(question.approvers, question.quorum),)


def _panel(said: Any) -> Panel:
    return Panel(tuple(map(str, said["approvers"])), int(said["quorum"]))


def _scope(scope: str) -> GrantScope:
    try:
        return GrantScope(scope)
    except ValueError:
        raise ValidationError(f"`{scope}` is no scope of a grant; one of {', '.join(GrantScope)}") from None


def _check_open(question: ApprovalRow) -> None:
    if question.status == "pending":
        return
    names = granters(question) if question.status == "granted" else (question.decided_by,)
    by = " and ".join(name for name in names if name)
    at = f" at {rfc3339(question.decided_at)}" if question.decided_at else ""
    raise ConflictError(f"the approval `{question.id}` is {question.status}{f' by {by}' if by else ''} already{at}")


def _is_about_edit(question: ApprovalRow, edit: Mapping[str, Any] | None) -> bool:
    """Whether a grant is for a changed call: one that is changed now, or was before the question was asked."""
    if edit is not None or not question.edited:
        return edit is not None
    if question.edited_by in granters(question):
        raise ConflictError(
            f"`{question.edited_by}` has changed the call of `{question.id}`, and all grants are for the same call: "
            "grant it with the same edit, or deny it"
        )
    return True


def _check_call(question: ApprovalRow, call: EditedCall) -> None:
    """All grants of a question are for the same call."""
    if granters(question) and question.edited != call.args:
        names = " and ".join(f"`{name}`" for name in granters(question))
        raise ConflictError(f"{names} granted another call of `{question.id}`; grant that one, or deny it")


def _check_vote(question: ApprovalRow, panels: Sequence[Panel], vote: VoteRow, scope: GrantScope) -> None:
    # A name that the rule itself writes is what that person is called.
    if vote.decided_by not in question.approvers:
        check_person(vote.decided_by)
    if not any(panel.seats(vote.decided_by) for panel in panels):
        named = ", ".join(f"`{name}`" for name in question.approvers)
        hint = "; names are compared letter by letter"
        alike = folded(vote.decided_by) in map(folded, question.approvers)
        raise ForbiddenError(
            f"`{vote.decided_by}` is not among the approvers of `{question.id}`: {named}{hint if alike else ''}"
        )
    for earlier in question.votes:
        if folded(earlier.decided_by) == folded(vote.decided_by):
            same = f", and {vote.decided_by!r} may be the same person" if vote.decided_by != earlier.decided_by else ""
            raise ConflictError(
                f"`{earlier.decided_by}` has answered the approval `{question.id}` already{same}; others must answer"
            )
    if scope is not GrantScope.ONCE and (
        question.cause != "policy" or question.rule_id in (DIVERGED, INDETERMINATE_RETRY, RESTORED)
    ):
        raise ValidationError(f"a grant of `{question.id}` covers this one step; leave the scope `{scope}` out")


def _voted(
    question: ApprovalRow, panels: Sequence[Panel], vote: VoteRow, scope: GrantScope, call: EditedCall | None
) -> ApprovalRow:
    votes = (*question.votes, vote)
    if call is not None:
        by = question.edited_by if question.edited == call.args else vote.decided_by
        terms = call.terms
        question = replace(
            question, edited=call.args, edited_by=by, approvers=terms.approvers, quorum=terms.quorum, scope="once"
        )
    if vote.decision == DENY:
        status = "denied"
    else:
        if question.votes:
            scope = scope.narrower(GrantScope(question.scope))
        status = "granted" if agreed(panels, [v.decided_by for v in votes]) else "pending"
    voted = replace(question, votes=votes, status=status, scope=scope.value)
    if status == "pending":
        return voted
    return replace(voted, decided_by=vote.decided_by, asserted_by=vote.asserted_by, rationale=vote.rationale)


async def _changes(
    store: Store,
    execution: ExecutionRow,
    approvals: dict[str, ApprovalRow],
    answered: ApprovalRow,
    vote: VoteRow,
    call: EditedCall | None,
    limits: Sequence[Any],
    more: Mapping[str, object],
) -> tuple[ExecutionChanges, ExecutionWrite | None]:
    said: dict[str, object] = {"decided_by": vote.decided_by, "scope": answered.scope}
    said |= {"asserted_by": vote.asserted_by} if vote.asserted_by else {}
    said |= {"rationale": vote.rationale} if vote.rationale else {}
    said |= more
    changed = {} if call is None else call.said()
    if call is not None:
        said |= {**changed, "quorum": answered.quorum, "approvers": list(answered.approvers)}
    changes = ExecutionChanges()
    if answered.status == "pending":
        said |= {"limits": list(limits)} if call is not None else {}
        event = new_event.approval("voted", answered, decision=vote.decision, **said)
        changes.add((event,), (), (ApprovalWrite(answered),))
        return changes, None
    changes.add((new_event.approval(answered.status, answered, **said),), (), (ApprovalWrite(answered, resolved=0),))
    if answered.cause == "revoked" and answered.status == "denied":
        reason = f"{REVOKED}: {vote.rationale}" if vote.rationale else REVOKED
        return changes, await _end(store, execution, approvals, changes, reason)
    if answered.cause == "policy":
        step = await store.step(answered.step_id)
        if answered.status == "granted":
            row = replace(step, status=StepStatus.ALLOWED)
            more = (
                {}
                if call is None
                else {"ran_hash": changed["ran_hash"], "edited": call.decided(), "limits": list(limits)}
            )
            changes.add((new_event.allowed(row, answered.id, **more),), (StepWrite(row),))
        else:
            _refuse(changes, step, vote.rationale if vote.rationale.strip() else DENIED)
    return changes, _resume(execution, approvals, changes)


def _refuse(changes: ExecutionChanges, step: StepRow, reason: str) -> None:
    changes.add((new_event.refused(step, reason),), (StepWrite(refuse(step, reason, step.rule_id), settled=0),))


def _resume(
    execution: ExecutionRow, approvals: dict[str, ApprovalRow], changes: ExecutionChanges
) -> ExecutionWrite | None:
    """Lets the execution run again if nothing is left that it waits for."""
    waits = any(question.status == "pending" for question in approvals.values())
    if waits or execution.status is not ExecutionStatus.BLOCKED:
        return None
    events, write = resumed(execution)
    changes.add(events)
    return write


async def _end(
    store: Store, execution: ExecutionRow, approvals: dict[str, ApprovalRow], changes: ExecutionChanges, reason: str
) -> ExecutionWrite:
    """What is done cannot be refused any more; the run that did it can."""
    steps, _ = await load(store, execution.id)
    written = {write.step.step_id for write in changes.steps}
    left = [step for step in steps.values() if step.step_id not in written]
    closing = close(left, approvals.values(), ExecutionStatus.FAILED)
    changes.add(closing.events, closing.steps, closing.approvals)
    changes.add((new_event.execution("failed", attempt=execution.attempt, reason=reason, replayed=0),))
    return ExecutionWrite(ExecutionStatus.FAILED, failure_reason=reason, attempt=execution.attempt)
