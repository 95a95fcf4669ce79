"""Holds an execution's rows against its log: whatever the hashes in the events speak of must be what the rows say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rebuno.journal.chain import Chain, verify
from rebuno.journal.records import ApprovalRow, EventRow, ExecutionRow, StepRow
from rebuno.journal.resource_records import ResourceRows
from rebuno.journal.sealed.rows import root_text
from rebuno.journal.sealed.seal import is_hidden
from rebuno.journal.words import RootRow, TurnRow
from rebuno.kernel.core.origins import texts_of
from rebuno.kernel.core.resource_log import ResourceLog
from rebuno.kernel.history.audit_approvals import ANSWERS, AuditedQuestion, same_time
from rebuno.kernel.history.external import fault
from rebuno.model import identity
from rebuno.model.decision import Verdict
from rebuno.model.execution import ExecutionStatus
from rebuno.model.step import Idempotency, StepStatus

_STANDS: Final = {
    "created": None,
    "started": ExecutionStatus.RUNNING,
    "resumed": ExecutionStatus.RUNNING,
    "blocked": ExecutionStatus.BLOCKED,
    "completed": ExecutionStatus.COMPLETED,
    "failed": ExecutionStatus.FAILED,
    "cancelled": ExecutionStatus.CANCELLED,
}
_STATES: Final = frozenset(StepStatus)
# Where an event of a sealed execution holds the hashes of what is written.
KEPT: Final = "kept"


@dataclass(slots=True)
class _Mark:
    """What the log says of a step: the payload of its first event, of its first decision and of its newest outcome, how
    it stands, the numbers of the events that decided, first started and settled it, which attempt started it last, and
    when it was decided, last started and settled."""

    first: dict[str, Any]
    decided: int
    decision: dict[str, Any] | None = None
    outcome: dict[str, Any] | None = None
    verdict: str = ""
    status: str = ""
    started: int = 0
    settled: int = 0
    attempt: int = 0
    decided_at: str = ""
    started_at: str = ""
    settled_at: str = ""
    once: bool = False


class Audit:
    """One execution, first its `events` in order, then its rows in any. `fault` is the first thing that is wrong, in
    words, or empty. What is kept of a log is a few words for each step."""

    def __init__(self, execution: ExecutionRow) -> None:
        self.execution = execution
        self.fault = ""
        self.steps = 0
        self._chain = Chain()
        self._marks: dict[str, _Mark] = {}
        self._questions: dict[str, AuditedQuestion] = {}
        # Of each step, the decision that asks, or asked last.
        self._asking: dict[str, dict[str, Any]] = {}
        self._turns: dict[int, EventRow] = {}
        self._resources = ResourceLog(execution.id)
        self._created: dict[str, Any] | None = None
        self._forked: dict[str, Any] = {}
        # What the newest import says: from there on it is neither pinned nor timed.
        self._imported: dict[str, Any] | None = None
        self._attempt = 0
        self._end: dict[str, Any] = {}
        self._stands: ExecutionStatus | None = None

    def events(self, page: Iterable[EventRow]) -> None:
        """Takes in the next events of the log."""
        for event in page:
            if self.fault:
                return
            self._chain = verify((event,), self._chain)
            self._wrong(self._chain.fault)
            if event.execution_id != self.execution.id:
                self._wrong(f"event {event.event_seq} belongs to another execution")
            try:
                self._event(event)
            except (KeyError, TypeError, AttributeError, ValueError):
                self._wrong(f"event {event.event_seq} does not say what a `{event.type}` says")

    def _event(self, event: EventRow) -> None:
        family, _, what = event.type.partition(".")
        said = event.payload
        self._resources.take(event.event_seq, event.type, said)
        if family == "execution" and what in _STANDS:
            if what == "created":
                self._created = said
            self._stands, self._end = _STANDS[what], said
            if what == "started":
                self._attempt = said["attempt"]
        elif event.type == "execution.said":
            number = said["number"]
            if type(number) is not int or number != len(self._turns) + 1:
                self._wrong(f"event {event.event_seq} is turn {len(self._turns) + 1}, and says another number")
            self._turns[number] = event
        elif event.type == "execution.forked":
            self._forked = said
        elif event.type == "execution.imported":
            self._imported = said
        elif family == "step" and what in _STATES:
            self._step_event(event, what)
            if what == StepStatus.AWAITING:
                self._asking[said["step_id"]] = said
        elif event.type == "step.revoked":
            self._asking[said["step_id"]] = said
        elif family == "approval" and what == "requested":
            # What comes before the first attempt of a fork is copied.
            copied = bool(self._forked) and not self._attempt
            decision = self._asking.get(said["step_id"], {})
            self._questions[said["approval_id"]] = AuditedQuestion(event, decision, copied=copied)
        elif family == "approval" and (what in ANSWERS or what == "voted"):
            self._questions[said["approval_id"]].answered(event, what)

    def _step_event(self, event: EventRow, what: str) -> None:
        said, seq = event.payload, event.event_seq
        mark = self._marks.get(said["step_id"])
        if mark is None:
            mark = self._marks[said["step_id"]] = _Mark(said, seq, decided_at=event.occurred_at)
        mark.status = what
        mark.once = mark.once or said.get("idempotency") == Idempotency.ONCE
        if mark.decision is None and "rule_id" in said:
            mark.decision, mark.verdict = said, _verdict(what, said)
        if what == StepStatus.EXECUTING:
            mark.started, mark.started_at = mark.started or seq, event.occurred_at
            mark.attempt = said["attempt"]
        elif StepStatus(what).terminal:
            mark.settled, mark.outcome, mark.settled_at = seq, said, event.occurred_at

    # ------------------------------------------------------------ rows

    def step(self, row: StepRow) -> None:
        """Takes in a step's row, after all events."""
        self.steps += 1
        mark = self._marks.pop(row.step_id, None)
        if mark is None:
            self._wrong(f"no event speaks of the step `{row.step_id}`")
        elif why := _step_fault(row, mark, sealed=bool(self.execution.seal)):
            self._wrong(f"the step `{row.step_id}` (event {mark.decided}): {why}")

    def approval(self, row: ApprovalRow) -> None:
        """Takes in an approval's row, after all events."""
        question = self._questions.pop(row.id, None)
        if question is None:
            self._wrong(f"no event speaks of the approval `{row.id}`")
        elif why := question.fault(row):
            self._wrong(f"the approval `{row.id}` (event {question.requested}): {why}")

    def turn(self, row: TurnRow) -> None:
        """Takes in what the user wrote, after all events."""
        event = self._turns.pop(row.number, None)
        if event is None:
            self._wrong(f"no event speaks of turn {row.number}")
        elif event.payload.get("by") != row.said_by or not (
            is_hidden(row.text) or _holds(event.payload, "hash", identity.canonical(row.text), row.text, "text")
        ):
            self._wrong(f"turn {row.number} (event {event.event_seq}) is not what was said, or by another")
        elif row.event_seq != event.event_seq or not same_time(row.said_at, event.occurred_at):
            self._wrong(f"turn {row.number} names another event than {event.event_seq}, or another time")

    def root(self, row: RootRow | None) -> None:
        """Takes in what the user wrote to the root (None: nothing is kept), after all events."""
        created = self._created or {}
        if row is None:
            if "root" in created:
                self._wrong("what was written to the root is missing")
        elif row.root_id != created.get("root"):
            self._wrong("the root is not the one of event 1")
        else:
            hashed = {"root_input_hash": row.input, "root_turns_hash": row.turns, "read_hash": row.read_args}
            if is_hidden(row.input):
                return
            good = all(created.get(name) == _hash(text) for name, text in hashed.items())
            if isinstance(kept := created.get(KEPT), dict):
                good = kept.get("root") == _hash(root_text(row))
            if not good:
                self._wrong("what was written to the root, or read by a person, is not what event 1 speaks of")
            times = created.get("root_turn_times", [])
            if not isinstance(times, list) or len(texts_of(row.turns) or ()) != len(times):
                self._wrong("the turns of the root are no texts with a time each")

    def external(self, rows: ResourceRows) -> None:
        """Takes in the resources and their checkpoints, after all events."""
        self._wrong(fault(self._resources, rows))

    def end(self) -> None:
        """After the last row: says what is missing, and holds the execution's own row against the log."""
        execution = self.execution
        if self.fault:
            return
        if self._chain.seq != execution.head_seq:
            self._wrong(f"the log ends at event {self._chain.seq}, and the execution at event {execution.head_seq}")
        elif self._chain.hash != execution.head_hash:
            self._wrong(f"the hash of event {self._chain.seq} is not the one that the execution ends with")
        for step_id, mark in self._marks.items():
            self._wrong(f"the step `{step_id}` of event {mark.decided} is missing")
        for approval_id, question in self._questions.items():
            self._wrong(f"the approval `{approval_id}` of event {question.requested} is missing")
        for number, event in self._turns.items():
            self._wrong(f"turn {number} of event {event.event_seq} is missing")
        self._wrong(self._execution_fault())

    def _execution_fault(self) -> str:
        execution, created = self.execution, self._created
        if created is None:
            return "the log does not begin with `execution.created`"
        if created.get("digest", execution.digest) != execution.digest:
            return "the policy of its start is not the one of event 1"
        if not is_hidden(execution.input) and not _holds(created, "input_hash", execution.input):
            return "the input is not the one that event 1 speaks of"
        if (created.get("agent_id"), created.get("key")) != (execution.agent_id, execution.key):
            return "the agent or the id is not the one of event 1"
        # An earlier version says nothing of it.
        if created.get("parent", execution.spawned_execution_id) != execution.spawned_execution_id:
            return "the execution that began it is not the one of event 1"
        begun = created if self._imported is None else {}
        if not same_time(execution.deadline_at, begun.get("deadline_at", "")):
            return "the deadline is not the one of event 1"
        if execution.pinned is not begun.get("pinned", False):
            return "whether it is pinned to its policy is not what event 1 says"
        taken = self._forked or self._imported or {}
        if (execution.forked_from, execution.fork_seq) != (self._forked.get("source", ""), taken.get("at_seq", 0)):
            return "it was forked elsewhere by its log"
        if execution.attempt != self._attempt:
            return f"it was run {execution.attempt} times, and {self._attempt} times by its log"
        if self._stands is not None and execution.status is not self._stands:
            return f"it is {execution.status.value}, and {self._stands.value} by its log"
        if is_hidden(execution.output) or is_hidden(execution.failure_reason):
            return ""
        match execution.status:
            case ExecutionStatus.COMPLETED if not _holds(self._end, "output_hash", execution.output):
                return "the output is not the one that its last event speaks of"
            case ExecutionStatus.FAILED if self._end.get("reason") != execution.failure_reason:
                return "the reason of its failure is not the one of its last event"
            case ExecutionStatus.CANCELLED if self._end.get("reason") != execution.failure_reason:
                return "the reason of its cancellation is not the one of its last event"
        return ""

    def _wrong(self, why: str) -> None:
        self.fault = self.fault or why


