"""What the journal makes of today's decision about a step: the stricter of the two governs. `TABLE` has a row for each
state that the step can be in; the README beside this file shows it with what each cell says of itself."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from time import monotonic
from typing import Final

import uuid_utils

from rebuno.errors import ConflictError
from rebuno.journal.records import ApprovalRow, ApprovalWrite, StepRow, StepWrite
from rebuno.journal.standing import StandingGrantRow
from rebuno.kernel.core import events as new_event
from rebuno.kernel.core.ask import ask, refuse, withdraw
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.decide import stricter
from rebuno.kernel.core.divergence import behind_the_world
from rebuno.kernel.core.effects import Effects, Identified, Need, Routed
from rebuno.kernel.core.facts import stands
from rebuno.kernel.core.grants import covering, edits_of, holding
from rebuno.kernel.core.heavy import decision_on
from rebuno.kernel.core.quorum import Panel
from rebuno.kernel.core.stops import held_back
from rebuno.model import identity
from rebuno.model.answer import Answer, AnswerKind
from rebuno.model.decision import EDITED, INDETERMINATE_RETRY, UNKNOWN_OUTCOME, Decision, Verdict
from rebuno.model.step import Idempotency, Kind, StepStatus

INDETERMINATE: Final = identity.canonical(
    {"reason": "indeterminate", "message": "the step was started and nobody recorded how it ended"}
)
ERASED: Final = identity.canonical({"reason": "indeterminate", "message": "the result of the step was erased"})


_NO_EDITS: Final = "a person has changed the arguments, and this agent cannot run them"


class State(StrEnum):
    """What the journal knows of a step that is submitted. A started one is of an attempt that is gone."""

    ABSENT = "absent"
    AWAITING = "awaiting"
    ALLOWED = "allowed (granted)"
    STARTED = "started"
    CHILD = "started, child unfinished"
    ENDED = "succeeded / failed"
    REVOKED = "failed (policy_revoked)"
    DENIED = "denied"


def settle(attempt: Attempt, step: Identified, known: StepRow | None, decision: Decision) -> Routed | Need:
    """What a step comes to: `known` is its row (None: it is new), `decision` what today's bundle says of it."""
    standing = attempt.standing
    # Looked at here, for nothing is stopped as a rule.
    if (standing.stops or monotonic() >= standing.due) and decision.verdict is not Verdict.DENY:
        held = held_back(attempt, step, known)
        if held is not None:
            return held
    if known is None:
        return _settle_new(attempt, step, decision)
    if step.idempotency is Idempotency.ONCE and known.idempotency is not Idempotency.ONCE:
        known = replace(known, idempotency=Idempotency.ONCE)
    state = state_of(attempt, step, known)
    if isinstance(state, Need):
        return state
    if known.ran_args and not step.edits and state in (State.ALLOWED, State.STARTED):
        return _run_as_submitted(attempt, step, known, state)
    return TABLE[state][decision.verdict](attempt, step, known, decision)


def state_of(attempt: Attempt, step: Identified, known: StepRow) -> State | Need:
    """The row of the table that a recorded step stands in; a Need where a subagent of it must be looked up."""
    if known.status is not StepStatus.EXECUTING:
        return State.REVOKED if _is_revoked(known) else _STATES[known.status]
    # INVARIANT: a step started by the live attempt is never an orphan; identity gives each submission its own step.
    if known.attempt >= attempt.lease.attempt:
        raise ConflictError(f"the step `{known.step_id}` was submitted twice in one attempt")
    if step.child_runs is None and (need := attempt.child_of(step)) is not None:
        return need
    return State.CHILD if step.child_runs else State.STARTED


_STATES: Final = {
    StepStatus.PROPOSED: State.AWAITING,
    StepStatus.AWAITING: State.AWAITING,
    StepStatus.ALLOWED: State.ALLOWED,
    StepStatus.SUCCEEDED: State.ENDED,
    StepStatus.FAILED: State.ENDED,
    StepStatus.CANCELLED: State.ENDED,
    StepStatus.DENIED: State.DENIED,
}


def _is_revoked(known: StepRow) -> bool:
    if known.status is not StepStatus.FAILED or known.error is None:
        return False
    error = identity.parse(known.error)
    return isinstance(error, dict) and error.get("reason") == "policy_revoked"


# ---------------------------------------------------------------- a new step


