"""The execution of an agent that runs in another program. The program asks about each call before it runs it (`judge`)
and tells how it ended (`settle`)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rebuno.errors import ConflictError, ForbiddenError, NotFoundError, Stale, ValidationError
from rebuno.journal.records import ApprovalRow, ApprovalWrite, ExecutionRow, NewEvent, StepRow, StepWrite
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core import heavy, stops
from rebuno.kernel.core.append import append
from rebuno.kernel.core.effects import Effects, Identified, Need
from rebuno.kernel.core.identify import identified_as, identify
from rebuno.kernel.core.settle import INDETERMINATE
from rebuno.kernel.core.submit import route, route_row
from rebuno.kernel.kernel import Kernel
from rebuno.kernel.lifecycle import fork, say, votes
from rebuno.kernel.lifecycle.execution import continued, finish
from rebuno.kernel.sessions import calls
from rebuno.kernel.sessions.attempt import HostedAttempt, ObservingAttempt, waiting_twin
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, Submission
from rebuno.model.decision import Decision, Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, StepStatus
from rebuno.policy import Facts

if TYPE_CHECKING:
    from rebuno.kernel.core.seals import Seals

T = TypeVar("T")

# Of a call that was let in before without a person.
_NOT_ASKED: Final = "a person must approve it by today's policy, and none was asked"
_WAITS: Final = (StepStatus.AWAITING, StepStatus.ALLOWED)


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer to a call, the row of its step (None: none was recorded), and the question that it waits for."""

    answer: Answer
    step: StepRow | None = None
    question: ApprovalRow | None = None


