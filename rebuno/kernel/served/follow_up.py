"""What follows from the end of a served execution, and from time: done at once where it can be, and by a sweep where a
replica died before that."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from rebuno.errors import ConflictError, NotFoundError, RebunoError, SealKeyMissing, Terminated
from rebuno.journal.records import ExecutionRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.origins import background
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.core.transact import PATIENCE, answer, transact
from rebuno.kernel.lifecycle.cancel import cancel
from rebuno.kernel.lifecycle.dispatch import resumed
from rebuno.kernel.lifecycle.execution import judge_waiting
from rebuno.kernel.lifecycle.sweep import Swept, sweep
from rebuno.kernel.lifecycle.waiting import awaited
from rebuno.kernel.served.create import begin_pending
from rebuno.kernel.served.observer import Observer
from rebuno.kernel.served.subagents import PARENT_TERMINAL, cancel_all, tell_parent
from rebuno.model.execution import ExecutionStatus
from rebuno.policy import Policy, step_facts_needed

logger: Final = logging.getLogger("rebuno")

_PAGE: Final = 100
# For how long at least the replica that sweeps is the only one, in seconds.
_LEADS: Final = 10.0


class FollowUp:
    """The rest of the work, over one store. `wake` is called where an execution has become due, `observer` is told what
    ends."""

    def __init__(self, store: ServedStore, wake: Callable[[], None], observer: Observer) -> None:
        self._store = store
        self._wake = wake
        self._observer = observer

    async def ended(self, execution: ExecutionRow) -> None:
        """An execution has ended: its parent is told, its subagents are cancelled, the next of its session begins.
        What fails is left to the sweep."""
        try:
            await self._ended(execution)
        except RebunoError as error:
            logger.warning("what follows from its end is done later: %s", error, extra={"execution_id": execution.id})
        self._wake()

    async def _ended(self, execution: ExecutionRow) -> None:
        self._observer.ended(execution)
        if execution.spawned_step_id:
            await tell_parent(self._store, execution)
        for child in await cancel_all(self._store, await self._store.children(execution.id)):
            await self._ended(child)
        if execution.session:
            following = await self._store.session(execution.agent_id, execution.session, live=True)
            if following is not None and following.status is ExecutionStatus.PENDING:
                await begin_pending(self._store, following)

    async def rejudge(self, agent_id: str, policy: Policy) -> None:
        """The agent's policy has changed: nobody is asked any more about what it denies now, or no longer denies."""
        before: str | None = None
        while page := await self._store.executions(
            agent_id=agent_id, status=ExecutionStatus.BLOCKED.value, before=before, limit=_PAGE
        ):
            for execution in page:
                if not execution.pinned:
                    await self._rejudge(execution.id, policy)
            before = page[-1].id
        self._wake()

    async def _rejudge(self, execution_id: str, policy: Policy) -> None:
        async def one_try(tried: int) -> None:
            execution = await self._store.execution(execution_id)
            if execution.status is not ExecutionStatus.BLOCKED:
                return
            store = await opened(self._store, execution, policy)
            if execution.seal:
                execution = await store.execution(execution_id)
            steps, approvals = await load(store, execution_id, step_facts_needed(policy))
            changes = await judge_waiting(policy, execution, steps, approvals, await background(store, execution))
            if not changes.events:
                return
            approvals |= {change.approval.id: change.approval for change in changes.approvals}
            asked = any(question.status == "pending" for question in approvals.values())
            row = None
            # Who runs again while a subagent still runs waits for it again: better than to be forgotten where the end
            # of the subagent is not noticed, as where this rests on less than the newest event.
            if not asked and (tried >= PATIENCE or not await awaited(self._store, execution_id)):
                events, row = resumed(execution)
                changes.add(events)
            await answer(store, execution, approvals.values(), changes, row, tried=tried)

        # What cannot be opened does not run either.
        with suppress(Terminated, SealKeyMissing):
            await transact(one_try)

    # ---------------------------------------------------------------- from time to time

    async def keep(self, every: float, retention: float | None) -> None:
        """Sweeps for ever, about every so many seconds, while no other replica does."""
        while True:
            await asyncio.sleep(every * random.uniform(0.8, 1.2))
            try:
                if await self._store.lead("sweeps", max(_LEADS, 3 * every)):
                    await self.sweep(retention)
            except RebunoError as error:
                logger.warning("the sweep stopped: %s", error)

    async def sweep(self, retention: float | None = None) -> Swept:
        """Does what is due: deadlines and questions that nobody answers, what a dead replica left undone, retention.
        What it says of that leaves out what replicas leave undone.

        Raises:
            StoreError
        """
        swept = await sweep(self._store, retention=retention, release=False)
        self._observer.overdue(swept.overdue)
        self._observer.expired(swept.expired)
        for child in await self._store.children_ended(limit=_PAGE):
            await self._one(child, self._tell)
        for child in await self._store.orphans(limit=_PAGE):
            await self._one(child, self._end_orphan)
        for execution in await self._store.sessions_free(limit=_PAGE):
            await self._one(execution, self._begin)
        self._wake()
        return swept

    async def _one(self, execution: ExecutionRow, work: Callable[[ExecutionRow], Awaitable[None]]) -> None:
        """One that cannot be swept stops no other."""
        try:
            await work(execution)
        except RebunoError as error:
            logger.warning("the execution `%s` could not be swept: %s", execution.id, error)

    async def _tell(self, child: ExecutionRow) -> None:
        await tell_parent(self._store, child)

    async def _end_orphan(self, child: ExecutionRow) -> None:
        # Somebody may be faster.
        with suppress(ConflictError, NotFoundError):
            await self._ended(await cancel(self._store, child.id, reason=PARENT_TERMINAL))

    async def _begin(self, execution: ExecutionRow) -> None:
        await begin_pending(self._store, execution)
