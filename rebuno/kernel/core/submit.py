"""One submission: identify it, decide about it, settle it against the journal."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from rebuno.errors import Stale
from rebuno.journal.records import Commit
from rebuno.kernel.core import limits
from rebuno.kernel.core.attempt import Attempt
from rebuno.kernel.core.decide import at_once, fresh
from rebuno.kernel.core.effects import Change, Identified
from rebuno.kernel.core.heavy import is_heavy, judge_again
from rebuno.kernel.core.identify import identify
from rebuno.kernel.core.settle import settle
from rebuno.model.answer import Answer, Say, Submission, Unheard
from rebuno.model.step import Idempotency

# Who is told the answer, or the error that stands in its place; None: `submit` must be asked.
Told = Callable[[Answer | BaseException | None], None]


def start(attempt: Attempt, submission: Submission, told: Told) -> bool:
    """The short way of a step that is new: it is written at once, and `told` its answer as soon as that is on the disk,
    with nothing awaited. False, and nothing is counted, where `submit` must be asked.

    Raises:
        ValidationError: the submission is malformed; nothing was recorded or counted.
        StoreError: the store takes nothing any more.
    """
    if not (attempt.undisturbed() and attempt.at_end()):
        return False
    if attempt.deciding is not None or is_heavy(attempt, submission.args):
        return False
    step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count)
    settled = at_once(attempt, step, limits.Turn())
    if settled is None or settled[1] is None or not settled[0].step_id:
        _uncount(attempt, step)
        return False
    answer, change = settled[0], settled[1]
    committed = _write(attempt, answer, change)
    if committed is None:
        attempt.visit(step.step_id)
        told(answer)
    else:
        committed.tell(partial(_written, attempt, step, answer, told))
    return True


def _written(attempt: Attempt, step: Identified, answer: Answer, told: Told, committed: Commit) -> None:
    error = committed.exception()
    if error is None:
        attempt.visit(step.step_id)
        told(answer)
        return
    attempt.bodies.discard(step.step_id)
    if isinstance(error, Stale):
        # INVARIANT: it is counted anew with nothing awaited, so that no identical call overtakes it.
        _uncount(attempt, step)
        told(None)
    else:
        told(error)


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
    step = identify(submission, attempt.execution.id, attempt.bodies, attempt.count)
    try:
        answer = await _answer(attempt, step, wait)
        attempt.replayed += answer.say is Say.REPLAY
        if answer.step_id:
            attempt.visit(step.step_id)
        return answer
    finally:
        # What was not recorded gives its number back: asked for again, it is the same step.
        if not attempt.knows(step.step_id):
            _uncount(attempt, step)


def _unheard(attempt: Attempt, step: Identified, committed: Commit) -> None:
    """A step that nobody waits for any more keeps its number, unless it was not recorded after all."""
    if not committed.cancelled() and isinstance(committed.exception(), Stale):
        attempt.recorded.visited.discard(step.step_id)
        _uncount(attempt, step)


def _uncount(attempt: Attempt, step: Identified) -> None:
    attempt.uncount(step.scope, step.kind, step.target, step.args_hash, step.occurrence)


async def _answer(attempt: Attempt, step: Identified, wait: bool) -> Answer:
    turn = limits.Turn()
    while True:
        known = await attempt.known(step.step_id)
        attempt.check()
        while known is not None and await judge_again(attempt, known):
            known = await attempt.known(step.step_id)
            attempt.check()
        if known is None:
            answer, change = await fresh(attempt, step, turn)
        else:
            answer, change = settle(attempt, known, step.idempotency)
        if change is not None:
            committed = _write(attempt, answer, change)
            if committed is None:
                return answer
            if not answer.step_id:
                committed.add_done_callback(partial(limits.remember, attempt, step.step_id, answer))
            try:
                await committed.heard()
            except Stale:
                attempt.bodies.discard(step.step_id)
                continue
            except asyncio.CancelledError:
                # The caller is gone before it heard the answer.
                if wait and answer.say is Say.PROCEED and step.idempotency is Idempotency.ONCE:
                    with suppress(Stale):
                        await _written_at_last(attempt, step, committed)
                        raise Unheard(step.step_id) from None
                    attempt.bodies.discard(step.step_id)
                    raise
                _left(attempt, step, answer, committed)
                raise
        elif answer.say is Say.BLOCKED:
            attempt.blocked = True
        if not wait or answer.due is None:
            return answer
        await turn.rest(attempt, answer.due)


def _left(attempt: Attempt, step: Identified, answer: Answer, committed: Commit) -> None:
    """No body runs, the step stays started with no outcome."""
    attempt.bodies.discard(step.step_id)
    if answer.step_id:
        attempt.visit(step.step_id)
        committed.tell(partial(_unheard, attempt, step))


async def _written_at_last(attempt: Attempt, step: Identified, committed: Commit) -> None:
    """Waits for a commit whose caller is gone. Raises `Stale` where nothing was recorded, and what a second
    cancellation or the store raises."""
    try:
        await asyncio.shield(committed)
    except Stale:
        raise
    except BaseException:
        attempt.bodies.discard(step.step_id)
        attempt.visit(step.step_id)
        committed.tell(partial(_unheard, attempt, step))
        raise
    attempt.visit(step.step_id)


def _write(attempt: Attempt, answer: Answer, change: Change) -> Commit | None:
    """Writes what an answer rests on; None where it rests on nothing."""
    if answer.say is Say.BLOCKED:
        attempt.blocked = True
    if answer.say is Say.PROCEED:
        attempt.start(change.steps[0].step)
    if change.held:
        attempt.hold(change.events[0], change.steps[0].step)
        return None
    return attempt.write(change.events, steps=change.steps, approvals=change.approvals, judged=True)