class HostSession:
    """A session that this process holds. `open_session` makes one.

    Its methods raise `StoreError`; `LeaseSuperseded` where another process has it now, `Terminated` where it was ended
    from outside: nothing may run then. What a caller has begun goes on where the caller is cancelled.
    """

    def __init__(self, kernel: Kernel, attempt: HostedAttempt, known: dict[str, str]) -> None:
        self.attempt = attempt
        self._kernel = kernel
        # The step of each call.
        self._calls = known
        self._lock = asyncio.Lock()

    @property
    def execution(self) -> ExecutionRow:
        """The execution as it was read last."""
        return self.attempt.execution

    @property
    def over(self) -> bool:
        """Whether this process does not hold it any more."""
        return self.attempt.ended or self.attempt.lease.lost or self.attempt.lease.poison is not None

    def step_of(self, call_id: str) -> str:
        """The step of a call that runs; empty where there is none."""
        step_id = self._calls.get(call_id, "")
        return step_id if step_id in self.attempt.bodies else ""

    async def judge(self, call_id: str, submission: Submission, raw: Any = None) -> Judged:
        """Whether a call may run. The same call gets the same answer again; one that has ended gets `replay`.

        Raises:
            ValidationError: the call is malformed; nothing was recorded.
        """
        return await self._whole(lambda: self._judge(call_id, submission, raw))

    async def again(self, call_id: str) -> Judged:
        """The answer to a call that was judged before. Raises `NotFoundError` where it was not."""

        async def work() -> Judged:
            step = await self._known(call_id)
            if step is None:
                raise NotFoundError(f"the call `{call_id[:80]}` was not judged in this session")
            same = Submission(step.kind.value, step.target, step.args, step.idempotency.value)
            return await self._judge(call_id, same, None)

        return await self._whole(work)

    async def settle(
        self,
        call_id: str,
        *,
        result: str | None = None,
        value: Any = None,
        error: str | None = None,
        unknown: bool = False,
        granted_by: str = "",
    ) -> bool:
        """Records how a call ended: its `result` as canonical JSON text that reads as `value`, its `error` as that of
        an object, or that nobody knows. False where there is nothing to record: the call was not judged, did not start,
        or has ended. `granted_by` is the person who let it run in the host, where it waited for one."""
        return await self._whole(
            lambda: self._settle(
                call_id, result=result, value=value, error=error, unknown=unknown, granted_by=granted_by
            )
        )

    async def lose(self) -> None:
        """The host has begun anew: nobody knows how the calls ended that were running and may not run twice."""
        await self._whole(self._lose)

    async def say(self, text: str, *, by: str = "") -> None:
        """Adds what a person typed. Raises as `rebuno.kernel.lifecycle.say.say`."""
        await say.say(self.attempt.store, self.execution.id, text, by=by)

    async def end(self) -> ExecutionRow:
        """Completes the execution; where a call waits for a person, or was granted and has not run, it is let go of
        only, so that the host can come back to it."""
        return await self._whole(self._end)

    async def let_go(self) -> None:
        """Lets another process have it."""
        async with self._lock:
            await self._kernel.abandon(self.attempt)
            self.attempt.forget()

    # ------------------------------------------------------------ one at a time

    async def _whole(self, work: Callable[[], Awaitable[T]]) -> T:
        async def alone() -> T:
            async with self._lock:
                await self.attempt.look()
                return await work()

        task = asyncio.ensure_future(alone())
        # Looked at, or asyncio would complain where the caller is gone.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _judge(self, call_id: str, submission: Submission, raw: Any) -> Judged:
        attempt = self.attempt
        known = await self._known(call_id)
        if known is not None:
            _check_same(known, submission, call_id, attempt.seals)
        else:
            # A call that was refused until a person answers comes again under another id.
            args_hash = (attempt.seals or identity).args_hash(submission.args)
            known = waiting_twin(attempt, submission.kind, submission.target, args_hash)
        if known is None:
            step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count, attempt.seals)
        elif known.status is StepStatus.EXECUTING:
            if await self._started_before_restore(known):
                await self._unknown(known)
                ended = await attempt.store.step(known.step_id)
                return Judged(Answer(AnswerKind.REPLAY, known.step_id, error=ended.error), ended)
            refused = await self._refused_today(known)
            return Judged(refused or Answer(AnswerKind.PROCEED, known.step_id, rule_id=known.rule_id), known)
        else:
            step = identified_as(known)
        answer = await self._answered(step, known, call_id, raw)
        if not answer.step_id:
            return Judged(answer)
        if known is not None and answer.kind is AnswerKind.PROCEED:
            # It is this call's from now on: another one that waited for the same is a call of its own again.
            self._calls = {call: step_id for call, step_id in self._calls.items() if step_id != answer.step_id}
        self._calls[call_id] = answer.step_id
        question = attempt.approvals.get(answer.approval_id)
        if question is not None and attempt.seals is not None:
            # As people are asked it.
            question = await attempt.store.approval(question.id)
        return Judged(answer, await attempt.store.step(answer.step_id), question)

    async def _refused_today(self, known: StepRow) -> Answer | None:
        """The denial of a call that was let in, and that today's rules would not let in; None where they would. Its
        step stays as it is: whether it runs only its host knows, and it may still tell how it ended."""
        attempt = self.attempt
        if attempt.observes:
            return None
        step = identified_as(known)
        while isinstance(looked_at := heavy.facts_of(attempt, step, known), Need):
            await looked_at.meet(attempt)
            attempt.check()
        decision = attempt.policy.decide(looked_at) if isinstance(looked_at, Facts) else looked_at
        if decision.verdict is Verdict.ALLOW or (decision.verdict is Verdict.APPROVAL and known.approval_id):
            return None
        reason = decision.reason if decision.verdict is Verdict.DENY else _NOT_ASKED
        return Answer(AnswerKind.DENIED, known.step_id, reason=reason, rule_id=decision.rule_id)

    async def _started_before_restore(self, known: StepRow) -> bool:
        """Whether a call that may not run twice was started before the store was restored from a copy: it may have
        ended since, in what the copy does not hold."""
        attempt = self.attempt
        if attempt.observes or known.idempotency is not Idempotency.ONCE:
            return False
        await stops.look(attempt.store)
        restored = attempt.standing.restored
        if restored is None:
            return False
        row = await attempt.store.step(known.step_id)
        # One that started as it was judged has the time of that.
        return max(row.started_at, row.decided_at) <= restored.restored_at

    async def _answered(self, step: Identified, known: StepRow | None, call_id: str, raw: Any) -> Answer:
        attempt = self.attempt
        try:
            while True:
                try:
                    routed = route(attempt, step) if known is None else route_row(attempt, step, known)
                    if isinstance(routed, Need):
                        await routed.meet(attempt)
                        attempt.check()
                        continue
                    if routed.effects is not None:
                        routed.effects = calls.named(routed.effects, call_id, raw)
                    await append(attempt, step, routed, heeds_cancel=False)
                except Stale:
                    await attempt.current()
                    attempt.check()
                    known = None if known is None else await attempt.store.step(step.step_id)
                    continue
                if routed.answer.step_id:
                    attempt.visit(step.step_id)
                return routed.answer
        finally:
            if known is None and not attempt.knows(step.step_id):
                attempt.uncount(step)

    async def _settle(
        self, call_id: str, *, result: str | None, value: Any, error: str | None, unknown: bool, granted_by: str
    ) -> bool:
        attempt = self.attempt
        step = await self._known(call_id)
        if step is None or step.status.terminal:
            return False
        if step.status in _WAITS:
            step = await self._ran(step, call_id, granted_by)
        attempt.bodies.add(step.step_id)
        if unknown:
            await self._unknown(step)
        elif error is not None:
            await self._kernel.fail(attempt, step.step_id, error)
        else:
            await self._kernel.succeed(attempt, step.step_id, result or "null", value)
        return True

    async def _ran(self, step: StepRow, call_id: str, granted_by: str) -> StepRow:
        """A call that waits here, and ran: the host asked a person itself, or went past the answer."""
        attempt = self.attempt
        if step.status is StepStatus.AWAITING and granted_by and await self._granted(step.approval_id, granted_by):
            step = await attempt.store.step(step.step_id)
        if step.status is StepStatus.ALLOWED:
            answer = await self._answered(identified_as(step), step, call_id, None)
            if answer.kind is AnswerKind.PROCEED:
                return await attempt.store.step(step.step_id)
            step = await attempt.store.step(step.step_id)
        while True:
            row = replace(step, status=StepStatus.EXECUTING, attempt=attempt.lease.attempt, approval_id="")
            started = new_event.executing(row, _recorded(step), first=False)
            approvals: tuple[ApprovalWrite, ...] = ()
            events: tuple[NewEvent, ...] = (started,)
            question = attempt.approvals.get(step.approval_id)
            if question is not None and question.status == "pending":
                events = (started, new_event.approval("withdrawn", question))
                approvals = (ApprovalWrite(replace(question, status="withdrawn"), resolved=1),)
            effects = calls.named(Effects(events, (StepWrite(row, started=0),), approvals), call_id, None)
            attempt.start(row)
            try:
                await attempt.write(effects.events, steps=effects.steps, approvals=effects.approvals, judged=True)
            except Stale:
                await attempt.current()
                attempt.check()
                step = await attempt.store.step(step.step_id)
                continue
            return row

    async def _granted(self, approval_id: str, by: str) -> bool:
        """Whether the person whom the host asked may let it run."""
        attempt = self.attempt
        try:
            row = await votes.resolve(
                attempt.store,
                approval_id,
                granted=True,
                decided_by=by,
                asserted_by=attempt.execution.agent_id,
                rationale="answered in the host",
                scope="once",
            )
        except (ForbiddenError, ConflictError, ValidationError):
            # Nobody that may, or the person has answered before, or another did just now: the call ran all the same.
            await attempt.look()
            return attempt.approvals[approval_id].status == "granted"
        await attempt.look()
        return row.status == "granted"

    async def _lose(self) -> None:
        for step_id in tuple(self.attempt.bodies):
            step = self.attempt.steps.get(step_id)
            if step is not None and step.idempotency is Idempotency.ONCE:
                await self._unknown(step)

    async def _unknown(self, step: StepRow) -> None:
        row = step.ended(StepStatus.FAILED, error=INDETERMINATE)
        await self.attempt.end_body(row, new_event.failed(row), None, deferred=False)

    async def _end(self) -> ExecutionRow:
        await self._lose()
        attempt = self.attempt
        if any(step.status in _WAITS for step in attempt.recorded.unsettled()):
            await self._kernel.abandon(attempt)
            attempt.forget()
            return await attempt.store.execution(attempt.execution.id)
        ended = await finish(attempt, output="null")
        attempt.forget()
        return ended

    async def _known(self, call_id: str) -> StepRow | None:
        step_id = self._calls.get(call_id)
        if step_id is None:
            return None
        step = self.attempt.steps.get(step_id)
        # One that a person was asked about is kept without its texts.
        return step if step is not None and step.args else await self.attempt.store.step(step_id)