def _holds(said: Mapping[str, Any], hashed: str, text: str | None, written: str | None = None, name: str = "") -> bool:
    """Whether an event speaks of this text: by the hash in it or, where the execution is sealed and that is keyed, by
    the hash of what is `written` (None: the same)."""
    kept = said.get(KEPT)
    if not isinstance(kept, dict):
        return bool(said.get(hashed) == _hash(text))
    return bool(kept.get(name or hashed.removesuffix("_hash")) == _hash(text if written is None else written))


def _hash(text: str | None) -> str | None:
    return None if text is None else identity.args_hash(text)


def _step_fault(row: StepRow, mark: _Mark, *, sealed: bool) -> str:
    first, decision = mark.first, mark.decision
    scope = row.parent_id or row.execution_id
    held = is_hidden(row.args) or _holds(first, "args_hash", row.args)
    if not held or row.args_hash != first.get("args_hash"):
        return "the args are not those that were submitted"
    if (row.kind, row.target, row.occurrence, row.parent_id) != (
        first.get("step_type"),
        first.get("target"),
        first.get("occurrence"),
        first.get("parent_step_id", ""),
    ):
        return "the kind, the target or the place is another one"
    # Of a sealed execution it is keyed, and looked at where the key is at hand.
    if not sealed and identity.step_id(scope, row.kind, row.target, row.args_hash, row.occurrence) != row.step_id:
        return "its id is not the one of what it does"
    if (row.decided_seq, row.started_seq, row.outcome_seq) != (mark.decided, mark.started, mark.settled):
        return "the row names other events"
    if not (
        same_time(row.decided_at, mark.decided_at)
        and same_time(row.started_at, mark.started_at)
        and same_time(row.completed_at, mark.settled_at)
    ):
        return "the times are not those of its events"
    if row.attempt != mark.attempt:
        return f"attempt {row.attempt} started it last, and attempt {mark.attempt} by its events"
    if row.status != mark.status:
        return f"it is {row.status.value}, and {mark.status} by its events"
    if mark.once and row.idempotency is not Idempotency.ONCE:
        return "it was submitted as at_most_once, and is not any more"
    said = ("rule_id", "bundle", "digest") if is_hidden(row.reason) else ("rule_id", "bundle", "digest", "reason")
    if decision is not None and any(getattr(row, name) != decision.get(name) for name in said):
        return "the decision is not the one that was recorded"
    if decision is not None and row.verdict != mark.verdict:
        return f"its verdict is {row.verdict}, and {mark.verdict} by its events"
    if row.error is not None and row.status not in (StepStatus.FAILED, StepStatus.DENIED):
        return "it has an error, and did not fail by its events"
    return _outcome_fault(row, mark.outcome or {})


