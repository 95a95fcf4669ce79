"""Delivers executions to their agents, at least once and one delivery at a time: claims what is due, posts it, and
tries again later what was not taken."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from rebuno.errors import (
    BundleError,
    NetworkError,
    RebunoError,
    SealBroken,
    SealErased,
    SealKeyMissing,
    StoreError,
)
from rebuno.journal.records import (
    AgentRow,
    Dispatch,
    DispatchState,
    ExecutionRow,
    ExecutionWrite,
    Holder,
    Lease,
    NewEvent,
)
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import events
from rebuno.kernel.core.effects import ExecutionChanges
from rebuno.kernel.core.loading import load
from rebuno.kernel.core.transact import MOVED_ON, transact, write
from rebuno.kernel.lifecycle.close import close
from rebuno.kernel.lifecycle.votes import expire
from rebuno.kernel.lifecycle.waiting import at_work
from rebuno.kernel.served.observer import Observer, Webhook
from rebuno.kernel.served.policies import Policies
from rebuno.kernel.served.registry import MOST_KEYS
from rebuno.model.execution import ExecutionStatus

logger: Final = logging.getLogger("rebuno")

DISPATCH_EXHAUSTED: Final = "dispatch_exhausted"
LEASE_EXPIRED: Final = "lease_expired"
# A replica that took a dispatch and died gives it back after so many seconds; longer than a webhook may take.
_TAKEN: Final = 35.0
# How long a replica that stops waits for its last webhooks, in seconds, and then for the store to take back each that
# nobody answered.
_GRACE: Final = 2.0
_GIVING_BACK: Final = 2.0
_TRIES: Final = 10
# With these a proxy, or a server that is not ready, says that no handler was reached; 0 is no answer at all.
_UNREACHED: Final = (0, 429, 502, 503, 504)
UNREACHABLE: Final = "unreachable"
# The longest pauses, in seconds, between two tries that reached a handler, and between two that reached nobody; and
# after how many doublings every pause is longer than that.
_LONGEST_PAUSE: Final = 60.0
_LONGEST_ABSENCE: Final = 300.0
_DOUBLINGS: Final = 30


# Posts a webhook and returns the HTTP status; raises `NetworkError` where there was none.
Send = Callable[[Webhook], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a replica works. After `max_attempts` deliveries that reached a handler an execution fails, whatever they
    recorded, and after `unreachable_for` in which no delivery reached anybody. The pause between two begins at
    `backoff`, and a first lost lease is followed by one of up to `scatter`; `deliveries` webhooks are on their way at
    once at most; `lease` is an agent's where it names none. An execution is cancelled `deadline` after it was created,
    and a question whose rule does not say for how long it stands expires after `approvals` (None: never). It looks for
    work every `poll` and sweeps every `sweep`; executions are kept for `retention` after their end (None: for ever).
    All in seconds. There are `max_keys` API keys at most, without those that were revoked."""

    max_attempts: int = 20
    unreachable_for: float = 24 * 3600.0
    backoff: float = 1.0
    scatter: float = 1.0
    deliveries: int = 32
    lease: float = 120.0
    deadline: float | None = None
    approvals: float | None = None
    poll: float = 0.5
    sweep: float = 2.0
    retention: float | None = None
    max_keys: int = MOST_KEYS


@dataclass(frozen=True, slots=True)
class _Claim:
    webhook: Webhook
    dispatch: Dispatch
    lease: Lease
    # The number of the newest event when it was claimed.
    head: int


