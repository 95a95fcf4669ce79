"""What an operator may see and do on a store: look at executions, read their story, answer approvals."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from rebuno.errors import ConflictError, ExecutionExpired, NotFoundError, StoreReadOnly, ValidationError
from rebuno.journal import records
from rebuno.journal.served import ServedStore
from rebuno.journal.store import Store
from rebuno.kernel import views
from rebuno.kernel.core.inheritance import session_of
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.names import check_name
from rebuno.kernel.core.origins import workdir_of
from rebuno.kernel.core.quorum import Panel
from rebuno.kernel.core.stops import forget as forget_stops
from rebuno.kernel.history import archive, definitions
from rebuno.kernel.history.as_rule import as_rule
from rebuno.kernel.history.explained import explained
from rebuno.kernel.history.recorded_facts import began_since, judged
from rebuno.kernel.history.shadowed import shadowed
from rebuno.kernel.history.timeline import Timeline, tell
from rebuno.kernel.history.verify import Verified, check
from rebuno.kernel.history.why import why
from rebuno.kernel.lifecycle import fork, say, standing, stops, votes
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.changed_files import changed
from rebuno.kernel.lifecycle.close import failure
from rebuno.kernel.lifecycle.erase import ErasingOperator
from rebuno.kernel.lifecycle.execution import newest
from rebuno.kernel.lifecycle.fork_resources import fork_points, with_restoration
from rebuno.kernel.lifecycle.sweep import Swept, sweep
from rebuno.kernel.lifecycle.waiting import blocked_on, delivery
from rebuno.policy import ALL_STEP_FACTS, Policy, RecordedStep, ShadowedStep, rules_in
from rebuno.types import (
    Approval,
    Event,
    Execution,
    ForkPoints,
    Restored,
    StandingGrant,
    Step,
    Stop,
    StoreInfo,
    ToolDefinition,
    UsedLimit,
    UserTurn,
)

# A shorter prefix of an id would sooner or later name an execution that was not meant.
SHORTEST_PREFIX: Final = 4


class Operator(ErasingOperator):
    """The operator's view of one store. Needs no policy: what waits was judged already. Where one is known, a fork is
    sealed as it says.

    Every method may raise a `StoreError`.
    """

    def __init__(self, store: ServedStore, policy: Policy | None = None) -> None:
        self._store = store
        self._policy = policy

    def now(self) -> float:
        """The time by the clock of the store, in seconds since 1970."""
        return self._store.now()

    async def executions(
        self, *, agent_id: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[Execution]:
        """The newest executions, newest first. Raises `ValidationError` for a filter that is no text."""
        _check_filter(agent_id=agent_id, status=status)
        rows = await self._store.executions(agent_id=agent_id, status=status, limit=limit)
        return [await self.shown(row) for row in rows]

    async def execution(self, ref: str) -> Execution:
        """The execution with this id, this beginning of an id (at least 4 characters), or this id of the caller's own.

        Raises:
            NotFoundError: there is none.
            ConflictError: there are several. `ExecutionExpired`: retention took it.
        """
        row = await self._row(ref)
        execution = await self.shown(row)
        execution.turns = [*map(views.turn, await self._store.turns(row.id))]
        execution.workdir = await workdir_of(self._store, row) or None
        execution.delivery = await delivery(self._store, row)
        return execution

    async def shown(self, row: records.ExecutionRow) -> Execution:
        """An execution of this store with its open questions."""
        execution = await shown(self._store, row)
        if execution.blocked_on:
            execution.approvals = await self.approvals(status="pending", execution_id=row.id)
        return execution

    async def _row(self, ref: str) -> records.ExecutionRow:
        _check(ref, "execution")
        try:
            return await self._store.execution(ref)
        except NotFoundError:
            found = await self._store.named(ref)
        if not found and len(ref) >= SHORTEST_PREFIX:
            found = await self._store.beginning(ref)
        if not found:
            raise await self._missing(ref)
        if len(found) > 1:
            ids = ", ".join(execution.id for execution in found[:3])
            raise ConflictError(f"`{ref}` names {len(found)} executions ({ids}…); give the whole id")
        return await newest(self._store, found[0]) if found[0].key == ref else found[0]

    async def _missing(self, ref: str) -> NotFoundError | ExecutionExpired:
        """Why nothing is found under a reference: retention took the one execution that it names, or there is none."""
        gone = await self._store.removed(ref)
        named = [one for one in gone if ref in (one.id, one.key)] or (gone if len(ref) >= SHORTEST_PREFIX else [])
        if len(named) != 1:
            return NotFoundError(f"there is no execution `{ref}`")
        (one,) = named
        return ExecutionExpired(ref, execution_id=one.id, status=one.status.value, output_hash=one.output_hash)

    async def steps(self, execution_id: str) -> list[Step]:
        """Every step of an execution, in the order of the log."""
        steps, _ = await load(self._store, execution_id, ALL_STEP_FACTS)
        return [views.step(step) for step in steps.values()]

    async def tools(self) -> list[ToolDefinition]:
        """What servers say of their tools, as agents have told it, by server, name and digest."""
        return await definitions.tools(self._store)

    async def events(self, execution_id: str) -> list[Event]:
        """Every event of an execution."""
        events: list[Event] = []
        while page := await self._store.events(execution_id, after=events[-1].event_seq if events else 0):
            events += map(views.event, page)
        return events

    async def approvals(
        self,
        *,
        status: str | None = None,
        execution_id: str | None = None,
        after: str | None = None,
        limit: int = sys.maxsize,
    ) -> list[Approval]:
        """Questions to people, each with its step. Raises as `questions` does."""
        rows = await questions(self._store, status=status, execution_id=execution_id, after=after, limit=limit)
        return [await asked(self._store, row) for row in rows]

    async def limits(self) -> list[UsedLimit]:
        """The pots of limits by amount, by value, by session and with a name, and what is taken from each. A limit that
        counts a rule's steps for an execution, an agent or all agents has none."""
        found: list[UsedLimit] = []
        while page := await self._store.pots(after=found[-1].id if found else ""):
            found += map(views.pot, page)
        return found

    async def approval(self, approval_id: str) -> Approval:
        """One question with why it is asked, else `NotFoundError`."""
        row = await question(self._store, approval_id)
        return await reasoned(self._store, row, await asked(self._store, row))

    async def as_rule(self, approval_id: str) -> dict[str, Any]:
        """The narrowest rule that would have allowed the call that was asked about, and its case, as a change of the
        bundle to review; it changes nothing. See `rebuno.kernel.history.as_rule.as_rule`, also for what it raises."""
        return await as_rule(self._store, await question(self._store, approval_id))

    async def explain(self, ref: str, step_id: str) -> dict[str, Any]:
        """Why a step of an execution was decided so: the traces on the facts of then, under the bundle of then and
        under today's; see `rebuno.kernel.history.explained.explained`. Raises as `execution` does, and `NotFoundError`
        where there is no such step."""
        return await explained(self._store, (await self._row(ref)).id, step_id)

    async def panels(self, approval_id: str) -> tuple[Panel, ...]:
        """Who must agree before a step may run: every panel. `approvers` and `quorum` of the approval say the same,
        unless several layers ask different people."""
        return await votes.panels_of(self._store, await self._store.approval(approval_id))

    async def grant(
        self,
        approval_id: str,
        *,
        decided_by: str,
        asserted_by: str = "",
        rationale: str = "",
        scope: str = "once",
        edit: Mapping[str, Any] | None = None,
        lasts: float | None = None,
        known: Mapping[str, str] | None = None,
        free: Sequence[str] | None = None,
    ) -> Approval:
        """Lets the step go ahead, in the next run of its execution, once all who must agree have granted: until then
        what is returned is still `pending`.

        `scope` is what the grant covers: `once` this step, `execution` every step of its kind, target and rule, `rule`
        every step of its rule; the latter two for the rest of the execution, as long as the policy is the same one.
        `asserted_by` is who vouches for the name `decided_by`.

        `edit` are new values of arguments that the rule lets be changed (`edits`). The changed call is judged anew by
        the policy that asked, as if the agent had submitted it so, and runs in the place of the first.

        With the scope `agent` later steps of the agent that are of this kind, target and rule may start too, for
        `lasts` seconds: with these arguments, but for those in `known` (each must be for sure in the `known` set of
        that name) and those in `free` (they may be anything).

        Raises:
            NotFoundError, ForbiddenError (not among the approvers, or a rule does not let it be changed so or denies
            the changed call), ConflictError (answered already, overdue, the execution has ended, others granted another
            call, or a limit has no room for it), ValidationError, BundleError
        """
        _check(approval_id, "approval")
        stands = standing.standing_terms(scope, lasts, known, free)
        row = await votes.resolve(
            self._store,
            approval_id,
            granted=True,
            decided_by=decided_by,
            asserted_by=asserted_by,
            rationale=rationale,
            scope=scope if stands is None else "once",
            edit=edit,
            stands=stands,
        )
        return await asked(self._store, row)

    async def standing_grants(self, *, agent_id: str | None = None, over: bool = False) -> list[StandingGrant]:
        """The grants that outlive their executions, oldest first; with `over` those that have ended, too."""
        now = None if over else self._store.now()
        return [views.standing(row) for row in await self._store.standing_grants(agent_id=agent_id, now=now)]

    async def revoke_grant(self, ref: str, *, by: str) -> StandingGrant:
        """Ends a grant, named by its id or the beginning of it. Raises `NotFoundError`, `ConflictError`."""
        return views.standing(await standing.revoke(self._store, ref, by=by))

    async def rules(self, digest: str) -> list[tuple[str, str, str]]:
        """The bundle, the id and the verdict of each rule of the policy with this digest; none where it is not kept."""
        return [rule for _, text in await self._store.bundle(digest) or () for rule in rules_in(text)]

    async def deny(self, approval_id: str, *, decided_by: str, asserted_by: str = "", rationale: str = "") -> Approval:
        """Refuses the step, whatever others granted; the agent receives `rationale` as the reason. Raises as `grant`
        does."""
        _check(approval_id, "approval")
        row = await votes.resolve(
            self._store,
            approval_id,
            granted=False,
            decided_by=decided_by,
            asserted_by=asserted_by,
            rationale=rationale,
        )
        return await asked(self._store, row)

    async def say(self, ref: str, text: str, *, by: str = "") -> UserTurn:
        """Adds what the user wrote to an execution, named as in `execution`: it counts for the steps that are submitted
        after it. `by` is the name of who says it.

        Raises:
            NotFoundError, ConflictError: there is no such execution, or several; it has ended, was begun by another
                one, or takes no more turns.
            ValidationError: the text is blank, no valid Unicode, or longer than 65,536 bytes.
        """
        row = await self._row(ref)
        return views.turn(await say.say(self._store, row.id, text, by=by))

    async def stop(
        self, *, agent: str = "", tool: str = "", everything: bool = False, reason: str = "", by: str
    ) -> Stop:
        """Stops an agent, the tools that a pattern matches, or everything, until that is lifted; see
        `rebuno.kernel.lifecycle.stops.stop`. `by` is who does so. Raises `ValidationError`."""
        row = await stops.stop(self._store, agent=agent, tool=tool, everything=everything, reason=reason, by=by)
        return views.stop(row)

    async def lift(self, stop_id: str, *, by: str) -> Stop:
        """Ends a stop, named by its id or the beginning of it. Raises `NotFoundError`, `ConflictError`."""
        return views.stop(await stops.lift(self._store, stop_id, by=by))

    async def stops(self, *, lifted: bool = False) -> list[Stop]:
        """What is stopped, oldest first; with `lifted` what was, too."""
        return [views.stop(row) for row in await self._store.stops(lifted=lifted)]

    async def info(self) -> StoreInfo:
        """What there is in the store as a whole."""
        counts = (await self._store.counts()).executions
        found = {status: number for status, number in counts if number}
        stops, restored, pieces = await self.stops(), await self.restored(), await self._store.pieces_in_use()
        return StoreInfo(executions=found, stops=stops, restored=restored, pieces=pieces)

    async def finish_upgrade(self) -> None:
        """Says that no process of an older version uses the store; from now on it holds what they cannot read."""
        await self._store.use_pieces()

    async def restored(self) -> Restored | None:
        """When the store was restored from a copy, and by whom; None where it was not, or somebody has accepted it."""
        found = await self._store.restored()
        return None if found is None else Restored(restored_at=found.restored_at, restored_by=found.restored_by)

    async def mark_restored(self, *, by: str) -> None:
        """Says that the store was restored from a copy now, by other means than `rebuno store restore`: from then on a
        person is asked before anything runs that may not run twice. Raises `ValidationError`."""
        check_name("name of who restored it", by)
        await self._store.mark_restored(by)
        forget_stops(self._store)

    async def accept_restore(self, *, by: str) -> None:
        """Accepts that the store was restored: nothing more is asked about because of that. Raises `ConflictError`
        where there is nothing to accept, `ValidationError`."""
        check_name("name of who accepts it", by)
        if await self._store.restored() is None:
            raise ConflictError("the store was not restored, or that was accepted already")
        await self._store.accept_restored(by)
        forget_stops(self._store)

    async def cancel(self, ref: str, *, reason: str = "cancelled") -> Execution:
        """Cancels an execution, named as in `execution`; the process that runs it stops within a heartbeat.

        Raises:
            NotFoundError, ConflictError: there is none, or several, or it has ended already.
        """
        row = await self._row(ref)
        return await self.shown(await cancel(self._store, row.id, reason=reason))

    async def fork(
        self,
        ref: str,
        *,
        at_seq: int | None = None,
        key: str | None = None,
        keep_policy: bool = False,
        deadline: float | None = None,
    ) -> Execution:
        """A new execution that begins where this one stood at its event `at_seq` (None: the newest). It is run by its
        id, or by `key`, the caller's own id for it; each `at_most_once` step that it runs anew needs an approval.

        The policy of the kernel that runs it judges it, even if this one was pinned; with `keep_policy` it is pinned
        to the policy that this one began under. It is cancelled `deadline` seconds from now, unless it has ended.

        Raises:
            NotFoundError, ConflictError: there is no such execution, or several, or the key is taken.
            ValidationError: it has no such event, or the deadline is none.
            BundleError: the policy that it is to keep cannot be compiled here.
        """
        source = await self._row(ref)
        at = source.head_seq if at_seq is None else at_seq
        made = await fork.fork(
            self._store, source, at, key=key, pinned=keep_policy, deadline=deadline, policy=self._policy
        )
        return await with_restoration(self._store, await self.shown(made))

    async def retry(
        self, ref: str, *, key: str | None = None, keep_policy: bool = False, deadline: float | None = None
    ) -> Execution:
        """A fork of a failed or cancelled execution that begins right before what made it fail. The rest is as in
        `fork`.

        Raises:
            NotFoundError, ConflictError, BundleError: as `fork`, or it has not ended, or has completed.
        """
        source = await self._row(ref)
        at = await fork.retry_point(self._store, source)
        # The user's word stands, whatever became of the steps.
        heard = source.head_seq
        made = await fork.fork(
            self._store, source, at, key=key, pinned=keep_policy, deadline=deadline, heard=heard, policy=self._policy
        )
        return await with_restoration(self._store, await self.shown(made))

    async def fork_points(self, ref: str) -> ForkPoints:
        """The newest event, the resources and the checkpoints of an execution. Raises as `execution` does."""
        return await fork_points(self._store, (await self._row(ref)).id)

    async def changed_files(self, executions: Sequence[Execution]) -> list[str]:
        """The bundle files whose texts are no longer those that these executions began under, as far as these have not
        ended and the files are found from here."""
        digests = dict.fromkeys(one.digest for one in executions if one.digest and not one.status.terminal)
        kept = [pair for digest in digests for pair in await self._store.bundle(digest) or ()]
        return changed(kept)

    async def sweep(self, *, retention: float | None = None) -> Swept:
        """Does at once what is due in the store: see `rebuno.kernel.lifecycle.sweep.sweep`. `retention` is for how many
        seconds ended executions are kept (None: for ever)."""
        return await sweep(self._store, retention=retention)

    async def story(self, ref: str) -> Timeline:
        """The story of one execution. Raises as `execution` does."""
        execution = await self._row(ref)
        return await tell(self._store, execution.id)

    async def verify(self, ref: str, *, head: str = "") -> Verified:
        """Recomputes an execution's log and what it says of the rows; see `rebuno.kernel.history.verify.check`."""
        execution = await self._row(ref)
        return await check(self._store, execution.id, head=head)

    async def judged(self, ref: str) -> list[RecordedStep]:
        """The steps of an execution with the facts of their first submissions, for a backtest."""
        execution = await self._row(ref)
        return await judged(self._store, execution)

    async def shadowed(self, ref: str) -> list[ShadowedStep]:
        """The steps of an execution with what the bundles beside its policy said of them."""
        execution = await self._row(ref)
        return await shadowed(self._store, execution)

    async def began_since(self, since: float) -> list[str]:
        """The ids of the executions that were created at this time or later (seconds since 1970), newest first."""
        return [execution.id async for execution in began_since(self._store, since)]

    async def record(self, ref: str, *, sealed: bool = True) -> archive.Recording:
        """An execution with all that belongs to it; `rebuno.kernel.history.archive.lines` makes a file of it. What is
        sealed stays so, unless `sealed` is False. Raises as `rebuno.kernel.history.archive.record` and `opened` do."""
        execution = await self._row(ref)
        found = await archive.record(self._store, execution.id)
        return found if sealed else archive.opened(found, self._store.ring)

    async def restore(self, recording: archive.Recording) -> Execution:
        """Adds a recorded execution to this store. Raises as `rebuno.kernel.history.archive.restore` does."""
        return await self.shown(await archive.restore(self._store, recording))


