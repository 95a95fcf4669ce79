"""The kernel: one door for every submission, whichever way it came."""

from dataclasses import replace

from rebuno.errors import LeaseSuperseded, Stale
from rebuno.journal.records import Commit, ExecutionRow, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core import events, submit
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.sealed import opened
from rebuno.kernel.lifecycle import execution, resources
from rebuno.model import usage
from rebuno.model.answer import Answer, Submission
from rebuno.model.resource import Captured
from rebuno.model.step import Idempotency, Kind, StepStatus
from rebuno.policy import Policy


class Kernel:
    """Policy first, journal second, over one store. `strict` syncs every outcome before it is returned.

    Every method may raise a `StoreError`; those that take an attempt also `LeaseSuperseded` and `Terminated`.
    """

    def __init__(self, store: Store, policy: Policy, *, strict: bool = False) -> None:
        self.store = store
        self.policy = policy
        self.strict = strict
        self._saved = False
        # Attempts that have ended here and may still hold their leases on the disk: (execution's id, number).
        self._let_go: set[tuple[str, int]] = set()

    async def begin(
        self,
        *,
        agent_id: str,
        input: str,
        key: str | None = None,
        pin: bool = False,
        deadline: float | None = None,
        workdir: str = "",
        parent: str = "",
        parent_step: str = "",
        attempt: type[Attempt] = Attempt,
    ) -> Attempt | ExecutionRow:
        """Starts or takes over an execution of `input` (canonical JSON text); see `lifecycle.execution.begin`."""
        if not self._saved:
            for one in (self.policy, *self.policy.shadows):
                await self.store.save_bundle(one.digest, [(s.path, s.text) for s in one.sources])
            self._saved = True
        return await execution.begin(
            self.store,
            self.policy,
            agent_id=agent_id,
            input=input,
            key=key,
            let_go=self._let_go,
            pin=pin,
            deadline=deadline,
            workdir=workdir,
            parent=parent,
            parent_step=parent_step,
            attempt=attempt,
        )

    async def input_of(self, execution: ExecutionRow) -> str:
        """The input of an execution in clear, canonical JSON. Raises `SealKeyMissing`."""
        if not execution.seal:
            return execution.input
        return (await (await opened(self.store, execution)).execution(execution.id)).input

    async def abandon(self, attempt: Attempt) -> None:
        """Lets go of an attempt that ended without an outcome, so that the next can begin at once; here it can even
        where the store fails to say so."""
        self._let_go.add((attempt.execution.id, attempt.lease.attempt))
        await execution.abandon(attempt)
        self._let_go.discard((attempt.execution.id, attempt.lease.attempt))

    async def submit(self, attempt: Attempt, submission: Submission, *, wait: bool = True) -> Answer:
        """Identifies, decides, settles one submission; see `submit.submit`."""
        return await submit.submit(attempt, submission, wait=wait)

    async def succeed(
        self, attempt: Attempt, step_id: str, result: str, value: object, *, captured: Captured | None = None
    ) -> None:
        """Records the result of a body, `result` as canonical JSON text and `value` as what that text reads as, and the
        checkpoints that were `captured` after it."""
        if captured:
            await self._succeed_captured(attempt, step_id, result, value, captured)
            return
        row = _succeeded(attempt, step_id, result, value)
        deferred = row.idempotency is Idempotency.SAFE and not self.strict
        committed = attempt.end_body(row, events.succeeded(row), value, deferred=deferred)
        if not deferred:
            await self._heard(attempt, row, committed)

    async def fail(
        self,
        attempt: Attempt,
        step_id: str,
        error: str,
        *,
        wait: bool = True,
        raised: str = "",
        nothing_done: bool = False,
        captured: Captured | None = None,
    ) -> None:
        """Records that a body failed, `error` as canonical JSON text of an object, what it `raised` as that of what
        `rebuno.model.raised` tells, whether it says that nothing was done, and the checkpoints that were `captured`
        after it. With `wait` False the commit is left to happen by itself."""
        if captured:
            await self._fail_captured(attempt, step_id, error, captured, raised, nothing_done)
            return
        row = _failed(attempt, step_id, error, nothing_done)
        deferred = row.idempotency is Idempotency.SAFE and not self.strict
        committed = attempt.end_body(row, events.failed(row, raised), None, deferred=deferred)
        if wait and not deferred:
            await self._heard(attempt, row, committed)

    async def _succeed_captured(
        self, attempt: Attempt, step_id: str, result: str, value: object, captured: Captured
    ) -> None:
        async def one_try() -> None:
            row = _succeeded(attempt, step_id, result, value)
            await resources.settle(attempt, row, events.succeeded(row), value, captured)

        await resources.in_turn(attempt, one_try)

    async def _fail_captured(
        self, attempt: Attempt, step_id: str, error: str, captured: Captured, raised: str, nothing_done: bool
    ) -> None:
        async def one_try() -> None:
            row = _failed(attempt, step_id, error, nothing_done)
            await resources.settle(attempt, row, events.failed(row, raised), None, captured)

        await resources.in_turn(attempt, one_try)

    def external(self, attempt: Attempt) -> resources.AttemptResources:
        """The resources of an attempt in this process."""
        return resources.AttemptResources(attempt)

    def release(self, attempt: Attempt, step_id: str) -> None:
        """A body ended and says nothing about its step, which stays started."""
        attempt.bodies.discard(step_id)

    async def _heard(self, attempt: Attempt, row: StepRow, committed: Commit) -> None:
        """Waits for the commit of an outcome, which goes on whatever becomes of the caller."""
        try:
            await committed.wait()
        except Stale:
            # Somebody settled the step meanwhile. What the log has grown by is no affair of the handler's.
            found = await attempt.store.step(row.step_id)
            if (found.status, found.result, found.error) != (row.status, row.result, row.error):
                said = f"the step `{row.step_id}` was settled by another: it is {found.status.value}"
                raise LeaseSuperseded(said) from None


def _succeeded(attempt: Attempt, step_id: str, result: str, value: object) -> StepRow:
    row = attempt.running(step_id).ended(StepStatus.SUCCEEDED, result=result)
    if row.kind is Kind.LLM and (used := usage.parse(value)) is not None:
        row = replace(row, input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    return row


def _failed(attempt: Attempt, step_id: str, error: str, nothing_done: bool) -> StepRow:
    row = attempt.running(step_id).ended(StepStatus.FAILED, error=error)
    row.nothing_done = nothing_done
    return row
