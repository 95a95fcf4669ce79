"""One submission: identify it, decide about it, settle it against the journal."""

import asyncio

from rebuno.errors import Stale
from rebuno.kernel.attempt import Attempt
from rebuno.kernel.fresh import fresh
from rebuno.kernel.identify import identify
from rebuno.kernel.known import settle
from rebuno.model.answer import Answer, Say, Submission


async def submit(attempt: Attempt, submission: Submission) -> Answer:
    """Answers one submission of a running attempt. What the answer rests on is committed when this returns.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        Terminated, LeaseSuperseded, StoreError: the attempt may not go on.
    """
    attempt.check()
    # INVARIANT: no await before the count, else parallel identical calls are numbered in the order of locks.
    step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count)
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
