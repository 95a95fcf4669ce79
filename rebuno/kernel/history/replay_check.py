"""Answers a handler from a recording instead of a journal: what was recorded comes back, and nothing else happens."""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from rebuno.errors import SealKeyMissing, StoreCorrupt
from rebuno.journal.records import Lease, StepRow
from rebuno.journal.store import Store
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.divergence import unvisited
from rebuno.kernel.core.effects import Identified, Need
from rebuno.kernel.core.identify import identify
from rebuno.kernel.core.submit import route
from rebuno.kernel.history.archive import Recording
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, CallKey, OnAnswer, Submission
from rebuno.model.execution import ExecutionStatus
from rebuno.model.resource import Captured
from rebuno.model.step import StepStatus
from rebuno.policy import permissive_policy

# How often the handler's other branches are let on before it is stopped: in parallel branches the order is no matter.
_TURNS: Final = 50
# Failures that end an execution from outside: its handler had not come to an end of its own.
_FROM_OUTSIDE: Final = ("policy_revoked", "dispatch_exhausted", "deadline_exceeded")


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step that came, or that was recorded. `args` is canonical JSON text."""

    step_id: str
    kind: str
    target: str
    args: str

    def to_json(self) -> dict[str, Any]:
        """The step as JSON data."""
        return {
            "step_id": self.step_id,
            "kind": self.kind,
            "target": self.target,
            "args": identity.parse(self.args),
        }


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a handler went through a recording. Of `steps` recorded ones `visited` came again. `came` is the first that
    was not recorded, `instead_of` the recorded one in whose place it seems to stand (None: no more was recorded there).
    `unvisited` are those that did not come again, `ended` and `recorded` how the handler ended now and then where that
    is not the same, else empty. `same` says that it went the recorded way, as far as that leads."""

    execution_id: str
    steps: int
    visited: int
    same: bool
    came: SeenStep | None = None
    instead_of: SeenStep | None = None
    unvisited: tuple[SeenStep, ...] = ()
    ended: str = ""
    recorded: str = ""

    def to_json(self) -> dict[str, Any]:
        """The replay as JSON data."""
        return {
            "execution_id": self.execution_id,
            "same": self.same,
            "recorded_steps": self.steps,
            "replayed_steps": self.visited,
            "unexpected_step": None if self.came is None else self.came.to_json(),
            "expected_step": None if self.instead_of is None else self.instead_of.to_json(),
            "missing_steps": [step.to_json() for step in self.unvisited],
            "end": self.ended or None,
            "recorded_end": self.recorded or None,
        }


class _NoStore:
    """What an attempt has in the place of a store where all that it knows is in memory, and nothing is written."""

    def now(self) -> float:
        """No decision is made that looks at the time."""
        return 0.0

    async def step(self, step_id: str) -> StepRow:
        """Asked where a row holds what is no JSON."""
        raise StoreCorrupt(f"the step `{step_id}` of the recording is damaged")


def _recalled(recording: Recording) -> Attempt:
    """The attempt after the recorded ones, over what was recorded: every recorded decision stands."""
    execution, policy = recording.execution, permissive_policy()
    number = 1 + max((step.attempt for step in recording.steps), default=execution.attempt)
    lease = Lease(execution.id, max(number, execution.attempt + 1), "")
    input = identity.parse(execution.input)
    attempt = Attempt(cast(Store, _NoStore()), policy, execution, lease, recording.approvals, input)
    attempt.recorded.begin()
    for step in recording.steps:
        attempt.recorded.steps[step.step_id] = replace(step, digest=policy.digest)
        attempt.recorded.unvisited[step.step_id] = None
    return attempt


