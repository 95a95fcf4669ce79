"""One submission: identify it, decide about it, settle it against the journal."""

import asyncio

from rebuno.errors import Stale, ValidationError
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.change import Identified
from rebuno.kernel.fresh import fresh
from rebuno.kernel.known import settle
from rebuno.model import identity
from rebuno.model.answer import Answer, Say, Submission
from rebuno.model.step import Idempotency, Kind

# In bytes. A target is a name, which stands in every event of its step.
LONGEST_TARGET = 64 * 1024


async def submit(attempt: Attempt, submission: Submission) -> Answer:
    """Answers one submission of a running attempt. What the answer rests on is committed when this returns.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        Terminated, LeaseSuperseded, StoreError: the attempt may not go on.
    """
    attempt.check()
    # INVARIANT: no await before the count, else parallel identical calls are numbered in the order of locks.
    step = _identify(attempt, submission)
    while True:
        await attempt.current()
        attempt.check()
        known = attempt.steps.get(step.step_id)
        answer, change = fresh(attempt, step) if known is None else settle(attempt, known, step.idempotency)
        if answer.say is Say.BLOCKED:
            attempt.blocked = True
        if answer.say is Say.REPLAY:
            attempt.replayed.add(step.step_id)
        if answer.say is Say.EXECUTION_BLOCKED:
            attempt.uncount(step.scope, step.kind, step.target, step.args_hash)
        if change is None:
            return answer
        if answer.say is Say.PROCEED:
            attempt.start(change.steps[0].step)
        if change.held:
            attempt.hold(change.events[0], change.steps[0].step)
            return answer
        committed = attempt.write(change.events, steps=change.steps, approvals=change.approvals, judged=True)
        try:
            await asyncio.shield(committed)
        except Stale:
            attempt.bodies.discard(step.step_id)
            continue
        except asyncio.CancelledError:
            # The caller is gone before it heard the answer: no body runs, the step stays started without an outcome.
            attempt.bodies.discard(step.step_id)
            raise
        return answer


def _identify(attempt: Attempt, submission: Submission) -> Identified:
    try:
        kind = Kind(submission.kind)
        idempotency = Idempotency(submission.idempotency)
    except ValueError as error:
        raise ValidationError(f"{error}; kinds are {', '.join(Kind)}, idempotencies {', '.join(Idempotency)}") from None
    if not submission.target:
        raise ValidationError("the target of a step is empty")
    try:
        if len(submission.target.encode()) > LONGEST_TARGET:
            raise ValidationError(f"the target of a step is longer than {LONGEST_TARGET:,} bytes")
    except UnicodeEncodeError:
        raise ValidationError("the target of a step is not valid Unicode") from None
    if submission.parent_id and submission.parent_id not in attempt.bodies:
        raise ValidationError("a step was submitted from the body of another one that has ended already")
    scope = submission.parent_id or attempt.execution.id
    args_hash = identity.args_hash(submission.args)
    occurrence = attempt.count(scope, kind, submission.target, args_hash)
    step_id = identity.step_id(scope, kind, submission.target, args_hash, occurrence)
    return Identified(
        scope,
        kind,
        submission.target,
        submission.args,
        args_hash,
        occurrence,
        step_id,
        idempotency,
        submission.parent_id,
    )
