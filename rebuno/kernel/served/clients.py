"""What a served kernel does for clients: begin executions, look at them, cancel and fork them."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from rebuno import types
from rebuno.errors import ConflictError, NotFoundError, ValidationError
from rebuno.journal.records import EventRow, ExecutionRow, StepRow
from rebuno.kernel import views
from rebuno.kernel.core import edited, step_facts
from rebuno.kernel.core.background import Background
from rebuno.kernel.core.names import check_name
from rebuno.kernel.core.origins import background, workdir_of
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.history import archive, event_payloads
from rebuno.kernel.history.verify import Verified, check
from rebuno.kernel.lifecycle import fork
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.erase import erase
from rebuno.kernel.lifecycle.fork_resources import fork_points, with_restoration
from rebuno.kernel.lifecycle.say import say
from rebuno.kernel.lifecycle.waiting import delivery
from rebuno.kernel.operator import shown
from rebuno.kernel.served import create
from rebuno.kernel.served.create import CreateRequest
from rebuno.kernel.served.replica import Replica
from rebuno.model.execution import ExecutionStatus
from rebuno.types import Delta

# The reason of an execution that a client cancelled.
CLIENT_CANCELLED: Final = "client_cancelled"
MOST_EXECUTIONS: Final = 200
MOST_EVENTS: Final = 1000


class Clients(Replica):
    """The clients' side. Every method may raise a `StoreError`."""

    async def create(
        self,
        *,
        agent_id: str,
        input: str,
        session: str = "",
        parent_execution_id: str = "",
        key: str = "",
        spawned_by: tuple[str, str] | None = None,
        on_behalf_of: str = "",
        created_by: str = "",
        by_agent: bool = False,
        workdir: str = "",
    ) -> ExecutionRow:
        """Begins an execution of canonical JSON `input`, or returns the one that has this key or this parent step
        already. `spawned_by` is an execution and its step; `by_agent` says that no user has written the input.
        `workdir` is the folder that it works in, of which only a client that is no agent tells.

        Raises:
            NotFoundError: no such agent, parent or step's execution.
            ConflictError: the key has another input or workdir, or the parent is not as it must be.
            ValidationError: a blank or overlong name, a foreign step, a session that may not be used, or a workdir that
                is no absolute path or that an agent names.
        """
        await self._registry.agent(agent_id)
        policy = await self._policies.today(agent_id)
        wanted = CreateRequest(
            agent_id,
            input,
            session,
            parent_execution_id,
            key,
            spawned_by,
            on_behalf_of,
            created_by,
            by_agent,
            workdir,
            self._settings.deadline,
        )
        execution, new = await create.create(self._store, wanted, policy)
        if new:
            self._observer.created(execution)
            self._wake()
        return execution

    async def execution(self, execution_id: str) -> ExecutionRow:
        """The execution, else `NotFoundError`."""
        return await self._store.execution(execution_id)

    async def executions(
        self,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> tuple[list[ExecutionRow], str | None]:
        """A page, newest first, and the cursor of the next one (None: it was the last). `ValidationError` for an
        unknown cursor or status."""
        if status is not None and status not in set(ExecutionStatus):
            raise ValidationError(f"`{status}` is no status; one of {', '.join(ExecutionStatus)}")
        if cursor is not None:
            try:
                await self._store.execution(cursor)
            except NotFoundError:
                raise ValidationError(f"the cursor `{cursor}` is unknown; begin without one") from None
        limit = min(max(limit, 1), MOST_EXECUTIONS)
        found = await self._store.executions(
            agent_id=agent_id, session=session, status=status, before=cursor, limit=limit + 1
        )
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def shown(self, execution: ExecutionRow) -> types.Execution:
        """An execution as clients are shown it: with its session, what it waits for, and what its handler raised."""
        return await shown(self._store, execution)

    async def events(self, execution_id: str, *, after: int = 0, limit: int = 100) -> list[EventRow]:
        """A page of events, at most 1000; else `NotFoundError`."""
        limit = min(max(limit, 1), MOST_EVENTS)
        found = await self._store.events(execution_id, after=max(after, 0), limit=limit)
        if not found:
            await self._store.execution(execution_id)
        return found

    async def documented(self, event: EventRow) -> types.Event:
        """An event with its payload as the protocol documents it."""
        return views.event(event, await event_payloads.payload(self._store, event))

    async def in_clear(self, execution: ExecutionRow) -> ExecutionRow:
        """An execution as its own agent reads it, without marks. Raises `SealKeyMissing`."""
        if not execution.seal:
            return execution
        return await (await opened(self._store, execution)).execution(execution.id)

    async def steps(
        self, execution_id: str, *, terminal: bool = False, clear: ExecutionRow | None = None
    ) -> list[StepRow]:
        """Every step in the order of decisions, or only those that have ended; else `NotFoundError`. `clear` is the
        execution, where its own agent reads them without marks."""
        execution = await self._store.execution(execution_id) if clear is None else clear
        store = self._store if clear is None else await opened(self._store, execution)
        found: list[StepRow] = []
        while page := await store.steps(execution_id, after=found[-1].decided_seq if found else 0):
            found += page
        if terminal:
            found = [step for step in found if step.status.terminal]
        await step_facts.look_up(self._store, execution_id, found)
        await self._attach(execution_id, found)
        return found

    async def _attach(self, execution_id: str, steps: Sequence[StepRow]) -> None:
        if any(step.approval_id for step in steps):
            asked = await self._store.approvals(execution_id=execution_id, limit=sys.maxsize)
            edited.attach(steps, {one.id: one for one in asked})

    async def background(self, execution: ExecutionRow) -> Background:
        """What policies may know of an execution besides its steps."""
        return await background(self._store, execution)

    async def step(self, execution_id: str, step_id: str, *, clear: ExecutionRow | None = None) -> StepRow:
        """One step of this execution, else `NotFoundError`. `clear` is as in `steps`."""
        store = self._store if clear is None else await opened(self._store, clear)
        step = await store.step(step_id)
        if step.execution_id != execution_id:
            raise NotFoundError(f"the execution `{execution_id}` has no step `{step_id}`")
        await step_facts.look_up(self._store, execution_id, [step])
        await self._attach(execution_id, [step])
        return step

    async def previous(self, execution_id: str, *, clear: bool = False) -> str | None:
        """The state, else the output, of the execution that this one continues, as canonical JSON; None without one.
        With `clear` as its own agent reads it, without marks."""
        execution = await self._store.execution(execution_id)
        if not execution.continues:
            return None
        try:
            parent = await self._store.execution(execution.continues)
        except NotFoundError:
            # Retention took it.
            return None
        if clear and parent.seal:
            parent = await (await opened(self._store, parent)).execution(parent.id)
        return parent.state if parent.state is not None else parent.output

    async def say(self, execution_id: str, text: str, *, by: str = "") -> None:
        """Adds what the user wrote to an execution; it counts for the steps that are submitted after it. Raises as
        `lifecycle.say.say`."""
        await say(self._store, execution_id, text, by=by)

    async def turns(self, execution_id: str, *, clear: ExecutionRow | None = None) -> list[types.UserTurn]:
        """What the user wrote into an execution after it began. `clear` is as in `steps`."""
        store = self._store if clear is None else await opened(self._store, clear)
        return [*map(views.turn, await store.turns(execution_id))]

    async def workdir(self, execution: ExecutionRow) -> str | None:
        """The folder that an execution works in, None without one."""
        return await workdir_of(self._store, execution) or None

    async def delivery(self, execution: ExecutionRow) -> types.LastDelivery | None:
        """Why a running execution waits for its agent, None where it does not."""
        return await delivery(self._store, execution)

    async def cancel(self, execution_id: str) -> None:
        """Cancels it. `NotFoundError`; `ConflictError` where it has ended."""
        await self._follow_up.ended(await cancel(self._store, execution_id, reason=CLIENT_CANCELLED))

    async def fork(
        self,
        execution_id: str,
        *,
        at_seq: int,
        session: str = "",
        bundle: str | None = None,
        keep_policy: bool = False,
        deadline: float | None = None,
        created_by: str = "",
    ) -> ExecutionRow:
        """A new execution that begins where this one stood at an event. It is judged by its agent's policy of today,
        even where this one is pinned; to its end by `bundle`, the text of a policy of its own, or with `keep_policy` by
        the one that this one began under. It is cancelled `deadline` seconds from now, unless it has ended.

        Raises:
            NotFoundError, ConflictError (the session is not new), ValidationError (no such event, both a bundle and
            `keep_policy`, a deadline that is none), BundleError
        """
        source = await self._store.execution(execution_id)
        check_name("session", session)
        if bundle is not None and keep_policy:
            raise ValidationError("a fork keeps the policy of its source, or has a bundle of its own; leave one out")
        if session and await self._store.executions(agent_id=source.agent_id, session=session, limit=1):
            raise ConflictError(f"the session `{session}` has executions already; name a new one")
        policy = None
        if bundle is not None:
            policy = await self._policies.compiled(bundle)
            await self._policies.keep(policy)
        elif not keep_policy:
            policy = await self._policies.today(source.agent_id)
        forked = await fork.fork(
            self._store,
            source,
            at_seq,
            session=session,
            digest=source.digest if policy is None else policy.digest,
            pinned=keep_policy or bundle is not None,
            deadline=deadline,
            created_by=created_by,
            policy=policy,
        )
        self._observer.created(forked)
        self._wake()
        return forked

    async def retry(
        self, execution_id: str, *, keep_policy: bool = False, deadline: float | None = None, created_by: str = ""
    ) -> ExecutionRow:
        """A fork of a failed or cancelled execution that begins right before what made it fail. The rest is as in
        `fork`.

        Raises:
            NotFoundError, ValidationError, BundleError: as `fork`.
            ConflictError: it has not ended, or has completed.
        """
        source = await self._store.execution(execution_id)
        at = await fork.retry_point(self._store, source)
        policy = None if keep_policy else await self._policies.today(source.agent_id)
        forked = await fork.fork(
            self._store,
            source,
            at,
            digest=source.digest if policy is None else policy.digest,
            policy=policy,
            pinned=keep_policy,
            deadline=deadline,
            created_by=created_by,
            # The user's word stands, whatever became of the steps.
            heard=source.head_seq,
        )
        self._observer.created(forked)
        self._wake()
        return forked

    async def erase(self, execution_ids: Sequence[str], *, by: str, end: bool = False) -> types.ErasedExecutions:
        """Destroys the data keys of executions. Raises as `rebuno.kernel.lifecycle.erase.erase` does."""
        return await erase(self._store, execution_ids, by=by, end=end)

    async def erase_person(self, on_behalf_of: str, *, by: str, end: bool = False) -> types.ErasedExecutions:
        """The same for all executions on behalf of a person."""
        check_name("person", on_behalf_of or " ")
        return await erase(self._store, await self._store.of_person(on_behalf_of), by=by, end=end)

    async def verify(self, execution_id: str, *, head: str = "") -> Verified:
        """Recomputes its log and what that says of the rows; see `rebuno.kernel.history.verify.check`."""
        return await check(self._store, execution_id, head=head)

    async def record(self, execution_id: str) -> archive.Recording:
        """It with all that belongs to it. Raises as `rebuno.kernel.history.archive.record` does."""
        return await archive.record(self._store, execution_id)

    async def restore(self, recording: archive.Recording) -> ExecutionRow:
        """Adds a recorded execution to the store; its agent is told of one that has not ended. Raises as
        `rebuno.kernel.history.archive.restore` does."""
        row = await archive.restore(self._store, recording)
        self._wake()
        return row

    async def with_restoration(self, forked: types.Execution) -> types.Execution:
        """A new fork as the answer to its making shows it: with what its resources begin with."""
        return await with_restoration(self._store, forked)

    async def fork_points(self, execution_id: str) -> types.ForkPoints:
        """Its newest event, its resources and their checkpoints; else `NotFoundError`."""
        return await fork_points(self._store, execution_id)

    def listen(self, execution_id: str) -> AbstractContextManager["asyncio.Queue[Delta]"]:
        """What the execution's steps publish while the context is open; a slow listener loses the oldest."""
        return self._streams.listen(execution_id)
