"""The attempt of an agent that runs in another program: nothing comes again from the top, so that all that is recorded
counts as come to, and what was started goes on until its host says how it ended."""

from collections.abc import Callable, Iterable
from typing import Any

from rebuno.journal.records import ApprovalRow, Commit, StepRow
from rebuno.kernel.core.attempt import NEWEST, Attempt
from rebuno.kernel.core.effects import Routed
from rebuno.kernel.core.recorded_steps import RecordedSteps
from rebuno.kernel.lifecycle import votes
from rebuno.model.step import StepStatus
from rebuno.policy import HistoryDependencies


class _AllCome(RecordedSteps):
    """What the journal knows, all of which counts as come to; `taken` is told of each step that is read."""

    def __init__(self, *given: Any, taken: Callable[[StepRow], None], **named: Any) -> None:
        super().__init__(*given, **named)
        self._taken = taken

    def _take_step(self, step: StepRow) -> None:
        self.visited.add(step.step_id)
        self._taken(step)
        super()._take_step(step)
        self._look_again(step)

    def put(self, step: StepRow) -> None:
        super().put(step)
        self._look_again(step)

    def _look_again(self, step: StepRow) -> None:
        # A person let the call run again, and it succeeded.
        if step.status is StepStatus.SUCCEEDED:
            self.unknown.discard((step.kind, step.target, step.args_hash))

    def _leaves_unknown(self, step: StepRow) -> bool:
        # The host may still run it.
        return step.status is not StepStatus.EXECUTING and super()._leaves_unknown(step)


class HostedAttempt(Attempt):
    """One run of a session's execution. Only the session uses it, one call at a time."""

    hosted = True
    recorded: _AllCome

    def _reading(self, approvals: Iterable[ApprovalRow], visited: set[str]) -> _AllCome:
        looks_back: HistoryDependencies = self._looks_back
        return _AllCome(
            self.store,
            self.execution.id,
            self.lease.attempt,
            approvals,
            looks_back,
            base=NEWEST,
            digest=self.policy.digest,
            visited=set(),
            weight=len(self.execution.input),
            taken=self._taken,
        )

    def _taken(self, step: StepRow) -> None:
        key = (step.parent_id or step.execution_id, step.kind.value, step.target, step.args_hash)
        # INVARIANT: numbers only grow, for one may be given to a call that is about to be written.
        self._counts[key] = max(self._counts.get(key, 0), step.occurrence + 1)
        if step.status is StepStatus.EXECUTING:
            self.bodies.add(step.step_id)

    def append(self, routed: Routed) -> Commit | None:
        """As `Attempt.append`; what waits for a person blocks nothing else."""
        committed = super().append(routed)
        self.blocked = False
        return committed

    async def look(self) -> None:
        """Returns once this memory holds what others have added to the log: answers of people above all. Raises as
        `check`, and `StoreError`."""
        self.check()
        await self.current()
        now = self.store.now()
        if any(votes.overdue(question, now) for question in self.pending()):
            await votes.expire(self.store, self.execution.id)
        execution = await self.store.execution(self.execution.id)
        if execution.head_seq != self.head or execution.status.terminal:
            self._stale = True
            await self.current()
        self.check()


class ObservingAttempt(HostedAttempt):
    """The same where the policy is recorded and not enforced."""

    observes = True


def waiting_twin(attempt: Attempt, kind: str, target: str, args_hash: str) -> StepRow | None:
    """The step of this content that waits for a person, or was granted and has not run; None without one."""
    for step in attempt.recorded.unsettled():
        if step.status in (StepStatus.AWAITING, StepStatus.ALLOWED) and (step.kind, step.target, step.args_hash) == (
            kind,
            target,
            args_hash,
        ):
            return step
    return None