def _verdict(what: str, said: dict[str, Any]) -> Verdict:
    """What was decided, by the first event that tells of the decision. A step that starts at once under an approval is
    covered by an earlier grant."""
    if what == StepStatus.DENIED:
        return Verdict.DENY
    if what == StepStatus.EXECUTING and "observed" in said:
        # It ran though it was not let in.
        return Verdict(said["observed"])
    return Verdict.ALLOW if what == StepStatus.EXECUTING and "approval_id" not in said else Verdict.APPROVAL


def _was(text: str | None, outcome: dict[str, Any], name: str) -> bool:
    return is_hidden(text) or _holds(outcome, "outcome_hash", text, name=name)


def _outcome_fault(row: StepRow, outcome: dict[str, Any]) -> str:
    match row.status:
        case StepStatus.SUCCEEDED:
            good = row.error is None and _was(row.result, outcome, "result")
        case StepStatus.FAILED:
            good = row.result is None and _was(row.error, outcome, "error")
        case _:
            good = row.result is None
    if not good:
        return "the outcome is not the one that was recorded"
    used = outcome.get("usage") or {}
    if (row.input_tokens, row.output_tokens) != (used.get("input_tokens"), used.get("output_tokens")):
        return "the tokens that it used are not those that were recorded"
    return ""