def _settle_new(attempt: Attempt, step: Identified, decision: Decision) -> Routed | Need:
    recorded, execution = attempt.recorded, attempt.execution
    judged = decision
    if (
        decision.verdict is Verdict.APPROVAL
        or decision.obligations
        or attempt.blocked
        or attempt.asking is not None
        or recorded.unvisited
        or recorded.unknown
        or execution.forked_from
        or execution.fork_seq
        or step.turn is not None
        or attempt.standing.restored is not None
    ):
        narrowed = stricter(attempt, step, decision)
        if attempt.observes and isinstance(narrowed, Routed) and narrowed.answer.kind is AnswerKind.RATE_LIMITED:
            narrowed = _kept_out(attempt, narrowed.answer)
        if not isinstance(narrowed, Decision):
            return narrowed
        decision = narrowed
    # Where none of these holds, `stricter` has nothing to ask about and gives the decision back as it is.
    cell = _start_new if attempt.observes else TABLE[State.ABSENT][decision.verdict]
    routed = cell(attempt, step, _row(attempt, step, decision, judged), decision)
    if step.turn is not None and step.turn.places and routed.effects is not None:
        routed.effects = step.turn.named(routed.effects)
    return routed


def _kept_out(attempt: Attempt, answer: Answer) -> Decision:
    return Decision(Verdict.DENY, answer.rule_id, answer.reason, digest=attempt.policy.digest)


def _row(attempt: Attempt, step: Identified, decision: Decision, judged: Decision) -> StepRow:
    # By position, which takes half the time that keywords do.
    row = StepRow(
        step.step_id,
        attempt.execution.id,
        step.parent_id,
        step.kind,
        step.target,
        step.args,
        step.args_hash,
        step.occurrence,
        step.idempotency,
        StepStatus.PROPOSED,
        decision.verdict.value,
        decision.rule_id,
        decision.bundle,
        attempt.policy.digest,
        decision.reason,
    )
    if step.definition is not None:
        row.definition = step.definition.said
    # What the kernel itself decided, no test of the policy did.
    if step.doubt and (decision.bundle, decision.rule_id) == (judged.bundle, judged.rule_id):
        row.doubt = step.doubt
    return row


def _start_new(attempt: Attempt, step: Identified, row: StepRow, decision: Decision) -> Routed:
    """record `executing`, **proceed**"""
    row.status, row.attempt = StepStatus.EXECUTING, attempt.lease.attempt
    started = new_event.executing(row, decision, first=True, shadow=step.shadow)
    effects = Effects(
        (started if step.covered_by is None else new_event.covered(started, step.covered_by),),
        (StepWrite(row, decided=0, started=0),),
        # A local body that may run again needs no record of its intent on the disk before it runs.
        # What is written later would come after a turn that was not heard.
        held=row.kind is Kind.LOCAL and row.idempotency is Idempotency.SAFE and not attempt.listens,
    )
    return Routed(Answer(AnswerKind.PROCEED, row.step_id, rule_id=decision.rule_id), effects)


def _ask_new(attempt: Attempt, step: Identified, row: StepRow, decision: Decision) -> Routed:
    """a scoped grant covers it: as allow; else ask, **blocked**"""
    grant = covering(attempt, step, decision)
    if grant is None:
        over = step.turn.asks if step.turn is not None else ()
        may = edits_of(attempt, step, decision, over)
        return ask(attempt, row, decision, fresh=True, over=over, shadow=step.shadow, edits=may)
    row.approval_id = grant.id
    step.covered_by = grant if isinstance(grant, StandingGrantRow) else None
    return _start_new(attempt, step, row, decision)


def _deny_new(attempt: Attempt, step: Identified, row: StepRow, decision: Decision) -> Routed:
    """record `denied`, **denied**"""
    row.status = StepStatus.DENIED
    denied = new_event.denied(row, decision, first=True, shadow=step.shadow)
    effects = Effects((denied,), (StepWrite(row, decided=0, settled=0),))
    return Routed(_denied(row, decision), effects)


# ---------------------------------------------------------------- a step that waits, or was granted