def _check_same(known: StepRow, submission: Submission, call_id: str, seals: "Seals | None") -> None:
    asked = (submission.target, (seals or identity).args_hash(submission.args))
    if asked != (known.target, known.args_hash):
        raise ConflictError(f"the call `{call_id[:80]}` was asked about before, and was another one")


def _recorded(step: StepRow) -> Decision:
    return Decision(Verdict(step.verdict), step.rule_id, step.reason, bundle=step.bundle, digest=step.digest)


async def open_session(
    kernel: Kernel,
    *,
    agent_id: str,
    name: str,
    input: Any = None,
    workdir: str = "",
    parent: str = "",
    parent_step: str = "",
    observe: bool = False,
    goes_on: bool = True,
) -> HostSession | ExecutionRow:
    """Begins the session `name` of an agent, or takes it up again where it stood. `input` is a JSON value, and counts
    for a new one only, as the rest does. One that has completed goes on in a fork of its own, named `name~2` and so on,
    if `goes_on`.

    Returns the execution where it failed or was cancelled, or has completed and does not go on: nothing of the session
    may run any more.

    Raises:
        ConflictError: a live process holds it (`holder` names it).
        ExecutionExpired: retention took it.
        ValidationError, NotJSON: the name, input or workdir is malformed.
        StoreError
    """
    store = kernel.store
    kind = ObservingAttempt if observe else HostedAttempt
    number, previous = 1, None
    while True:
        key = continued(name, number)
        found = await store.find(agent_id, key)
        if found is None and previous is not None:
            if not goes_on:
                return previous
            found = await fork.fork(store, previous, previous.head_seq, key=key, policy=kernel.policy)
        if found is None:
            text = identity.canonical(input, "input")
            begun = await kernel.begin(
                agent_id=agent_id,
                input=text,
                key=key,
                workdir=workdir,
                parent=parent,
                parent_step=parent_step,
                attempt=kind,
            )
        elif found.status is ExecutionStatus.COMPLETED:
            number, previous = number + 1, found
            continue
        elif found.status.terminal:
            return found
        else:
            text = await kernel.input_of(found)
            begun = await kernel.begin(agent_id=agent_id, input=text, key=key, attempt=kind)
        if isinstance(begun, ExecutionRow):
            # It ended in between.
            continue
        assert isinstance(begun, HostedAttempt)
        await begun.all_known()
        known = {} if found is None else await calls.read(store, begun.execution.id)
        return HostSession(kernel, begun, known)
