"""Answers a handler from a recording instead of a journal: what was recorded comes back, and nothing else happens."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rebuno.journal.records import StepRow
from rebuno.kernel.core.effects import Identified
from rebuno.kernel.core.identify import identify
from rebuno.kernel.history.archive import Recording
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind, CallKey, Submission
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import StepStatus

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


class ReplayCheck:
    """A transport (`rebuno.sdk.transport`) that knows one recording. It never lets a body run.

    `whole` says that the recorded handler came to its own end, so that nothing may come beside what was recorded;
    otherwise the recording leads up to somewhere, and what comes after is no divergence. `stopped` is set where a step
    came that may not.
    """

    def __init__(self, recording: Recording) -> None:
        execution = recording.execution
        self.recording = recording
        self.whole = execution.status is ExecutionStatus.COMPLETED or (
            execution.status is ExecutionStatus.FAILED and not execution.failure_reason.startswith(_FROM_OUTSIDE)
        )
        self.stopped = asyncio.Event()
        self.came: Identified | None = None
        self._steps = {step.step_id: step for step in recording.steps}
        self._visited: set[str] = set()
        self._counts: Counter[tuple[str, str, str, str]] = Counter()
        self._waits = False
        self._limited: dict[object, list[dict[str, Any]]] = {}
        for event in recording.events:
            if event.type == "step.rate_limited":
                self._limited.setdefault(event.payload.get("step_id"), []).append(event.payload)

    def recorded(self, call_key: CallKey) -> tuple[Any] | Answer | None:
        """Nothing is answered the short way: every submission is compared."""
        return None

    def start(self, submission: Submission, told: object) -> bool:
        """Nothing is."""
        return False

    async def submit(self, submission: Submission) -> Answer:
        """What was recorded of this submission; `execution_blocked` where nothing was."""
        step = identify(submission, self.recording.execution.id, (), self._count)
        known = self._steps.get(step.step_id)
        if known is None:
            self._counts[step.scope, step.kind, step.target, step.args_hash] -= 1
            return self._unknown(step)
        self._visited.add(step.step_id)
        answer = _recorded(known)
        if answer.kind is AnswerKind.BLOCKED:
            await self.others_first()
            self._waits = True
        return answer

    async def succeed(self, step_id: str, result: str, value: object) -> None:
        """No body runs."""

    async def fail(self, step_id: str, error: str, *, wait: bool = True, raised: str = "") -> None:
        """No body runs."""

    def release(self, step_id: str) -> None:
        """No body runs."""

    async def others_first(self) -> None:
        """Lets every branch of the handler go on until none comes to another step."""
        seen = -1
        while seen < len(self._visited):
            seen = len(self._visited)
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def unvisited(self) -> Iterator[StepRow]:
        """The recorded steps that have not come again and could have: not those inside the body of another one."""
        return (step for step in self.recording.steps if not step.parent_id and step.step_id not in self._visited)

    def replayed(self, *, waits: bool, ended: str) -> Replayed:
        """What it came to. `waits` says that the handler came to a step without a recorded outcome, `ended` how it
        ended otherwise (empty: it was stopped)."""
        missed = tuple(self.unvisited())
        came = self.came if self.came is not None and (self.whole or missed) else None
        recorded = _ending(self.recording) if self.whole else ""
        goes_on = not self.whole and (waits or not missed)
        if came is not None or not ended or ended == recorded or goes_on:
            ended = recorded = ""
        same = came is None and not ended and (not missed or goes_on)
        return Replayed(
            self.recording.execution.id,
            len(self._steps),
            len(self._visited),
            same,
            None if came is None else _seen(came),
            _seen(self._instead_of(came, missed)) if came is not None and missed else None,
            tuple(map(_seen, missed)),
            ended,
            recorded,
        )

    def _count(self, *key: str) -> int:
        scope, kind, target, args_hash = key
        self._counts[scope, kind, target, args_hash] += 1
        return self._counts[scope, kind, target, args_hash] - 1

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


def _seen(step: StepRow | Identified) -> SeenStep:
    return SeenStep(step.step_id, step.kind.value, step.target, step.args)


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


def _recorded(known: StepRow) -> Answer:
    error = identity.parse(known.error) if known.error else {}
    match known.status:
        case StepStatus.SUCCEEDED:
            return Answer(AnswerKind.REPLAY, known.step_id, result=known.result)
        case StepStatus.FAILED if error.get("reason") == "policy_revoked":
            return Answer(AnswerKind.DENIED, known.step_id, reason=str(error.get("message")), rule_id=known.rule_id)
        case StepStatus.FAILED:
            return Answer(AnswerKind.REPLAY, known.step_id, error=known.error)
        case StepStatus.DENIED if not str(error.get("reason", "")).startswith("execution_"):
            reason = error.get("reason") or known.reason or "policy_denied"
            return Answer(
                AnswerKind.DENIED, known.step_id, reason=reason, rule_id=error.get("rule_id") or known.rule_id
            )
    # It waited, or ran, when the recording or the execution ended: nobody knows what the handler would have heard.
    return Answer(AnswerKind.BLOCKED, known.step_id, approval_id=known.approval_id)
