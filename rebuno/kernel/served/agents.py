"""What a served kernel does for agents: answer submissions, record outcomes, keep leases, end executions."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from rebuno.errors import BundleError, ConflictError, LeaseSuperseded, NotFoundError, StoreError, Terminated
from rebuno.journal.records import Lease, StepRow
from rebuno.kernel.lifecycle import resources
from rebuno.kernel.served import report, submit
from rebuno.kernel.served.attempt import ServedAttempt
from rebuno.kernel.served.replica import Dispatched, Replica
from rebuno.kernel.served.report import ReportAnswer, ReportOutcome
from rebuno.kernel.served.streams import check_length
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.resource import NOTHING_CAPTURED, Captured, RegisteredResource, Registration
from rebuno.model.step import StepStatus
from rebuno.types import Delta

T = TypeVar("T")

logger: Final = logging.getLogger("rebuno")

# The reason of a submission that nobody could judge.
POLICY_UNAVAILABLE: Final = "policy_unavailable"


class Agents(Replica):
    """The agents' side. Every method may raise a `StoreError`, and `NotFoundError`, `ForbiddenError` (another agent's
    execution) and `LeaseSuperseded`, too."""

    async def submit(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, submission: Submission, number: int = 0
    ) -> Answer:
        """Answers a submission; `number` (from 1; 0: none) repeated gets the first answer again.

        While the agent's policy does not compile, nothing is recorded: the answer is `parked`, and the execution is
        delivered again when it does. Raises `ValidationError` where the submission is malformed.
        """
        try:
            with self._attending(execution_id, dispatch):
                attempt = await self._attempt(agent_id, execution_id, dispatch)
                answer = await submit.submit(attempt, submission, number, self._observer.judged)
                await self._renew(attempt, agent_id)
        except Terminated:
            return Answer(AnswerKind.EXECUTION_TERMINAL)
        except BundleError as error:
            logger.warning("it waits: its policy does not compile: %s", error, extra={"execution_id": execution_id})
            execution = await self._own(agent_id, execution_id)
            await self._store.extend(Lease(execution_id, execution.attempt, dispatch.owner), 0.0)
            return Answer(AnswerKind.PARKED, reason=POLICY_UNAVAILABLE)
        return answer

    async def complete_step(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        step_id: str,
        result: str,
        captures: Captured = NOTHING_CAPTURED,
    ) -> ReportAnswer:
        """Records the result of a body, canonical JSON, and the checkpoints that were made after it. `ConflictError`
        where the step does not execute."""
        return await self._report(agent_id, execution_id, dispatch, step_id, result=result, captures=captures)

    async def fail_step(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        step_id: str,
        error: str,
        raised: str = "",
        *,
        nothing_done: bool = False,
        captures: Captured = NOTHING_CAPTURED,
    ) -> ReportAnswer:
        """Records the failure of a body, canonical JSON of an object, what it raised, as that of what
        `rebuno.model.raised` tells, and whether it says that nothing was done. Raises as `complete_step`."""
        return await self._report(
            agent_id,
            execution_id,
            dispatch,
            step_id,
            error=error,
            raised=raised,
            nothing_done=nothing_done,
            captures=captures,
        )

    async def register_resource(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, asked: Registration
    ) -> RegisteredResource:
        """Registers a resource, or finds it registered. `Terminated` where the execution has ended, `ValidationError`,
        or `ConflictError` where it is registered with another driver, configuration or reuse."""
        return await self._about_resources(
            agent_id, execution_id, dispatch, lambda attempt: resources.register(attempt, asked)
        )

    async def bind_resource(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, key: str, binding: str
    ) -> None:
        """Notes what a resource is bound to, canonical JSON. `Terminated`, `ValidationError`, `NotFoundError`, or
        `ConflictError` where it is bound otherwise."""
        await self._about_resources(
            agent_id, execution_id, dispatch, lambda attempt: resources.bind(attempt, key, binding)
        )

    async def publish_checkpoints(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, captures: Captured
    ) -> None:
        """Adds checkpoints that cover the newest event; what is refused is recorded so. `Terminated` where the
        execution has ended."""
        await self._about_resources(
            agent_id, execution_id, dispatch, lambda attempt: resources.publish(attempt, captures)
        )

    async def heartbeat(self, agent_id: str, execution_id: str, dispatch: Dispatched) -> None:
        """Renews the lease. An execution that has ended has none."""
        execution = await self._own(agent_id, execution_id)
        if execution.holder is None or execution.holder.owner != dispatch.owner:
            raise LeaseSuperseded
        lease = Lease(execution_id, execution.attempt, dispatch.owner)
        if not await self._store.extend(lease, self._store.now() + await self._lease(agent_id)):
            # A lease that is over is not renewed, and still this attempt's until the next begins.
            execution = await self._store.execution(execution_id)
            if execution.holder is None or execution.holder.owner != dispatch.owner:
                raise LeaseSuperseded

    async def suspend(self, agent_id: str, execution_id: str, dispatch: Dispatched) -> bool:
        """Blocks the execution where it waits for a child or a person; False where nothing is waited for. `Terminated`
        where it has ended."""
        with self._attending(execution_id, dispatch):
            attempt = await self._attempt(agent_id, execution_id, dispatch)
            suspended = await report.suspend(attempt)
            await self._renew(attempt, agent_id)
        self._wake()
        return suspended

    async def complete(
        self, agent_id: str, execution_id: str, dispatch: Dispatched, output: str, state: str | None = None
    ) -> None:
        """Ends the execution with an output and what it hands on, canonical JSON. `Terminated` where it has ended,
        `ConflictError` where it is blocked."""
        await self._finish(agent_id, execution_id, dispatch, output=output, state=state)

    async def fail(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        reason: str,
        raised: dict[str, Any] | None = None,
    ) -> None:
        """Ends the execution as failed; `raised` is as `rebuno.model.raised` tells it. Raises as `complete`."""
        await self._finish(agent_id, execution_id, dispatch, reason=reason, raised=raised)

    async def publish(self, agent_id: str, execution_id: str, dispatch: Dispatched, delta: Delta) -> None:
        """Hands a piece of output to everyone who listens. Raises as `complete_step`; `Terminated` where the
        execution has ended, `ValidationError` where the piece is too long."""
        check_length(delta)
        with self._attending(execution_id, dispatch):
            attempt = await self._attempt(agent_id, execution_id, dispatch)
            attempt.check()
            if delta.step_id not in attempt.bodies:
                step = await self._step(execution_id, delta.step_id)
                if step.status is not StepStatus.EXECUTING:
                    raise ConflictError(f"the step `{step.step_id}` does not execute: it is {step.status.value}")
            if attempt.seals is not None:
                delta = Delta(step_id=delta.step_id, seq=delta.seq, data=attempt.seals.piece(delta.step_id, delta.data))
        # Of sealed output nothing may be left to tell yet.
        if delta.data or attempt.seals is None:
            await self._streams.publish(execution_id, delta)

    async def set_metadata(
        self, agent_id: str, *, description: str | None, input_schema: str | None, output_schema: str | None
    ) -> None:
        """What an agent says of itself; the schemas are canonical JSON."""
        await self._registry.describe(agent_id, description, input_schema, output_schema)

    # ---------------------------------------------------------------- what these share

    async def _renew(self, attempt: ServedAttempt, agent_id: str) -> None:
        if attempt.renews():
            await attempt.renew(await self._lease(agent_id))

    async def _lease(self, agent_id: str) -> float:
        return self._dispatcher.lease_of(await self._registry.agent(agent_id))

    async def _step(self, execution_id: str, step_id: str) -> StepRow:
        step = await self._store.step(step_id)
        if step.execution_id != execution_id:
            raise NotFoundError(f"the execution `{execution_id}` has no step `{step_id}`")
        return step

    @contextmanager
    def _attending(self, execution_id: str, dispatch: Dispatched) -> Iterator[None]:
        """Forgets an attempt that cannot go on as it is known here."""
        try:
            yield
        except (Terminated, LeaseSuperseded, StoreError, BundleError):
            self._forget(execution_id, dispatch)
            raise

    async def _about_resources(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        one_try: Callable[[ServedAttempt], Awaitable[T]],
    ) -> T:
        with self._attending(execution_id, dispatch):
            attempt = await self._attempt(agent_id, execution_id, dispatch)
            # What another replica has done is no part of the answer that nothing is written for.
            attempt.outdated()
            done = await attempt.transact(partial(one_try, attempt))
            await self._renew(attempt, agent_id)
        return done

    async def _report(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        step_id: str,
        *,
        result: str | None = None,
        error: str | None = None,
        raised: str = "",
        nothing_done: bool = False,
        captures: Captured = NOTHING_CAPTURED,
    ) -> ReportAnswer:
        try:
            with self._attending(execution_id, dispatch):
                attempt = await self._attempt(agent_id, execution_id, dispatch)
                settled = await report.report(
                    attempt,
                    step_id,
                    result=result,
                    error=error,
                    raised=raised,
                    nothing_done=nothing_done,
                    captures=captures,
                )
                await self._renew(attempt, agent_id)
        except Terminated:
            await self._step(execution_id, step_id)
            return ReportAnswer(ReportOutcome.EXECUTION_TERMINAL)
        if settled.step is not None:
            step = settled.step if attempt.seals is None else attempt.seals.written(settled.step)
            self._observer.settled(step, attempt.execution)
        if attempt.lease_over:
            self._wake()
        return settled

    async def _finish(
        self,
        agent_id: str,
        execution_id: str,
        dispatch: Dispatched,
        *,
        output: str | None = None,
        reason: str = "",
        state: str | None = None,
        raised: dict[str, Any] | None = None,
    ) -> None:
        with self._attending(execution_id, dispatch):
            attempt = await self._attempt(agent_id, execution_id, dispatch)
            await report.finish(attempt, output=output, failure_reason=reason, state=state, raised=raised)
        self._forget(execution_id, dispatch)
        await self._follow_up.ended(await self._store.execution(execution_id))
