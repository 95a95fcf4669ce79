"""The facts behind a decision: the submission, the input of the execution, and the evidence of earlier steps."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

from rebuno.model.decision import Decision
from rebuno.model.step import StepStatus
from rebuno.policy.values.json_values import MISSING, Marker


class Evidence:
    """One recorded fact about an earlier step of the execution.

    `seq` is the number of the event that recorded it. If `approved` is true, a person approved the step. Otherwise the
    step ran and `status` is its state: `executing` after the start, later the state in which it ended. A step that
    never started leaves no evidence of that second sort. `kind`, `target` and `args` are those of the step; `result`
    counts only after a success. `step` is the id of a step that has several pieces of evidence, else empty.

    `at` and `ended_at` are the times of the start and of the end in seconds since 1970, None where unknown. `error`
    is `{"type", "message"}` of a step that failed, and `nothing_done` whether its tool said that nothing was done;
    both are None where that is unknown. `definition` is `{"server", "name", "digest"}` of the tool, None without
    one. `let_in` is `allowed` (a rule or the default, and no person), `approved` (a person read the arguments),
    `granted` (a grant for more than this call), empty (nothing: it ran all the same) or None where nobody recorded it.
    `submitted` is the number of the step's first event, and `submitted_at` the time of that event if it is not the time
    of the start.
    """

    __slots__ = (
        "approved",
        "args",
        "at",
        "definition",
        "ended_at",
        "error",
        "kind",
        "let_in",
        "nothing_done",
        "result",
        "seq",
        "status",
        "step",
        "submitted",
        "submitted_at",
        "succeeded",
        "target",
    )

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
        at: float | None = None,
        ended_at: float | None = None,
        error: Any = None,
        nothing_done: bool | None = None,
        definition: Any = None,
        let_in: str | None = None,
        submitted: int | None = None,
        submitted_at: float | None = None,
    ) -> None:
        self.seq = seq
        self.kind = kind
        self.target = target
        self.args = args
        self.result = result
        self.approved = approved
        self.status = status
        self.step = step
        self.at = at
        self.ended_at = ended_at
        self.error = error
        self.nothing_done = nothing_done
        self.definition = definition
        self.let_in = let_in
        self.submitted = seq if submitted is None else submitted
        self.submitted_at = at if submitted_at is None else submitted_at
        # Whether `result` is the result of the step.
        self.succeeded = not approved and status is StepStatus.SUCCEEDED


class History:
    """The evidence of one execution, oldest first. A history only grows.

    INVARIANT: `seq` never decreases along `evidence`, and the start of a step comes before its end. `indexes` belongs
    to the compiled policies that read this history. Each policy stores its own index under its own key, so it reads
    every piece of evidence once and not once for each step.
    """

    __slots__ = ("evidence", "indexes")

    def __init__(self, evidence: Sequence[Evidence] = ()) -> None:
        self.evidence: list[Evidence] = list(evidence)
        self.indexes: dict[object, Any] = {}

    def append(self, evidence: Evidence) -> None:
        """Adds the newest evidence."""
        self.evidence.append(evidence)


class ExecutionFacts(TypedDict, total=False):
    """What may be told of the execution that a step belongs to; see `Facts`."""

    parent: str | Marker | None
    delegated: bool | None
    turns: list[str] | None
    turn_times: Sequence[float | None]
    input_at: float | None
    root_input: Any
    root_input_at: float | None
    root_turns: list[str] | None
    root_turn_times: Sequence[float | None]
    read_args: Any
    workdir: str


class _Untold:
    """What is true of most submissions. A fact that differs takes the place of the default in one submission only, so
    that facts that nothing is told of are made in less time."""

    parent: str | Marker | None = None
    delegated: bool = False
    turns: list[str] | None = None
    turn_times: Sequence[float | None] = ()
    input_at: float | None = None
    root_input: Any = None
    root_input_at: float | None = None
    root_turns: list[str] | None = None
    root_turn_times: Sequence[float | None] = ()
    read_args: Any = MISSING
    workdir: str = ""
    # What the current element of a block stands in, for a block that asks it.
    around: Any = MISSING
    # Gives the facts as they may be shown, where values in them are sealed.
    shown: "Callable[[Facts], Facts] | None" = None
    # The decisions of the layers whose rule fired on a maybe.
    doubted: tuple[Decision, ...] = ()


class Facts(_Untold):
    """One submission as a policy sees it.

    `kind` is a wire kind (`tool_call`, `llm_call`, `local`). `args` and `input` are JSON values as Python's `json`
    reads them. `agent` is the id of the agent. `parent` is the agent whose execution began this execution: None if a
    client began it, `UNREADABLE` if nobody knows which. `turns` are the texts that the user wrote into the run before
    the submission, None without any; `turn_times` and `input_at` are the times at which they and the input were
    recorded, in seconds since 1970 or None. If `delegated` is true, the input is not the user's word, because another
    execution began this execution; without a value it is true if there is a `parent`. Then `root_input` and
    `root_turns` are those of the root execution as they stood at the delegating step, with the times `root_input_at`
    and `root_turn_times`, and `read_args` are the arguments of that step if a person read and granted it, else
    `MISSING`. `definition` is `{"server", "name", "digest"}` of the tool, None without one. `workdir` is the folder of
    the session, empty without one. `history` is None if nothing happened yet. `as_of` is the event number at which the
    history ends (exclusive), None for the whole history. `now` is the time of the submission in seconds since 1970,
    None without a clock. Rules cannot distinguish two `Facts` with equal fields.

    INVARIANT: the facts of one history give the same object for an equal `input`, `root_input`, `turns` and so on, so
    that what was read of it once can be found again.
    """

    __slots__ = (
        "agent",
        "args",
        "as_of",
        "definition",
        "history",
        "input",
        "it",
        "kind",
        "now",
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
        definition: Any = None,
        **execution: Unpack[ExecutionFacts],
    ) -> None:
        self.kind = kind
        self.target = target
        self.args = args
        self.agent = agent
        self.input = input
        self.history = history
        self.as_of = as_of
        self.now = now
        self.definition = definition
        # The number of elements tested so far in this decision. `decide` resets it to 0.
        self.tests = 0
        # The values that facets have read in this decision. `decide` clears them.
        self.readings: dict[int, list[Any]] | None = None
        # The current element of a block. The block sets it before a test reads it.
        self.it: Any
        if execution:
            self._tell(**execution)

    def _tell(self, **execution: Unpack[ExecutionFacts]) -> None:
        parent, delegated = execution.get("parent"), execution.get("delegated")
        for name, value in execution.items():
            setattr(self, name, value)
        # Empty text would be a name.
        self.parent = parent or None
        self.delegated = bool(parent) if delegated is None else delegated
        self.turns = self.turns or None

    def take_execution(self, facts: "Facts") -> None:
        """Takes over what the facts say of the execution: who began it and what was said to it."""
        if told := vars(facts):
            vars(self).update(told)
