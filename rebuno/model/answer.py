"""The kernel's answer to one submission, which tells the caller how to proceed."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from rebuno.model.definition import Definition
from rebuno.model.resource import StepResource


class AnswerKind(StrEnum):
    """The answers; the values are those of the wire, where `parked` is `blocked` without an approval."""

    PROCEED = "proceed"
    REPLAY = "replay"
    DENIED = "denied"
    BLOCKED = "blocked"
    EXECUTION_BLOCKED = "execution_blocked"
    RATE_LIMITED = "rate_limited"
    PARKED = "parked"
    EXECUTION_TERMINAL = "execution_terminal"


# What a step is known by, but for the number of equal ones before it: the id of the step in whose body it is submitted
# (or none), its kind, its target and its arguments as canonical JSON.
CallKey = tuple[str, str, str, str]


# Made for every step, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class Answer:
    """`result` and `error` are canonical JSON texts, and belong to `replay`; `reason` is never empty on `denied`
    and `rate_limited`. An answer that was not recorded has no `step_id`. `due` is when a parked step tries again, in
    seconds since 1970. `resources` are those that the step may change. `args` are the arguments that an approver wrote
    in the place of those that were submitted, as canonical JSON; None where the call runs, or ran, as it was
    submitted."""

    kind: AnswerKind
    step_id: str = ""
    result: str | None = None
    error: str | None = None
    reason: str = ""
    rule_id: str = ""
    approval_id: str = ""
    due: float | None = None
    resources: tuple[StepResource, ...] = ()
    args: str | None = None


# Called with the answer to a submission, or with the error that stands in its place; None: the kernel must be asked
# again, and may be awaited then.
OnAnswer = Callable[[Answer | BaseException | None], None]


@dataclass(slots=True)
class Submission:
    """A request to run one step. `args` is canonical JSON text; `parent_id` is the step in whose body it is.
    `definition` is that of the tool, None where it has none; `resources` are the keys of those that its body may
    change. `edits` says that its body can run with other arguments, which the answer then tells."""

    kind: str
    target: str
    args: str
    idempotency: str
    parent_id: str = ""
    definition: Definition | None = None
    resources: tuple[str, ...] = ()
    edits: bool = False


class Unheard(asyncio.CancelledError):
    """The caller of the step `step_id` was cancelled before it heard that its body may run. The step stands started
    on the disk; its body must not run any more, and the caller settles or releases it."""

    def __init__(self, step_id: str) -> None:
        super().__init__()
        self.step_id = step_id
