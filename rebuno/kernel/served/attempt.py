"""An attempt that any replica may serve: what it counts stands in the store, and is read again where others have added
to it."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Self, TypeVar

from rebuno.errors import LeaseSuperseded, Stale, Terminated
from rebuno.journal.records import ApprovalRow, Basis, Dispatch, ExecutionRow, Lease, StepRow
from rebuno.journal.served import ServedStore
from rebuno.kernel.core import resources
from rebuno.kernel.core.attempt import NEWEST, Attempt
from rebuno.kernel.core.effects import Identified, Need
from rebuno.kernel.core.heavy import read
from rebuno.kernel.core.recorded_steps import RecordedSteps
from rebuno.kernel.core.transact import transact
from rebuno.kernel.served.subagents import tell_parent
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus
from rebuno.policy import HistoryDependencies, Policy

# A lease that was renewed so short a time ago is not renewed again: in seconds, and as a part of it if that is more.
_RENEWED: float = 1.0
_RENEWED_PART: float = 1 / 60

CountKey = tuple[str, str, str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VisitedStep:
    """A step that the handler has come to in this attempt, in the request of this number."""

    step_id: str
    counted: CountKey
    occurrence: int
    submission: int
    runs: bool
    replayed: bool


class _VisitedSteps(RecordedSteps):
    """What the journal knows, with what this attempt has come to already."""

    def __init__(
        self,
        store: ServedStore,
        execution_id: str,
        attempt: int,
        approvals: Iterable[ApprovalRow],
        looks_back: HistoryDependencies,
        digest: str,
        weight: int,
    ) -> None:
        super().__init__(
            store,
            execution_id,
            attempt,
            approvals,
            looks_back,
            base=NEWEST,
            digest=digest,
            visited=set(),
            weight=weight,
        )
        self.came: list[VisitedStep] = []

    def _take_step(self, step: StepRow) -> None:
        if step.visited == self._attempt:
            self.visited.add(step.step_id)
            ours = step.attempt == self._attempt
            runs = ours and step.status is StepStatus.EXECUTING
            scope = step.parent_id or step.execution_id
            counted = (scope, step.kind.value, step.target, step.args_hash)
            replayed = not ours and step.status in (StepStatus.SUCCEEDED, StepStatus.FAILED)
            self.came.append(VisitedStep(step.step_id, counted, step.occurrence, step.submission, runs, replayed))
        super()._take_step(step)


class ServedAttempt(Attempt):
    """One run of a served execution, as one replica knows it.

    INVARIANT: under `lock` one thing at a time is done for it here; what other replicas do meanwhile is noticed by the
    store, which says `Stale`, and then everything is read anew. `reads` counts how often.
    """

    def __init__(
        self,
        store: ServedStore,
        policy: Policy,
        execution: ExecutionRow,
        lease: Lease,
        approvals: Iterable[ApprovalRow],
        dispatch: Dispatch | None,
        input: object,
    ) -> None:
        self.served = store
        self.lock = asyncio.Lock()
        self.reads = 0
        # The steps that this attempt's requests came to, by the requests' numbers.
        self.answered: dict[int, str] = {}
        self.dispatch = dispatch
        self.renew_at = 0.0
        super().__init__(store, policy, execution, lease, approvals, input)

    @classmethod
    async def load(cls, store: ServedStore, policy: Policy, execution: ExecutionRow, lease: Lease) -> Self:
        """The attempt that has this lease, as the store knows it. Raises as `reload`."""
        attempt = cls(store, policy, execution, lease, (), None, await read(execution.input))
        await attempt.hear()
        await attempt.reload()
        return attempt

    def _reading(self, approvals: Iterable[ApprovalRow], visited: set[str]) -> _VisitedSteps:
        number, weight = self.lease.attempt, len(self.execution.input)
        return _VisitedSteps(
            self.served, self.execution.id, number, approvals, self._looks_back, self.policy.digest, weight
        )

    def outdated(self) -> None:
        """What is known here may be less than what the store knows."""
        self._stale = True

    async def transact(self, one_try: Callable[[], Awaitable[T]]) -> T:
        """What `one_try` comes to, one at a time here. It rests on the log as it is known; where that has grown, or it
        is cut off, all is read again before the next try. Raises as `check`, and what `one_try` does."""

        async def current(_: int) -> T:
            await self.current()
            self.check()
            done = False
            try:
                result = await one_try()
                done = True
                return result
            finally:
                if not done:
                    self.outdated()

        async with self.lock:
            return await transact(current)

    async def current(self) -> None:
        """Returns once this memory holds what others have added to the log."""
        while self._stale:
            if self._in_flight:
                await asyncio.wait(self._in_flight)
            await self.reload()

    async def reload(self) -> None:
        """Reads all of it anew.

        Raises:
            Terminated: the execution has ended.
            LeaseSuperseded: this attempt does not have it any more.
        """
        while True:
            execution = await self.store.execution(self.execution.id)
            check_owner(execution, self.lease)
            asked = await self.store.approvals(execution_id=execution.id, limit=sys.maxsize)
            recorded = self._reading(asked, set())
            await recorded.all()
            dispatch = await self.served.dispatch(execution.id)
            found = await resources.load(self.store, execution.id)
            if self.listens:
                await self.hear()
            again = await self.store.execution(execution.id)
            if again.head_seq == execution.head_seq:
                break
            # What was read is of two moments.
        self.execution, self.head, self.recorded, self.dispatch = again, again.head_seq, recorded, dispatch
        self.resources = found
        self._freed.clear()
        self._basis = Basis()
        self._stale = False
        self.reads += 1
        self.parked = None
        self._take_counts(recorded.came)
        recorded.came.clear()

    def _take_counts(self, came: Iterable[VisitedStep]) -> None:
        taken: dict[CountKey, set[int]] = {}
        self.bodies = set()
        self.answered = {}
        self.replayed = 0
        for one in came:
            taken.setdefault(one.counted, set()).add(one.occurrence)
            self.answered[one.submission] = one.step_id
            self.replayed += one.replayed
            if one.runs:
                self.bodies.add(one.step_id)
        self._counts = Counter({counted: max(numbers) + 1 for counted, numbers in taken.items()})
        for counted, numbers in taken.items():
            free = sorted(set(range(max(numbers))) - numbers)
            if free:
                self._freed[counted] = free
        # What blocks takes the dispatch away; what ends the wait makes a new one, and so does a park.
        mine = self.lease.owner.partition("/")[0]
        self.blocked = (
            self.execution.status is ExecutionStatus.BLOCKED or self.dispatch is None or self.dispatch.id != mine
        )

    def child_of(self, step: Identified) -> Need | None:
        """A Need where a subagent of a started step must be looked up."""
        return ChildNeeded(self.served, step)

    def renews(self) -> bool:
        """Whether the lease is to be renewed: it is not over, and was not renewed a moment ago."""
        return not self.lease_over and self.store.now() >= self.renew_at

    async def renew(self, seconds: float) -> None:
        """Renews the lease."""
        now = self.store.now()
        self.renew_at = now + max(_RENEWED, seconds * _RENEWED_PART)
        await self.served.extend(self.lease, now + seconds)

    @property
    def lease_over(self) -> bool:
        """Whether the next attempt may begin at any time."""
        return self.blocked and not self.bodies

    async def release(self) -> None:
        """Lets the next attempt begin."""
        await self.served.extend(self.lease, 0.0)


def check_owner(execution: ExecutionRow, lease: Lease) -> None:
    """Raises `Terminated` where an execution has ended, `LeaseSuperseded` where the lease is not good for it."""
    if execution.status.terminal:
        raise Terminated(f"execution `{execution.id}` has ended: it is {execution.status.value}")
    if execution.holder is None or (execution.attempt, execution.holder.owner) != (lease.attempt, lease.owner):
        raise LeaseSuperseded


@dataclass(slots=True)
class ChildNeeded(Need):
    """A step was started, and may wait for a subagent."""

    store: ServedStore
    step: Identified

    async def meet(self, attempt: Attempt) -> None:
        """Looks the subagent up. Where it has ended its parent is told, and then `Stale` is raised."""
        child = await self.store.child(self.step.step_id)
        if child is not None and child.status.terminal:
            await tell_parent(self.store, child)
            raise Stale("the subagent has ended")
        self.step.child_runs = child is not None