async def shown(store: ServedStore, row: records.ExecutionRow) -> Execution:
    """An execution with the session that it belongs to, what it waits for, and what its handler raised. Raises a
    `StoreError` where the store does."""
    return views.execution(
        row,
        session=await session_of(store, row),
        blocked_on=await blocked_on(store, row),
        failure=await failure(store, row),
    )


async def asked(store: Store, row: records.ApprovalRow) -> Approval:
    """A question with the step that it is about."""
    step = None
    with suppress(NotFoundError):
        step = await store.step(row.step_id)
    return views.approval(row, step)


async def reasoned(store: Store, row: records.ApprovalRow, told: Approval) -> Approval:
    """A question with why it is asked, as far as its step is there."""
    with suppress(NotFoundError):
        told.why = await why(store, row)
    return told


async def questions(
    store: Store,
    *,
    status: str | None = None,
    execution_id: str | None = None,
    after: str | None = None,
    limit: int = sys.maxsize,
) -> list[records.ApprovalRow]:
    """The rows of questions to people, oldest first, at most `limit` of those asked after the one with the id `after`;
    what nobody answered in time is `expired`.

    Raises:
        ValidationError: a filter is no text.
        NotFoundError: `after` is no approval.
        StoreError
    """
    _check_filter(status=status, execution_id=execution_id)
    with suppress(StoreReadOnly):
        await votes.expire_due(store)
    if after is not None:
        await store.approval(after)
    return await store.approvals(status=status, execution_id=execution_id, after=after, limit=limit)


async def question(store: Store, approval_id: str) -> records.ApprovalRow:
    """The row of one question, else `NotFoundError`."""
    _check(approval_id, "approval")
    found = await store.approval(approval_id)
    if not votes.overdue(found, store.now()):
        return found
    with suppress(StoreReadOnly):
        await votes.expire(store, found.execution_id)
    return await store.approval(approval_id)


def _check(ref: str, noun: str) -> None:
    if not _is_text(ref):
        raise NotFoundError(f"there is no {noun} {ref!r}: it is not valid Unicode")


def _check_filter(**filters: str | None) -> None:
    for name, value in filters.items():
        if value is not None and not _is_text(value):
            raise ValidationError(f"`{name}` is not valid Unicode: {value!r}")


def _is_text(given: str) -> bool:
    # Words of a command line may hold bytes that are no text.
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True
