"""What happened in an execution, put together from its events and rows for a person to read."""

from collections.abc import Iterable
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final, TypeVar

from rebuno.errors import StoreCorrupt
from rebuno.journal import records
from rebuno.journal.store import Store
from rebuno.kernel import views
from rebuno.kernel.core import edited
from rebuno.kernel.core.origins import workdir_of
from rebuno.kernel.core.quorum import granters
from rebuno.kernel.core.rate_limited import CountedLimit, RateLimitedStep, Refusals, counted
from rebuno.kernel.history.divergence import Divergence, divergence_of
from rebuno.kernel.history.resource_views import ResourceStory, ResourceView
from rebuno.model import identity
from rebuno.model.clock import from_rfc3339
from rebuno.model.dataclass import dataclass
from rebuno.model.definition import recorded
from rebuno.model.raised import checked
from rebuno.model.step import StepStatus
from rebuno.types import Approval, Event, Execution, Step

T = TypeVar("T")

_PAGE: Final = 1000
_ENDINGS: Final = ("blocked", "completed", "failed", "cancelled")


class StepOutcome(StrEnum):
    """How a step went."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INDETERMINATE = "indeterminate"
    REVOKED = "revoked"
    DENIED = "denied"
    CANCELLED = "cancelled"
    WAITS = "waits for approval"
    GRANTED = "granted, not started"
    RUNNING = "running"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """A question to a person about a step; `status` and `scope` as in `rebuno.types.Approval`. `granted_by`
    are all who granted; with `covers` the question was about another step, and its grant covers this one too."""

    approval_id: str
    cause: str
    status: str
    decided_by: str = ""
    rationale: str = ""
    scope: str = "once"
    granted_by: tuple[str, ...] = ()
    covers: bool = False


@dataclass(frozen=True, slots=True)
class StepView:
    """A step in the story. `args` is canonical JSON, `why` what was said of a denial or a failure, `submitted` the
    attempt that submitted it first, `ran` those that started its body, `replayed` those that are known to have been
    answered from the journal, `seconds` how long the body took (None: it has not ended), `inner` the steps submitted
    in its body. `limits` are those that counted it, `tokens` the input and output tokens of an `llm_call` (None: not
    known). `result` and `error` are canonical JSON (None: there is none), `raised` is what is kept of the exception of
    its body, as `rebuno.model.raised` tells it. `doubt` is the test that was maybe when its rule fired, `definition`
    the `{"server", "name", "digest"}` of its tool, `nothing_done` whether that says that it failed before it did
    anything. `call` is the id that its host knows it by, `observed` says that it ran though it was not let in.
    `ran_args` are the arguments that an approver wrote in the place of `args`, as canonical JSON, `grant` is the
    standing one that let it in: `id`, `granted_by`, `expires_at` and `matches`."""

    step_id: str
    kind: str
    target: str
    args: str
    verdict: str
    rule_id: str
    reason: str
    went: StepOutcome
    why: str = ""
    submitted: int = 0
    ran: tuple[int, ...] = ()
    replayed: tuple[int, ...] = ()
    seconds: float | None = None
    asked: tuple[ApprovalView, ...] = ()
    inner: tuple["StepView", ...] = ()
    limits: tuple[CountedLimit, ...] = ()
    tokens: tuple[int, int] | None = None
    result: str | None = None
    error: str | None = None
    raised: dict[str, Any] | None = None
    doubt: str = ""
    definition: dict[str, str] | None = None
    nothing_done: bool = False
    call: str = ""
    observed: bool = False
    ran_args: str | None = None
    grant: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The step as JSON data."""
        return {
            "step_id": self.step_id,
            "kind": self.kind,
            "target": self.target,
            "args": identity.parse(self.args),
            "ran_args": None if self.ran_args is None else identity.parse(self.ran_args),
            "grant": self.grant,
            "decision": self.verdict,
            "rule_id": self.rule_id,
            "reason": self.reason or None,
            "doubt": self.doubt or None,
            "definition": self.definition,
            "outcome": self.went.value,
            "message": self.why or None,
            "submitted_attempt": self.submitted or None,
            "executed_attempts": list(self.ran),
            "replayed_attempts": list(self.replayed),
            "duration_seconds": self.seconds,
            "approvals": [
                {
                    "id": a.approval_id,
                    "cause": a.cause,
                    "status": a.status,
                    "decided_by": a.decided_by or None,
                    "rationale": a.rationale or None,
                    "scope": a.scope,
                    "granted_by": list(a.granted_by),
                    "of_other_step": a.covers,
                }
                for a in self.asked
            ],
            "limits": [one.to_json() for one in self.limits],
            "input_tokens": self.tokens[0] if self.tokens is not None else None,
            "output_tokens": self.tokens[1] if self.tokens is not None else None,
            "result": None if self.result is None else identity.parse(self.result),
            "error": None if self.error is None else identity.parse(self.error),
            "nothing_done": self.nothing_done,
            "call": self.call or None,
            "observed": self.observed,
            "failure": self.raised,
            "steps": [step.to_json() for step in self.inner],
        }


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt. `ended` is blocked, completed, failed, cancelled, `running`, `cut off` where nothing says how it
    ended and its process is gone, or `let go` where a host's session was left open; `replayed` counts the steps
    answered from the journal (None: nobody counted). `digest` is that of its policy, `parted` says where it left the
    recorded way. Times are RFC 3339."""

    number: int
    host: str
    pid: int
    started_at: str
    ended: str = "running"
    ended_at: str = ""
    replayed: int | None = None
    digest: str = ""
    divergence: Divergence | None = None

    @property
    def seconds(self) -> float | None:
        """How long it ran; None where its end is not recorded."""
        return from_rfc3339(self.ended_at) - from_rfc3339(self.started_at) if self.ended_at else None

    def to_json(self) -> dict[str, Any]:
        """The attempt as JSON data."""
        return {
            "attempt": self.number,
            "host": self.host,
            "pid": self.pid or None,
            "started_at": self.started_at,
            "status": self.ended,
            "ended_at": self.ended_at or None,
            "replayed_steps": self.replayed,
            "digest": self.digest or None,
            "divergence": None if self.divergence is None else self.divergence.to_json(),
        }


@dataclass(frozen=True, slots=True)
class TurnView:
    """What the user wrote, after `steps` steps were submitted. `text` is None where it is not at hand."""

    number: int
    by: str
    said_at: str
    steps: int
    text: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The turn as JSON data."""
        return {
            "number": self.number,
            "by": self.by,
            "said_at": self.said_at,
            "after_steps": self.steps,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Timeline:
    """An execution from its start to its end, or to now. `steps` are the outermost ones, in the order of their first
    submission; `kept_out` is what limits kept from being recorded, `raised` what is kept of the exception that the
    handler ended with, `turns` what the user wrote."""

    execution: Execution
    runs: tuple[AttemptView, ...]
    steps: tuple[StepView, ...]
    kept_out: tuple[RateLimitedStep, ...] = ()
    raised: dict[str, Any] | None = None
    turns: tuple[TurnView, ...] = ()
    resources: tuple[ResourceView, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """`{"execution_id", "agent_id", "idempotency_key", "status", "failure_reason", "pinned", "forked_from",
        "fork_seq", "attempts": […], "steps": […], "rate_limited": […], "failure", "turns": […],
        "resources": […]}`."""
        execution = self.execution
        return {
            "execution_id": execution.id,
            "agent_id": execution.agent_id,
            "idempotency_key": execution.idempotency_key,
            "status": execution.status.value,
            "failure_reason": execution.failure_reason,
            "pinned": execution.pinned,
            "forked_from": execution.forked_from,
            "fork_seq": execution.fork_seq,
            "attempts": [run.to_json() for run in self.runs],
            "steps": [step.to_json() for step in self.steps],
            "rate_limited": [one.to_json() for one in self.kept_out],
            "failure": self.raised,
            "turns": [turn.to_json() for turn in self.turns],
            "resources": [one.to_json() for one in self.resources],
        }


async def tell(store: Store, execution_id: str) -> Timeline:
    """The story of an execution.

    Raises:
        NotFoundError: there is no such execution.
        StoreError: also where the log was damaged, so that it tells no story.
    """
    row = await store.execution(execution_id)
    events: list[Event] = []
    while page := await store.events(row.id, after=events[-1].event_seq if events else 0, limit=_PAGE):
        events += map(views.event, page)
    rows: list[records.StepRow] = []
    while more := await store.steps(row.id, after=rows[-1].decided_seq if rows else 0, limit=_PAGE):
        rows += more
    about = {step.step_id: step for step in rows}
    asked = await store.approvals(execution_id=row.id)
    edited.attach(rows, {one.id: one for one in asked})
    approvals = [views.approval(one, about.get(one.step_id)) for one in asked]
    alive = row.holder is not None and await store.alive(row)
    told = views.execution(row, turns=await store.turns(row.id))
    told.workdir = await workdir_of(store, row) or None
    try:
        return compose(told, events, map(views.step, rows), approvals, alive=alive)
    except (KeyError, ValueError, TypeError) as error:
        why = f"an event has no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
        raise StoreCorrupt(f"the log of execution `{row.id}` is damaged: {why}; restore a copy") from error


def compose(
    execution: Execution,
    events: Iterable[Event],
    steps: Iterable[Step],
    approvals: Iterable[Approval],
    *,
    alive: bool = False,
) -> Timeline:
    """The story that these tell; `events` and `steps` in the order of the log. `alive` says that the process of
    the newest attempt lives."""
    log = _Log()
    external = ResourceStory()
    for event in events:
        log.read(event)
        external.read(event)
    rows = {step.step_id: step for step in steps}
    if not alive:
        log.cut_off()
    replays = {number: _replayed(number, log, rows) for number in log.runs}
    questions = {approval.id: approval for approval in approvals}
    asked: dict[str, list[ApprovalView]] = {}
    for a in questions.values():
        asked.setdefault(a.step_id, []).append(_asked(a))
    for row in rows.values():
        covering = questions.get(row.approval_id or "")
        if covering is not None and covering.step_id != row.step_id:
            asked.setdefault(row.step_id, []).append(replace(_asked(covering), covers=True))
    live = log.current if alive else None
    inside: dict[str, list[Step]] = {}
    for row in rows.values():
        inside.setdefault(row.parent_step_id or "", []).append(row)

    def told(row: Step) -> StepView:
        mark = log.marks.get(row.step_id, _Mark())
        # What a host runs goes on without this process.
        went, why = _went(row, row.attempt if log.hosted else live)
        return StepView(
            step_id=row.step_id,
            kind=row.kind,
            target=row.target,
            args=row.raw("args"),
            verdict=row.decision or "",
            rule_id=row.rule_id or "",
            reason=row.reason or "",
            went=went,
            why=why,
            submitted=mark.submitted,
            ran=tuple(mark.ran),
            replayed=tuple(number for number, known in replays.items() if row.step_id in known),
            seconds=_seconds(row),
            asked=tuple(asked.get(row.step_id, ())),
            inner=tuple(told(inner) for inner in inside.get(row.step_id, ())),
            limits=mark.limits,
            tokens=(row.input_tokens, row.output_tokens or 0) if row.input_tokens is not None else None,
            result=None if row.result is None and row.status != StepStatus.SUCCEEDED else row.raw("result"),
            error=None if row.error is None else row.raw("error"),
            raised=mark.raised,
            doubt=mark.doubt,
            definition=mark.definition,
            nothing_done=mark.nothing_done,
            call=mark.call,
            observed=mark.observed,
            ran_args=None if row.ran_args is None else row.raw("ran_args"),
            grant=mark.grant,
        )

    outermost = tuple(told(row) for row in inside.get("", ()))
    texts = {turn.number: turn.text for turn in execution.turns or ()}
    turns = tuple(replace(turn, text=texts.get(turn.number)) for turn in log.turns)
    runs, kept_out = tuple(log.runs.values()), log.refusals.told()
    return Timeline(execution, runs, outermost, kept_out, log.raised, turns, external.told())


def _asked(a: Approval) -> ApprovalView:
    decided_by, rationale = a.decided_by or "", a.rationale or ""
    return ApprovalView(a.id, a.cause or "policy", a.status, decided_by, rationale, a.scope, granters(a))


def _seconds(step: Step) -> float | None:
    """How long a body took; None where it did not run, or has not ended."""
    if not step.started_seq or not step.outcome_seq or step.started_at is None or step.completed_at is None:
        return None
    return (step.completed_at - step.started_at).total_seconds()


@dataclass(slots=True)
class _Mark:
    """The attempts in which a step was submitted first, started, and settled with an outcome (0: not yet)."""

    submitted: int = 0
    ran: list[int] = field(default_factory=list)
    settled: int = 0
    limits: tuple[CountedLimit, ...] = ()
    raised: dict[str, Any] | None = None
    doubt: str = ""
    definition: dict[str, str] | None = None
    nothing_done: bool = False
    call: str = ""
    grant: dict[str, Any] | None = None
    observed: bool = False


class _Log:
    """The events read so far."""

    def __init__(self) -> None:
        self.runs: dict[int, AttemptView] = {}
        self.current = 0
        self.marks: dict[str, _Mark] = {}
        self.refusals = Refusals()
        self.raised: dict[str, Any] | None = None
        self.turns: list[TurnView] = []
        self.hosted = False

    def read(self, event: Event) -> None:
        family, _, what = event.type.partition(".")
        if family == "execution":
            self._execution(event, what)
        elif event.type == "step.rate_limited":
            self.refusals.read(event, self.current)
        elif family == "step":
            fresh = _first(event, self.current)
            mark = self.marks.setdefault(_said_of(event, "step_id", str), fresh)
            if what == "executing":
                mark.ran.append(_said_of(event, "attempt", int) if "attempt" in event.payload else self.current)
                mark.observed = "observed" in event.payload
            elif what == "allowed" and "limits" in event.payload:
                # A changed call takes this in the place of what was asked about.
                mark.limits = fresh.limits
            elif what in ("succeeded", "failed"):
                mark.settled = self.current
                mark.raised = checked(event.payload.get("raised"))
                mark.nothing_done = what == "failed" and event.payload.get("nothing_done") is True

    def _execution(self, event: Event, what: str) -> None:
        if what == "created":
            self.hosted = event.payload.get("hosted") is True
        if what == "failed":
            self.raised = checked(event.payload.get("raised"))
        if what == "said":
            number, by = _said_of(event, "number", int), _said_of(event, "by", str)
            self.turns.append(TurnView(number, by, event.occurred_at, len(self.marks)))
        run = self.runs.get(self.current)
        running = run is not None and run.ended == "running"
        if what == "started":
            self.cut_off()
            self.current = _said_of(event, "attempt", int)
            host, pid = _said_of(event, "host", str), _said_of(event, "pid", int)
            digest = str(event.payload.get("digest", ""))
            self.runs[self.current] = AttemptView(self.current, host, pid, event.occurred_at, digest=digest)
        elif run is not None and what == "diverged":
            self.runs[run.number] = replace(run, divergence=divergence_of(event))
        elif run is not None and running and what in _ENDINGS:
            replayed = event.payload.get("replayed")
            self.runs[run.number] = replace(run, ended=what, ended_at=event.occurred_at, replayed=replayed)
        elif run is not None and running and what == "resumed":
            # It stopped for a question that had been answered by then.
            self.runs[run.number] = replace(run, ended="blocked", ended_at=event.occurred_at)

    def cut_off(self) -> None:
        """Nothing will say any more how the newest attempt ended."""
        run = self.runs.get(self.current)
        if run is not None and run.ended == "running":
            self.runs[run.number] = replace(run, ended="let go" if self.hosted else "cut off")


def _first(event: Event, attempt: int) -> _Mark:
    """What the first event of a step says."""
    doubt, defined = event.payload.get("doubt", ""), recorded(event.payload.get("definition"))
    call, grant = event.payload.get("call"), event.payload.get("grant")
    return _Mark(
        submitted=attempt,
        limits=counted(event),
        doubt=doubt if isinstance(doubt, str) else "",
        definition=None if defined is None else defined.facts,
        call=str(call.get("id", "")) if isinstance(call, dict) else "",
        grant=grant if isinstance(grant, dict) else None,
    )


def _said_of(event: Event, key: str, kind: type[T]) -> T:
    """What an event's payload holds under `key`; raises where it was damaged."""
    found = event.payload[key]
    if not isinstance(found, kind):
        raise TypeError(f"`{key}` of event {event.event_seq} is {found!r}")
    return found


def _replayed(number: int, log: _Log, rows: dict[str, Step]) -> frozenset[str]:
    """The steps that attempt `number` answered from the journal, if the log can tell: a replay writes no event, so only
    a count that takes in every known outcome says which."""
    count = log.runs[number].replayed
    known = {
        step_id
        for step_id, mark in log.marks.items()
        if step_id in rows and (0 < mark.settled < number or (mark.settled == number and number not in mark.ran))
    }
    # The steps inside a step whose outcome was known were not submitted again.
    outermost = frozenset(step_id for step_id in known if rows[step_id].parent_step_id not in known)
    return outermost if count == len(outermost) else frozenset()


def _went(row: Step, live: int | None) -> tuple[StepOutcome, str]:
    match row.status:
        case StepStatus.SUCCEEDED:
            return StepOutcome.SUCCEEDED, ""
        case StepStatus.FAILED:
            error = _error(row)
            went = {"indeterminate": StepOutcome.INDETERMINATE, "policy_revoked": StepOutcome.REVOKED}
            return went.get(_said(error, "reason"), StepOutcome.FAILED), _said(error, "message", "reason")
        case StepStatus.DENIED:
            return StepOutcome.DENIED, _said(_error(row), "reason") or row.reason or ""
        case StepStatus.CANCELLED:
            return StepOutcome.CANCELLED, ""
        case StepStatus.PROPOSED | StepStatus.AWAITING:
            return StepOutcome.WAITS, ""
        case StepStatus.ALLOWED:
            return StepOutcome.GRANTED, ""
        case _:
            return (StepOutcome.RUNNING if row.attempt == live else StepOutcome.CUT_OFF), ""


def _error(row: Step) -> dict[str, Any]:
    error = row.error
    return error if isinstance(error, dict) else {"message": "" if error is None else row.raw("error")}


def _said(error: dict[str, Any], *keys: str) -> str:
    return next((said for key in keys if isinstance(said := error.get(key), str) and said), "")