def _wait(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**blocked**, same approval"""
    return Routed(Answer(AnswerKind.BLOCKED, known.step_id, approval_id=known.approval_id, rule_id=today.rule_id))


def _withdraw(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """withdraw, `denied`, **denied**"""
    return Routed(_denied(known, today), Effects(*withdraw(attempt.approvals[known.approval_id], known, today)))


def _start(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """`executing`, **proceed**"""
    if _ran_once(known):
        return _void(attempt, step, known, _retry_refused(attempt))
    if _granted_before(attempt, known):
        return ask(attempt, known, behind_the_world(attempt, today))
    return _executing(attempt, known, today)


def _start_if_granted(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """grant good today: **proceed**; else ask anew, **blocked**"""
    if _ran_once(known):
        return _void(attempt, step, known, _retry_refused(attempt))
    if _granted_before(attempt, known):
        return ask(attempt, known, behind_the_world(attempt, _in_full(attempt, known, today)))
    return _granted_or_ask(attempt, step, known, today)


def _void(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """`denied`, grant void, **denied**"""
    row = refuse(known, today.reason, today.rule_id)
    return Routed(
        _denied(row, today), Effects((new_event.denied(row, today, first=False),), (StepWrite(row, settled=0),))
    )


def _run_as_submitted(attempt: Attempt, step: Identified, known: StepRow, state: State) -> Routed:
    """What a person has changed does not run as it was submitted: the agent runs no other arguments any more."""
    if state is State.STARTED:
        return _indeterminate(known)
    return _void(attempt, step, known, Decision(Verdict.DENY, EDITED, _NO_EDITS, digest=attempt.policy.digest))


def _ran_once(known: StepRow) -> bool:
    """Whether it was safe to repeat when it was cut off and asked about again, and is not any more."""
    return bool(known.started_seq) and known.idempotency is Idempotency.ONCE


def _granted_before(attempt: Attempt, known: StepRow) -> bool:
    """Whether it was granted before the store was restored from a copy, and may have run since."""
    restored, grant = attempt.standing.restored, attempt.approvals.get(known.approval_id)
    if restored is None or grant is None or known.idempotency is not Idempotency.ONCE:
        return False
    return grant.decided_at <= restored.restored_at


def _retry_refused(attempt: Attempt) -> Decision:
    return Decision(Verdict.DENY, INDETERMINATE_RETRY, UNKNOWN_OUTCOME, digest=attempt.policy.digest)


# ---------------------------------------------------------------- a step that an earlier attempt started


def _again(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """safe: again, **proceed**; at most once: `failed(indeterminate)`, **replay** that"""
    if known.idempotency is Idempotency.ONCE:
        return _indeterminate(known)
    return _executing(attempt, known, today)


def _again_if_granted(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """at most once: **replay** as for allow; safe: good grant → **proceed**, else ask, **blocked**"""
    if known.idempotency is Idempotency.ONCE:
        return _indeterminate(known)
    return _granted_or_ask(attempt, step, known, today)


def _revoke(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """`failed(policy_revoked)`, **denied** now and later, counts as run"""
    error = identity.canonical(
        {"reason": "policy_revoked", "rule_id": today.rule_id, "message": today.reason or "policy_denied"}
    )
    row = replace(known, status=StepStatus.FAILED, error=error)
    return Routed(_denied(row, today), Effects((new_event.failed(row),), (StepWrite(row, settled=0),)))


def _revoke_parent(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """same, child cancelled"""
    # What follows from that a step with a live subagent has ended: `ServedStore.orphans`.
    return _revoke(attempt, step, known, today)


def _wait_for_child(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**blocked**"""
    return Routed(Answer(AnswerKind.BLOCKED, known.step_id))


def _indeterminate(known: StepRow) -> Routed:
    row = replace(known, status=StepStatus.FAILED, error=INDETERMINATE)
    effects = Effects((new_event.failed(row),), (StepWrite(row, settled=0),))
    return Routed(Answer(AnswerKind.REPLAY, row.step_id, error=INDETERMINATE, args=row.ran_args or None), effects)


def _executing(attempt: Attempt, known: StepRow, today: Decision) -> Routed:
    row = replace(known, status=StepStatus.EXECUTING, attempt=attempt.lease.attempt)
    effects = Effects((new_event.executing(row, today, first=False),), (StepWrite(row, started=0),))
    answer = Answer(AnswerKind.PROCEED, row.step_id, rule_id=today.rule_id, args=known.ran_args or None)
    return Routed(answer, effects)


def _granted_or_ask(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    today = _in_full(attempt, known, today)
    grant = holding(attempt, known, today)
    if grant is not None:
        return _executing(attempt, replace(known, approval_id=grant.id), today)
    last = attempt.approvals.get(known.approval_id)
    may = () if known.started_seq else edits_of(attempt, known, today) if step.edits else ()
    return ask(attempt, known, today, message=last.message if last else "", edits=may)


def _in_full(attempt: Attempt, known: StepRow, today: Decision) -> Decision:
    """Today's verdict with what its rules say about asking: of a verdict that stands as recorded only the rest is kept,
    and the same facts under the same bundle give it again."""
    if not stands(attempt.policy, known):
        return today
    return Decision(
        today.verdict,
        today.rule_id,
        today.reason,
        bundle=today.bundle,
        digest=today.digest,
        obligations=decision_on(attempt, known).obligations,
    )


# ---------------------------------------------------------------- a step that has ended


def _replay(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**replay**"""
    # A placeholder is no text of its own kind: what was recorded was erased, or cannot be read here.
    if known.result is not None and type(known.result) is not str:
        return Routed(Answer(AnswerKind.REPLAY, known.step_id, error=ERASED))
    args = known.ran_args or None
    return Routed(Answer(AnswerKind.REPLAY, known.step_id, result=known.result, error=known.error, args=args))


def _ask_about_done(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**blocked**: one `step.revoked` a digest and an approval that asks a person; granted: **replay**"""
    # The effect is done: refusing it now would tell the handler a lie, so a person decides whether the run may go on.
    told = False
    for asked in attempt.approvals.values():
        if asked.step_id == known.step_id and asked.cause == "revoked" and asked.digest == attempt.policy.digest:
            told = True
            if asked.status == "granted":
                return _replay(attempt, step, known, today)
            if asked.status == "pending":
                return Routed(Answer(AnswerKind.BLOCKED, known.step_id, approval_id=asked.id, rule_id=today.rule_id))
    question = ApprovalRow(
        id=str(uuid_utils.uuid7()),
        execution_id=known.execution_id,
        step_id=known.step_id,
        cause="revoked",
        status="pending",
        message=today.message,
        rule_id=today.rule_id,
        digest=attempt.policy.digest,
        bundle=today.bundle,
    )
    events = (*(() if told else (new_event.revoked(known, today),)), new_event.requested(question, (Panel(),)))
    effects = Effects(events, (), (ApprovalWrite(question, requested=len(events) - 1),))
    return Routed(Answer(AnswerKind.BLOCKED, known.step_id, approval_id=question.id, rule_id=today.rule_id), effects)


def _stay_revoked(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**denied**"""
    error = identity.parse(known.error or "{}")
    reason, rule_id = str(error.get("message")), str(error.get("rule_id", ""))
    return Routed(Answer(AnswerKind.DENIED, known.step_id, reason=reason, rule_id=rule_id))


def _stay_denied(attempt: Attempt, step: Identified, known: StepRow, today: Decision) -> Routed:
    """**denied** as recorded"""
    said = identity.parse(known.error) if known.error else {}
    reason = said.get("reason") or known.reason or "policy_denied"
    return Routed(Answer(AnswerKind.DENIED, known.step_id, reason=reason, rule_id=said.get("rule_id") or known.rule_id))


Cell = Callable[[Attempt, Identified, StepRow, Decision], Routed]

TABLE: Final[dict[State, dict[Verdict, Cell]]] = {
    state: {Verdict.ALLOW: allow, Verdict.APPROVAL: approval, Verdict.DENY: deny}
    for state, allow, approval, deny in (
        (State.ABSENT, _start_new, _ask_new, _deny_new),
        (State.AWAITING, _wait, _wait, _withdraw),
        (State.ALLOWED, _start, _start_if_granted, _void),
        (State.STARTED, _again, _again_if_granted, _revoke),
        (State.CHILD, _wait_for_child, _wait_for_child, _revoke_parent),
        (State.ENDED, _replay, _replay, _ask_about_done),
        (State.REVOKED, _stay_revoked, _stay_revoked, _stay_revoked),
        (State.DENIED, _stay_denied, _stay_denied, _stay_denied),
    )
}


def _denied(row: StepRow, decision: Decision) -> Answer:
    return Answer(AnswerKind.DENIED, row.step_id, reason=decision.reason or "policy_denied", rule_id=decision.rule_id)