class ReplayCheck:
    """A transport (`rebuno.sdk.transport`) that knows one recording. It never lets a body run.

    `whole` says that the recorded handler came to its own end, so that nothing may come beside what was recorded;
    otherwise the recording leads up to somewhere, and what comes after is no divergence. `stopped` is set where a step
    came that may not.
    """

    def __init__(self, recording: Recording) -> None:
        """Raises `SealKeyMissing` where it is sealed and was not opened."""
        execution = recording.execution
        if execution.seal and recording.seals is None:
            raise SealKeyMissing(execution.seal, execution_id=execution.id)
        self.recording = recording
        self.whole = execution.status is ExecutionStatus.COMPLETED or (
            execution.status is ExecutionStatus.FAILED and not execution.failure_reason.startswith(_FROM_OUTSIDE)
        )
        self.stopped = asyncio.Event()
        self.came: Identified | None = None
        self._attempt = _recalled(recording)
        self._steps = {step.step_id: step for step in recording.steps}
        self._waits = False
        self._limited: dict[object, list[dict[str, Any]]] = {}
        for event in recording.events:
            if event.type == "step.rate_limited":
                self._limited.setdefault(event.payload.get("step_id"), []).append(event.payload)

    @property
    def external(self) -> None:
        """Nothing is opened."""

    def recorded(self, call_key: CallKey) -> tuple[Any] | Answer | None:
        """Nothing is answered the short way: every submission is compared."""
        return None

    def start(self, submission: Submission, on_answer: OnAnswer) -> bool:
        """Nothing is."""
        return False

    async def submit(self, submission: Submission) -> Answer:
        """What was recorded of this submission; `execution_blocked` where nothing was."""
        attempt = self._attempt
        step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count, self.recording.seals)
        known = self._steps.get(step.step_id)
        if known is None:
            # It is not routed: there is no policy to decide about it.
            attempt.uncount(step)
            return self._unknown(step)
        while isinstance(routed := route(attempt, step), Need):
            await routed.meet(attempt)
        attempt.visit(step.step_id)
        if routed.effects is None and routed.answer.kind is not AnswerKind.BLOCKED and not _by_the_end(known):
            return routed.answer
        # It waited, or ran, when the recording or the execution ended: nobody knows what the handler would have heard.
        await self.others_first()
        self._waits = True
        return Answer(AnswerKind.BLOCKED, known.step_id, approval_id=known.approval_id)

    async def succeed(self, step_id: str, result: str, value: object, *, captured: Captured | None = None) -> None:
        """No body runs."""

    async def fail(
        self,
        step_id: str,
        error: str,
        *,
        wait: bool = True,
        raised: str = "",
        nothing_done: bool = False,
        captured: Captured | None = None,
    ) -> None:
        """No body runs."""

    def release(self, step_id: str) -> None:
        """No body runs."""

    async def others_first(self) -> None:
        """Lets every branch of the handler go on until none comes to another step."""
        visited, seen = self._attempt.recorded.visited, -1
        while seen < len(visited):
            seen = len(visited)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def replayed(self, *, waits: bool, ended: str) -> Replayed:
        """What it came to. `waits` says that the handler came to a step without a recorded outcome, `ended` how it
        ended otherwise (empty: it was stopped)."""
        missed = tuple(unvisited(self._attempt))
        came = self.came if self.came is not None and (self.whole or missed) else None
        recorded = _ending(self.recording) if self.whole else ""
        goes_on = not self.whole and (waits or not missed)
        if came is not None or not ended or ended == recorded or goes_on:
            ended = recorded = ""
        same = came is None and not ended and (not missed or goes_on)
        seen = partial(_seen, self.recording)
        seals = self.recording.seals
        return Replayed(
            self.recording.execution.id,
            len(self._steps),
            len(self._attempt.recorded.visited),
            same,
            None if came is None else seen(came),
            seen(self._instead_of(came, missed)) if came is not None and missed else None,
            tuple(map(seen, missed)),
            ended if seals is None else seals.text(ended),
            recorded if seals is None else seals.text(recorded),
        )

    def _unknown(self, step: Identified) -> Answer:
        if limited := self._limited.get(step.step_id):
            said = limited.pop(0)
            reason = str(said.get("reason") or "rate_limit_exceeded")
            return Answer(AnswerKind.RATE_LIMITED, reason=reason, rule_id=str(said.get("rule_id", "")))
        # What comes beside a step that waits was refused in the recorded run too.
        if self.came is None and (self.whole or not self._waits):
            self.came = step
        if self.whole:
            self.stopped.set()
        return Answer(AnswerKind.EXECUTION_BLOCKED)

    @staticmethod
    def _instead_of(came: Identified, missed: tuple[StepRow, ...]) -> StepRow:
        like = (step for step in missed if (step.kind, step.target) == (came.kind, came.target))
        return next(like, missed[0])


def _seen(recording: Recording, step: StepRow | Identified) -> SeenStep:
    args = step.args if recording.seals is None else recording.seals.args(step)
    return SeenStep(step.step_id, step.kind.value, step.target, args)


def _ending(recording: Recording) -> str:
    execution = recording.execution
    if execution.status is ExecutionStatus.COMPLETED:
        return completed(execution.output or "null")
    return failed(execution.failure_reason)


def completed(output: str) -> str:
    """How an end with an output, canonical JSON text, is told."""
    return f"completed with {output}"


def failed(reason: str) -> str:
    """How a failure is told."""
    return f"failed: {reason}"


def _by_the_end(known: StepRow) -> bool:
    """Whether it was the end of the execution that settled the step."""
    if known.status is not StepStatus.DENIED:
        return known.status is StepStatus.CANCELLED
    error = identity.parse(known.error) if known.error else {}
    return str(error.get("reason", "")).startswith("execution_")
