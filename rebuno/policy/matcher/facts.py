"""What a decision may look at: the submission, the execution's input, and what earlier steps left behind."""

from collections.abc import Sequence
from typing import Any

from rebuno.model.step import StepStatus


class Evidence:
    """One thing that happened to an earlier step of the execution and that a rule may rest on.

    `seq` is the number of the event that recorded it. `approved` says that a person approved the step; otherwise it
    ran, and `status` says how far it came: `executing` where it was started, else how it ended. A step that never
    started leaves no such evidence. `kind`, `target` and `args` are the step's; `result` counts once it succeeded.
    `step` is the step's id where there is more than one thing to tell of it, else empty.
    """

    __slots__ = ("approved", "args", "kind", "result", "seq", "status", "step", "succeeded", "target")

    def __init__(
        self,
        seq: int,
        kind: str,
        target: str,
        args: Any,
        result: Any = None,
        *,
        approved: bool = False,
        status: StepStatus = StepStatus.SUCCEEDED,
        step: str = "",
    ) -> None:
        self.seq = seq
        self.kind = kind
        self.target = target
        self.args = args
        self.result = result
        self.approved = approved
        self.status = status
        self.step = step
        # Whether `result` is one.
        self.succeeded = not approved and status is StepStatus.SUCCEEDED


class History:
    """The evidence of one execution, oldest first. It only ever grows.

    INVARIANT: `seq` never falls along `evidence`, and a step is started before it ends. `indexes` belongs to the
    compiled policies that read this history: each keeps what it has already read under a key of its own, so a growing
    history is read once, not once a step.
    """

    __slots__ = ("evidence", "indexes")

    def __init__(self, evidence: Sequence[Evidence] = ()) -> None:
        self.evidence: list[Evidence] = list(evidence)
        self.indexes: dict[object, Any] = {}

    def append(self, evidence: Evidence) -> None:
        """Adds what happened last."""
        self.evidence.append(evidence)


class Facts:
    """One submission as a policy sees it.

    `kind` is a wire kind (`tool_call`, `llm_call`, `local`), `args` and `input` are JSON values as Python's `json`
    reads them, `agent` is the agent's id. `parent` is the agent, or the execution, that began this one; empty where a
    client did. `history` may be None (nothing happened yet); `as_of` is the event number
    up to which (exclusive) it counts, None for all of it. `now` is the time of the submission in seconds since 1970,
    None where there is no clock. Rules cannot tell one `Facts` with equal fields from another.
    """

    __slots__ = (
        "agent",
        "args",
        "as_of",
        "history",
        "input",
        "it",
        "kind",
        "now",
        "parent",
        "readings",
        "target",
        "tests",
    )

    def __init__(
        self,
        kind: str,
        target: str,
        args: Any = None,
        *,
        agent: str = "",
        input: Any = None,
        history: History | None = None,
        as_of: int | None = None,
        now: float | None = None,
        parent: str = "",
    ) -> None:
        self.kind = kind
        self.target = target
        self.args = args
        self.agent = agent
        self.parent = parent
        self.input = input
        self.history = history
        self.as_of = as_of
        self.now = now
        # Elements tested so far in this decision; the evaluator sets it to 0 first.
        self.tests = 0
        # What facets have read of these facts in this decision; the evaluator empties it first.
        self.readings: dict[int, list[Any]] | None = None
        # The element that a block looks at; set by the block before anything asks for it.
        self.it: Any