class Dispatcher:
    """The deliveries of one replica.

    INVARIANT: it takes no more than it may post at once, so that nothing waits here that another replica could do.
    """

    def __init__(
        self,
        store: ServedStore,
        policies: Policies,
        settings: Settings,
        *,
        observer: Observer,
        ended: Callable[[ExecutionRow], Awaitable[None]],
    ) -> None:
        """`ended` is told each execution that ends here."""
        self._store = store
        self._policies = policies
        self._settings = settings
        self._observer = observer
        self._ended = ended
        self._due = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Something may be due."""
        self._due.set()

    def lease_of(self, agent: AgentRow | None) -> float:
        """How many seconds an agent may be silent."""
        return agent.lease if agent is not None and agent.lease else self._settings.lease

    async def run(self, send: Send) -> None:
        """Delivers until it is cancelled; what is on its way then has a moment to arrive."""
        try:
            while True:
                self._due.clear()
                try:
                    more = await self._take(send)
                except StoreError as error:
                    logger.warning("no dispatch could be claimed: %s", error)
                    more = False
                if not more:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._due.wait(), self._settings.poll)
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=_GRACE)
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _take(self, send: Send) -> bool:
        """Takes what is due; whether there may be more that fits."""
        room = self._settings.deliveries - len(self._running)
        if room <= 0:
            return False
        now = self._store.now()
        found = await self._store.dispatches_due(now, now + _TAKEN, limit=room)
        for dispatch in found:
            task = asyncio.create_task(self._deliver(dispatch, send))
            self._running.add(task)
            task.add_done_callback(self._done)
        return len(found) == room

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("a delivery failed", exc_info=task.exception())
        self.wake()

    async def _deliver(self, dispatch: Dispatch, send: Send) -> None:
        try:
            if dispatch.state is DispatchState.CLAIMED:
                # What a dying process lost at one instant must not meet in one process at one instant again: or a
                # handler that kills it takes its neighbours along each time, until they are given up too.
                await asyncio.sleep(random.uniform(0, self._settings.scatter))
            # Something may be written meanwhile that is no reason not to begin.
            claim = await transact(lambda _: self._claim(dispatch), most=_TRIES)
            if claim is not None:
                await self._post(claim, send)
        except MOVED_ON:
            # It has moved on without this replica.
            return
        except RebunoError as error:
            logger.warning("not delivered: %s", error, extra={"execution_id": dispatch.execution_id})

    # ---------------------------------------------------------------- claiming

    async def _claim(self, dispatch: Dispatch) -> _Claim | None:
        """Begins the next attempt of an execution; None where none may begin: then that is written.

        Raises:
            Stale, Terminated, NotFoundError: it has moved on.
            StoreError
        """
        if expired := await expire(self._store, dispatch.execution_id):
            self._observer.expired(expired)
        execution = await self._store.execution(dispatch.execution_id)
        held = await self._store.dispatch(execution.id)
        now = self._store.now()
        if held is None or held.id != dispatch.id or execution.status is not ExecutionStatus.RUNNING:
            return None
        if execution.lease_until > now:
            return None
        try:
            await self._store.execution_key(execution)
        except (SealKeyMissing, SealErased, SealBroken) as error:
            await self._keep_waiting(execution, dispatch, str(error), now)
            return None
        changes = ExecutionChanges()
        rests = False
        if dispatch.state is DispatchState.CLAIMED:
            changes.add((_failed(dispatch, LEASE_EXPIRED),))
            # Else a replica died before it knew.
            if await at_work(self._store, execution):
                dispatch = _reached(dispatch, LEASE_EXPIRED)
                rests = dispatch.failures > 1
            else:
                dispatch = replace(dispatch, failures=dispatch.failures - 1)
        if dispatch.failures >= self._settings.max_attempts:
            await self._exhaust(execution, dispatch, changes, self._often(dispatch))
            return None
        if rests:
            # A handler that dies each time gets slower, whatever steps it did before.
            pause = self._pause(dispatch.failures - 1, _LONGEST_PAUSE)
            await self._put_off(execution, dispatch, changes, now + pause)
            return None
        agent = await self._store.agent(execution.agent_id)
        if agent is None:
            logger.warning("it waits: there is no agent `%s`", execution.agent_id, extra={"execution_id": execution.id})
            return None
        try:
            policy = await self._policies.of(execution)
        except BundleError as error:
            logger.warning("it waits: its policy does not compile: %s", error, extra={"execution_id": execution.id})
            return None
        return await self._begin(execution, dispatch, agent, policy.digest, changes)

    async def _keep_waiting(self, execution: ExecutionRow, dispatch: Dispatch, why: str, now: float) -> None:
        """Leaves an execution to a replica that has its key, and says so where it is asked what it waits for."""
        logger.warning("it waits: %s", why, extra={"execution_id": execution.id, "agent_id": execution.agent_id})
        tries = dispatch.unreached + 1
        due = now + self._pause(tries, _LONGEST_ABSENCE)
        waits = replace(dispatch, unreached=tries, since=dispatch.since or now, error=why, due_at=due)
        row = ExecutionWrite(ExecutionStatus.RUNNING, dispatch=waits)
        await write(self._store, execution.id, None, row, base=execution.head_seq)

    async def _put_off(
        self, execution: ExecutionRow, dispatch: Dispatch, changes: ExecutionChanges, due: float
    ) -> None:
        """Lets a lost execution rest. Who held its lease may still come back to it until the next attempt begins."""
        queued = replace(dispatch, state=DispatchState.QUEUED, due_at=due)
        row = ExecutionWrite(ExecutionStatus.RUNNING, dispatch=queued)
        await write(self._store, execution.id, changes, row, base=execution.head_seq)
        self._observer.reclaimed()

    async def _begin(
        self, execution: ExecutionRow, dispatch: Dispatch, agent: AgentRow, digest: str, changes: ExecutionChanges
    ) -> _Claim:
        seconds = self.lease_of(agent)
        # Until the agent has taken it: if this replica dies before that, another need not wait long.
        until = self._store.now() + min(seconds, _TAKEN)
        number, attempt = dispatch.attempt + 1, execution.attempt + 1
        lease = Lease(execution.id, attempt, f"{dispatch.id}/{number}")
        claimed = replace(
            dispatch, state=DispatchState.CLAIMED, attempt=number, failures=dispatch.failures + 1, due_at=until
        )
        started = events.execution(
            "started",
            attempt=attempt,
            host=agent.id,
            pid=0,
            digest=digest,
            dispatch_id=dispatch.id,
            dispatch_attempt=number,
        )
        changes.add((started,))
        row = ExecutionWrite(
            ExecutionStatus.RUNNING,
            attempt=attempt,
            holder=Holder(lease.owner, agent.id, 0),
            lease_until=until,
            dispatch=claimed,
        )
        head = await write(self._store, execution.id, changes, row, base=execution.head_seq)
        if dispatch.state is DispatchState.CLAIMED:
            self._observer.reclaimed()
        webhook = Webhook(agent.webhook_url, agent.secret, execution.id, dispatch.id, number, seconds)
        return _Claim(webhook, claimed, lease, head)

    # ---------------------------------------------------------------- posting

    async def _post(self, claim: _Claim, send: Send) -> None:
        began = perf_counter()
        try:
            status, error = await send(claim.webhook), ""
        except NetworkError as failed:
            status, error = 0, str(failed)
        except asyncio.CancelledError:
            # This replica stops. Where the store does not answer in time, another one waits for the claim to run out.
            with suppress(RebunoError, TimeoutError):
                async with asyncio.timeout(_GIVING_BACK):
                    await self._try_at_once(claim)
            raise
        self._observer.delivered(claim.webhook, status, perf_counter() - began)
        if status == 200:
            await self._store.extend(claim.lease, self._store.now() + claim.webhook.lease)
            acked = ExecutionChanges([_told("acked", claim.dispatch)])
            await write(self._store, claim.lease.execution_id, acked, lease=claim.lease)
            return
        execution = await self._store.execution(claim.lease.execution_id)
        # An agent may be at work all the same, which the log shows.
        if execution.head_seq == claim.head:
            error = error or f"status {status}"
            await (self._absent if status in _UNREACHED else self._refused)(claim, execution, error)

    async def _refused(self, claim: _Claim, execution: ExecutionRow, error: str) -> None:
        """The agent was reached and did not take it: that counts."""
        dispatch = _reached(claim.dispatch, error)
        if dispatch.failures >= self._settings.max_attempts:
            changes = ExecutionChanges([_failed(dispatch, error)])
            await self._exhaust(execution, dispatch, changes, self._often(dispatch))
            return
        due = self._store.now() + self._pause(dispatch.failures, _LONGEST_PAUSE)
        await self._give_back(claim, execution, _failed(dispatch, error), dispatch, due)

    async def _absent(self, claim: _Claim, execution: ExecutionRow, error: str) -> None:
        """Nobody was reached: that does not count, for as long as one may be away."""
        now = self._store.now()
        before, where = claim.dispatch, host(claim.webhook.url)
        dispatch = replace(
            before,
            failures=before.failures - 1,
            unreached=before.unreached + 1,
            since=before.since or now,
            error=error,
        )
        failed = _failed(dispatch, UNREACHABLE, error=dispatch.error)
        until = dispatch.since + self._settings.unreachable_for
        if now >= until:
            tries = "1 try" if dispatch.unreached == 1 else f"{dispatch.unreached} tries"
            why = f"the agent was not reached for {now - dispatch.since:.0f} s, in {tries}; the last one: {error}"
            await self._exhaust(execution, dispatch, ExecutionChanges([failed]), why)
            return
        # An agent that was there a moment ago is worth a word; one that stays away is not, each time.
        level = logging.WARNING if dispatch.unreached == 1 else logging.INFO
        more = {"execution_id": execution.id, "agent_id": execution.agent_id, "host": where}
        logger.log(level, "it waits for its agent, which was not reached: %s", error, extra=more)
        due = min(now + self._pause(dispatch.unreached, _LONGEST_ABSENCE), until)
        await self._give_back(claim, execution, failed, dispatch, due)

    def _pause(self, tries: int, most: float) -> float:
        """How long to wait after so many tries, in seconds: growing, and not the same for all."""
        return min(most, self._settings.backoff * 2.0 ** min(tries - 1, _DOUBLINGS)) * random.uniform(0.5, 1.0)

    @staticmethod
    def _often(dispatch: Dispatch) -> str:
        times = "1 delivery" if dispatch.failures == 1 else f"{dispatch.failures} deliveries"
        return f"no end after {times} that reached the agent; the last one: {dispatch.error}"

    async def _try_at_once(self, claim: _Claim) -> None:
        """Gives the execution to another replica, and does not count this one's try. `Stale` where it is at work."""
        execution = await self._store.execution(claim.lease.execution_id)
        dispatch = replace(claim.dispatch, failures=claim.dispatch.failures - 1)
        await self._give_back(claim, execution, _failed(dispatch, "stopped"), dispatch, self._store.now())

    async def _give_back(
        self, claim: _Claim, execution: ExecutionRow, failed: NewEvent, dispatch: Dispatch, due: float
    ) -> None:
        row = ExecutionWrite(
            ExecutionStatus.RUNNING,
            attempt=claim.lease.attempt,
            holder=execution.holder,
            dispatch=replace(dispatch, state=DispatchState.QUEUED, due_at=due),
        )
        await write(self._store, execution.id, ExecutionChanges([failed]), row, base=claim.head, lease=claim.lease)

    async def _exhaust(self, execution: ExecutionRow, dispatch: Dispatch, changes: ExecutionChanges, why: str) -> None:
        """Ends an execution that was delivered often enough for nothing."""
        steps, approvals = await load(self._store, execution.id)
        closing = close(steps.values(), approvals.values(), ExecutionStatus.FAILED)
        changes.add(closing.events, closing.steps, closing.approvals)
        reason = f"{DISPATCH_EXHAUSTED}: {why}"
        failed = events.execution("failed", attempt=execution.attempt, reason=reason, replayed=0)
        changes.add((failed,))
        row = ExecutionWrite(ExecutionStatus.FAILED, failure_reason=reason, attempt=execution.attempt)
        await write(self._store, execution.id, changes, row, base=execution.head_seq)
        agent = await self._store.agent(execution.agent_id)
        logger.error(
            "the execution failed: %s",
            why,
            extra={
                "execution_id": execution.id,
                "agent_id": execution.agent_id,
                "host": host(agent.webhook_url) if agent is not None else "",
                "reason": DISPATCH_EXHAUSTED,
                "attempts": dispatch.failures,
            },
        )
        self._observer.exhausted()
        await self._ended(await self._store.execution(execution.id))


def host(url: str) -> str:
    """The host and port of a webhook's URL: the rest of it may be secret."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _reached(dispatch: Dispatch, error: str) -> Dispatch:
    """The dispatch after a delivery that reached a handler and came to nothing."""
    return replace(dispatch, unreached=0, since=0.0, error=error)


def _told(type: str, dispatch: Dispatch, **more: object) -> NewEvent:
    said = {"dispatch_id": dispatch.id, "dispatch_attempt": dispatch.attempt}
    return NewEvent(f"dispatch.{type}", {**said, **more})


def _failed(dispatch: Dispatch, reason: str, **more: object) -> NewEvent:
    return _told("failed", dispatch, reason=reason, **more)
