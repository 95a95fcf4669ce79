"""The one way of every submission: identify it, let the compiled policy decide, and only then settle it against the
journal. `route` says what a submission comes to; every transport drives it: `submit` and `start` here, `replay`,
`rebuno.kernel.served.submit` and `rebuno.kernel.history.replay_check`."""

from functools import partial

from rebuno.errors import Stale, ValidationError
from rebuno.journal.records import Commit, StepRow
from rebuno.kernel.core import definitions, heavy, resources
from rebuno.kernel.core.append import append
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.effects import Identified, Need, Routed
from rebuno.kernel.core.identify import identify
from rebuno.kernel.core.limits import rest
from rebuno.kernel.core.settle import settle
from rebuno.model.answer import Answer, AnswerKind, OnAnswer, Submission
from rebuno.policy import Facts


async def submit(attempt: Attempt, submission: Submission, *, wait: bool = True) -> Answer:
    """Answers one submission of a running attempt. What the answer rests on is committed when this returns.

    A step that its limit parks waits here for its place; with `wait` False the answer is `parked`, and says when it is
    due.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        Terminated, LeaseSuperseded, StoreError: the attempt may not go on.
        Unheard: the caller was cancelled when an at_most_once step had been started; it settles or releases it.
    """
    attempt.check()
    # INVARIANT: no await before the count, else parallel identical calls are numbered in the order of locks.
    step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count, attempt.seals)
    try:
        while True:
            routed = route(attempt, step)
            if isinstance(routed, Need):
                await routed.meet(attempt)
                attempt.check()
                continue
            try:
                # On the disk before anybody hears of it.
                await append(attempt, step, routed, heeds_cancel=wait)
            except Stale:
                continue  # the log has grown: look and decide again
            if wait and routed.answer.due is not None:
                await rest(attempt, step, routed.answer.due)
                continue
            attempt.replayed += routed.answer.kind is AnswerKind.REPLAY
            if routed.answer.step_id:
                attempt.visit(step.step_id)
            return routed.answer
    finally:
        # What was not recorded gives its number back: asked for again, it is the same step.
        if not attempt.knows(step.step_id):
            attempt.uncount(step)


def route(attempt: Attempt, step: Identified) -> Routed | Need:
    """What a step comes to on the log as it is known; a Need where more must be known. It awaits and writes nothing."""
    known = attempt.find(step.step_id)
    return known if isinstance(known, Need) else route_row(attempt, step, known)


def route_row(attempt: Attempt, step: Identified, known: StepRow | None) -> Routed | Need:
    """`route` of a step whose row is at hand (None: the journal does not know it)."""
    if step.resources:
        resources.check_declared(attempt, step, known)
    told = step.definition if known is None else None
    if told is not None and told.digest not in attempt.described and (need := definitions.unsaved(attempt, told)):
        return need
    past = attempt.recorded.weight + attempt.background.weight
    short = known is None and len(step.args) <= heavy.LONG and past <= heavy.LONG_PAST and attempt.deciding is None
    looked_at = attempt.first_facts(step) if short else heavy.facts_of(attempt, step, known)
    if isinstance(looked_at, Need):
        return looked_at
    # 1. the compiled policy, always: for a step that is new, and for one that is replayed
    decision = attempt.policy.decide(looked_at) if isinstance(looked_at, Facts) else looked_at
    if isinstance(looked_at, Facts):
        step.doubt = heavy.told_doubt(attempt.policy, looked_at, decision) if looked_at.doubted else ""
    if known is None and attempt.policy.shadows:
        step.shadow = heavy.shadow_of(attempt.policy, step, looked_at)
    # 2. the journal: a row for each state that the step can be in
    routed = settle(attempt, step, known, decision)
    if attempt.resources and isinstance(routed, Routed) and routed.answer.kind is AnswerKind.PROCEED:
        resources.touch(attempt, step, routed)
    return routed


def start(attempt: Attempt, submission: Submission, on_answer: OnAnswer) -> bool:
    """The short way of a new step: it is routed and handed to the store with nothing awaited, and `on_answer` gets the
    answer as soon as that is on the disk. False, and nothing is counted, where `submit` must be asked.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        StoreError: the store takes nothing any more.
    """
    if not attempt.at_end():
        return False
    step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count, attempt.seals)
    try:
        routed = route(attempt, step)
    except ValidationError:
        attempt.uncount(step)
        raise
    if isinstance(routed, Need) or routed.effects is None or not routed.answer.step_id:
        attempt.uncount(step)
        return False
    committed = attempt.append(routed)
    if committed is None:
        attempt.recorded.visited.add(step.step_id)
        on_answer(routed.answer)
    else:
        committed.tell(partial(_committed, attempt, step, routed.answer, on_answer))
    return True


def _committed(attempt: Attempt, step: Identified, answer: Answer, on_answer: OnAnswer, committed: Commit) -> None:
    error = committed.exception()
    if error is None:
        attempt.recorded.visited.add(step.step_id)
    else:
        attempt.bodies.discard(step.step_id)
        if isinstance(error, Stale):
            # INVARIANT: it is counted anew with nothing awaited, so that no identical call overtakes it.
            attempt.uncount(step)
    on_answer(answer if error is None else None if isinstance(error, Stale) else error)
